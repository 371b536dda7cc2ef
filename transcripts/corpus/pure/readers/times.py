"""When something was said, as the formats write it: ISO 8601, or seconds, milliseconds or nanoseconds since 1970."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable

from transcripts.corpus.pure.readers.base import ReadTurn

# What is larger counts thousandths, and what is larger than that thousandths of those.
_SECONDS, _MILLISECONDS = 1e11, 1e14


def read_time(given: object) -> str:
    """The time as ISO 8601, in UTC where the file counts from 1970; "" for what is no time."""
    if isinstance(given, bool) or given is None:
        return ""
    if isinstance(given, str):
        if not given.isdigit():
            return given[:40] if _is_iso(given) else ""
        given = int(given[:25])
    if not isinstance(given, int | float) or not given:
        return ""
    seconds = given if given < _SECONDS else given / 1e3 if given < _MILLISECONDS else given / 1e9
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ""


def read_day(given: object) -> str:
    """The day of a time, such as 2026-03-01; "" for what is no time."""
    return read_time(given)[:10]


def write_clock(seconds: float) -> str:
    """A time in a recording, such as 00:01:02.500."""
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}.{thousandths:03}"


def note_clock(turns: Iterable[ReadTurn], left_out: Counter[str]) -> None:
    """Count turns that are earlier, by their time, than the one before them that has one."""
    before: datetime.datetime | None = None
    for turn in turns:
        at = turn.details.get("at")
        now = datetime.datetime.fromisoformat(at) if isinstance(at, str) and _is_iso(at) else None
        if now is None:
            continue
        # Times without a zone cannot be compared with those that have one.
        if before is not None and (now.tzinfo is None) == (before.tzinfo is None) and now < before:
            left_out["By its time a turn is earlier than the one before it; the order of the file was kept."] += 1
        before = now


def _is_iso(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= len("2026-01-01")
