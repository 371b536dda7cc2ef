"""The tables of a report, each declared once: for its page, and as CSV, JSON, Parquet and LaTeX.

A report is small, so its tables are written whole. pandas writes CSV and Parquet, and is loaded only while such a file is made.
Cells and types are those of exports (``transcripts.formats.tabular`` and ``parquet``), which are streamed.

Write LaTeX tables. Words of models and of people are printed, never run.

Every character that LaTeX reads as more than itself is written as a command that prints it. A character that the usual
fonts lack is printed by its number, as U+4E2D, unless the engine and its font have it: nothing vanishes.

Tables as Parquet: the same rows as in CSV, each column of one type, in row groups.

pyarrow is an extra (``auditapp[parquet]``) and loaded only while such a file is written.
"""

from __future__ import annotations

import importlib.util
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from transcripts.formats.tabular import escape_formula, group_rows, show_cell, write_json
from transcripts.statistics.figures import write_estimate, write_number

Source = TypeVar("Source")
"""The source of the rows of a table: a report, or rows that a query found."""
TableRow = Mapping[str, Any]


def declare(kind: type, *names: str) -> list[Field]:
    """Columns of one kind, which is their type in Parquet regardless of the values in a report; a list or a mapping is text, as
    JSON. One text may contain several names, separated by blanks."""
    return [Field(name, kind) for name in " ".join(names).split()]


def declare_each(names: Iterable[str], kinds: Mapping[type, str]) -> list[Field]:
    """Columns whose names mean the same in several tables, by the ``kinds`` of names. Raises ``KeyError`` for one without a
    kind."""
    known = {name: kind for kind, of_kind in kinds.items() for name in of_kind.split()}
    return [Field(name, known[name]) for name in names]


class Printed(NamedTuple):
    """A column in print, on a page or in LaTeX: its heading, and the function that writes its cell, given the row."""

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
        """The formats in which its file can be written here, including Parquet if pyarrow is installed."""
        return ["csv", "json", *(["parquet"] if is_installed() else []), *(["tex"] if self.is_printed else [])]

    @property
    def names(self) -> list[str]:
        """The headings of its files."""
        return [each.name for each in self.columns]

    def list_rows(self, source: Source) -> list[list[object]]:
        """The rows with their unformatted values, in the order of ``columns``."""
        names = self.names
        return [[row.get(name) for name in names] for row in self.read_rows(source)]

    def list_heads(self) -> list[str]:
        """The headings of the printed columns."""
        return [head for head, _ in self.printed] or [self.heads.get(name, name.capitalize()) for name in self.names]

    def print_rows(self, source: Source) -> list[list[str]]:
        """The rows in print: numbers that are not counts have three decimals."""
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
    """The ends of an interval by the names of their columns, ``name`` with "low" or "high" added; None without an interval."""
    low, high = interval or (None, None)
    return {f"{name}low": low, f"{name}high": high}


def print_cell(value: object) -> str:
    """A printed cell: a number that is not a count has three decimals, None is a dash."""
    return write_number(value, 3) if value is None or isinstance(value, float) else str(value)


def write_report_table(
    table: ReportTable[Source], source: Source, format: str, *, caption: str = "", label: str = "", exact: bool = False
) -> bytes:
    """A table as a file in one of its ``formats``.

    ``caption``: that of LaTeX, if it says more than the table's own; ``label``: its label there. CSV cells that a spreadsheet
    would run as formulas get an apostrophe unless ``exact``. Raises ``KeyError`` for another format.
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
        # With dtype object, so that a count with gaps stays a count and nothing becomes NaN.
        typed = pandas.DataFrame(columns, dtype=object)
        written: bytes = typed.to_parquet(index=False, schema=make_schema(table.columns), compression=COMPRESSION)
        return written

    def show(value: object) -> str:
        if isinstance(value, str):
            return value if exact else escape_formula(value)
        return show_cell(value)

    frame = pandas.DataFrame(values, columns=table.names, dtype=object)
    return frame.map(show).rename(columns=show).to_csv(index=False, lineterminator="\r\n").encode()


DASH = "--"
# From white to a blue on which black still has a contrast of eight to one.
_LIGHT, _DARK = (255, 255, 255), (133, 178, 222)
MAX_VALUE_LENGTH = 60
"""The number of characters of a value that a table shows, because models sometimes answer with paragraphs."""

_COMMANDS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    # After the end of a row these two are arguments of the command that ends it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # Two of the same kind would become a different sign.
    "-": "-{}",
    "'": "'{}",
    ",": ",{}",
    "!": "!{}",
    "?": "?{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "…": r"\textellipsis{}",
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "−": "$-$",
    "\N{NO-BREAK SPACE}": " ",
}
# The letters that every engine prints with the encoding of our preamble.
_PRINTED = frozenset(chr(code) for code in range(0xC0, 0x100)) - {"×", "÷"}
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_TO_ESCAPE = re.compile(r"[^A-Za-z0-9 .:;/()+=@]")

PREAMBLE = "\n".join(
    [
        r"\usepackage{iftex}",
        r"\ifPDFTeX\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{textcomp}\fi",
        r"\usepackage{booktabs}",
        r"\usepackage{graphicx}",
        r"\usepackage[table]{xcolor}",
        r"\providecommand{\sobchar}[1]{\texttt{U+#1}}",
        r"\ifPDFTeX\else\renewcommand{\sobchar}[1]{\iffontchar\font" + '"#1 ' + r'\char"#1 \else\texttt{U+#1}\fi}\fi',
    ]
)
"""What the tables need; it loads under pdfLaTeX, XeLaTeX and LuaLaTeX."""


def escape_latex(text: str) -> str:
    """The text as LaTeX that prints it on one line; control and direction characters are dropped."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    return _TO_ESCAPE.sub(_escape_character, line)


def show_value(text: str, max_length: int = MAX_VALUE_LENGTH) -> str:
    """As ``escape_latex``, cut to the width of ``max_length`` characters. A character printed by its number counts as six."""
    line = " ".join(text.split())
    room = max_length
    for place, character in enumerate(line):
        room -= 6 if ord(character) > 0xFF and character not in _COMMANDS else 1
        if room < 0:
            return escape_latex(line[:place] + "…")
    return escape_latex(line)


def _escape_character(found: re.Match[str]) -> str:
    character = found[0]
    if character in _COMMANDS:
        return _COMMANDS[character]
    if character in _PRINTED:
        return character
    if unicodedata.category(character) in _DROPPED:
        return ""
    return rf"\sobchar{{{ord(character):04X}}}"


def shade(share: float) -> str:
    """A cell's colour: the share, 0 to 1, of the way from light to dark."""
    part = min(max(share, 0.0), 1.0)
    mixed = (round(light + (dark - light) * part) for light, dark in zip(_LIGHT, _DARK, strict=True))
    return r"\cellcolor[HTML]{" + "".join(f"{channel:02X}" for channel in mixed) + "}"


def span(columns: int, words: str, alignment: str = "c") -> str:
    """A cell over several columns; the words are LaTeX."""
    return rf"\multicolumn{{{columns}}}{{{alignment}}}{{{words}}}"


def write_table(
    columns: str, rows: Iterable[Sequence[str] | str], *, caption: str, label: str, fit: bool = True
) -> str:
    """A floating table with rules above and below; with ``fit`` it is scaled to the line.

    A row is its cells as LaTeX; text alone is a command between rows. ``caption`` is plain text.
    """
    body = [row if isinstance(row, str) else " & ".join(row) + r" \\" for row in rows]
    table = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
    if fit:
        table = [r"\resizebox{\linewidth}{!}{%", *table, "}"]
    head = [r"\begin{table}[p]", r"\centering", rf"\caption{{{escape_latex(caption)}}}", rf"\label{{tab:{label}}}"]
    return "\n".join([*head, *table, r"\end{table}"])


def write_plain_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, label: str, columns: str = ""
) -> str:
    """A file with one table of plain texts, with the commands that it needs as a comment above.

    ``columns`` says how each is aligned, such as "lrr"; without it the first is aligned left, the others right.
    """
    needs = "\n".join(f"% {line}" for line in PREAMBLE.splitlines())
    head = " & ".join(map(escape_latex, heads)) + r" \\ \midrule"
    body = [[escape_latex(cell) for cell in row] for row in rows]
    aligned = columns or "l" + "r" * (len(heads) - 1)
    table = write_table(aligned, [head, *body], caption=caption, label=label)
    return f"% Needs in the preamble:\n{needs}\n{table}\n"


# The number of rows in a row group, which are in memory together.
ROWS_OF_A_GROUP = 20_000
HOW_TO_GET_IT = "make parquet"
# Digits after the point of a decimal: money is in nanodollars.
SCALE = 9
COMPRESSION: Final = "zstd"


class ParquetNotInstalled(Exception):
    """pyarrow is not installed here."""

    def __init__(self) -> None:
        super().__init__(
            f"Parquet needs pyarrow, which is not installed here. Install it with: {HOW_TO_GET_IT}. CSV has the same rows."
        )


class Field(NamedTuple):
    """A column: its heading, the type of its cells (text if not known) and its meaning."""

    name: str
    kind: type = str
    meaning: str = ""


def is_installed() -> bool:
    """Whether Parquet can be written here."""
    return importlib.util.find_spec("pyarrow") is not None


def write_parquet(rows: Iterable[Sequence[object]], *, fields: Sequence[Field], path: Path) -> int:
    """Write rows to a file; returns how many. ``None`` is null, and text is never escaped.

    Raises ``ParquetNotInstalled``, what ``fit_column`` raises, and what pyarrow raises for a cell that is not of its column's type.
    """
    if not is_installed():
        raise ParquetNotInstalled
    import pyarrow as pa
    from pyarrow import parquet

    schema, count = make_schema(fields), 0
    with parquet.ParquetWriter(path, schema, compression=COMPRESSION) as writer:
        for batches in _fill_groups(rows, fields, schema):
            writer.write_table(pa.Table.from_batches(batches, schema), row_group_size=ROWS_OF_A_GROUP)
            count += sum(batch.num_rows for batch in batches)
    return count


def make_schema(fields: Sequence[Field]) -> Any:
    """The types of a file, as pyarrow has them."""
    import pyarrow as pa

    types = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        Decimal: pa.decimal128(38, SCALE),
        date: pa.date32(),
        datetime: pa.timestamp("us", tz="UTC"),
        str: pa.string(),
    }
    return pa.schema([pa.field(each.name, types[each.kind], metadata={"meaning": each.meaning}) for each in fields])


def _fill_groups(rows: Iterable[Sequence[object]], fields: Sequence[Field], schema: Any) -> Iterator[list[Any]]:
    """Collect batches of rows into a row group. As pyarrow's columns, they take a tenth of the memory of rows."""
    import pyarrow as pa

    batches: list[Any] = []
    for columns in group_rows(rows, len(fields)):
        arrays = [
            pa.array(fit_column(column, each.kind), field.type)
            for column, each, field in zip(columns, fields, schema, strict=True)
        ]
        batches.append(pa.record_batch(arrays, schema=schema))
        if sum(batch.num_rows for batch in batches) >= ROWS_OF_A_GROUP:
            yield batches
            batches = []
    if batches:
        yield batches


def fit_column(column: Sequence[object], kind: type) -> Sequence[object]:
    """The values of a column for pyarrow: as text in a text column, otherwise of the column's kind.

    Raises ``ValueError`` for a number that is not finite, as in CSV, and ``TypeError`` for a truth value in a column of numbers
    and for a fraction in a column of whole numbers: pyarrow would turn the former into 1.0 and truncate the latter.
    """
    if kind is str:
        return [value if value is None or isinstance(value, str) else show_cell(value) for value in column]
    if kind is int or kind is float:
        for value in column:
            if isinstance(value, float):
                show_cell(value)
            if isinstance(value, bool) or (kind is int and isinstance(value, float) and not value.is_integer()):
                raise TypeError(f"{value} is no {'whole ' if kind is int else ''}number.")
    return column
