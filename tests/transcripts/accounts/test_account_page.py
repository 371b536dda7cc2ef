from __future__ import annotations

import re
from collections.abc import Callable

from django.test import Client

from transcripts.accounts.actions import create_token
from transcripts.accounts.models import ApiToken, User
from transcripts.accounts.queries import find_token
from transcripts.audit_trail import trail


def secret_on(page: str) -> str:
    shown = re.search(r'<code class="secret">([^<]+)</code>', page)
    assert shown is not None
    return shown[1]


def test_account_page_says_who_one_is_and_whether_there_is_a_password(
    newcomer: User, client_of: Callable[[User], Client]
) -> None:
    page = client_of(newcomer).get("/account/").content.decode()
    assert "newcomer" in page
    assert "Set a password" in page


def test_token_is_shown_once_and_works(newcomer: User, client_of: Callable[[User], Client]) -> None:
    client = client_of(newcomer)
    answer = client.post("/account/tokens/", {"name": "nightly export"})
    assert "no-store" in answer["Cache-Control"]
    secret = secret_on(answer.content.decode())
    token = find_token(secret)
    assert token is not None
    assert (token.user, token.name) == (newcomer, "nightly export")
    later = client.get("/account/").content.decode()
    assert secret not in later
    assert f"…{secret[-4:]}" in later


def test_token_without_a_name_is_422_beside_the_field(newcomer: User, client_of: Callable[[User], Client]) -> None:
    for name in ("", "x" * 101):
        answer = client_of(newcomer).post("/account/tokens/", {"name": name})
        assert answer.status_code == 422
        assert 'id="id_name_error"' in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_revoked_token_works_no_more(newcomer: User, client_of: Callable[[User], Client]) -> None:
    token, secret = create_token(user=newcomer, name="laptop", by=newcomer)
    client = client_of(newcomer)
    assert client.post(f"/account/tokens/{token.pk}/revoke/").status_code == 302
    assert find_token(secret) is None
    assert "Revoked" in client.get("/account/").content.decode()


def test_nobody_revokes_another_persons_token(
    person: User, newcomer: User, client_of: Callable[[User], Client]
) -> None:
    token, secret = create_token(user=person, name="laptop", by=person)
    assert client_of(newcomer).post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    assert find_token(secret) == token
    assert "laptop" not in client_of(newcomer).get("/account/").content.decode()


def test_token_of_a_closed_account_works_no_more(newcomer: User) -> None:
    _, secret = create_token(user=newcomer, name="laptop", by=trail.SYSTEM)
    newcomer.is_active = False
    newcomer.save()
    assert find_token(secret) is None


def test_name_of_a_token_is_shown_as_text(newcomer: User, client_of: Callable[[User], Client]) -> None:
    create_token(user=newcomer, name="<script>alert(1)</script>", by=newcomer)
    assert "<script>alert" not in client_of(newcomer).get("/account/").content.decode()
