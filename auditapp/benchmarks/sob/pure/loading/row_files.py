"""Read the bytes of a csv or JSON-lines file into rows, strictly.

Nothing of a row's content ever enters an error: the texts may be hateful.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sized
from dataclasses import dataclass

from transcripts.formats.json_lines import read_lines
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import StrictTable
from transcripts.formats.text_input import find_delimiter

MAX_ROWS = 500_000
MAX_COLUMNS = 1_000
_LONGEST_HEAD = 1_000_000
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number from 1 (the header not counted), the line it begins on, and its values by column."""

    number: int
    line: int
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Table:
    """``format`` is "csv", "jsonl" or "parquet"; ``columns`` are the header's, or the keys of all objects as first met."""

    format: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def is_json(data: bytes) -> bool:
    """Whether a file holds JSON, by its start."""
    return _JSON.match(data) is not None


def open_csv(data: bytes, *, file: str, has_literal_quotes: bool = False) -> StrictTable:
    """A csv with its header read, separated by comma, tab or semicolon. Raises ReadError.

    Lines end at a line feed; carriage returns and line feeds inside quotes are kept. With ``has_literal_quotes`` a quote that
    does not enclose a field is part of it; else it is broken csv.
    """
    head = data[:_LONGEST_HEAD].decode("utf-8", "ignore").lstrip("\ufeff\r\n")
    return StrictTable(
        io.BytesIO(data),
        name=file,
        escaped=False,
        separator=find_delimiter(head),
        quotes_strictly=not has_literal_quotes,
    )


def read_rows(data: bytes | StrictTable, *, file: str) -> Table:
    """The rows of a csv that is open, or of JSON lines. Raises ReadError."""
    headings = data.headings if isinstance(data, StrictTable) else []
    columns = dict.fromkeys(headings)
    rows: list[Row] = []
    _refuse_too_many(rows, columns, file)
    for line, values in data.read_objects() if isinstance(data, StrictTable) else read_lines(io.BytesIO(data), file):
        rows.append(Row(len(rows) + 1, line, values))
        if not headings:
            columns.update(dict.fromkeys(values))
        _refuse_too_many(rows, columns, file)
    if not rows:
        raise ReadError(file, None, "no rows", "at least one row after the header")
    return Table("csv" if headings else "jsonl", tuple(headings or columns), tuple(rows))


def _refuse_too_many(rows: Sized, columns: Sized, file: str) -> None:
    """A file that packs small may unpack to any number of rows."""
    if len(rows) > MAX_ROWS or len(columns) > MAX_COLUMNS:
        found = f"more than {MAX_ROWS:,} rows" if len(rows) > MAX_ROWS else f"more than {MAX_COLUMNS:,} columns"
        raise ReadError(file, None, found, "fewer; split the table, or remove what is not needed")
