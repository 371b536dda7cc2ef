import datetime

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.actions import create_token, create_user, revoke_token
from transcripts.accounts.models import ApiToken, SignInLink, User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

DAY = datetime.timedelta(days=1)


def test_new_user_has_no_password_and_leaves_an_event(owner):
    user = create_user(username=" ada ", by=owner)
    assert user.username == "ada"
    assert not user.has_usable_password()
    assert not user.is_superuser
    event = AuditEvent.objects.latest("pk")
    assert (event.action, event.actor_name, event.target) == (
        "account.user.created",
        "owner",
        f"accounts.user:{user.pk}",
    )


@pytest.mark.parametrize(
    ("username", "reason"),
    [
        ("", "needs a name"),
        ("   ", "needs a name"),
        ("OWNER", "already a user named OWNER"),
        ("ｏｗｎｅｒ", "already a user named owner"),
        ("zoë lead", "“zoë lead” cannot be used as a user name, because it contains a space. Use letters, digits"),
        ("a/b", "because it contains “/”"),
        ("x" * 151, "at most 150 characters; this one has 151"),
        ("nul\x00", "because it contains an invisible character"),
        ("system", "reserved for the program"),
        ("System", "reserved for the program"),
    ],
)
def test_name_that_cannot_be_used_is_refused_with_a_reason(owner, username, reason):
    with pytest.raises(Refused, match=reason):
        create_user(username=username, by=trail.SYSTEM)
    assert User.objects.count() == 1


def test_database_holds_one_user_per_name_whatever_its_case(owner):
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(username="Owner")


def test_only_the_program_or_an_owner_of_the_site_makes_another_one(owner):
    with pytest.raises(PermissionDenied):
        create_user(username="usurper", by=owner, is_owner_of_site=True)
    first = create_user(username="first", by=trail.SYSTEM, is_owner_of_site=True)
    second = create_user(username="second", by=first, is_owner_of_site=True)
    assert second.is_superuser
    assert AuditEvent.objects.latest("pk").details == {"username": "second", "site_owner": True}


def test_token_gets_a_name_when_none_is_given_and_refuses_too_long_a_one(owner):
    assert create_token(user=owner, name=" ", by=owner)[0].name == "token"
    with pytest.raises(Refused, match="up to 100 characters; this one has 101"):
        create_token(user=owner, name="x" * 101, by=owner)


def test_event_of_a_token_names_its_scopes(owner):
    create_token(user=owner, name="laptop", by=owner, scopes=["code", "read"])
    event = AuditEvent.objects.get(action="account.token.created")
    assert event.details["scopes"] == ["read", "code"]


def test_token_needs_a_scope_that_exists(owner):
    for scopes in ([], ["read", "everything"]):
        with pytest.raises(Refused, match="of these: read, code, manage, launch"):
            create_token(user=owner, name="laptop", by=owner, scopes=scopes)


@pytest.mark.parametrize("days", [0, -1, 366, 10**9])
def test_token_works_for_a_day_to_a_year(owner, days):
    with pytest.raises(Refused, match="1 to 365 days"):
        create_token(user=owner, name="laptop", by=owner, days=days)


def test_account_has_at_most_25_tokens_that_work(owner):
    tokens = [create_token(user=owner, name=f"token {number}", by=owner)[0] for number in range(25)]
    with pytest.raises(Refused, match="has 25 API tokens, which is the most"):
        create_token(user=owner, name="one more", by=owner)
    revoke_token(token=tokens[0], by=owner)
    ApiToken.objects.filter(pk=tokens[1].pk).update(
        created_at=timezone.now() - 2 * DAY, expires_at=timezone.now() - DAY
    )
    for name in ("for the revoked one", "for the expired one"):
        create_token(user=owner, name=name, by=owner)
    with pytest.raises(Refused, match="which is the most"):
        create_token(user=owner, name="one more", by=owner)


def test_secret_of_a_token_is_kept_nowhere(owner):
    token, secret = create_token(user=owner, name="laptop", by=owner)
    rows = [*ApiToken.objects.values(), *AuditEvent.objects.values()]
    assert not any(secret in str(row) for row in rows)
    assert token.last_four == secret[-4:]


def test_revoking_twice_leaves_one_event_and_the_first_time(owner):
    token = create_token(user=owner, name="laptop", by=owner)[0]
    revoke_token(token=token, by=owner)
    first = token.revoked_at
    revoke_token(token=token, by=owner)
    token.refresh_from_db()
    assert token.revoked_at == first
    assert AuditEvent.objects.filter(action="account.token.revoked").count() == 1


def test_database_refuses_a_token_revoked_before_it_was_made(owner):
    now = timezone.now()
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(
            user=owner,
            name="laptop",
            secret_hash="0" * 64,
            last_four="0000",
            created_at=now,
            expires_at=now + DAY,
            revoked_at=now - datetime.timedelta(seconds=1),
        )


def test_database_refuses_two_links_or_two_tokens_of_one_secret(owner):
    now = timezone.now()
    SignInLink.objects.create(user=owner, secret_hash="0" * 64, created_at=now, expires_at=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        SignInLink.objects.create(user=owner, secret_hash="0" * 64, created_at=now, expires_at=now)
    same = {"user": owner, "secret_hash": "0" * 64, "last_four": "0000", "created_at": now, "expires_at": now + DAY}
    ApiToken.objects.create(name="a", **same)
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(name="b", **same)
