import time

import pytest

from tests.transcripts.accounts.conftest import PASSWORD
from transcripts.accounts.actions import create_sign_in_link, create_token
from transcripts.accounts.adapter import CAME_BY_LINK
from transcripts.accounts.models import Session
from transcripts.accounts.queries import find_token
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent

PAGE = "/account/password/"
NEW = "another four words by nobody"


def new_password(password=NEW, **more):
    return {"new_password1": password, "new_password2": password, **more}


def test_newcomer_sets_a_first_password_and_stays_signed_in(newcomer, client_of):
    client = client_of(newcomer)
    assert "old_password" not in client.get(PAGE).content.decode()
    assert client.post(PAGE, new_password())["Location"] == "/account/"
    newcomer.refresh_from_db()
    assert newcomer.check_password(NEW)
    assert client.get("/account/").status_code == 200
    assert AuditEvent.objects.latest("pk").action == "account.password.set"


def test_old_password_is_asked_for(person, client_of):
    client = client_of(person)
    assert "old_password" in client.get(PAGE).content.decode()
    for wrong in (new_password(), new_password(old_password="wrong")):
        assert client.post(PAGE, wrong).status_code == 422
    person.refresh_from_db()
    assert person.check_password(PASSWORD)
    assert client.post(PAGE, new_password(old_password=PASSWORD)).status_code == 302
    person.refresh_from_db()
    assert person.check_password(NEW)


def test_new_password_ends_every_other_session(person, client_of):
    here, elsewhere = client_of(person), client_of(person)
    here.post(PAGE, new_password(old_password=PASSWORD))
    assert here.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302


def test_new_password_ends_every_token_and_the_form_says_so(person, client_of):
    here = client_of(person)
    assert "API token" not in here.get(PAGE).content.decode()
    secrets = [create_token(user=person, name=name, by=person)[1] for name in ("laptop", "server")]
    assert "Your 2 API tokens end as well" in here.get(PAGE).content.decode()
    here.post(PAGE, new_password(old_password=PASSWORD))
    assert [find_token(secret) for secret in secrets] == [None, None]
    assert AuditEvent.objects.filter(action="account.token.revoked").count() == 2
    assert "API tokens ended" in here.get("/account/").content.decode()


def test_new_password_deletes_the_rows_of_other_sessions(person, client_of):
    here, _ = client_of(person), client_of(person)
    here.post(PAGE, new_password(old_password=PASSWORD))
    assert [row.pk for row in Session.objects.all()] == [here.session.session_key]


def test_who_forgot_the_password_sets_a_new_one_after_a_link(client, person):
    client.post(f"/sign-in/{create_sign_in_link(user=person, by=trail.SYSTEM)}/")
    assert "old_password" not in client.get(PAGE).content.decode()
    assert client.post(PAGE, new_password()).status_code == 302
    person.refresh_from_db()
    assert person.check_password(NEW)
    assert "old_password" in client.get(PAGE).content.decode(), "once is enough"


def test_link_of_long_ago_does_not_stand_for_the_old_password(client, person):
    client.post(f"/sign-in/{create_sign_in_link(user=person, by=trail.SYSTEM)}/")
    session = client.session
    session[CAME_BY_LINK] = [person.pk, time.time() - 31 * 60]
    session.save()
    assert "old_password" in client.get(PAGE).content.decode()


@pytest.mark.parametrize("weak", ["short", "password1234", "newcomer2026", "passwordpassword"])
def test_weak_password_is_refused_beside_its_field(newcomer, client_of, weak):
    answer = client_of(newcomer).post(PAGE, new_password(weak))
    assert answer.status_code == 422
    assert 'id="id_new_password2_error"' in answer.content.decode()
    newcomer.refresh_from_db()
    assert not newcomer.has_usable_password()


def test_guessing_the_old_password_ends_in_429(person, client_of):
    client = client_of(person)
    statuses = [client.post(PAGE, new_password(old_password=f"guess {n}")).status_code for n in range(6)]
    assert statuses == [422] * 5 + [429]


def test_password_page_needs_a_signed_in_person(client, db):
    assert client.get(PAGE)["Location"] == f"/accounts/login/?next={PAGE}"
