import re
from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.formats import date_format

from transcripts.accounts.actions import create_token, note_token_use
from transcripts.accounts.models import ApiToken
from transcripts.accounts.queries import find_token
from transcripts.audit_trail import trail


def secret_on(page):
    shown = re.search(r'<code class="secret">([^<]+)</code>', page)
    assert shown is not None
    return shown[1]


def test_account_page_says_who_one_is_and_whether_there_is_a_password(newcomer, client_of):
    page = client_of(newcomer).get("/account/").content.decode()
    assert "newcomer" in page
    assert "Set a password" in page


def test_token_is_shown_once_and_works(newcomer, client_of):
    client = client_of(newcomer)
    answer = client.post("/account/tokens/", {"name": "nightly export", "days": "90", "scopes": ["read", "launch"]})
    assert "no-store" in answer["Cache-Control"]
    secret = secret_on(answer.content.decode())
    token = find_token(secret)
    assert token is not None
    assert (token.user, token.name) == (newcomer, "nightly export")
    assert token.scopes == ["read", "launch"]
    later = client.get("/account/").content.decode()
    assert secret not in later
    assert f"…{secret[-4:]}" in later
    assert "read, launch" in later


@pytest.mark.parametrize("scopes", [[], ["everything"]])
def test_token_without_a_scope_is_422_beside_the_field(newcomer, client_of, scopes):
    answer = client_of(newcomer).post("/account/tokens/", {"name": "nightly", "days": "90", "scopes": scopes})
    assert answer.status_code == 422
    assert not newcomer.api_tokens.exists()


def test_token_without_a_name_is_422_beside_the_field(newcomer, client_of):
    for name in ("", "x" * 101):
        answer = client_of(newcomer).post("/account/tokens/", {"name": name, "days": "90", "scopes": "read"})
        assert answer.status_code == 422
        assert 'id="id_name_error"' in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_token_that_expires_never_or_after_a_year_is_422_beside_the_field(newcomer, client_of):
    for days in ("", "0", "366", "x"):
        answer = client_of(newcomer).post("/account/tokens/", {"name": "nightly", "days": days, "scopes": "read"})
        assert answer.status_code == 422
        assert 'id="id_days_error"' in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_26th_token_is_refused_with_what_to_do(newcomer, client_of):
    for number in range(25):
        create_token(user=newcomer, name=f"token {number}", by=newcomer)
    answer = client_of(newcomer).post("/account/tokens/", {"name": "one more", "days": "1", "scopes": "read"})
    assert answer.status_code == 422
    assert "Revoke one that is no longer used" in answer.content.decode()


def test_tokens_are_listed_with_their_end_and_last_use(newcomer, client_of):
    token = create_token(user=newcomer, name="laptop", by=newcomer, days=7)[0]
    client = client_of(newcomer)
    page = client.get("/account/").content.decode()
    assert date_format(timezone.localtime(token.expires_at), "j M Y") in page
    assert "never" in page
    note_token_use(token)
    assert "never" not in client.get("/account/").content.decode()
    ApiToken.objects.update(created_at=token.created_at - timedelta(days=9), expires_at=token.created_at)
    assert "Expired" in client.get("/account/").content.decode()


def test_token_of_a_number_that_no_database_has_is_not_found(newcomer, client_of):
    assert client_of(newcomer).post(f"/account/tokens/{10**30}/revoke/").status_code == 404


def test_revoked_token_works_no_more(newcomer, client_of):
    token, secret = create_token(user=newcomer, name="laptop", by=newcomer)
    client = client_of(newcomer)
    assert client.post(f"/account/tokens/{token.pk}/revoke/").status_code == 302
    assert find_token(secret) is None
    assert "Revoked" in client.get("/account/").content.decode()


def test_nobody_revokes_another_persons_token(person, newcomer, client_of):
    token, secret = create_token(user=person, name="laptop", by=person)
    assert client_of(newcomer).post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    assert find_token(secret) == token
    assert "laptop" not in client_of(newcomer).get("/account/").content.decode()


def test_token_of_a_closed_account_works_no_more(newcomer):
    _, secret = create_token(user=newcomer, name="laptop", by=trail.SYSTEM)
    newcomer.is_active = False
    newcomer.save()
    assert find_token(secret) is None


def test_name_of_a_token_is_shown_as_text(newcomer, client_of):
    create_token(user=newcomer, name="<script>alert(1)</script>", by=newcomer)
    assert "<script>alert" not in client_of(newcomer).get("/account/").content.decode()
