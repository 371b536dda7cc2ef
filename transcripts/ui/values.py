"""Values from files in words: times, truth values, lists and objects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.formats import date_format

TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
NOTHING = "–"


def write_time(text: str) -> str:
    """An ISO 8601 time to the second in the zone that it names, as "1 Mar 2026, 10:00:05 UTC"; "" for any other text."""
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
    """An object or list inside another, in brackets, so that its end is visible."""
    words = write_value(value)
    return f"({words})" if isinstance(value, (Mapping, list)) and value else words
