"""The one way to read CSV, with one limit for the length of a cell.

Python's limit is that of the process, and 131,072 characters unless set: a reader that raised it for its own files would change
what every other reader takes after it. So it is set here, once, and readers have limits of their own for what they store.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from typing import Any, Protocol

from transcripts.formats.problems import show_count

MAX_CELL_LENGTH = 16_000_000
"""Characters of a cell. A reasoning model's answer in a released table of results has up to millions."""

DELIMITERS = ",;\t"
A_CSV_FILE = "a CSV file (a spreadsheet saves one as “CSV UTF-8”)"
NO_NUL = "a NUL character", "text without NUL"
_LONGEST_HEAD = 1_000_000
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"PAR1": "a parquet file",
    b"\x1f\x8b": "a gzip file",
}

csv.field_size_limit(MAX_CELL_LENGTH)

CsvError = csv.Error


class CsvReader(Protocol):
    """The rows of a CSV as lists of cells; ``line_num`` counts the lines read so far."""

    @property
    def line_num(self) -> int: ...

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


def read_csv(lines: Iterable[str], *, delimiter: str = ",", strict: bool = True) -> CsvReader:
    """The rows of a CSV. ``lines`` keep their line ends, so that those inside quotation marks stay as they are; with ``strict``
    a quotation mark that does not enclose a cell is an error. Raises ``CsvError`` as rows are read."""
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def find_delimiter(text: str, *, among: str = DELIMITERS, rate: Callable[[list[str]], Any] = len) -> str:
    """The sign between the columns of ``text``: the one whose cells of the first row ``rate`` finds best, of several the first."""

    def rate_first_row(delimiter: str) -> Any:
        lines = StringIO(text[:_LONGEST_HEAD], newline="")
        try:
            return rate(next(read_csv(lines, delimiter=delimiter, strict=False), []))
        except CsvError:
            return rate([])

    return max(among, key=rate_first_row)


def find_other_format(start: bytes) -> str:
    """What a file is that begins so, where that is no text; "" where nothing is known against it."""
    return next((kind for sign, kind in _OTHER_FORMATS.items() if start.startswith(sign)), "")


def explain_width(cells: int, width: int) -> tuple[str, str]:
    """What was found and what is expected, where a row has not as many cells as there are headings."""
    if width == 1:
        expected = "one, as in the first line, or names of all columns there, separated by commas"
    else:
        expected = f"{width}, one under each heading (a cell that contains the separator needs quotation marks)"
    return show_count(cells, "cell"), expected


def explain_error(error: CsvError) -> tuple[str, str]:
    """What was found and what is expected, for the refusal of a file."""
    if "field limit" in str(error):
        return f"a cell of more than {MAX_CELL_LENGTH:,} characters", "smaller ones"
    if "new-line character" in str(error):
        return "a carriage return outside quotes", "rows that end with a line feed"
    expected = "a text with line breaks or quotation marks in quotation marks, those within doubled"
    if "expected after" in str(error):
        return "a quotation mark that does not end a cell", expected
    return f"something that is not CSV ({error})", expected
