"""What is done to accounts."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from transcripts.audit_trail import trail
from transcripts.accounts.models import ApiToken, SignInLink, User

SIGN_IN_LINK_LIFE = datetime.timedelta(minutes=30)


class AccountError(Exception):
    """A sentence for the person who asked."""


class LinkRefused(AccountError):
    """The sign-in link is unknown, used or too old."""


class NewToken(NamedTuple):
    """A token as made: the only time its secret is known."""

    token: ApiToken
    secret: str


def hash_secret(secret: str) -> str:
    """SHA-256 of a random secret of at least 256 bits (no salt is needed for those)."""
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def create_user(*, username: str, by: trail.Actor, is_owner_of_site: bool = False) -> User:
    """Make an account without a password; a sign-in link or a password set later lets its person in."""
    username = username.strip()
    if not username:
        raise AccountError("A user needs a name.")
    if User.objects.filter(username__iexact=username).exists():
        raise AccountError(f"There is already a user named {username}.")
    user = User(username=username, is_superuser=is_owner_of_site)
    user.set_unusable_password()
    user.full_clean(exclude=["password"])
    user.save()
    trail.record("account.user.created", target=user, by=by, details={"username": username})
    return user


@transaction.atomic
def create_sign_in_link(*, user: User, by: trail.Actor) -> str:
    """The secret of a link that signs ``user`` in once within thirty minutes."""
    secret = secrets.token_urlsafe(32)
    now = timezone.now()
    link = SignInLink.objects.create(
        user=user, secret_hash=hash_secret(secret), created_at=now, expires_at=now + SIGN_IN_LINK_LIFE
    )
    trail.record("account.sign_in_link.created", target=link, by=by, details={"username": user.username})
    return secret


@transaction.atomic
def use_sign_in_link(*, secret: str) -> User:
    """The person behind an unused link; the link is spent by this call. Raises ``LinkRefused``."""
    now = timezone.now()
    spent = SignInLink.objects.filter(
        secret_hash=hash_secret(secret), used_at__isnull=True, expires_at__gt=now, user__is_active=True
    ).update(used_at=now)
    if not spent:
        raise LinkRefused("This sign-in link was used already or is older than thirty minutes. Ask for a new one.")
    link = SignInLink.objects.select_related("user").get(secret_hash=hash_secret(secret))
    trail.record("account.sign_in_link.used", target=link, by=link.user)
    return link.user


@transaction.atomic
def create_token(*, user: User, name: str, by: trail.Actor) -> NewToken:
    """An API token for ``user``; its secret is in the answer and nowhere else."""
    secret = secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user, name=name.strip() or "token", secret_hash=hash_secret(secret), last_four=secret[-4:], created_at=timezone.now()
    )
    trail.record("account.token.created", target=token, by=by, details={"username": user.username, "name": token.name})
    return NewToken(token, secret)


@transaction.atomic
def revoke_token(*, token: ApiToken, by: trail.Actor) -> None:
    """End a token; requests with it are refused from now on."""
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        trail.record("account.token.revoked", target=token, by=by, details={"name": token.name})
