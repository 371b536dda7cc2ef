"""Who somebody is: by request, by secret, by name."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from transcripts.accounts.hashing import hash_secret
from transcripts.accounts.models import ApiToken, SignInLink, User


def person_of(request: HttpRequest) -> User:
    """The person behind a request to a page for signed-in people: LoginRequiredMiddleware let nobody else in."""
    return cast("User", request.user)


def open_links() -> QuerySet[SignInLink]:
    """The sign-in links that still work."""
    return SignInLink.objects.filter(used_at__isnull=True, expires_at__gt=timezone.now(), user__is_active=True)


def find_open_link(secret: str) -> SignInLink | None:
    """The link that ``secret`` opens, with its person, or ``None`` for one that is unknown, used or too old."""
    return open_links().select_related("user").filter(secret_hash=hash_secret(secret)).first()


def find_token(secret: str) -> ApiToken | None:
    """The API token of this secret, with its person, or ``None`` for one that is unknown or revoked. One query."""
    tokens = ApiToken.objects.select_related("user").filter(revoked_at__isnull=True, user__is_active=True)
    return tokens.filter(secret_hash=hash_secret(secret)).first()


def find_user(username: str) -> User | None:
    """The person of this name, whatever its case."""
    return User.objects.filter(username__iexact=User.normalize_username(username.strip())).first()


def list_people() -> list[User]:
    """Everybody with an account: owners of the site first, then by name."""
    return list(User.objects.order_by("-is_superuser", "username"))


def sign_in_address(secret: str) -> str:
    """The whole address of a sign-in link: built from BASE_URL, never from the host a request names."""
    return f"{settings.BASE_URL}{reverse('accounts:use_link', args=[secret])}"
