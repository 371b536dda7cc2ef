"""The tables of a report, each declared once: for its page, and as CSV, JSON, Parquet and LaTeX.

A report is small, so its tables are written whole. pandas writes CSV and Parquet, and is loaded only while such a file is made.
Tables of a whole study are streamed instead (``transcripts.formats.tabular``); cells are written in the same way there.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from transcripts.formats.latex import write_plain_table
from transcripts.formats.numbers import write_estimate, write_number
from transcripts.formats.parquet import is_installed
from transcripts.formats.tabular import escape_formula, show_cell, write_json

if TYPE_CHECKING:
    from pandas import DataFrame

Source = TypeVar("Source")
"""What the rows of a table are read from: a report, or rows that a query found."""
TableRow = Mapping[str, Any]
NUMBERS = {int, float}


class Printed(NamedTuple):
    """A column as a page and LaTeX print it: its head, and how its cell is written, given the row."""

    head: str
    write: Callable[[TableRow], str]


@dataclass(frozen=True)
class ReportTable(Generic[Source]):
    """A table of a report.

    ``columns``: the headings of its files. ``read_rows`` gives what is in each row by these names, None (or nothing) where there
    is nothing to say. ``printed``: its columns on a page and in LaTeX; without, every column is printed, headed as ``heads`` says
    or by its name, and written as ``writers`` says or by ``print_cell``. ``alignment``: that of the printed columns, as in "lrr";
    without, the first is to the left, others to the right. ``is_printed``: whether it makes a table on paper; one of a number in
    each row, or of sixty columns, does not.
    """

    name: str
    caption: str
    columns: Sequence[str]
    read_rows: Callable[[Source], Iterable[TableRow]]
    heads: Mapping[str, str] = field(default_factory=dict)
    writers: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    printed: Sequence[Printed] = ()
    alignment: str = ""
    is_printed: bool = True

    @property
    def formats(self) -> list[str]:
        """In which formats its file can be written here: Parquet is among them where pyarrow is installed."""
        return ["csv", "json", *(["parquet"] if is_installed() else []), *(["tex"] if self.is_printed else [])]

    def list_rows(self, source: Source) -> list[list[object]]:
        """The rows with their values as they are, in the order of ``columns``."""
        return [[row.get(name) for name in self.columns] for row in self.read_rows(source)]

    def list_heads(self) -> list[str]:
        """What the printed columns are called."""
        return [head for head, _ in self.printed] or [self.heads.get(name, name.capitalize()) for name in self.columns]

    def print_rows(self, source: Source) -> list[list[str]]:
        """The rows as they are printed: numbers that are no counts with three decimals."""
        rows = self.read_rows(source)
        if self.printed:
            return [[write(row) for _, write in self.printed] for row in rows]
        writers = [(name, self.writers.get(name, print_cell)) for name in self.columns]
        return [[write(row.get(name)) for name, write in writers] for row in rows]


def print_estimate(head: str, name: str, ends: str = "") -> Printed:
    """A column of a figure with its interval, whose ends are under ``name``, ``ends``, and "_low" or "_high"."""

    def write(row: TableRow) -> str:
        low, high = row[f"{name}{ends}_low"], row[f"{name}{ends}_high"]
        return write_estimate(row[name], None if low is None else (low, high))

    return Printed(head, write)


def print_cell(value: object) -> str:
    """A cell of print: a number that is no count with three decimals, None as a dash."""
    return write_number(value, 3) if value is None or isinstance(value, float) else str(value)


def write_report_table(
    table: ReportTable[Source], source: Source, format: str, *, caption: str = "", label: str = "", exact: bool = False
) -> bytes:
    """A table as a file in one of its ``formats``.

    ``caption``: that of LaTeX where it says more than the table's own; ``label``: its label there. Cells of a CSV that a
    spreadsheet would run get an apostrophe unless ``exact``. Raises ``KeyError`` for another format.
    """
    if format not in table.formats:
        raise KeyError(format)
    if format == "tex":
        heads, rows = table.list_heads(), table.print_rows(source)
        return write_plain_table(
            heads, rows, caption=caption or table.caption, label=label or table.name, columns=table.alignment
        ).encode()
    if format == "json":
        stream = io.StringIO()
        write_json(table.list_rows(source), header=table.columns, stream=stream)
        return stream.getvalue().encode()
    frame = _make_frame(table, source)
    return _write_parquet(frame) if format == "parquet" else _write_csv(frame, exact=exact)


def _make_frame(table: ReportTable[Source], source: Source) -> DataFrame:
    """The rows as a frame that leaves every value as it is: a count with gaps stays one, and nothing becomes NaN."""
    import pandas

    return pandas.DataFrame(table.list_rows(source), columns=list(table.columns), dtype=object)


def _write_csv(frame: DataFrame, *, exact: bool) -> bytes:
    """RFC 4180, in UTF-8."""

    def show(value: object) -> str:
        text = value if isinstance(value, str) else show_cell(value)
        return escape_formula(text) if isinstance(value, str) and not exact else text

    return frame.map(show).rename(columns=show).to_csv(index=False, lineterminator="\r\n").encode()


def _write_parquet(frame: DataFrame) -> bytes:
    """Each column of one type: one whose values are of several kinds, or objects, is text."""
    for name in frame.columns:
        kinds = {type(value) for value in frame[name]} - {type(None)}
        # A number that is not finite is refused, as in CSV.
        for value in frame[name]:
            if isinstance(value, float):
                show_cell(value)
        if (len(kinds) > 1 and not kinds <= NUMBERS) or dict in kinds:
            frame[name] = [
                value if value is None or isinstance(value, str) else show_cell(value) for value in frame[name]
            ]
    written: bytes = frame.to_parquet(index=False)
    return written
