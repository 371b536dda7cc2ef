"""CSV, JSON Lines and JSON for every export: the same rows under the same headings in three forms.

Cells may be ``None``, text, whole numbers, decimals, truth values, dates, date-times with a time zone, UUIDs,
and lists or mappings of these (JSON text in a CSV). Only a thousand rows are held at a time.

CSV is RFC 4180 with CRLF line ends: open its stream with ``newline=""``. A spreadsheet runs a cell that looks like a formula;
``escape_formula`` puts an apostrophe before such text and ``unescape_formula`` removes exactly that apostrophe, so that our own
files are read back unchanged. No prefix helps if a program splits cells at characters other than commas. JSON is never escaped.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain, islice, repeat
from typing import Any, Protocol, cast
from uuid import UUID

from transcripts.formats.problems import ReadError
from transcripts.formats.text_input import (
    A_CSV_FILE,
    NO_NUL,
    CsvError,
    explain_error,
    explain_width,
    find_other_format,
    read_csv,
)

ROWS_AT_A_TIME = 1_000
MAX_CELL = 32_767
"""Characters that a spreadsheet keeps of a cell: it cuts the rest off without a word."""

FORMULA_SIGNS = "=+-@\t\r\n＝＋－＠"
QUOTED_SIGNS = '",\r\n'
# Spreadsheets skip white space, quotation marks and invisible characters before the sign of a formula.
FORMULA_LIKE = re.compile(rf"[\s'\"\u200b-\u200d\u2060\ufeff]*[{re.escape(FORMULA_SIGNS)}]")
NOTHING = type(None)


class TextSink(Protocol):
    """Anything text can be written to: a file opened with ``newline=""``, a ``StringIO``, a response."""

    def write(self, text: str, /) -> object: ...


class Groups:
    """Rows that are read and written in groups, each group column by column. Iteration yields rows."""

    def __init__(self, groups: Iterable[Sequence[Sequence[object]]]) -> None:
        self.groups = groups

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        for columns in self.groups:
            yield from zip(*columns, strict=True)


def group_rows(
    rows: Iterable[Sequence[object]], width: int, size: int = ROWS_AT_A_TIME
) -> Iterator[Sequence[Sequence[object]]]:
    """Rows as groups of columns, with ``size`` rows each unless they already are ``Groups``.

    Raises ``ValueError`` for a row that does not have ``width`` cells.
    """
    if isinstance(rows, Groups):
        yield from rows.groups
        return
    rows, done = iter(rows), 0
    while group := list(islice(rows, size)):
        if set(map(len, group)) != {width}:
            odd = next(number for number, row in enumerate(group) if len(row) != width)
            raise ValueError(f"Row {done + odd + 1} has {len(group[odd])} cells under {width} headings.")
        yield list(zip(*group, strict=True))
        done += len(group)


def escape_formula(value: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet could take it for a formula."""
    # Neither a sign of a formula, nor anything that spreadsheets skip before one, is a letter or a digit.
    return value if value[:1].isalnum() or not FORMULA_LIKE.match(value) else "'" + value


def unescape_formula(value: str) -> str:
    """The text that ``escape_formula`` was given: ``unescape_formula(escape_formula(x)) == x`` for every text."""
    return value[1:] if value.startswith("'") and FORMULA_LIKE.match(value, 1) else value


def write_csv(
    rows: Iterable[Sequence[object]],
    *,
    header: Sequence[str],
    stream: TextSink,
    escape_formulas: bool = True,
    note_long: Callable[[int], object] = lambda _cells: None,
) -> int:
    """Write headings and rows as CSV; returns the number of rows. ``None`` is an empty cell.

    ``note_long`` receives, from time to time, the number of further cells that are longer than ``MAX_CELL``.

    With ``escape_formulas``, text and headings that look like formulas get an apostrophe; numbers are left alone.
    Raises ``ValueError`` for a row that does not fit the headings, a number that is not finite or a date-time
    without a time zone, ``TypeError`` for a value of a kind that no column has.
    """
    signs = FORMULA_SIGNS + QUOTED_SIGNS if escape_formulas else QUOTED_SIGNS

    def show_text(value: str) -> str:
        return _quote(escape_formula(value) if escape_formulas else value)

    def show_column(column: Sequence[object]) -> Iterable[str]:
        return _show_csv_column(column, show_text, signs)

    count = 0
    stream.write(",".join(map(show_text, header)) + "\r\n")
    for table in _tables(rows, len(header), show_column):
        cells = list(table)
        lines = list(map(",".join, cells))
        if max(map(len, lines), default=0) > MAX_CELL:
            note_long(sum(_is_long(cell) for row in cells for cell in row))
        if len(header) == 1:  # a single empty cell would be an empty line, which readers skip
            lines = [line or '""' for line in lines]
        stream.write("\r\n".join(lines) + "\r\n")
        count += len(lines)
    return count


def write_jsonl(rows: Iterable[Sequence[object]], *, header: Sequence[str], stream: TextSink) -> int:
    """Write one JSON object a line, keys in the order of the headings; returns the number of rows.

    Raises as ``write_csv`` does.
    """
    count = 0
    for lines in _json_objects(rows, header):
        stream.write("\n".join(lines) + "\n")
        count += len(lines)
    return count


def write_json(rows: Iterable[Sequence[object]], *, header: Sequence[str], stream: TextSink) -> int:
    """Write one JSON array, one object a line; returns the number of rows. Raises as ``write_csv`` does."""
    count = 0
    stream.write("[")
    for lines in _json_objects(rows, header):
        stream.write(",\n" if count else "\n")
        stream.write(",\n".join(lines))
        count += len(lines)
    stream.write("\n]\n")
    return count


def _tables(
    rows: Iterable[Sequence[object]], width: int, show_column: Callable[[Sequence[object]], Iterable[str]]
) -> Iterator[zip[tuple[str, ...]]]:
    """Groups of finished rows, prepared column by column, because a column has few kinds and many repeated values."""
    for columns in group_rows(rows, width):
        yield zip(*map(show_column, columns), strict=True)


def _show_csv_column(column: Sequence[object], show_text: Callable[[str], str], signs: str) -> Iterable[str]:
    """Finished CSV cells. Text without any of ``signs`` needs neither quotation marks nor an apostrophe."""
    kinds = set(map(type, column))
    if kinds == {NOTHING}:
        return repeat("", len(column))
    known = kinds - {NOTHING}
    if len(known) == 1 and (show := _SHOW.get(*known)) is not None:
        return map(show, column) if known == kinds else ["" if value is None else show(value) for value in column]
    if known != {str}:
        return [show_text(value) if isinstance(value, str) else _show_csv_value(value) for value in column]
    texts = [value or "" for value in column] if NOTHING in kinds else column
    return _show_csv_texts(cast("Sequence[str]", texts), show_text, signs)


def _show_csv_texts(texts: Sequence[str], show_text: Callable[[str], str], signs: str) -> Iterable[str]:
    joined = "".join(texts)
    if not any(sign in joined for sign in signs):
        return texts
    shown = {text: show_text(text) for text in set(texts)}
    return map(shown.__getitem__, texts)


def show_cell(value: object) -> str:
    """The text of a cell that is not text, without quotation marks: numbers, times, truth values, lists as JSON."""
    if value is None:
        return ""
    return encode_json(value) if isinstance(value, (list, tuple, dict)) else _show_scalar(value)


def _show_csv_value(value: object) -> str:
    return _quote(show_cell(value))


def _quote(cell: str) -> str:
    if '"' in cell:
        return '"' + cell.replace('"', '""') + '"'
    if "," in cell or "\n" in cell or "\r" in cell:
        return '"' + cell + '"'
    return cell


def _is_long(cell: str) -> bool:
    """Whether a finished cell is longer than a spreadsheet keeps, not counting its quotation marks."""
    if len(cell) <= MAX_CELL:
        return False
    return len(cell[1:-1].replace('""', '"') if cell.startswith('"') else cell) > MAX_CELL


def _json_objects(rows: Iterable[Sequence[object]], header: Sequence[str]) -> Iterator[list[str]]:
    keys = (encode_json(heading).replace("%", "%%") + ":%s" for heading in header)
    template = "{" + ",".join(keys) + "}"
    for table in _tables(rows, len(header), _show_json_column):
        yield [template % row for row in table]


def _show_json_column(column: Sequence[object]) -> Iterable[str]:
    if not _SINGLE.issuperset(map(type, column)):
        return map(encode_json, column)
    # One call for the whole column: JSON escapes line feeds inside strings, so a bare one can part the cells.
    return _encode_lines(column)[1:-1].split("\n,")


def encode_json(value: object) -> str:
    """A value as JSON, with times, numbers and ids in the same form as in every table."""
    return _show_number(value) if isinstance(value, Decimal) else _ENCODER.encode(value)


def _show_scalar(value: object) -> str:
    show = _SHOW.get(type(value))
    if show is None:
        show = next((show for kind, show in _SHOW.items() if isinstance(value, kind)), None)
    if show is None:
        raise TypeError(f"A table cannot hold a {type(value).__name__}.")
    return show(value)


def _show_number(number: float | Decimal) -> str:
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number; write None where a figure is not defined.")
    return str(number)


def _show_moment(moment: datetime) -> str:
    """ISO 8601 in UTC, as in ``2024-11-05T09:30:00.250000Z``."""
    if moment.tzinfo is None:
        raise ValueError(f"The date-time {moment} has no time zone.")
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat()[:-6] + "Z"


def _show_truth(value: bool) -> str:
    return "true" if value else "false"


# In this order, because a truth value is an int and a date-time is a date.
_SHOW: dict[type, Callable[[Any], str]] = {
    bool: _show_truth,
    int: int.__repr__,
    float: _show_number,
    Decimal: _show_number,
    datetime: _show_moment,
    date: date.isoformat,
    UUID: str,
}
# Kinds whose whole column can be encoded at once; the encoder would turn a Decimal into a string.
_SINGLE = frozenset({str, NOTHING, *_SHOW} - {Decimal})
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_show_scalar)
_encode_lines = json.JSONEncoder(
    ensure_ascii=False, separators=("\n,", ":"), allow_nan=False, default=_show_scalar
).encode


SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
MAX_HEADINGS_LISTED = 50
_LINES_AT_A_TIME = 1_000
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEADING = re.compile(r"[\w.#?:/-]{1,40}")


class StrictTable:
    """The rows of a CSV in UTF-8 that is given line by line in bytes, under the headings of its first row.

    Iterate over it once: a row is the line on which it begins, and a cell for each heading. Empty rows are skipped. ``name`` is
    the file's, for errors. ``needed`` headings are required, others are optional; no heading occurs twice. Unless ``escaped``
    is false, the apostrophes that our exports put before apparent formulas are removed. ``separator`` is the sign between
    columns; unless ``quotes_strictly``, a quotation mark that does not enclose a cell is part of it.

    Raises ``ReadError``, in some cases only while rows are read.
    """

    def __init__(
        self,
        lines: Iterable[bytes],
        *,
        name: str,
        needed: Sequence[str] = (),
        escaped: bool = True,
        separator: str = ",",
        quotes_strictly: bool = True,
    ) -> None:
        self.name, self._escaped = name, escaped
        self._has_apostrophe = False
        self._reader = read_csv(self._decode(iter(lines)), delimiter=separator, strict=quotes_strictly)
        self._rows = self._read()
        line, cells = next(self._rows, (None, []))
        self.headings = [heading.strip() for heading in cells]
        if not any(self.headings):
            columns = f"the columns {', '.join(needed)}" if needed else "the names of the columns in the first line"
            raise self.refuse(None, "an empty file", columns)
        self._heading_line = line
        self._check_headings()
        for heading in needed:
            self.find(heading, f"the columns {', '.join(needed)}")

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return self._rows

    def read_objects(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The same rows, the cells by their headings."""
        return ((line, dict(zip(self.headings, cells, strict=True))) for line, cells in self)

    def find(self, heading: str, expected: str) -> int:
        """The position of the cells under a heading. Raises ``ReadError`` if there is no such heading."""
        if heading not in self.headings:
            found = f"no column {heading} (there are {list_headings(self.headings)})"
            raise self.refuse(self._heading_line, found, expected)
        return self.headings.index(heading)

    def refuse(self, line: int | None, found: str, expected: str) -> ReadError:
        """The error for a line, or for the whole file."""
        return ReadError(self.name, line, found, expected)

    def _check_headings(self) -> None:
        first = self.headings[0]
        if len(self.headings) == 1 and (sign := next((sign for sign in SEPARATORS if sign in first), "")):
            raise self.refuse(self._heading_line, f"columns separated by {SEPARATORS[sign]}", "by commas")
        counts = Counter(filter(None, self.headings))
        if twice := [heading for heading, count in counts.items() if count > 1]:
            found = f"the column {twice[0]}" if is_heading(twice[0]) else "a column"
            raise self.refuse(self._heading_line, f"{found} more than once", "it once")

    def _read(self) -> Iterator[tuple[int, list[str]]]:
        """The rows, the first of which are the headings."""
        reader, line, width = self._reader, 1, -1
        try:
            for cells in reader:
                # Almost every row has as many cells as there are headings, and content in the first.
                if len(cells) != width or not cells[0]:
                    if not any(cells):
                        line = reader.line_num + 1
                        continue
                    if width > 0 and len(cells) != width:
                        raise self.refuse(line, *explain_width(len(cells), width))
                    width = len(cells)
                has_apostrophe = self._has_apostrophe and "'" in "".join(cells)
                yield line, list(map(unescape_formula, cells)) if has_apostrophe else cells
                line = reader.line_num + 1
        except CsvError as error:
            raise self.refuse(line, *explain_error(error)) from None
        except UnicodeDecodeError as error:
            found = f"the byte 0x{error.object[error.start]:02X}, which is not UTF-8"
            raise self.refuse(reader.line_num + 1, found, "a file in UTF-8") from None

    def _decode(self, lines: Iterator[bytes]) -> Iterator[str]:
        """The lines as text. Many are decoded at once, which takes half of the time."""
        first = next(lines, b"").removeprefix(codecs.BOM_UTF8)
        kind = "text in UTF-16" if first.startswith(_UTF_16) else find_other_format(first)
        if kind:
            raise self.refuse(None, kind, A_CSV_FILE)
        lines, number = chain([first], lines), 1
        while batch := list(islice(lines, _LINES_AT_A_TIME)):
            joined = b"".join(batch)
            if b"\0" in joined:
                number += next(place for place, content in enumerate(batch) if b"\0" in content)
                raise self.refuse(number, *NO_NUL)
            self._has_apostrophe |= self._escaped and b"'" in joined
            yield from map(bytes.decode, batch)
            number += len(batch)


def is_heading(name: str) -> bool:
    """Whether it can be shown as a heading: longer text, or text with blanks, may be content of a file without headings."""
    return _HEADING.fullmatch(name) is not None


def list_headings(headings: Sequence[str]) -> str:
    """The headings that can be shown, and the number of others."""
    named = [heading for heading in headings if is_heading(heading)]
    more = [f"{len(named) - MAX_HEADINGS_LISTED} more"] if len(named) > MAX_HEADINGS_LISTED else []
    if hidden := len(headings) - len(named):
        more.append(f"{hidden} whose name is empty or reads like a text")
    return ", ".join([*named[:MAX_HEADINGS_LISTED], *more])
