"""Labels of several coders as a CSV file: one judgement a row, in the columns coder, unit, code, value and maybe turn.

``value`` is 1 or 0, the code applied or not, or empty: not decided. A judgement without a row is not decided either. On a
scale it is a number. Further columns are passed over. A file is taken whole or not at all.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from transcripts.agreement.pure.label_table import LabelTable, Places, RatingTable
from transcripts.formats.csv_input import CsvError, read_csv
from transcripts.formats.tabular import unescape_formula
from transcripts.statistics.alpha import Level
from transcripts.statistics.coefficients import Floats

COLUMNS = ("coder", "unit", "code", "value")
TURN = "turn"
MAX_CODERS = 100
MAX_CELLS = 100_000_000
"""Codes x coders x units of a table of labels; a table of numbers, which take more room, holds an eighth."""
MAX_NUMBER = 1e12
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}

NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


class LabelFileError(ValueError):
    """The file was refused. ``line`` is where, from 1; None where it is the whole file."""

    def __init__(self, line: int | None, found: str, expected: str) -> None:
        self.line = line
        place = "" if line is None else f"line {line}: "
        super().__init__(f"{place}found {found}; expected {expected}.")


class _Names:
    """Names in the order in which they came, each with a number."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._cells: dict[str, int] = {}
        self.numbers: dict[str, int] = {}

    def number(self, cell: str, line: int) -> int:
        """The number of a cell's name, in whichever Unicode form it is written; an apostrophe that our exports put before a
        formula is no part of it."""
        found = self._cells.get(cell)
        if found is None:
            name = unicodedata.normalize("NFC", unescape_formula(cell)).strip()
            if not name:
                raise LabelFileError(line, f"nothing in the column {self._column}", "a name")
            found = self._cells[cell] = self.numbers.setdefault(name, len(self.numbers))
        return found

    def sort(self) -> tuple[tuple[str, ...], Places]:
        """The names in order, and for each number its place among them."""
        names = sorted(self.numbers)
        places = np.empty(len(names), dtype=np.intp)
        places[[self.numbers[name] for name in names]] = np.arange(len(names))
        return tuple(names), places


class _Rows:
    """The rows read so far, by columns; ``values`` are NaN where nothing was decided."""

    def __init__(self) -> None:
        self.coders, self.units, self.codes, self.turns = map(_Names, ("coder", "unit", "code", TURN))
        self.coder, self.unit, self.code = array("q"), array("q"), array("q")
        self.value, self.line = array("d"), array("q")
        self.turn_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.line)


def read_labels(lines: Iterable[bytes], level: Level | None = None) -> tuple[LabelTable | RatingTable, bool]:
    """The table of a file, given line by line in bytes, and whether the file has a column of turns.

    Names are sorted, so that the order of the rows changes no figure.

    Without a level, values are 1 and 0. With one they are numbers and the table is of ratings; on a nominal scale
    a file that holds nothing but 1 and 0 is a table of labels all the same. Raises `LabelFileError`.
    """
    reader = read_csv(decode_lines(lines))
    try:
        places, width = _read_headings(reader)
        rows = _read_rows(reader, places, width, _choose_reading(level))
    except CsvError as error:
        raise LabelFileError(
            reader.line_num, f"something that is not CSV ({error})", "quotation marks in pairs and short cells"
        ) from error
    _check_whole(rows, level)
    has_turns = TURN in places
    return _build_table(rows, level, has_turns=has_turns), has_turns


def decode_lines(lines: Iterable[bytes]) -> Iterator[str]:
    """The lines of a file as text; raises `LabelFileError` for what is no UTF-8, or no text at all."""
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if number == 1 and content.startswith((b"\xff\xfe", b"\xfe\xff", b"PK\x03\x04")):
            raise LabelFileError(1, "text in UTF-16, or a workbook", "a CSV file in UTF-8")
        if b"\0" in content:
            raise LabelFileError(number, "a NUL character", "text without NUL")
        try:
            yield content.decode("utf-8")
        except UnicodeDecodeError as error:
            found = f"the byte 0x{content[error.start]:02X}, which is not UTF-8"
            raise LabelFileError(number, found, "a CSV file in UTF-8") from error


def find_separator(headings: Sequence[str]) -> str:
    """What parts the columns of a file that is read as one column, by its name; "" where it is none that is known."""
    if len(headings) != 1:
        return ""
    return next((name for sign, name in SEPARATORS.items() if sign in headings[0]), "")


def _read_headings(reader: Iterator[list[str]]) -> tuple[dict[str, int], int]:
    """The place of each column that is read, and how many columns there are."""
    headings = [unescape_formula(cell).strip() for cell in next(reader, [])]
    if not any(headings):
        raise LabelFileError(None, "an empty file", f"the headings {', '.join(COLUMNS)}")
    if parted := find_separator(headings):
        raise LabelFileError(1, f"columns separated by {parted}", "by commas")
    for column in (*COLUMNS, TURN):
        if headings.count(column) > 1:
            raise LabelFileError(1, f"the column {column} more than once", "it once")
        if column not in headings and column != TURN:
            raise LabelFileError(1, f"no column {column}", f"the columns {', '.join(COLUMNS)}, and {TURN} if known")
    return {column: headings.index(column) for column in (*COLUMNS, TURN) if column in headings}, len(headings)


def _read_rows(
    reader: Iterator[list[str]], places: dict[str, int], width: int, read: Callable[[str, int], float]
) -> _Rows:
    rows = _Rows()
    coder_at, unit_at, code_at, value_at = (places[column] for column in COLUMNS)
    turn_at = places.get(TURN)
    values: dict[str, float] = {}
    for cells in reader:
        line = reader.line_num  # type: ignore[attr-defined]
        if not any(cells):
            continue
        if len(cells) != width:
            raise LabelFileError(line, f"{len(cells)} cells", f"{width}, one under each heading")
        cell = cells[value_at]
        value = values.get(cell)
        if value is None:
            value = values[cell] = read(cell.strip(), line)
        unit = rows.units.number(cells[unit_at], line)
        rows.coder.append(rows.coders.number(cells[coder_at], line))
        rows.unit.append(unit)
        rows.code.append(rows.codes.number(cells[code_at], line))
        rows.value.append(value)
        rows.line.append(line)
        if turn_at is not None:
            turn = rows.turns.number(cells[turn_at], line)
            if rows.turn_of.setdefault(unit, turn) != turn:
                raise LabelFileError(
                    line, f"another turn for the unit {show_cell(cells[unit_at])}", "one turn for each"
                )
    return rows


def _choose_reading(level: Level | None) -> Callable[[str, int], float]:
    """What turns the text of a value into a number, NaN for "not decided", or refuses it."""

    def read(text: str, line: int) -> float:
        if not text:
            return math.nan
        value = float(text) if NUMBER.fullmatch(text) else math.nan
        if level is None:
            if value not in (0, 1):
                expected = "1, 0 or nothing (for numbers on a scale name the level)"
                raise LabelFileError(line, f"the value {show_cell(text)}", expected)
        elif not abs(value) <= MAX_NUMBER:
            expected = f"a number of at most {MAX_NUMBER:,.0f} with a decimal point, or nothing"
            raise LabelFileError(line, f"the value {show_cell(text)}", expected)
        elif level is Level.RATIO and value < 0:
            raise LabelFileError(line, f"the value {show_cell(text)}", "no number below 0 on a ratio scale")
        return value

    return read


def _check_whole(rows: _Rows, level: Level | None) -> None:
    if not len(rows):
        raise LabelFileError(None, "headings and no row", "at least one judgement below the headings")
    coders = len(rows.coders.numbers)
    if coders < 2:
        raise LabelFileError(None, f"one coder, {show_cell(next(iter(rows.coders.numbers)))}", "two or more")
    if coders > MAX_CODERS:
        raise LabelFileError(None, f"{coders:,} coders", f"at most {MAX_CODERS}")
    cells = coders * len(rows.units.numbers) * len(rows.codes.numbers)
    most = MAX_CELLS if level is None else MAX_CELLS // 8
    if cells > most:
        raise LabelFileError(None, f"{cells:,} judgements that could be (codes x coders x units)", f"at most {most:,}")


def _build_table(rows: _Rows, level: Level | None, *, has_turns: bool) -> LabelTable | RatingTable:
    coders, coder_places = rows.coders.sort()
    units, unit_places = rows.units.sort()
    codes, code_places = rows.codes.sort()
    shape = (len(codes), len(coders), len(units))
    values = np.frombuffer(rows.value, dtype=np.float64)
    at = np.ravel_multi_index(
        (
            code_places[np.frombuffer(rows.code, dtype=np.int64)],
            coder_places[np.frombuffer(rows.coder, dtype=np.int64)],
            unit_places[np.frombuffer(rows.unit, dtype=np.int64)],
        ),
        shape,
    )
    _refuse_contradictions(at, values, rows)
    clusters = np.arange(len(units))
    if has_turns:
        turn_places = rows.turns.sort()[1]
        clusters[unit_places[list(rows.turn_of)]] = turn_places[list(rows.turn_of.values())]
    given = ~np.isnan(values)
    if level is not None and not (level is Level.NOMINAL and np.isin(values[given], (0, 1)).all()):
        ratings: Floats = np.full(shape, np.nan)
        ratings.ravel()[at] = values
        return RatingTable(coders, codes, ratings, clusters)
    labels, decided = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    labels.ravel()[at] = values == 1
    decided.ravel()[at] = given
    # One plane where all codes were decided together: it is what measuring is quickest on.
    is_same = bool((decided == decided[0]).all())
    return LabelTable(coders, codes, labels, decided[0] if is_same else decided, clusters)


def _refuse_contradictions(at: Places, values: Floats, rows: _Rows) -> None:
    """The same judgement may occur twice, but not with another value."""
    order = np.argsort(at, kind="stable")
    here, there = order[1:], order[:-1]
    differing = (at[here] == at[there]) & ~_equal(values[here], values[there])
    if differing.any():
        second = here[differing].min()
        first = there[differing][here[differing].argmin()]
        found = "another value for the same coder, unit and code"
        raise LabelFileError(rows.line[int(second)], found, f"the value of line {rows.line[int(first)]}")


def _equal(here: Floats, there: Floats) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (here == there) | (np.isnan(here) & np.isnan(there))
    return same


def show_cell(text: str) -> str:
    """The content of a cell, short enough for a sentence."""
    line = "".join(sign if sign.isprintable() else " " for sign in text)
    return f"“{line[:37]}…”" if len(line) > 38 else f"“{line}”"
