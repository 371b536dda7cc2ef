"""What a JSON object says about an interview besides its turns: named fields, metadata, and when something was said."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from transcripts.formats.interviews.base import CONSENT_SCOPES, MAX_BASIS_LENGTH, ReadInterview, ReadTurn
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, shorten
from transcripts.formats.problems import ReadError

NAMED_DETAILS = {
    "title": "title",
    "model": "model_label",
    "model_label": "model_label",
    "vendor": "vendor",
    "surface": "surface",
    "period": "period",
    "date": "period",
    "interviewer": "interviewer",
    "tier": "tier",
    "inclusion": "inclusion",
    "inclusion_reason": "inclusion_reason",
    "opening_prompt": "opening_prompt",
    "language": "language",
}
"""Keys of a line and the field of `ReadInterview` that each fills. All are text; null and absence mean not known."""
# What is larger counts thousandths, and what is larger than that thousandths of those.
_SECONDS, _MILLISECONDS = 1e11, 1e14
_WARNINGS_SHOWN = 20


def read_details(line: JsonLine, *, name: str, apart: frozenset[str]) -> dict[str, Any]:
    """Fields of `ReadInterview`: what every key of the line says that is not in ``apart``, and its consent.

    Metadata that are no text are kept as JSON, null is left out.
    """
    number, content = line
    fields: dict[str, str] = {}
    metadata: dict[str, str] = {}
    for key, value in content.items():
        if key in apart or value is None:
            continue
        target = NAMED_DETAILS.get(key)
        if target is None:
            metadata[key] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        elif not isinstance(value, str):
            raise ReadError(name, number, f"{name_json_type(value)} as {shorten(key)}", "text or null")
        elif target in fields and fields[target] != value:
            raise ReadError(name, number, f"two different values for the {target.replace('_', ' ')}", "one")
        else:
            fields[target] = value
    scopes, basis = _read_consent(line, name=name)
    return {**fields, "metadata": metadata, "consent": scopes, "consent_basis": basis, "line": number}


def _read_consent(line: JsonLine, *, name: str) -> tuple[dict[str, bool], str]:
    """The line's "consent" by scope, and its basis. Refused unless it is exactly right: a consent must not be guessed."""
    number, content = line
    given = content.get("consent")
    if given is None:
        return {}, ""
    if not isinstance(given, dict):
        expected = f'an object such as {{"external": true, "basis": "…"}} with {", ".join(CONSENT_SCOPES)}'
        raise ReadError(name, number, f'{name_json_type(given)} as "consent"', expected)
    scopes = {key: value for key, value in given.items() if key != "basis" and value is not None}
    for key, value in scopes.items():
        if key not in CONSENT_SCOPES:
            raise ReadError(
                name, number, f'{shorten(key)} in "consent"', f"one of {', '.join(CONSENT_SCOPES)}, or basis"
            )
        if not isinstance(value, bool):
            raise ReadError(name, number, f'{name_json_type(value)} as {shorten(key)} in "consent"', "true or false")
    basis = given.get("basis")
    if basis is not None and not isinstance(basis, str):
        raise ReadError(name, number, f'{name_json_type(basis)} as the basis in "consent"', "text")
    if basis and len(basis) > MAX_BASIS_LENGTH:
        raise ReadError(name, number, f"a basis of {len(basis):,} characters", f"at most {MAX_BASIS_LENGTH:,}")
    return scopes, (basis or "").strip()


def read_id(content: JsonObject) -> str | None:
    """The id, a text or a whole number; None without a usable one."""
    value: Any = content.get("id")
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def leave_out_silent(interviews: Iterable[ReadInterview], left_out: Counter[str]) -> list[ReadInterview]:
    """Those in which something is said: an account's export also holds conversations that were only begun."""
    kept = []
    for interview in interviews:
        if any(turn.text.strip() for turn in interview.turns):
            kept.append(interview)
        else:
            left_out["A conversation without any messages was left out."] += 1
    return kept


def list_left_out(left_out: Counter[str]) -> list[str]:
    """Warnings on what was left out, the most frequent first, each with how often it happened."""
    warnings = [say_times(sentence, count) for sentence, count in left_out.most_common(_WARNINGS_SHOWN)]
    more = len(left_out) - _WARNINGS_SHOWN
    if more > 0:
        were = "was" if more == 1 else "were"
        warnings.append(f"{more:,} more kind{'s' if more > 1 else ''} of content {were} left out.")
    return warnings


def say_times(sentence: str, count: int) -> str:
    """A sentence with how often what it tells happened, unless once."""
    return sentence if count == 1 else f"{sentence} ({count:,} times)"


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
