"""How attempts to sign in are counted: in the cache in the database, and apart for browsers in which a person signed in before.

Such a browser is known by a signed cookie, which lets nobody in. Were its wrong passwords counted with all others, anybody could
keep somebody out by typing wrong passwords for her name. Settings name the cache, so nothing here imports models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.cache.backends.db import DatabaseCache
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import get_random_string

if TYPE_CHECKING:
    from transcripts.accounts.models import User

COUNTS = "allauth:"
SALT = "known browser"
LIFE_SECONDS = 365 * 24 * 3600


def find_known_browser(request: HttpRequest, user: User | None) -> str:
    """What tells this browser from others in which ``user`` signed in before; empty for one in which she did not."""
    value = str(request.get_signed_cookie(_name_cookie(), default="", salt=SALT, max_age=LIFE_SECONDS))
    return value if user is not None and value.startswith(f"{user.pk}:") else ""


def remember_browser(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Mark this browser as one in which ``user`` signed in."""
    value = find_known_browser(request, user) or f"{user.pk}:{get_random_string(22)}"
    response.set_signed_cookie(
        _name_cookie(),
        value,
        salt=SALT,
        max_age=LIFE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _name_cookie() -> str:
    return "__Host-known" if settings.SESSION_COOKIE_SECURE else "known"


class CountingCache(DatabaseCache):
    """Says so where a count cannot be written, as on a full disk. Otherwise allauth would take the right password for one too
    many."""

    def add(self, key: str, *rest: Any, **more: Any) -> bool:
        """Store what is not there yet; whether it was not. Raises ``OperationalError``."""
        for _ in range(2):
            if super().add(key, *rest, **more):
                return True
            # A lock of allauth may have gone between the two.
            if not key.startswith(COUNTS) or self.has_key(key):
                return False
        raise OperationalError("Attempts to sign in cannot be counted, because the database takes no writes.")
