import base64
import io
import json
import secrets

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from auditapp.llm.actions import add_account, set_key
from auditapp.llm.credentials import SealBroken, build_account, open_key, seal_key
from auditapp.llm.providers.base import ProviderNotReady
from auditapp.llm.queries import find_key_state
from auditapp.site.environment import env_addresses, env_field_keys, env_provider_keys
from transcripts.audit_trail import trail

KEY = "sk-canary-Zk93bQ7tXw1a2b"
PLACE = "https://api.openai.com/v1"


def make_field_key():
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


@pytest.fixture
def account(db):
    made = add_account(name="Ours", provider="openai_compatible", base_url=PLACE, by=trail.SYSTEM)
    return set_key(account=made, key=KEY, by=trail.SYSTEM)


class TestSeal:
    def test_what_was_sealed_opens_again_and_differs_each_time(self):
        sealed = seal_key(KEY, address=PLACE)
        assert open_key(sealed, address=PLACE) == KEY
        assert sealed != seal_key(KEY, address=PLACE)

    def test_a_seal_opens_for_its_own_address_only(self):
        with pytest.raises(SealBroken, match="another address"):
            open_key(seal_key(KEY, address=PLACE), address="https://thief.example.org/v1")

    def test_another_field_key_opens_nothing(self, settings):
        sealed = seal_key(KEY, address=PLACE)
        settings.FIELD_KEYS = (make_field_key(),)
        with pytest.raises(SealBroken, match="FIELD_KEY does not decrypt") as caught:
            open_key(sealed, address=PLACE)
        assert KEY not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_a_changed_seal_does_not_open(self):
        sealed = seal_key(KEY, address=PLACE)
        with pytest.raises(SealBroken):
            open_key(sealed[:-8] + "AAAAAAA=", address=PLACE)


class TestRotation:
    def test_every_key_is_sealed_again_with_the_first_key(self, account, settings):
        former, new = settings.FIELD_KEYS[0], make_field_key()
        settings.FIELD_KEYS = (new, former)
        out = io.StringIO()
        call_command("key", "rotate", json=True, stdout=out)
        assert json.loads(out.getvalue()) == {"sealed_again": 1, "second_factors": 0, "webhooks": 0}
        settings.FIELD_KEYS = (new,)
        account.refresh_from_db()
        assert build_account(account, {}).key == KEY

    def test_what_does_not_open_is_named_and_kept(self, account, settings):
        former = settings.FIELD_KEYS
        settings.FIELD_KEYS = (make_field_key(),)
        with pytest.raises(CommandError, match="does not decrypt the stored keys of Ours"):
            call_command("key", "rotate")
        settings.FIELD_KEYS = former
        account.refresh_from_db()
        assert build_account(account, {}).key == KEY


class TestWrongFieldKey:
    def test_it_is_told_at_use_on_the_page_by_the_check_and_by_readyz(self, account, settings):
        assert Client().get("/readyz").json()["checks"]["keys"] == "ok"
        assert run_checks(databases=["default"]) == []
        settings.FIELD_KEYS = (make_field_key(),)
        with pytest.raises(ProviderNotReady, match="Account Ours: FIELD_KEY does not decrypt"):
            build_account(account, {})
        assert find_key_state(account) == "ends in 1a2b, and FIELD_KEY does not decrypt it"
        [warning] = run_checks(databases=["default"])
        assert warning.id == "llm.W001"
        assert "Ours" in warning.msg
        assert "FIELD_KEY" in Client().get("/readyz").json()["checks"]["keys"]


class TestEnvironment:
    def test_a_key_is_made_once_for_its_owner_alone(self, tmp_path, monkeypatch):
        monkeypatch.delenv("FIELD_KEY", raising=False)
        made = tuple(env_field_keys(tmp_path))
        assert env_field_keys(tmp_path) == made
        assert (tmp_path / "field_key").stat().st_mode & 0o077 == 0
        assert len(made) == 1

    def test_several_keys_are_parted_by_commas_or_lines(self, tmp_path, monkeypatch):
        first, second = make_field_key(), base64.b64encode(secrets.token_bytes(32)).decode()
        monkeypatch.setenv("FIELD_KEY", f"{first}, {second}")
        assert env_field_keys(tmp_path) == (first, second)
        monkeypatch.delenv("FIELD_KEY")
        file = tmp_path / "keys"
        file.write_text(f"{second}\n{first}\n")
        monkeypatch.setenv("FIELD_KEY_FILE", str(file))
        assert env_field_keys(tmp_path) == (second, first)
        assert not (tmp_path / "field_key").exists()

    @pytest.mark.parametrize("value", ["secret", "c2hvcnQ=", f"{'A' * 43}=,nonsense", ","])
    def test_a_key_that_is_none_stops_the_start_without_being_repeated(self, tmp_path, monkeypatch, value):
        monkeypatch.setenv("FIELD_KEY", value)
        with pytest.raises(ImproperlyConfigured, match="FIELD_KEY") as caught:
            env_field_keys(tmp_path)
        assert "nonsense" not in str(caught.value)

    def test_a_file_that_is_not_there_stops_the_start(self, tmp_path, monkeypatch):
        monkeypatch.setenv("FIELD_KEY_FILE", str(tmp_path / "nowhere"))
        with pytest.raises(ImproperlyConfigured, match="FIELD_KEY_FILE names"):
            env_field_keys(tmp_path)

    def test_an_emptied_file_is_not_taken_for_a_key(self, tmp_path, monkeypatch):
        monkeypatch.delenv("FIELD_KEY", raising=False)
        (tmp_path / "field_key").write_text("")
        with pytest.raises(ImproperlyConfigured, match="field_key is empty"):
            tuple(env_field_keys(tmp_path))

    def test_addresses_are_host_and_port(self, monkeypatch):
        monkeypatch.setenv("ALLOW_PRIVATE_PROVIDERS", "127.0.0.1:11434, GPU.lan:8000,[::1]:80,")
        assert env_addresses("ALLOW_PRIVATE_PROVIDERS") == {"127.0.0.1:11434", "gpu.lan:8000", "[::1]:80"}

    @pytest.mark.parametrize(
        "value", ["127.0.0.1", "http://127.0.0.1:80", "a:0", "a:70000", "a:80/v1", "*:80", "a b:1"]
    )
    def test_what_is_no_address_stops_the_start(self, monkeypatch, value):
        monkeypatch.setenv("ALLOW_PRIVATE_PROVIDERS", value)
        with pytest.raises(ImproperlyConfigured, match="Write host:port"):
            env_addresses("ALLOW_PRIVATE_PROVIDERS")

    def test_a_variable_of_a_key_is_given_with_the_places_it_may_be_sent_to(self, monkeypatch):
        monkeypatch.setenv(
            "PROVIDER_KEYS", "OUR_KEY=Models.example.org, OUR_KEY=10.0.0.5:8001,OPENAI_API_KEY=[::1]:80,"
        )
        found = env_provider_keys("PROVIDER_KEYS")
        assert found["OUR_KEY"] == {"models.example.org:443", "10.0.0.5:8001"}
        assert found["OPENAI_API_KEY"] == {"api.openai.com:443", "[::1]:80"}
        assert found["ANTHROPIC_API_KEY"] == {"api.anthropic.com:443"}
        assert "AWS_SECRET_ACCESS_KEY" not in found

    @pytest.mark.parametrize(
        "value", ["sk-abcdefgh", "MY_KEY", "MY_KEY=", "my_key=a.org", "MY_KEY=https://a.org", "MY_KEY=a.org:0"]
    )
    def test_an_entry_that_is_none_stops_the_start_without_being_repeated(self, monkeypatch, value):
        monkeypatch.setenv("PROVIDER_KEYS", f"A_KEY=a.org,{value}")
        with pytest.raises(ImproperlyConfigured, match="Entry 2 of PROVIDER_KEYS") as caught:
            env_provider_keys("PROVIDER_KEYS")
        assert value not in str(caught.value)

    @pytest.mark.parametrize("name", ["SECRET_KEY", "FIELD_KEY_FILE", "DATABASE_URL", "POSTGRES_PASSWORD"])
    def test_secrets_of_the_program_itself_cannot_be_listed(self, monkeypatch, name):
        monkeypatch.setenv("PROVIDER_KEYS", f"{name}=a.org")
        with pytest.raises(ImproperlyConfigured, match=f"PROVIDER_KEYS names {name}, which holds a secret"):
            env_provider_keys("PROVIDER_KEYS")
