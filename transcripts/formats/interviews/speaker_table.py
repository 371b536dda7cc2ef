"""A conversation as a table: who speaks and what she says, one turn a row. One file is one interview.

    speaker,text                             speaker;text;time
    Interviewer,"How, then?"                 Interviewer;How, then?;2026-03-01T10:00:00
    Model,I weigh.                           Model;I weigh.;2026-03-01T10:00:09

Commas, semicolons or tabs part the columns, quotation marks hold a cell together. The columns for the speaker and the text
are found by their heads, in any order. A ``role`` beside the speaker (interviewer, model, system or tool) is who she is; a
``time`` is kept with its turn. Other columns are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from typing import Any

from transcripts.formats.codebook_rules import fold_heading
from transcripts.formats.interviews.base import ROLES, ReadFile, ReadInterview, ReadTurn, Source, list_left_out
from transcripts.formats.interviews.documents import find_heads
from transcripts.formats.interviews.speaker_text import assign_roles
from transcripts.formats.json_lines import shorten
from transcripts.formats.problems import ReadError
from transcripts.formats.text_input import CsvError, explain_error, explain_width, find_delimiter, read_csv

FORMAT = "speaker_table"

# Of tables of codings and sentences, such as those that are exported here: their rows are no turns.
_OTHER_TABLES = frozenset({"code", "code id", "coder", "sentence", "sentence id"})
_EXPECTED = "a first row with the columns speaker and text (commas, semicolons or tabs between them)"
_HEADING = re.compile(r"[^\W\d][\w/()-]{0,30}(?: [\w/()-]{1,30}){0,2}")


def is_speaker_table(text: str) -> bool:
    """Whether the first line is a head with a column for who speaks and one for what is said."""
    head = _read_head(text)
    columns = find_heads(head)
    is_other = any(fold_heading(heading) in _OTHER_TABLES for heading in head)
    return "text" in columns and ("speaker" in columns or "role" in columns) and not is_other


def find_unknown_columns(text: str) -> list[str]:
    """The heads of a table whose columns are not known, of a text that looks like a table."""
    lines = [line for line in text.lstrip("\ufeff").splitlines()[:4] if line.strip()]
    delimiter = find_delimiter(lines[0], rate=_rate) if lines else ","
    widths = {line.count(delimiter) for line in lines}
    is_table = len(lines) > 2 and len(widths) == 1 and widths != {0}
    head = _read_head(text) if is_table else []
    return head if all(map(_HEADING.fullmatch, head)) else []


def read_speaker_table(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    head = _read_head(source.text)
    columns = find_heads(head)
    if not is_speaker_table(source.text):
        found = f"the columns {', '.join(map(shorten, head[:10]))}" if len(head) > 1 else "no columns"
        raise ReadError(source.name, 1, found, _EXPECTED)
    left_out: Counter[str] = Counter()
    rows = []
    for line, row in _read_rows(source, len(head)):
        cells = {name: row[place] for name, place in columns.items()}
        for place, heading in enumerate(head):
            if place not in columns.values() and row[place].strip():
                left_out[f"The column {shorten(heading)} was left out."] += 1
        if cells["text"].strip():
            rows.append((line, cells))
        else:
            left_out["A row without text was left out."] += 1
    if not rows:
        raise ReadError(source.name, 2, "no row with text", "a row for each turn below the head")
    roles, warnings = _choose_roles(source, rows)
    turns = tuple(
        ReadTurn(roles[_name(cells)], "utterance", _name(cells), cells["text"], details=_read_time(cells))
        for _, cells in rows
    )
    interview = ReadInterview(source.stem[:200], source.stem[:300], turns, line=rows[0][0])
    return ReadFile(FORMAT, [interview], [*warnings, *list_left_out(left_out)], left_out)


def _read_head(text: str) -> list[str]:
    line = text.lstrip("\ufeff").split("\n", 1)[0].rstrip("\r")
    try:
        return next(read_csv([line], delimiter=find_delimiter(line, rate=_rate), strict=False), [])
    except CsvError:
        # A carriage return in the line, or a line that is longer than a cell may be.
        return []


def _rate(head: list[str]) -> tuple[int, int]:
    """How good the cells are as a head: how many of them are known, and how many there are."""
    return len(find_heads(head)), len(head)


def _read_rows(source: Source, width: int) -> Iterator[tuple[int, list[str]]]:
    """The rows below the head, each with the line it begins on."""
    delimiter = find_delimiter(source.text.split("\n", 1)[0], rate=_rate)
    # Line breaks inside cells stay as they are.
    reader = read_csv(StringIO(source.text, newline=""), delimiter=delimiter)
    line = 1
    try:
        for number, row in enumerate(reader):
            begins, line = line, reader.line_num + 1
            if number == 0 or not any(cell.strip() for cell in row):
                continue
            if len(row) != width:
                raise ReadError(source.name, begins, *explain_width(len(row), width))
            yield begins, row
    except CsvError as error:
        raise ReadError(source.name, line, *explain_error(error)) from error


def _name(cells: dict[str, str]) -> str:
    return (cells.get("speaker") or cells.get("role", "")).strip()


def _choose_roles(source: Source, rows: list[tuple[int, dict[str, str]]]) -> tuple[dict[str, str], list[str]]:
    """The role of each speaker: as its column says, or by the names."""
    given: dict[str, str] = {}
    for line, cells in rows:
        name = _name(cells)
        if not name:
            raise ReadError(source.name, line, "a row without a speaker", "who speaks in every row")
        role = cells.get("role", "").strip().casefold()
        if role in ROLES and given.setdefault(name, role) != role:
            raise ReadError(
                source.name, line, f"another role for {shorten(name)} than above", "one role for each speaker"
            )
    names = list(dict.fromkeys(_name(cells) for _, cells in rows))
    if all(name in given for name in names):
        return given, []
    assigned, warnings = assign_roles(names)
    return {**assigned, **given}, warnings


def _read_time(cells: dict[str, str]) -> dict[str, Any]:
    time = cells.get("time", "").strip()
    if not time:
        return {}
    try:
        return {"at": datetime.fromisoformat(time).isoformat()}
    except ValueError:
        return {"from": time[:100]}
