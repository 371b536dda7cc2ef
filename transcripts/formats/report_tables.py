"""The tables of a report, each declared once: for its page, and as CSV, JSON, Parquet and LaTeX.

A report is small, so its tables are written whole. pandas writes CSV and Parquet, and is loaded only while such a file is made.
Cells and types are those of exports (``transcripts.formats.tabular`` and ``parquet``), which are streamed.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from transcripts.formats.latex import write_plain_table
from transcripts.formats.numbers import write_estimate, write_number
from transcripts.formats.parquet import COMPRESSION, Field, fit_column, is_installed, make_schema
from transcripts.formats.tabular import escape_formula, show_cell, write_json

Source = TypeVar("Source")
"""What the rows of a table are read from: a report, or rows that a query found."""
TableRow = Mapping[str, Any]


def declare(kind: type, *names: str) -> list[Field]:
    """Columns of one kind, which is their type in Parquet whatever a report has in them; a list or a mapping is text, as JSON.
    Several names may be in one text, with blanks between."""
    return [Field(name, kind) for name in " ".join(names).split()]


def declare_each(names: Iterable[str], kinds: Mapping[type, str]) -> list[Field]:
    """Columns whose names mean the same in several tables: of the kind under which ``kinds`` has the name. Raises ``KeyError`` for
    a name under none."""
    known = {name: kind for kind, of_kind in kinds.items() for name in of_kind.split()}
    return [Field(name, known[name]) for name in names]


class Printed(NamedTuple):
    """A column as a page and LaTeX print it: its head, and how its cell is written, given the row."""

    head: str
    write: Callable[[TableRow], str]


@dataclass(frozen=True)
class ReportTable(Generic[Source]):
    """A table of a report.

    ``columns``: the headings of its files, with the kind of what is below each. ``read_rows`` gives what is in each row by these
    names, None (or nothing) where there is nothing to say. ``printed``: its columns on a page and in LaTeX; without, every column
    is printed, headed as ``heads`` says or by its name, and written as ``writers`` says or by ``print_cell``. ``alignment``: that
    of the printed columns, as in "lrr"; without, the first is to the left, others to the right. ``is_printed``: whether it makes a
    table on paper; one of a number in each row, or of sixty columns, does not.
    """

    name: str
    caption: str
    columns: Sequence[Field]
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

    @property
    def names(self) -> list[str]:
        """The headings of its files."""
        return [each.name for each in self.columns]

    def list_rows(self, source: Source) -> list[list[object]]:
        """The rows with their values as they are, in the order of ``columns``."""
        names = self.names
        return [[row.get(name) for name in names] for row in self.read_rows(source)]

    def list_heads(self) -> list[str]:
        """What the printed columns are called."""
        return [head for head, _ in self.printed] or [self.heads.get(name, name.capitalize()) for name in self.names]

    def print_rows(self, source: Source) -> list[list[str]]:
        """The rows as they are printed: numbers that are no counts with three decimals."""
        rows = self.read_rows(source)
        if self.printed:
            return [[write(row) for _, write in self.printed] for row in rows]
        writers = [(name, self.writers.get(name, print_cell)) for name in self.names]
        return [[write(row.get(name)) for name, write in writers] for row in rows]


def print_estimate(head: str, name: str, ends: str = "") -> Printed:
    """A column of a figure with its interval, whose ends are under ``name``, ``ends``, and "_low" or "_high"."""

    def write(row: TableRow) -> str:
        low, high = row[f"{name}{ends}_low"], row[f"{name}{ends}_high"]
        return write_estimate(row[name], None if low is None else (low, high))

    return Printed(head, write)


def name_ends(interval: Sequence[float] | None, name: str = "") -> dict[str, float | None]:
    """The ends of an interval by the names of their columns, ``name`` with "low" or "high" after it; None where there is none."""
    low, high = interval or (None, None)
    return {f"{name}low": low, f"{name}high": high}


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
        stream = io.StringIO(newline="")
        write_json(table.list_rows(source), header=table.names, stream=stream)
        return stream.getvalue().encode()
    import pandas

    values = table.list_rows(source)
    if format == "parquet":
        columns = {
            each.name: fit_column([row[place] for row in values], each.kind) for place, each in enumerate(table.columns)
        }
        # Of objects, so that a count with gaps stays one and nothing becomes NaN.
        typed = pandas.DataFrame(columns, dtype=object)
        written: bytes = typed.to_parquet(index=False, schema=make_schema(table.columns), compression=COMPRESSION)
        return written

    def show(value: object) -> str:
        if isinstance(value, str):
            return value if exact else escape_formula(value)
        return show_cell(value)

    frame = pandas.DataFrame(values, columns=table.names, dtype=object)
    return frame.map(show).rename(columns=show).to_csv(index=False, lineterminator="\r\n").encode()
