"""Browsers in which a person signed in before, known by a signed cookie.

Wrong passwords are counted apart for such a browser: else anybody could keep somebody out by typing wrong passwords for her name.
The cookie lets nobody in.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import get_random_string

from transcripts.accounts.models import User

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
