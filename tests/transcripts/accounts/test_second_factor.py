"""A second factor is asked for after the password and after a link, kept sealed, and required where a site says so."""

import io
import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from tests.transcripts.accounts.conftest import PASSWORD
from transcripts.accounts.actions import create_sign_in_link, create_token, seal_second_factors_again, set_password
from transcripts.accounts.models import Session
from transcripts.accounts.queries import find_token, has_second_factor
from transcripts.accounts.second_factor_views import draw_code
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent

CODE_PAGE = "/accounts/login/second-factor/"
SET_UP = "/account/second-factor/set-up/"
FIELD_KEYS = ("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=")


@pytest.fixture(autouse=True)
def field_keys(settings):
    settings.FIELD_KEYS = FIELD_KEYS[:1]


def make_code(secret, *, steps=0):
    """What the app shows now, or ``steps`` of half a minute later, as if for the first time: codes are taken once."""
    cache.clear()
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps)))


def confirm(client, address):
    """Go to ``address``, which asks for the password once more."""
    asked = client.get(address)["Location"]
    assert asked.startswith("/account/confirm/")
    assert client.post(asked, {"password": PASSWORD})["Location"] == address


def set_up(client):
    """The secret of a new second factor, and its recovery codes."""
    page = client.get(SET_UP).content.decode()
    found = re.search(r'<code class="secret">([A-Z2-7 ]+)</code>', page)
    assert found is not None
    secret = found[1].replace(" ", "")
    answer = client.post(SET_UP, {"code": make_code(secret)}, follow=True)
    return secret, re.findall(r"<code>(\d{8})</code>", answer.content.decode())


@pytest.fixture
def protected(person):
    """Somebody with a second factor, its secret and its recovery codes."""
    client = Client()
    client.force_login(person)
    confirm(client, SET_UP)
    return person, *set_up(client)


def type_password(client, person):
    assert client.post("/accounts/login/", {"login": person.username, "password": PASSWORD})["Location"] == CODE_PAGE


def is_signed_in(client):
    return client.get("/account/").status_code == 200


def test_setting_up_shows_recovery_codes_once_and_ends_other_sessions(person, client_of):
    here, elsewhere = client_of(person), client_of(person)
    confirm(here, SET_UP)
    _, codes = set_up(here)
    assert len(set(codes)) == 10
    assert codes[0] not in here.get("/account/second-factor/codes/").content.decode()
    assert has_second_factor(person)
    assert [is_signed_in(here), is_signed_in(elsewhere)] == [True, False]
    assert AuditEvent.objects.filter(action="account.second_factor.added", actor_name="Rosalind").count() == 1


def test_the_code_that_set_it_up_signs_nobody_in(person, client_of):
    client, later = client_of(person), Client()
    confirm(client, SET_UP)
    secret, _ = set_up(client)
    code = str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))
    type_password(later, person)
    later.post(CODE_PAGE, {"code": code})
    assert not is_signed_in(later)


def test_wrong_code_sets_up_nothing(person, client_of):
    client = client_of(person)
    confirm(client, SET_UP)
    client.get(SET_UP)
    answer = client.post(SET_UP, {"code": "000000"})
    assert answer.status_code == 422
    assert "This code is wrong" in answer.content.decode()
    assert not has_second_factor(person)


def test_password_alone_lets_nobody_in(protected):
    person, secret, _ = protected
    client = Client()
    type_password(client, person)
    assert not is_signed_in(client)
    wrong = client.post(CODE_PAGE, {"code": "000000"})
    assert wrong.status_code == 422
    assert "This code is wrong" in wrong.content.decode()
    assert not is_signed_in(client)
    assert AuditEvent.objects.latest("pk").action == "account.second_factor.failed"
    assert client.post(CODE_PAGE, {"code": make_code(secret)})["Location"] == "/land/"
    assert is_signed_in(client)
    event = AuditEvent.objects.filter(action="account.signed_in").latest("pk")
    assert event.details == {"with": "password", "second_factor": True}


def test_link_does_not_get_round_it(protected):
    person, secret, _ = protected
    client = Client()
    link = create_sign_in_link(user=person, by=trail.SYSTEM)
    assert client.post(f"/sign-in/{link}/")["Location"] == CODE_PAGE
    assert not is_signed_in(client)
    client.post(CODE_PAGE, {"code": make_code(secret)})
    assert is_signed_in(client)
    assert AuditEvent.objects.filter(action="account.signed_in").latest("pk").details["with"] == "link"
    assert "old_password" not in client.get("/account/password/").content.decode()


def test_link_of_one_person_stands_for_no_password_of_another(protected, newcomer):
    set_password(user=newcomer, password=PASSWORD, by=newcomer)
    client = Client()
    client.post(f"/sign-in/{create_sign_in_link(user=protected[0], by=trail.SYSTEM)}/")
    assert client.get("/accounts/login/")["Location"] == CODE_PAGE
    assert client.post(CODE_PAGE, {"cancel": "yes", "code": ""})["Location"] == "/accounts/login/"
    client.post("/accounts/login/", {"login": "newcomer", "password": PASSWORD})
    assert "old_password" in client.get("/account/password/").content.decode()


def test_code_and_recovery_code_work_once(protected):
    person, secret, codes = protected
    code = make_code(secret)
    for given in (code, codes[0]):
        answers = []
        for _ in range(2):
            client = Client()
            type_password(client, person)
            answers.append(client.post(CODE_PAGE, {"code": given}).status_code)
        assert answers == [302, 422]


@pytest.mark.parametrize("steps", [-4, 4])
def test_code_of_some_minutes_ago_is_refused(protected, steps):
    person, secret, _ = protected
    client = Client()
    type_password(client, person)
    assert client.post(CODE_PAGE, {"code": make_code(secret, steps=steps)}).status_code == 422


def test_guessing_codes_ends_in_429(protected):
    client = Client()
    type_password(client, protected[0])
    statuses = [client.post(CODE_PAGE, {"code": f"{number:06}"}).status_code for number in range(6)]
    assert statuses == [422] * 5 + [429]


def test_code_page_without_a_password_before_leads_to_sign_in(client, db):
    assert client.get(CODE_PAGE)["Location"] == "/accounts/login/"


def test_secrets_are_sealed_in_the_database(protected):
    _, secret, codes = protected
    rows = str([*Authenticator.objects.values(), *AuditEvent.objects.values()])
    assert secret not in rows
    assert not any(code in rows for code in codes)
    session = Session.objects.latest("last_used_at")
    assert "mfa.totp.secret" not in str(session.session_data)


def test_secrets_are_sealed_again_with_a_new_key(protected, settings):
    person, secret, _ = protected
    settings.FIELD_KEYS = (FIELD_KEYS[1], FIELD_KEYS[0])
    call_command("key", "rotate", stdout=io.StringIO())
    settings.FIELD_KEYS = (FIELD_KEYS[1],)
    client = Client()
    type_password(client, person)
    assert client.post(CODE_PAGE, {"code": make_code(secret)}).status_code == 302


def test_lost_field_key_says_what_to_do(protected, settings):
    person, secret, _ = protected
    settings.FIELD_KEYS = (FIELD_KEYS[1],)
    client = Client()
    type_password(client, person)
    answer = client.post(CODE_PAGE, {"code": make_code(secret)})
    assert answer.status_code == 422
    assert "manage.py user remove-second-factor" in answer.content.decode()
    assert seal_second_factors_again(by=trail.SYSTEM) == (0, ["Rosalind"])
    with pytest.raises(CommandError, match="does not decrypt the second factor of Rosalind"):
        call_command("key", "rotate")


def test_whoever_runs_the_server_removes_a_lost_one(protected, client_of):
    person = protected[0]
    client = client_of(person)
    call_command("user", "remove-second-factor", "rosalind", stdout=io.StringIO())
    assert not Authenticator.objects.exists()
    assert not is_signed_in(client)
    event = AuditEvent.objects.filter(action="account.second_factor.removed").latest("pk")
    assert (event.actor_name, event.details) == ("system", {"username": "Rosalind"})
    assert Client().post("/accounts/login/", {"login": "Rosalind", "password": PASSWORD})["Location"] == "/land/"
    with pytest.raises(CommandError, match="has no second factor"):
        call_command("user", "remove-second-factor", "Rosalind")


def test_removing_it_needs_the_password_or_a_code_once_more(protected, client_of):
    person, secret, _ = protected
    client = client_of(person)
    remove = "/account/second-factor/remove/"
    assert client.post(remove).status_code == 302
    assert has_second_factor(person)
    page = f"/account/second-factor/confirm/?next={remove}"
    assert client.post(page, {"code": "000000"}).status_code == 422
    # What was asked for is done then.
    assert client.post(page, {"code": make_code(secret)})["Location"] == "/account/second-factor/"
    assert not Authenticator.objects.exists()
    assert AuditEvent.objects.filter(action="account.second_factor.removed").count() == 1


def test_new_recovery_codes_take_the_place_of_the_old(protected, client_of):
    person, _, old = protected
    client = client_of(person)
    confirm(client, "/account/second-factor/codes/new/")
    page = client.post("/account/second-factor/codes/new/", follow=True).content.decode()
    new = re.findall(r"<code>(\d{8})</code>", page)
    assert len(new) == 10
    assert not set(new) & set(old)


class TestRequired:
    """A site that requires a second factor of its owners."""

    @pytest.fixture
    def boss(self, person, settings):
        settings.REQUIRE_SECOND_FACTOR = "owners"
        person.is_superuser = True
        person.save()
        return person

    def test_owner_of_the_site_sees_nothing_before_it_is_set_up(self, boss, client_of):
        client = client_of(boss)
        for path in ("/", "/people/", "/models/", "/account/", "/account/password/", "/account/tokens/"):
            assert client.get(path)["Location"] == SET_UP
        token = client.post("/account/tokens/", {"name": "x", "days": "1"})
        assert token["Location"] == SET_UP
        confirm(client, SET_UP)
        set_up(client)
        assert client.get("/people/").status_code == 200

    def test_link_leads_to_setting_it_up_too(self, boss):
        client = Client()
        client.post(f"/sign-in/{create_sign_in_link(user=boss, by=trail.SYSTEM)}/")
        assert client.get("/")["Location"] == SET_UP

    def test_session_from_before_has_to_use_it(self, boss, client_of):
        first = client_of(boss)
        confirm(first, SET_UP)
        secret, _ = set_up(first)
        later = client_of(boss)  # as if it had begun without it
        asked = later.get("/people/")["Location"]
        assert asked.startswith("/account/second-factor/confirm/")
        assert later.post(asked, {"code": make_code(secret)})["Location"] == "/"
        assert later.get("/people/").status_code == 200

    def test_it_cannot_be_removed(self, boss, client_of):
        client = client_of(boss)
        confirm(client, SET_UP)
        set_up(client)
        answer = client.post("/account/second-factor/remove/")
        assert answer.status_code == 422
        assert "requires a second factor of its owners" in answer.content.decode()
        assert has_second_factor(boss)

    def test_nobody_else_needs_one(self, boss, newcomer, client_of):
        assert client_of(newcomer).get("/").status_code == 200

    def test_tokens_work_without(self, boss):
        assert find_token(create_token(user=boss, name="x", by=boss)[1]) is not None


def test_picture_is_the_code_of_the_address():
    drawn = draw_code("otpauth://totp/x?secret=ABC")
    size = drawn["size"]
    assert isinstance(size, int)
    assert str(drawn["path"]).startswith("M4 4h1v1h-1z"), "four light squares, then the dark corner"
    assert 21 + 8 <= size < 60
    assert draw_code("otpauth://totp/x?secret=ABD")["path"] != drawn["path"]


def test_what_is_no_address_leads_nowhere_and_fails_nothing(client_of, person):
    answer = client_of(person).post("/account/second-factor/confirm/", {"next": "https://[::ffff:127.0.0.1"})
    assert answer.status_code < 500
