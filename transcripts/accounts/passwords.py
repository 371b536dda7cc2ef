"""Passwords that are long and are guessed all the same: a word twice, a row of keys, a common one with a year."""

from __future__ import annotations

import re
from functools import cache

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

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
# The patterns take time by the square of the length, and a form may hold megabytes.
MOST_LOOKED_AT = 200
# What is left without digits and signs at both ends counts from these lengths.
SHORTEST_ROW, SHORTEST_WORD = 6, 4
# Words that somebody who attacks this program tries first (docs/security/controls.md).
OWN_WORDS = frozenset(
    {"auditapp", "transcript", "transcripts", "interview", "interviews", "codebook", "coding", "coder"}
)
SENTENCE = (
    "This password is a pattern that is guessed first: something repeated, a row of keys, or a common password with a few "
    "characters added. Use several words that nobody would expect together."
)


def is_pattern(password: str) -> bool:
    """Whether a password is a repetition, a row of keys or of the alphabet, or a common password in a frame."""
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
    """What a repetition repeats; any other word as it is."""
    repeated = REPEATED.fullmatch(word)
    return repeated[1] if repeated else word


@cache
def _read_common_passwords() -> frozenset[str]:
    return frozenset(CommonPasswordValidator().passwords) | OWN_WORDS


class PatternValidator:
    """Refuses patterns, in the form of Django's own validators."""

    def validate(self, password: str, user: object = None) -> None:
        """Raise ``ValidationError`` for a pattern."""
        if is_pattern(password):
            raise ValidationError(SENTENCE, code="password_is_pattern")

    def get_help_text(self) -> str:
        """What Django's forms say beside the field."""
        return "Your password can’t be a repetition, a row of keys, or a common password with a few characters added."
