"""The codebook as a CSV file with one code per row, written and read back without loss; and tables that people made themselves.

A table needs only a column of names; ``codebook_rules`` says which headings are understood. A file is read completely or
refused; a refusal lists each problem with its row, what was found and what was expected, and the columns of the file.
"""

from __future__ import annotations

import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from transcripts.formats.codebook_rules import (
    MAX_NAME_LENGTH,
    RESERVED_KEYS,
    SINGLE_KEYS,
    STABLE_NAME,
    UNITS,
    UNSTORABLE,
    CodeAttribute,
    Finding,
    LocatedCode,
    check_attributes,
    check_color,
    check_identifier,
    check_key,
    check_keyword_rules,
    check_name,
    check_side,
    check_terms,
    check_text,
    check_unit,
    find_clashes,
    find_columns,
    read_attributes,
    say_columns,
)
from transcripts.formats.problems import FileRefused, InputRefused, Problem, quote, show_count
from transcripts.formats.tabular import TextSink, unescape_formula, write_csv
from transcripts.formats.text_input import (
    A_CSV_FILE,
    DELIMITERS,
    NO_NUL,
    CsvError,
    decode_text,
    explain_error,
    explain_width,
    find_delimiter,
    find_other_format,
    read_csv,
)

__all__ = [
    "COLUMNS",
    "RESERVED_KEYS",
    "SINGLE_KEYS",
    "UNITS",
    "CodeRow",
    "CodebookFileError",
    "CodebookTable",
    "read_codebook",
    "write_codebook",
]

COLUMNS = {
    "code_id": "Stable name of the code, such as theme.balance; unique, kept on renaming; made from the name where it is empty.",
    "family": "Stable name of the family the code belongs to, such as themes; or its name, where family_name is empty.",
    "family_name": "Name of the family as people read it; the same on all rows of a family.",
    "name": "Name of the code as people read it.",
    "definition": "What the code means, for people.",
    "machine_definition": "What the code means, for a machine annotator: when to answer yes and when no.",
    "include": "Cases that belong to the code.",
    "exclude": "Cases that do not, and the code they belong to instead.",
    "key": "The single key that applies the code at the desk: a-z or 0-9 but for those the desk uses; may be empty.",
    "group": "Heading of the code within its family; may be empty.",
    "unit": "What is coded: sentence, turn or interview; the same on all rows of a family.",
    "aliases": r"Further names, separated by a vertical bar (within a name: \|, a backslash \\), or a JSON list of names.",
    "source": "Where the code comes from, such as a section or table of a paper; may be empty.",
    "version": "Number of the codebook version the row was exported from; empty when there is none.",
    "parent": "The code_id, or the name, of the code of the same family that this one is a kind of; may be empty.",
    "color": "Colour as #rrggbb; may be empty.",
    "terms": "Words, or [kinds of question], by which the interviewer prompts the code; written as aliases are.",
    "attributes": "JSON list of the questions a coding answers: objects with key, label, kind, choices and required; may be empty.",
    "keyword_rules": "Rules by which the annotator of rules proposes the code; written as aliases are, a rule each.",
    "carries_level": "Whether codings of the family are semantic or latent: yes or no; the same on all rows of a family.",
    "carries_enactment": "Whether codings of the family need an enactment: yes or no; the same on all rows of a family.",
    "once_per_answer": "Whether a code is applied at most once per answer: yes or no; the same on all rows of a family.",
    "applies_to": "Whose turns the codes of the family are about: any, model or interviewer; the same on all rows of a family.",
    "description": "Definition with what is included and excluded, for programs that read one text (Taguette); not read here.",
}
FLAGS = ("carries_level", "carries_enactment", "once_per_answer")
FAMILY_RULES = (*FLAGS, "applies_to")
"""Rules of a family, stated in at least one of its rows; a rule that the file does not state stays as it is."""
# What other programs read from one column, with the headings of its parts.
DESCRIBED = {"definition": "", "include": "Include: ", "exclude": "Exclude: "}
# Written as the first two. True and false are as spreadsheets and the export of tables have them, in their languages.
YES_OR_NO: dict[str, bool | None] = {"yes": True, "no": False, "": None}
YES_OR_NO |= dict.fromkeys(
    ("true", "y", "1", "x", "ja", "wahr", "oui", "vrai", "waar", "sí", "si", "verdadero", "vero", "sim"), True
)
YES_OR_NO |= dict.fromkeys(("false", "n", "0", "nein", "falsch", "non", "faux", "nee", "onwaar", "falso", "não"), False)
LISTS = ("aliases", "terms", "keyword_rules")
FREE_TEXTS = ("definition", "machine_definition", "include", "exclude")
MAX_CELL_BYTES = 100_000

NAME_IN_LIST = re.compile(r"(?:\\[\\|]|[^|])+")


@dataclass(frozen=True, kw_only=True)
class CodeRow:
    """One code in the form of the file; aliases have no white space at their ends.

    Values that the file does not give are "", including ``code_id``, ``family``, ``family_name`` and ``unit``.
    """

    name: str
    code_id: str = ""
    family: str = ""
    family_name: str = ""
    definition: str = ""
    machine_definition: str = ""
    include: str = ""
    exclude: str = ""
    key: str = ""
    group: str = ""
    unit: str = ""
    aliases: tuple[str, ...] = ()
    source: str = ""
    version: int | None = None
    parent: str = ""
    color: str = ""
    terms: tuple[str, ...] = ()
    attributes: tuple[CodeAttribute, ...] = ()
    keyword_rules: tuple[str, ...] = ()
    carries_level: bool | None = None
    carries_enactment: bool | None = None
    once_per_answer: bool | None = None
    applies_to: str | None = None

    @property
    def description(self) -> str:
        """The meaning of the code as one text."""
        parts = ((heading, getattr(self, name)) for name, heading in DESCRIBED.items())
        return "\n\n".join(heading + text for heading, text in parts if text)


class CodebookTable(NamedTuple):
    """The codes of a file in the order of its rows, which of ``COLUMNS`` it has, and notes about how it was read."""

    codes: list[CodeRow]
    columns: frozenset[str]
    warnings: tuple[str, ...]


class CodebookFileError(FileRefused):
    """A codebook file of any format was refused, or a codebook cannot be written in the format.

    ``note`` says how the headings of a table were read.
    """

    def __init__(
        self, file: str, problems: Sequence[Problem], *, outcome: str = "nothing was imported", note: str = ""
    ) -> None:
        super().__init__(file, problems, outcome=outcome)
        self.note = note

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.note}" if self.note else super().__str__()


def write_codebook(codes: Iterable[CodeRow], stream: TextSink) -> int:
    """Write all columns of the codes in the order given, formula-like text escaped; returns their number."""
    rows = ([_show_cell(code, column) for column in COLUMNS] for code in codes)
    return write_csv(rows, header=list(COLUMNS), stream=stream)


def read_codebook(data: bytes, *, name: str) -> CodebookTable:
    """The codes of a table whose columns are separated by commas, semicolons, tabs or bars, in any order.

    ``name`` is the file's name, for messages. Empty rows are skipped. Raises ``CodebookFileError`` if anything is wrong; then
    no code is returned.
    """
    text, warning = _decode(data, name)
    table = _Table(text, name)
    problems = list(table.problems)
    codes: list[tuple[int, CodeRow]] = []
    wrong: list[str] = []
    for number, cells in table.rows:
        found = [Problem(number, *finding) for finding in _check_cells(cells)]
        problems += found
        if not found:
            codes.append((number, _build_code(cells)))
        elif cells.get("code_id"):
            wrong.append(cells["code_id"])
    if not table.rows and not problems:
        problems.append(Problem(0, "headings and no code", "at least one row below the headings"))
    problems += _find_clashes(codes, wrong)
    note = table.note
    if problems:
        raise CodebookFileError(name, sorted(problems, key=lambda problem: problem.row), note=note)
    warnings = [warning, *table.list_warnings([code for _, code in codes])]
    return CodebookTable([code for _, code in codes], table.columns, tuple(filter(None, warnings)))


def _show_cell(code: CodeRow, column: str) -> object:
    if column in LISTS:
        cell = " | ".join(re.sub(r"([\\|])", r"\\\1", name) for name in getattr(code, column))
        return "\\" + cell if cell.startswith("[") else cell
    if column in FLAGS:
        return next(word for word, value in YES_OR_NO.items() if value is getattr(code, column))
    if column == "applies_to":
        return code.applies_to or ""
    if column == "attributes":
        attributes = [attribute.as_json() for attribute in code.attributes]
        return json.dumps(attributes, ensure_ascii=False) if attributes else ""
    return getattr(code, column)


def _decode(data: bytes, file: str) -> tuple[str, str]:
    if kind := find_other_format(data):
        raise CodebookFileError(file, [Problem(0, kind, A_CSV_FILE)])
    try:
        text, warning = decode_text(data)
    except InputRefused as error:
        raise CodebookFileError(file, [error.problem]) from error
    if (nul := text.find("\0")) >= 0:
        line = text.count("\n", 0, nul) + 1
        raise CodebookFileError(file, [Problem(0, *NO_NUL, place=f"line {line}")])
    return text, warning


class _Table:
    """The rows of a table by the columns that its headings name, each with its number, and their problems.

    Raises ``CodebookFileError`` if nothing can be read.
    """

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.rows: list[tuple[int, dict[str, str]]] = []
        self._described: dict[int, str] = {}
        delimiter, text = _find_delimiter(text)
        records = self._split(text, delimiter)
        if not records:
            raise CodebookFileError(
                file, [Problem(0, "an empty file", "a heading “name” and the names of codes below")]
            )
        self.headings = [unescape_formula(cell).strip() for cell in records[0][1]]
        while self.headings and not self.headings[-1]:
            self.headings.pop()
        self.named = find_columns(self.headings, COLUMNS)
        self.columns = frozenset(filter(None, self.named))
        self._check_headings()
        if "name" in self.columns:
            for number, cells in records[1:]:
                self._read_row(number, cells)

    @property
    def note(self) -> str:
        """How the headings were read, if they are not those that we write."""
        return "" if self.named == self.headings else say_columns(self.headings, self.named)

    def list_warnings(self, codes: Sequence[CodeRow]) -> Iterator[str]:
        """Warnings about parts of the table that were not read."""
        unread = [
            quote(heading) for heading, column in zip(self.headings, self.named, strict=True) if heading and not column
        ]
        if unread:
            columns = "column" if len(unread) == 1 else "columns"
            yield f"Not read: the {columns} {', '.join(unread)}. Columns that are read: {', '.join(COLUMNS)}."
        differing = [
            row
            for (row, _), code in zip(self.rows, codes, strict=True)
            if (said := self._described.get(row, "").split()) and said != code.description.split()
        ]
        if differing and "definition" in self.columns:
            place = self.headings[self.named.index("description")]
            yield (
                f"Not read: the column {quote(place)}, because there is a column with definitions. The two differ in "
                f"{show_count(len(differing), 'row')}, first in row {differing[0]}."
            )

    def _split(self, text: str, delimiter: str) -> list[tuple[int, list[str]]]:
        records: list[tuple[int, list[str]]] = []
        number = 0
        try:
            for number, cells in enumerate(read_csv(io.StringIO(text, newline=""), delimiter=delimiter), 1):
                if any(cell.strip() for cell in cells):
                    records.append((number, cells))
        except CsvError as error:
            raise CodebookFileError(self.file, [Problem(number + 1, *explain_error(error))]) from error
        return records

    def _check_headings(self) -> None:
        if "name" not in self.columns:
            found = f"the columns {', '.join(map(quote, self.headings))}"
            expected = "a column with the names of the codes, headed “name” or “code”"
            self.problems.append(Problem(1, found, expected))
        for column in dict.fromkeys(filter(None, self.named)):
            same = [quote(heading) for heading, each in zip(self.headings, self.named, strict=True) if each == column]
            if len(same) > 1:
                expected = "one such column; delete or rename the other"
                self.problems.append(
                    Problem(1, f"the columns {' and '.join(same)}, each of which is “{column}”", expected)
                )

    def _read_row(self, number: int, cells: list[str]) -> None:
        """Spreadsheets leave out empty cells at the end of a row, or add some."""
        if any(cell.strip() for cell in cells[len(self.headings) :]):
            self.problems.append(Problem(number, *explain_width(len(cells), len(self.headings))))
            return
        cells = [*cells, *[""] * (len(self.headings) - len(cells))]
        values = {column: unescape_formula(cell) for column, cell in zip(self.named, cells, strict=False) if column}
        self._described[number] = values.pop("description", "")
        self.rows.append((number, _settle_names(values, self.headings, self.named)))


def _find_delimiter(text: str) -> tuple[str, str]:
    """The separator of the columns, and the text without the line in which spreadsheets name it."""
    if found := re.match(r"sep=(.)\r?\n", text, re.IGNORECASE):
        return found[1], text[found.end() :]

    def rate(headings: list[str]) -> tuple[int, int]:
        named = find_columns([unescape_formula(cell) for cell in headings], COLUMNS)
        return len(set(filter(None, named))), len(headings)

    return find_delimiter(text, among=f"{DELIMITERS}|", rate=rate), text


def _settle_names(values: dict[str, str], headings: Sequence[str], named: Sequence[str]) -> dict[str, str]:
    """Read a family as a name if the column has names; read a short code that cannot be an identifier as another name."""
    family = values.get("family", "").strip()
    if not values.get("family_name", "").strip() and family and not STABLE_NAME.fullmatch(family):
        values |= {"family": "", "family_name": family}
    code_id = values.get("code_id", "").strip()
    if code_id and not STABLE_NAME.fullmatch(code_id) and headings[named.index("code_id")].lower() != "code_id":
        others = values.get("aliases", "")
        spelled = re.sub(r"([\\|])", r"\\\1", code_id)
        values |= {"code_id": "", "aliases": f"{others} | {spelled}" if others else spelled}
    return values


def _check_cells(cells: dict[str, str]) -> Iterator[Finding]:
    for column, cell in cells.items():
        size = len(cell.encode())
        if column in FREE_TEXTS:
            yield from check_text(column, cell)
        elif size > MAX_CELL_BYTES:
            yield (f"{size:,} bytes in {column}", f"at most {MAX_CELL_BYTES:,}")
    for column in ("code_id", "family"):
        if cell := cells.get(column, ""):
            yield from check_identifier(column, cell)
    if len(family := cells.get("family_name", "")) > MAX_NAME_LENGTH:
        yield from check_name("family_name", family)
    yield from check_name("name", cells["name"])
    if unit := _read_word(cells, "unit"):
        yield from check_unit(unit)
    yield from check_key(cells.get("key", ""))
    yield from check_color(cells.get("color", ""))
    yield from check_terms(_read_names(cells.get("terms", "")))
    yield from check_keyword_rules(_read_names(cells.get("keyword_rules", "")))
    yield from _check_attributes(cells.get("attributes", ""))
    for column in FLAGS:
        if _read_word(cells, column) not in YES_OR_NO:
            yield (f"the {column} {quote(cells[column])}", "yes or no (true or false), or nothing")
    if side := _read_word(cells, "applies_to"):
        yield from check_side(side, _read_word(cells, "unit"))
    version = cells.get("version", "")
    if not re.fullmatch(r"[0-9]{0,9}", version):
        yield (f"the version {quote(version)}", "a whole number, or nothing")


def _read_word(cells: dict[str, str], column: str) -> str:
    return cells.get(column, "").strip().lower()


def _check_attributes(cell: str) -> Iterator[Finding]:
    try:
        attributes = json.loads(cell) if cell else []
    except (ValueError, RecursionError):
        yield ("attributes that are not JSON", "a JSON list of objects, or nothing")
    else:
        yield from check_attributes(attributes)


def _build_code(cells: dict[str, str]) -> CodeRow:
    values: dict[str, Any] = dict(cells)
    values["version"] = int(cells["version"]) if cells.get("version") else None
    values["color"] = cells.get("color", "").lower()
    values["unit"] = _read_word(cells, "unit")
    values |= {column: YES_OR_NO[_read_word(cells, column)] for column in FLAGS}
    values["applies_to"] = _read_word(cells, "applies_to") or None
    values["attributes"] = read_attributes(json.loads(cells.get("attributes") or "[]"))
    return CodeRow(**values | {column: _read_names(cells.get(column, "")) for column in LISTS})


def _read_names(cell: str) -> tuple[str, ...]:
    """Names separated by bars, or a list as in the tables of other exports; a bracket alone does not make a list."""
    try:
        names = json.loads(cell) if cell.startswith("[") else None
    except (ValueError, RecursionError):
        names = None
    if isinstance(names, list) and all(isinstance(name, str) and not UNSTORABLE.search(name) for name in names):
        return tuple(name.strip() for name in names if name.strip())
    parts = (part.strip() for part in NAME_IN_LIST.findall(cell))
    return tuple(re.sub(r"\\([\\|\[])", r"\1", part) for part in parts if part)


def fold_name(name: str) -> str:
    """A form that is the same for names which differ only in case or Unicode form."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def find_family(code: CodeRow) -> str:
    """The key that the codes of one family share in a file."""
    return fold_name(code.family or code.family_name)


def _find_clashes(codes: Sequence[tuple[int, CodeRow]], wrong: Sequence[str]) -> Iterator[Problem]:
    """Contradictions between rows, such as a family described in two ways.

    ``wrong`` are the identifiers of rows that have other problems.
    """
    yield from _find_repeated_names(codes)
    named = {(find_family(code), fold_name(code.name)): (row, code) for row, code in reversed(codes)}
    identifiers = {*(code.code_id for _, code in codes if code.code_id), *wrong}
    located = []
    for row, code in codes:
        above = named.get((find_family(code), fold_name(code.parent)))
        parent = code.parent if code.parent in identifiers or not above else _refer_to(above[1])
        is_first = named[find_family(code), fold_name(code.name)][0] == row
        reference = _refer_to(code) if is_first else f"{code.name} ({row})"
        located.append(LocatedCode(row, code.code_id or reference, code.family or code.family_name, code.key, parent))
    known = {*(code.identifier for code in located), *wrong}
    for number, (found, expected) in find_clashes(located, known=known, noun="row", what="code_id"):
        yield Problem(number, found, expected)
    families: dict[str, tuple[int, CodeRow]] = {}
    for row, code in codes:
        first_row, first = families.setdefault(find_family(code), (row, code))
        for column in ("family_name", "unit"):
            here, there = getattr(code, column), getattr(first, column)
            if here and not there:
                first = replace(first, **{column: here})
                families[find_family(code)] = first_row, first
            elif here and here != there:
                found = f"the {column} {quote(here)} in the family {quote(code.family or code.family_name)}"
                yield Problem(row, found, f"{quote(there)}, as in row {first_row}")
    for column in FAMILY_RULES:
        yield from _find_rule_clashes(column, codes)


def _refer_to(code: CodeRow) -> str:
    """The identifier, or else the name with its family; identifiers have no spaces."""
    family = code.family or code.family_name
    return code.code_id or (f"{code.name} ({family})" if family else f"{code.name} ")


def _find_repeated_names(codes: Sequence[tuple[int, CodeRow]]) -> Iterator[Problem]:
    """Names used twice in a family if nothing else distinguishes the codes."""
    seen: dict[tuple[str, str], int] = {}
    for row, code in codes:
        first = seen.setdefault((find_family(code), fold_name(code.name)), row)
        if first != row and not code.code_id:
            yield Problem(row, f"the name {quote(code.name)}, which row {first} has too", "each name once in a family")


def _find_rule_clashes(column: str, codes: Sequence[tuple[int, CodeRow]]) -> Iterator[Problem]:
    """Rows of a family that contradict each other about a rule."""
    said: dict[str, tuple[int, CodeRow]] = {}
    for row, code in codes:
        if getattr(code, column) is not None:
            first_row, first = said.setdefault(find_family(code), (row, code))
            if getattr(code, column) != getattr(first, column):
                family = code.family or code.family_name
                found = f"the {column} {quote(str(_show_cell(code, column)))} in the family {quote(family)}"
                yield Problem(row, found, f"{quote(str(_show_cell(first, column)))}, as in row {first_row}")
