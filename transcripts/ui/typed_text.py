"""Typed text: how it is stored, or why it cannot be; and the numbers in addresses and forms."""

from __future__ import annotations

from collections.abc import Iterable

from transcripts.refusals import WrongInput

# No database column can hold a larger number, and SQLite fails on one instead of finding nothing.
MAX_ID = 2**63 - 1
# The most that a column of 32 bits holds and every provider accepts.
MAX_SEED = 2**31 - 1
# Characters: why something was done, in a few sentences; a note or a justification; a text of several pages.
MAX_REASON = 2_000
MAX_NOTE = 5_000
MAX_TEXT = 20_000


def find_number(text: str, *, most: int = MAX_ID) -> int | None:
    """The whole number that decimal digits in an address or a form name; ``None`` for anything else, and above ``most``."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most))):
        return None
    return number if (number := int(text)) <= most else None


def find_numbers(texts: Iterable[str]) -> list[int]:
    """The numbers among ``texts``, such as those of ticked boxes."""
    return [number for text in texts if (number := find_number(text)) is not None]


def clean_text(text: str) -> str:
    """The text as it is stored: with uniform line ends and no white space around it."""
    return text.replace("\r\n", "\n").strip()


def find_fault(text: str, *, max_length: int, needed: str = "") -> str:
    """Why a cleaned text cannot be stored, as a sentence for the person who typed it; "" where it can.

    ``max_length`` counts characters; ``needed`` is the sentence for an empty text, if the text may not be empty.
    """
    if not text:
        return needed
    if len(text) > max_length:
        return f"This text has {len(text):,} characters; the limit is {max_length:,}."
    if "\x00" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        return "This contains a character that cannot be stored, such as a null character. Remove it."
    return ""


def check_text(text: str, *, field: str, max_length: int, needed: str = "", one_line: bool = False) -> str:
    """The text as it is stored. Raises ``WrongInput`` if it does not fit, or with ``needed`` if it is empty."""
    text = " ".join(text.split()) if one_line else clean_text(text)
    if fault := find_fault(text, max_length=max_length, needed=needed):
        raise WrongInput(fault, field=field)
    return text


def check_reason(text: str, *, needed: str = "", one_line: bool = False) -> str:
    """A reason as it is stored. Raises ``WrongInput`` if it does not fit, or with ``needed`` if it is empty."""
    return check_text(text, field="reason", max_length=MAX_REASON, needed=needed, one_line=one_line)
