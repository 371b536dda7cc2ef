"""Labels of several coders as a CSV file: one judgement per row, in the columns coder, unit, code, value and, optionally, turn.

``value`` is 1 or 0, the code applied or not, or empty: not decided. A judgement without a row is not decided either. On a scale
it is a number. Other columns are ignored. A file is read completely or refused.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from transcripts.agreement.pure.measuring import LabelTable, Places, RatingTable
from transcripts.formats.problems import quote
from transcripts.formats.tabular import StrictTable
from transcripts.statistics.coefficients import Floats, Level

COLUMNS = ("coder", "unit", "code", "value")
TURN = "turn"
MAX_CODERS = 100
MAX_CELLS = 100_000_000
"""The greatest codes x coders x units of a table of labels; a table of numbers, which take more memory, may have an eighth."""
MAX_NUMBER = 1e12

NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


class _Names:
    """Names in order of appearance, each with a number."""

    def __init__(self, table: StrictTable, column: str) -> None:
        self._table, self._column = table, column
        self._cells: dict[str, int] = {}
        self.numbers: dict[str, int] = {}

    def number(self, cell: str, line: int) -> int:
        """The number of a cell's name, in whichever Unicode form it is written."""
        found = self._cells.get(cell)
        if found is None:
            name = unicodedata.normalize("NFC", cell).strip()
            if not name:
                raise self._table.refuse(line, f"nothing in the column {self._column}", "a name")
            found = self._cells[cell] = self.numbers.setdefault(name, len(self.numbers))
        return found

    def sort(self) -> tuple[tuple[str, ...], Places]:
        """The names in order, and for each number its place among them."""
        names = sorted(self.numbers)
        places = np.empty(len(names), dtype=np.intp)
        places[[self.numbers[name] for name in names]] = np.arange(len(names))
        return tuple(names), places


class _Rows:
    """The rows read so far, by columns; ``values`` are NaN for undecided units."""

    def __init__(self, table: StrictTable) -> None:
        self.table = table
        self.coders, self.units, self.codes, self.turns = (
            _Names(table, column) for column in ("coder", "unit", "code", TURN)
        )
        self.coder, self.unit, self.code = array("q"), array("q"), array("q")
        self.value, self.line = array("d"), array("q")
        self.turn_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.line)


def read_labels(
    lines: Iterable[bytes], level: Level | None = None, *, name: str
) -> tuple[LabelTable | RatingTable, bool]:
    """The table of a file, given line by line in bytes, and whether the file has a column of turns; ``name`` is the file's.

    Names are sorted, so that the order of the rows changes no figure.

    Without a level, values are 1 and 0. With one they are numbers and the table has ratings, except that on a nominal scale a
    file with only 1 and 0 is still a table of labels. Raises ``ReadError``.
    """
    table = StrictTable(lines, name=name, needed=COLUMNS)
    rows = _read_rows(table, _choose_reading(table, level))
    _check_whole(rows, level)
    has_turns = TURN in table.headings
    return _build_table(rows, level, has_turns=has_turns), has_turns


def _read_rows(table: StrictTable, read: Callable[[str, int], float]) -> _Rows:
    rows = _Rows(table)
    coder_at, unit_at, code_at, value_at = map(table.headings.index, COLUMNS)
    turn_at = table.headings.index(TURN) if TURN in table.headings else None
    values: dict[str, float] = {}
    for line, cells in table:
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
                raise table.refuse(line, f"another turn for the unit {quote(cells[unit_at])}", "one turn for each")
    return rows


def _choose_reading(table: StrictTable, level: Level | None) -> Callable[[str, int], float]:
    """The function that turns the text of a value into a number, NaN for "not decided", or refuses it."""

    def read(text: str, line: int) -> float:
        if not text:
            return math.nan
        value = float(text) if NUMBER.fullmatch(text) else math.nan
        if level is None and value not in (0, 1):
            expected = "1, 0 or nothing (for numbers on a scale name the level)"
        elif level is not None and not abs(value) <= MAX_NUMBER:
            expected = f"a number of at most {MAX_NUMBER:,.0f} with a decimal point, or nothing"
        elif level is Level.RATIO and value < 0:
            expected = "no number below 0 on a ratio scale"
        else:
            return value
        raise table.refuse(line, f"the value {quote(text)}", expected)

    return read


def _check_whole(rows: _Rows, level: Level | None) -> None:
    refuse = rows.table.refuse
    if not len(rows):
        raise refuse(None, "headings and no row", "at least one judgement below the headings")
    coders = len(rows.coders.numbers)
    if coders < 2:
        raise refuse(None, f"one coder, {quote(next(iter(rows.coders.numbers)))}", "two or more")
    if coders > MAX_CODERS:
        raise refuse(None, f"{coders:,} coders", f"at most {MAX_CODERS}")
    cells = coders * len(rows.units.numbers) * len(rows.codes.numbers)
    most = MAX_CELLS if level is None else MAX_CELLS // 8
    if cells > most:
        raise refuse(None, f"{cells:,} judgements that could be (codes x coders x units)", f"at most {most:,}")


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
    # One plane if all codes were decided together, on which measuring is fastest.
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
        raise rows.table.refuse(rows.line[int(second)], found, f"the value of line {rows.line[int(first)]}")


def _equal(here: Floats, there: Floats) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (here == there) | (np.isnan(here) & np.isnan(there))
    return same
