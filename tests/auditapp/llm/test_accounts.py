import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.urls import reverse

from auditapp.llm.actions import add_account, allow_address, change_address, forget_key, set_key, set_key_env
from auditapp.llm.credentials import build_account
from auditapp.llm.models import ProviderAccount
from auditapp.llm.providers.base import ProviderNotReady
from auditapp.llm.queries import find_key_state
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

OPENAI = "https://api.openai.com/v1"
KEY = "sk-canary-Zk93bQ7tXw1a2b"


@pytest.fixture
def account(db):
    return add_account(name="Ours", provider="openai_compatible", base_url=OPENAI, by=trail.SYSTEM)


def read_events():
    return json.dumps(list(AuditEvent.objects.values("action", "target", "details")))


class TestKeys:
    def test_a_stored_key_is_sealed_and_shows_its_last_four(self, account):
        stored = set_key(account=account, key=f" {KEY}\n", by=trail.SYSTEM)
        assert find_key_state(stored) == "ends in 1a2b"
        assert KEY not in stored.key_sealed
        assert build_account(stored, {}).key == KEY
        assert KEY not in repr(build_account(stored, {}))

    def test_events_of_keys_hold_no_key(self, account):
        set_key(account=account, key=KEY, by=trail.SYSTEM)
        forget_key(account=account, by=trail.SYSTEM)
        set_key_env(account=account, key_env="A_KEY", by=trail.SYSTEM)
        told = read_events()
        for action in ("llm.account.added", "llm.key.set", "llm.key.forgotten", "llm.key.variable_set"):
            assert action in told
        assert KEY not in told
        assert "1a2b" not in told

    def test_so_short_a_key_shows_nothing_of_itself(self, account):
        stored = set_key(account=account, key="ollama", by=trail.SYSTEM)
        assert stored.key_last_four == ""
        assert find_key_state(stored) == "stored"

    @pytest.mark.parametrize("key", ["", "two words", "with\nline", "ключ-секрет", "k" * 1001])
    def test_what_is_no_key_is_refused_without_being_repeated(self, account, key):
        with pytest.raises(Refused, match="That cannot be a key") as caught:
            set_key(account=account, key=key, by=trail.SYSTEM)
        assert not key or key not in str(caught.value)

    def test_a_key_is_in_one_place(self, account):
        set_key_env(account=account, key_env="A_KEY", by=trail.SYSTEM)
        stored = set_key(account=account, key=KEY, by=trail.SYSTEM)
        assert stored.key_env == ""
        named = set_key_env(account=account, key_env="A_KEY", by=trail.SYSTEM)
        assert (named.key_sealed, named.key_last_four) == ("", "")
        with pytest.raises(IntegrityError), transaction.atomic():
            ProviderAccount.objects.filter(pk=account.pk).update(key_sealed="x")

    def test_a_key_that_is_not_there_cannot_be_forgotten(self, account):
        with pytest.raises(Refused, match="no stored key"):
            forget_key(account=account, by=trail.SYSTEM)

    def test_who_calls_nobody_needs_no_key(self, db):
        fake = add_account(name="fake", provider="fake", by=trail.SYSTEM)
        with pytest.raises(Refused, match="needs no key"):
            set_key(account=fake, key=KEY, by=trail.SYSTEM)
        with pytest.raises(Refused, match="needs no key"):
            set_key_env(account=fake, key_env="A_KEY", by=trail.SYSTEM)


class TestChangeOfAddress:
    def test_the_key_does_not_go_along(self, account):
        set_key(account=account, key=KEY, by=trail.SYSTEM)
        assert change_address(account=account, base_url="https://elsewhere.example.org/v1/", by=trail.SYSTEM)
        account.refresh_from_db()
        assert (account.base_url, find_key_state(account)) == ("https://elsewhere.example.org/v1", "no key")
        assert "llm.account.address_changed" in read_events()

    def test_nor_does_the_name_of_its_variable(self, account):
        set_key_env(account=account, key_env="A_KEY", by=trail.SYSTEM)
        assert change_address(account=account, base_url="https://elsewhere.example.org", by=trail.SYSTEM)
        account.refresh_from_db()
        assert account.key_env == ""

    def test_the_same_address_changes_nothing(self, account):
        set_key(account=account, key=KEY, by=trail.SYSTEM)
        assert not change_address(account=account, base_url=f"{OPENAI}/", by=trail.SYSTEM)
        account.refresh_from_db()
        assert find_key_state(account) == "ends in 1a2b"

    def test_a_private_address_has_to_be_allowed(self, account):
        with pytest.raises(Refused, match="address allow"):
            change_address(account=account, base_url="http://127.0.0.1:8000/v1", by=trail.SYSTEM)
        allow_address(address="127.0.0.1:8000", by=trail.SYSTEM)
        change_address(account=account, base_url="http://127.0.0.1:8000/v1", by=trail.SYSTEM)

    def test_an_address_changed_behind_the_programs_back_does_not_get_the_key(self, account):
        set_key(account=account, key=KEY, by=trail.SYSTEM)
        ProviderAccount.objects.filter(pk=account.pk).update(base_url="https://thief.example.org/v1")
        account.refresh_from_db()
        with pytest.raises(ProviderNotReady, match="another address"):
            build_account(account, {})


class TestOpening:
    def test_a_key_is_taken_from_the_variable(self, account, monkeypatch):
        named = set_key_env(account=account, key_env="A_KEY", by=trail.SYSTEM)
        with pytest.raises(ProviderNotReady, match="no environment variable A_KEY"):
            build_account(named, {})
        monkeypatch.setenv("A_KEY", f"{KEY}\n")
        assert build_account(named, {}).key == KEY
        monkeypatch.setenv("A_KEY", f"{KEY}\nInjected: header")
        with pytest.raises(ProviderNotReady, match="not contain a usable key") as caught:
            build_account(named, {})
        assert KEY not in str(caught.value)

    @pytest.mark.parametrize(
        "row",
        [
            {"key_env": "SECRET_KEY"},
            {"key_env": "AWS_SECRET_ACCESS_KEY"},
            {"key_env": "A_KEY", "base_url": "https://thief.example.org/v1"},
        ],
    )
    def test_what_the_server_does_not_allow_is_sent_to_nobody_whatever_the_row_says(self, account, monkeypatch, row):
        monkeypatch.setenv(row["key_env"], KEY)
        ProviderAccount.objects.filter(pk=account.pk).update(**row)
        account.refresh_from_db()
        with pytest.raises(ProviderNotReady, match="PROVIDER_KEYS") as caught:
            build_account(account, {})
        assert KEY not in str(caught.value)

    def test_allowed_addresses_come_from_the_list_and_the_setting(self, account, settings):
        settings.ALLOW_PRIVATE_PROVIDERS = frozenset({"10.0.0.1:80"})
        allow_address(address="127.0.0.1:8000", by=trail.SYSTEM)
        assert build_account(account, {}).allowed == {"10.0.0.1:80", "127.0.0.1:8000"}


class TestCommands:
    def test_an_account_is_added_and_its_key_read_from_standard_input(self, db, monkeypatch):
        out = io.StringIO()
        call_command("account", "add", "Ours", provider="anthropic", json=True, stdout=out)
        assert json.loads(out.getvalue()) == {
            "account": "Ours",
            "provider": "anthropic",
            "base_url": "https://api.anthropic.com",
            "key": "no key",
            "allowed_addresses": [],
        }
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
        out = io.StringIO()
        call_command("account", "set-key", "Ours", json=True, stdout=out)
        assert json.loads(out.getvalue()) == {"account": "Ours", "key": "ends in 1a2b"}
        out = io.StringIO()
        call_command("account", "set-key", "Ours", env="B_KEY", stdout=out)
        assert "from B_KEY" in out.getvalue()

    def test_wrong_use_is_told_in_a_sentence(self, account, monkeypatch):
        with pytest.raises(CommandError, match=r"There is no account 'Theirs'\. There are: Ours\."):
            call_command("account", "set-key", "Theirs")
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        with pytest.raises(CommandError, match="There was no key on standard input"):
            call_command("account", "set-key", "Ours")
        with pytest.raises(CommandError, match="nothing to delete"):
            call_command("account", "set-key", "Ours", forget=True)
        with pytest.raises(CommandError, match="already an account"):
            call_command("account", "add", "Ours", provider="fake")
        with pytest.raises(CommandError, match="cannot be a name"):
            call_command("account", "add", "a;b", provider="fake")


class TestPage:
    def test_a_key_is_stored_replaced_and_forgotten_and_never_shown(self, account, site_owner, client_of):
        client = client_of(site_owner)
        page = client.get(reverse("llm:account", args=[account.pk])).content.decode()
        assert 'type="password"' in page
        assert 'autocomplete="off"' in page
        answer = client.post(reverse("llm:set_key", args=[account.pk]), {"key": KEY}, follow=True)
        page = answer.content.decode()
        assert "ends in 1a2b" in page
        assert "Replace the key" in page
        assert KEY not in page
        assert "no-store" in answer["Cache-Control"]
        page = client.post(reverse("llm:forget_key", args=[account.pk]), follow=True).content.decode()
        assert "no key" in page
        assert client.post(reverse("llm:forget_key", args=[account.pk])).status_code == 409

    def test_a_refused_key_is_not_echoed(self, account, site_owner, client_of):
        client = client_of(site_owner)
        answer = client.post(reverse("llm:set_key", args=[account.pk]), {"key": f"{KEY} {KEY}"})
        assert answer.status_code == 422
        assert "That cannot be a key" in answer.content.decode()
        assert KEY not in answer.content.decode()

    @pytest.mark.parametrize("place", ["llm:set_key_env", "llm:models"])
    def test_a_key_in_the_field_of_its_variable_is_not_echoed(self, account, site_owner, client_of, place):
        form = {"key_env": KEY, "label": "x", "provider": "openai_compatible", "base_url": OPENAI, "model": "m"}
        path = reverse(place, args=[] if place == "llm:models" else [account.pk])
        answer = client_of(site_owner).post(path, {**form, "max_tokens": 1, "timeout_seconds": 1})
        assert answer.status_code == 422
        assert "never the key itself" in answer.content.decode()
        assert KEY not in answer.content.decode()

    def test_a_variable_is_named(self, account, site_owner, client_of):
        client = client_of(site_owner)
        answer = client.post(reverse("llm:set_key_env", args=[account.pk]), {"key_env": "A_KEY"}, follow=True)
        assert "from A_KEY" in answer.content.decode()

    def test_a_changed_address_says_that_it_took_the_key(self, account, site_owner, client_of):
        set_key(account=account, key=KEY, by=trail.SYSTEM)
        client = client_of(site_owner)
        place = reverse("llm:change_address", args=[account.pk])
        page = client.post(place, {"base_url": "https://elsewhere.example.org/v1"}, follow=True).content.decode()
        assert "it was removed" in page
        assert "no key" in page
        answer = client.post(place, {"base_url": "http://127.0.0.1:11434/v1"})
        assert answer.status_code == 422
        assert "manage.py address allow 127.0.0.1:11434" in answer.content.decode()
