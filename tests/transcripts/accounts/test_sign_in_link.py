import datetime

import pytest
from django.test import Client

from tests.transcripts.accounts.conftest import PASSWORD
from transcripts.accounts.actions import LinkRefused, create_sign_in_link, set_password, use_sign_in_link
from transcripts.accounts.models import SignInLink
from transcripts.accounts.queries import sign_in_address
from transcripts.audit_trail import trail
from transcripts.refusals import Refused


@pytest.fixture
def secret(newcomer):
    return create_sign_in_link(user=newcomer, by=trail.SYSTEM)


def grow_old(minutes):
    """Let every link be ``minutes`` older than it is."""
    for link in SignInLink.objects.all():
        link.expires_at -= datetime.timedelta(minutes=minutes)
        link.save()


def test_opening_a_link_offers_to_sign_in_and_spends_nothing(client, secret):
    for _ in range(2):
        page = client.get(f"/sign-in/{secret}/")
        assert page.status_code == 200
        assert "Sign in as newcomer" in page.content.decode()
        assert "no-store" in page["Cache-Control"]
    assert "_auth_user_id" not in client.session
    assert SignInLink.objects.get().used_at is None


def test_using_a_link_signs_its_person_in_once(client, newcomer, secret):
    assert client.post(f"/sign-in/{secret}/")["Location"] == "/land/"
    assert client.session["_auth_user_id"] == str(newcomer.pk)
    again = Client()
    for answer in (again.post(f"/sign-in/{secret}/"), again.get(f"/sign-in/{secret}/")):
        assert answer.status_code == 410
        assert "was used on" in answer.content.decode()
    assert "_auth_user_id" not in again.session


@pytest.mark.parametrize(("minutes", "status"), [(29, 200), (31, 410)])
def test_link_works_for_thirty_minutes(client, secret, minutes, status):
    grow_old(minutes)
    assert client.get(f"/sign-in/{secret}/").status_code == status
    assert client.post(f"/sign-in/{secret}/").status_code == (302 if status == 200 else 410)


@pytest.mark.parametrize("unknown", ["x", "%00", "é", "a" * 5000])
def test_unknown_link_is_gone(client, db, unknown):
    assert client.get(f"/sign-in/{unknown}/").status_code == 410
    assert client.post(f"/sign-in/{unknown}/").status_code == 410


def test_new_link_ends_the_one_before(newcomer, secret):
    newer = create_sign_in_link(user=newcomer, by=trail.SYSTEM)
    with pytest.raises(LinkRefused):
        use_sign_in_link(secret=secret)
    assert use_sign_in_link(secret=newer) == newcomer


def test_setting_a_password_ends_unused_links(newcomer, secret):
    set_password(user=newcomer, password=PASSWORD, by=newcomer)
    with pytest.raises(LinkRefused):
        use_sign_in_link(secret=secret)


def test_link_of_another_person_stays(person, secret):
    create_sign_in_link(user=person, by=trail.SYSTEM)
    assert use_sign_in_link(secret=secret).username == "newcomer"


def test_closed_account_gets_no_link_and_its_old_one_is_gone(newcomer, secret):
    newcomer.is_active = False
    newcomer.save()
    with pytest.raises(LinkRefused):
        use_sign_in_link(secret=secret)
    with pytest.raises(Refused, match="closed"):
        create_sign_in_link(user=newcomer, by=trail.SYSTEM)


def test_only_the_hash_of_a_secret_is_kept(secret):
    from transcripts.audit_trail.models import AuditEvent

    assert len(secret) >= 43
    rows = [*SignInLink.objects.values(), *AuditEvent.objects.values()]
    assert not any(secret in str(row) for row in rows)


def test_somebody_signed_in_is_told_that_she_will_not_be_any_more(client, person, secret):
    client.force_login(person)
    assert "you are now signed in as Rosalind" in client.get(f"/sign-in/{secret}/").content.decode()
    client.post(f"/sign-in/{secret}/")
    assert client.session["_auth_user_id"] != str(person.pk)


@pytest.mark.parametrize("header", ["host", "x-forwarded-host"])
def test_address_of_a_link_comes_from_base_url_and_never_from_the_request(client, secret, header):
    assert sign_in_address(secret) == f"http://127.0.0.1:8000/sign-in/{secret}/"
    answer = client.get("/accounts/login/", headers={header: "evil.example"})
    assert "evil.example" not in answer.content.decode()
    assert answer.status_code == (400 if header == "host" else 200)


def test_using_a_link_without_a_form_token_is_refused(secret):
    assert Client(enforce_csrf_checks=True).post(f"/sign-in/{secret}/").status_code == 403
    assert SignInLink.objects.get().used_at is None
