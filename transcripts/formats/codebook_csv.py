"""The codebook as a CSV file: one code a row, written and read back without loss.

A file is taken whole or not at all; a refusal lists each problem with its row, what was found and what was
expected.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from transcripts.formats.tabular import TextSink, undefuse, write_csv

COLUMNS = {
    "code_id": "Stable name of the code, such as theme.balance; unique in the codebook, kept on renaming.",
    "family": "Stable name of the family the code belongs to, such as themes.",
    "family_name": "Name of the family as people read it; the same on all rows of a family.",
    "name": "Name of the code as people read it.",
    "definition": "What the code means, for people.",
    "machine_definition": "What the code means, for a machine annotator: when to answer yes and when no.",
    "include": "Cases that belong to the code.",
    "exclude": "Cases that do not, and the code they belong to instead.",
    "key": "The single key that applies the code at the desk: a-z or 0-9 but for m n x k l o; may be empty.",
    "group": "Heading under which the code stands within its family; may be empty.",
    "unit": "What is coded: sentence or turn; the same on all rows of a family.",
    "aliases": r"Further names, parted by a vertical bar (within a name: \|, a backslash \\), or a JSON list of names.",
    "source": "Where the code comes from, such as a section or table of a paper; may be empty.",
    "version": "Number of the codebook version the row was exported from; empty when there is none.",
}
UNITS = ("sentence", "turn")
# At the desk these stand for memo, new code, quote, keep, leave and open.
RESERVED_KEYS = frozenset("mnxklov")
SINGLE_KEYS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789") - RESERVED_KEYS
MAX_CELL_BYTES = 100_000
MAX_NAME_LENGTH = 200
MAX_PROBLEMS_LISTED = 20

STABLE_NAME = re.compile(r"\w[\w.:/-]{0,99}")
# JSON escapes can bring what UTF-8 and databases cannot hold.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
ALIAS = re.compile(r"(?:\\[\\|]|[^|])+")


@dataclass(frozen=True, kw_only=True)
class CodeRow:
    """One code as the file holds it; aliases carry no white space at their ends."""

    code_id: str
    family: str
    family_name: str
    name: str
    definition: str = ""
    machine_definition: str = ""
    include: str = ""
    exclude: str = ""
    key: str = ""
    group: str = ""
    unit: str = "sentence"
    aliases: tuple[str, ...] = ()
    source: str = ""
    version: int | None = None


class Problem(NamedTuple):
    """What is wrong in one place. Row 1 holds the headings, as in a spreadsheet; row 0 is the whole file."""

    row: int
    found: str
    expected: str

    def __str__(self) -> str:
        place = f"row {self.row}: " if self.row else ""
        return f"{place}found {self.found}; expected {self.expected}."


class CodebookFileError(ValueError):
    """The file was refused. ``problems`` holds the first 20; ``row``, ``found``, ``expected`` are the first one's."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.total = len(problems)
        self.problems = tuple(problems[:MAX_PROBLEMS_LISTED])
        self.row, self.found, self.expected = self.problems[0]
        count = "1 problem" if self.total == 1 else f"{self.total} problems"
        unlisted = self.total - len(self.problems)
        lines = [f"{file}: {count}, nothing was imported.", *map(str, self.problems)]
        super().__init__("\n".join([*lines, f"… and {unlisted} more."] if unlisted else lines))


class TableRow(NamedTuple):
    """The cells of one row by heading, with the row's number in the file."""

    number: int
    cells: dict[str, str]


class LocatedCode(NamedTuple):
    """A code and the row it was read from."""

    row: int
    code: CodeRow


def write_codebook(codes: Iterable[CodeRow], stream: TextSink) -> int:
    """Write the codes in the order given, formula-like text defused; returns their number."""
    rows = ([_show_cell(code, column) for column in COLUMNS] for code in codes)
    return write_csv(rows, header=list(COLUMNS), stream=stream)


def read_codebook(data: bytes, *, name: str) -> list[CodeRow]:
    """The codes of a file with the columns of ``COLUMNS`` in any order, in the order of its rows.

    ``name`` is the file's name, for messages. Rows whose cells are all empty are passed over. Raises
    ``CodebookFileError`` when anything is wrong: then no code is returned.
    """
    problems: list[Problem] = []
    rows = _read_rows(_decode(data, name), name, problems)
    codes: list[LocatedCode] = []
    for row in rows:
        found = list(_find_cell_problems(row))
        problems += found
        if not found:
            codes.append(LocatedCode(row.number, _build_code(row.cells)))
    if not rows and not problems:
        problems.append(Problem(0, "headings and no code", "at least one row below the headings"))
    problems += _find_clashes(codes)
    if problems:
        raise CodebookFileError(name, sorted(problems, key=lambda problem: problem.row))
    return [code for _, code in codes]


def _show_cell(code: CodeRow, column: str) -> object:
    if column == "aliases":
        cell = " | ".join(re.sub(r"([\\|])", r"\\\1", alias) for alias in code.aliases)
        return "\\" + cell if cell.startswith("[") else cell
    return getattr(code, column)


def _decode(data: bytes, file: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CodebookFileError(file, [Problem(0, "text in UTF-16", "a CSV file in UTF-8")])
    if data.startswith(b"PK\x03\x04"):
        raise CodebookFileError(file, [Problem(0, "a workbook or archive", "a CSV file in UTF-8")])
    nul = data.find(0)
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise CodebookFileError(file, [Problem(0, f"a NUL character in line {line}", "text without NUL")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{data[error.start]:02X} in line {line}, which is not UTF-8"
        raise CodebookFileError(file, [Problem(0, found, "a CSV file in UTF-8")]) from error


def _read_rows(text: str, file: str, problems: list[Problem]) -> list[TableRow]:
    """Rows that have a cell under each heading; the others go to ``problems``. Raises for unusable headings."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[TableRow] = []
    number = 0
    headings: list[str] = []
    try:
        for number, cells in enumerate(reader, 1):
            if number == 1:
                headings = _read_headings(cells, file)
            elif len(cells) == len(headings):
                if any(cells):
                    values = map(undefuse, cells)
                    rows.append(TableRow(number, dict(zip(headings, values, strict=True))))
            elif any(cells):
                expected = f"{len(headings)}, one under each heading"
                problems.append(Problem(number, _count(len(cells), "cell"), expected))
    except csv.Error as error:
        expected = f"quotation marks in pairs and cells of at most {MAX_CELL_BYTES:,} bytes"
        problem = Problem(number + 1, f"something that is not CSV ({error})", expected)
        raise CodebookFileError(file, [*problems, problem]) from error
    if not headings:
        raise CodebookFileError(file, [Problem(0, "an empty file", f"the headings {', '.join(COLUMNS)}")])
    return rows


def _read_headings(cells: Sequence[str], file: str) -> list[str]:
    for sign, sign_name in ((";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")):
        if len(cells) == 1 and sign in cells[0]:
            raise CodebookFileError(file, [Problem(1, f"columns parted by {sign_name}", "by commas")])
    headings = [undefuse(cell).strip() for cell in cells]
    problems = [Problem(1, f"no column {_show(column)}", "it") for column in COLUMNS if column not in headings]
    for heading in dict.fromkeys(headings):
        if heading not in COLUMNS:
            problems.append(Problem(1, f"the column {_show(heading)}", f"only {', '.join(COLUMNS)}"))
        elif headings.count(heading) > 1:
            problems.append(Problem(1, f"the column {_show(heading)} more than once", "it once"))
    if problems:
        raise CodebookFileError(file, problems)
    return headings


def _find_cell_problems(row: TableRow) -> Iterator[Problem]:
    cells = row.cells
    for column, cell in cells.items():
        size = len(cell.encode())
        if size > MAX_CELL_BYTES:
            yield Problem(row.number, f"{size:,} bytes in {column}", f"at most {MAX_CELL_BYTES:,}")
    for column in ("code_id", "family"):
        if not STABLE_NAME.fullmatch(cells[column]):
            expected = "up to 100 letters, digits and . : / _ - without spaces, a letter or digit first"
            yield Problem(row.number, f"the {column} {_show(cells[column])}", expected)
    for column in ("family_name", "name"):
        if not cells[column].strip():
            yield Problem(row.number, f"an empty {column}", "a name")
        elif len(cells[column]) > MAX_NAME_LENGTH:
            found = f"a {column} of {len(cells[column]):,} characters"
            yield Problem(row.number, found, f"at most {MAX_NAME_LENGTH}")
    if cells["unit"] not in UNITS:
        yield Problem(row.number, f"the unit {_show(cells['unit'])}", " or ".join(UNITS))
    if cells["key"] in RESERVED_KEYS:
        free = f"another key: the desk uses {' '.join(sorted(RESERVED_KEYS))} itself"
        yield Problem(row.number, f"the key {_show(cells['key'])}", free)
    elif cells["key"] and cells["key"] not in SINGLE_KEYS:
        yield Problem(row.number, f"the key {_show(cells['key'])}", "one of a-z (lower case) or 0-9, or nothing")
    if not re.fullmatch(r"[0-9]{0,9}", cells["version"]):
        yield Problem(row.number, f"the version {_show(cells['version'])}", "a whole number, or nothing")


def _build_code(cells: dict[str, str]) -> CodeRow:
    texts = {column: cell for column, cell in cells.items() if column not in {"aliases", "version"}}
    aliases = _read_aliases(cells["aliases"])
    return CodeRow(**texts, aliases=aliases, version=int(cells["version"]) if cells["version"] else None)


def _read_aliases(cell: str) -> tuple[str, ...]:
    """Names parted by bars, or a list as tables of other exports hold it; a bracket alone makes no list."""
    try:
        names = json.loads(cell) if cell.startswith("[") else None
    except (ValueError, RecursionError):
        names = None
    if isinstance(names, list) and all(isinstance(name, str) and not UNSTORABLE.search(name) for name in names):
        return tuple(name.strip() for name in names if name.strip())
    parts = (part.strip() for part in ALIAS.findall(cell))
    return tuple(re.sub(r"\\([\\|\[])", r"\1", part) for part in parts if part)


def _find_clashes(codes: Iterable[LocatedCode]) -> Iterator[Problem]:
    """Ids that are the same but for case or form, keys given twice, families described in two ways."""
    ids: dict[str, LocatedCode] = {}
    keys: dict[str, LocatedCode] = {}
    families: dict[str, LocatedCode] = {}
    for located in codes:
        row, code = located
        first = ids.setdefault(unicodedata.normalize("NFC", code.code_id).casefold(), located)
        if first.row != row:
            found = f"the code_id {_show(code.code_id)}, which row {first.row} has as {_show(first.code.code_id)}"
            yield Problem(row, found, "each code_id once, whatever its case")
        first = keys.setdefault(code.key, located) if code.key else located
        if first.row != row:
            yield Problem(row, f"the key {_show(code.key)}, which row {first.row} has too", "each key once")
        first = families.setdefault(code.family, located)
        for column in ("family_name", "unit"):
            here, there = getattr(code, column), getattr(first.code, column)
            if here != there:
                found = f"the {column} {_show(here)} in the family {_show(code.family)}"
                yield Problem(row, found, f"{_show(there)}, as in row {first.row}")


def _show(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line[:77]}…”" if len(line) > 78 else f"“{line}”"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
