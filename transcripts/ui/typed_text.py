"""What people type, as it is stored or why it cannot be, the numbers in addresses and forms, and values of files in words.

Times, truth values, lists and objects that a file contains are shown as people read them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.formats import date_format

from transcripts.refusals import WrongInput

# A number beyond this is in no database column, and SQLite falls over it instead of finding nothing.
MAX_ID = 2**63 - 1
# What a column of 32 bits holds, and every provider takes.
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
    """The text as it is stored: line ends alike, no white space around it."""
    return text.replace("\r\n", "\n").strip()


def find_fault(text: str, *, max_length: int, needed: str = "") -> str:
    """Why a cleaned text cannot be stored, as a sentence for the person who typed it; "" where it can.

    ``max_length`` counts characters; ``needed`` is what to say when the text is empty, if it may not be.
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


TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
NOTHING = "–"


def write_time(text: str) -> str:
    """An ISO 8601 time to the second in the zone that it names, as "1 Mar 2026, 10:00:05 UTC"; "" where it is none."""
    if not TIME.match(text):
        return ""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return ""
    offset = at.strftime("%z")
    zone = "" if not offset else " UTC" if offset == "+0000" else f" UTC{offset[:3]}:{offset[3:5]}"
    return f"{date_format(at, 'j M Y, H:i:s')}{zone}"


def write_value(value: Any) -> str:
    """A value of a file's JSON in words: "reward: 1, passed: yes". Texts that hold an object or a list are read first."""
    if isinstance(value, str):
        return write_time(value) or _write_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ({}, []):
        return NOTHING
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_hold_together(each)}" for key, each in value.items())
    if isinstance(value, Sequence):
        return ", ".join(_hold_together(each) for each in value)
    return str(value)


def _write_text(text: str) -> str:
    if text[:1] not in {"{", "["}:
        return text
    try:
        return write_value(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _hold_together(value: Any) -> str:
    """An object or list inside another in brackets, so that it can be told where it ends."""
    words = write_value(value)
    return f"({words})" if isinstance(value, (Mapping, list)) and value else words
