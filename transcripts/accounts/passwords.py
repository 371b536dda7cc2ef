"""Passwords: patterns that are refused because attackers try them first, and the counting of sign-in attempts.

Even a long password can be easy to guess: a word twice, a row of keys, a common password with a year.

Attempts are counted in the cache in the database, separately for browsers in which the person signed in before. Such a browser is
recognised by a signed cookie, which does not sign anybody in. If its attempts were counted with all others, anybody could lock a
person out by typing wrong passwords for her name. The settings name this module's cache, so the module imports no models.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.cache.backends.db import DatabaseCache
from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import get_random_string

ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "1234567890",
    "qwertyuiopasdfghjklzxcvbnm",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
    "qwertzuiopasdfghjklyxcvbnm",
)
REPEATED = re.compile(r"(.+?)\1+", re.DOTALL)
FRAME = re.compile(r"^[\W\d_]+|[\W\d_]+$")
FEWEST_CHARACTERS = 5
# The time for the patterns grows with the square of the length, and a form may contain megabytes.
MOST_LOOKED_AT = 200
# The minimum lengths from which the core of a password, without digits and punctuation at both ends, is checked.
SHORTEST_ROW, SHORTEST_WORD = 6, 4
# Words that an attacker of this program would try first (docs/security/controls.md).
OWN_WORDS = frozenset(
    {"auditapp", "transcript", "transcripts", "interview", "interviews", "codebook", "coding", "coder"}
)
SENTENCE = (
    "This password follows a pattern that attackers try first: a repetition, a row of keys, or a common password with a few "
    "characters added. Use several words that nobody would expect together."
)


def is_pattern(password: str) -> bool:
    """Whether a password is a repetition, a row of keys or of the alphabet, or a common password with added characters."""
    word = password[:MOST_LOOKED_AT].lower()
    inside = FRAME.sub("", word)
    core = _reduce(inside)
    return (
        REPEATED.fullmatch(word) is not None
        or len(set(word)) < FEWEST_CHARACTERS
        or _is_row(word)
        or (len(inside) >= SHORTEST_ROW and _is_row(inside))
        or (len(core) >= SHORTEST_WORD and core in _read_common_passwords())
    )


def _is_row(word: str) -> bool:
    return any(word in row * 3 or word in row[::-1] * 3 for row in ROWS)


def _reduce(word: str) -> str:
    """The repeated part of a word that is a repetition; any other word unchanged."""
    repeated = REPEATED.fullmatch(word)
    return repeated[1] if repeated else word


@cache
def _read_common_passwords() -> frozenset[str]:
    return frozenset(CommonPasswordValidator().passwords) | OWN_WORDS


class PatternValidator:
    """A validator, as Django expects them, that refuses patterns."""

    def validate(self, password: str, user: object = None) -> None:
        """Raise ``ValidationError`` for a pattern."""
        if is_pattern(password):
            raise ValidationError(SENTENCE, code="password_is_pattern")

    def get_help_text(self) -> str:
        """The help text that Django's forms show next to the field."""
        return "Your password can’t be a repetition, a row of keys, or a common password with a few characters added."


if TYPE_CHECKING:
    from transcripts.accounts.models import User

COUNTS = "allauth:"
SALT = "known browser"
LIFE_SECONDS = 365 * 24 * 3600


def find_known_browser(request: HttpRequest, user: User | None) -> str:
    """The mark of a browser in which ``user`` signed in before; empty for another browser."""
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
    """Raises an error if a count cannot be written, for example on a full disk. Otherwise allauth would refuse the right password
    because of too many attempts."""

    def add(self, key: str, *rest: Any, **more: Any) -> bool:
        """Store a missing value; returns whether it was missing. Raises ``OperationalError``."""
        for _ in range(2):
            if super().add(key, *rest, **more):
                return True
            # A lock of allauth may have been removed between the two calls.
            if not key.startswith(COUNTS) or self.has_key(key):
                return False
        raise OperationalError("Attempts to sign in cannot be counted, because the database takes no writes.")
