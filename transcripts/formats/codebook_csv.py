"""The codebook as a CSV file: one code a row, written and read back without loss.

A file is taken whole or not at all; a refusal lists each problem with its row, what was found and what was
expected.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from transcripts.formats.codebook_content import CodeAttribute
from transcripts.formats.codebook_rules import (
    MAX_TEXT_LENGTH,
    RESERVED_KEYS,
    SIDES,
    SINGLE_KEYS,
    UNITS,
    UNSTORABLE,
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
    read_attributes,
)
from transcripts.formats.csv_input import MAX_CELL_LENGTH, CsvError, is_cell_too_long, read_csv
from transcripts.formats.problems import FileRefused, Problem, quote, show_count
from transcripts.formats.tabular import TextSink, unescape_formula, write_csv

__all__ = [
    "COLUMNS",
    "OPTIONAL_COLUMNS",
    "RESERVED_KEYS",
    "SINGLE_KEYS",
    "UNITS",
    "CodeRow",
    "CodebookFileError",
    "read_codebook",
    "write_codebook",
]

COLUMNS = {
    "code_id": "Stable name of the code, such as theme.balance; unique in the codebook, kept on renaming.",
    "family": "Stable name of the family the code belongs to, such as themes.",
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
    "parent": "The code_id of the code of the same family that this one is a kind of; may be empty.",
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
"""Rules of a family, said in at least one of its rows; a file that leaves a column out or empty says nothing about it."""
OPTIONAL_COLUMNS = frozenset({"parent", "color", "terms", "attributes", "keyword_rules", "description", *FAMILY_RULES})
"""Columns that a file may leave out."""
# What other programs read from one column, with the headings of its parts.
DESCRIBED = {"definition": "", "include": "Include: ", "exclude": "Exclude: "}
# The last two as the export of tables writes them.
YES_OR_NO = {"yes": True, "no": False, "": None, "true": True, "false": False}
LISTS = ("aliases", "terms", "keyword_rules")
FREE_TEXTS = ("definition", "machine_definition", "include", "exclude")
MAX_CELL_BYTES = 100_000

NAME_IN_LIST = re.compile(r"(?:\\[\\|]|[^|])+")


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
        """What the code means as one text."""
        parts = ((heading, getattr(self, name)) for name, heading in DESCRIBED.items())
        return "\n\n".join(heading + text for heading, text in parts if text)


class CodebookFileError(FileRefused):
    """A file of a codebook, of whatever form, was refused; or a codebook has no place in such a file."""


def write_codebook(codes: Iterable[CodeRow], stream: TextSink) -> int:
    """Write all columns of the codes in the order given, formula-like text escaped; returns their number."""
    rows = ([_show_cell(code, column) for column in COLUMNS] for code in codes)
    return write_csv(rows, header=list(COLUMNS), stream=stream)


def read_codebook(data: bytes, *, name: str) -> list[CodeRow]:
    """The codes of a file with the columns of ``COLUMNS`` in any order, in the order of its rows.

    ``name`` is the file's name, for messages. Rows whose cells are all empty are passed over. Raises
    ``CodebookFileError`` when anything is wrong: then no code is returned.
    """
    problems: list[Problem] = []
    rows = _read_rows(_decode(data, name), name, problems)
    codes: list[tuple[int, CodeRow]] = []
    for number, cells in rows:
        found = [Problem(number, *finding) for finding in _check_cells(cells)]
        problems += found
        if not found:
            codes.append((number, _build_code(cells)))
    if not rows and not problems:
        problems.append(Problem(0, "headings and no code", "at least one row below the headings"))
    problems += _find_clashes(codes, known={cells["code_id"] for _, cells in rows})
    if problems:
        raise CodebookFileError(name, sorted(problems, key=lambda problem: problem.row))
    return [code for _, code in codes]


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


def _read_rows(text: str, file: str, problems: list[Problem]) -> list[tuple[int, dict[str, str]]]:
    """The number and the cells of rows that have a cell under each heading; the others go to ``problems``.

    Raises for unusable headings.
    """
    reader = read_csv(io.StringIO(text, newline=""))
    rows: list[tuple[int, dict[str, str]]] = []
    number = 0
    headings: list[str] = []
    try:
        for number, cells in enumerate(reader, 1):
            if number == 1:
                headings = _read_headings(cells, file)
            elif len(cells) == len(headings):
                if any(cells):
                    values = map(unescape_formula, cells)
                    rows.append((number, dict(zip(headings, values, strict=True))))
            elif any(cells):
                expected = f"{len(headings)}, one under each heading"
                problems.append(Problem(number, show_count(len(cells), "cell"), expected))
    except CsvError as error:
        problem = Problem(number + 1, f"something that is not CSV ({error})", "quotation marks in pairs")
        if is_cell_too_long(error):
            found = f"a cell of more than {MAX_CELL_LENGTH:,} characters"
            problem = Problem(number + 1, found, f"at most {MAX_TEXT_LENGTH:,}")
        raise CodebookFileError(file, [*problems, problem]) from error
    if not headings:
        raise CodebookFileError(file, [Problem(0, "an empty file", f"the headings {', '.join(COLUMNS)}")])
    return rows


def _read_headings(cells: Sequence[str], file: str) -> list[str]:
    for sign, sign_name in ((";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")):
        if len(cells) == 1 and sign in cells[0]:
            raise CodebookFileError(file, [Problem(1, f"columns separated by {sign_name}", "by commas")])
    headings = [unescape_formula(cell).strip() for cell in cells]
    needed = [column for column in COLUMNS if column not in OPTIONAL_COLUMNS]
    problems = [Problem(1, f"no column {quote(column)}", "it") for column in needed if column not in headings]
    for heading in dict.fromkeys(headings):
        if heading not in COLUMNS:
            problems.append(Problem(1, f"the column {quote(heading)}", f"only {', '.join(COLUMNS)}"))
        elif headings.count(heading) > 1:
            problems.append(Problem(1, f"the column {quote(heading)} more than once", "it once"))
    if problems:
        raise CodebookFileError(file, problems)
    return headings


def _check_cells(cells: dict[str, str]) -> Iterator[Finding]:
    for column, cell in cells.items():
        size = len(cell.encode())
        if column in FREE_TEXTS:
            yield from check_text(column, cell)
        elif size > MAX_CELL_BYTES:
            yield (f"{size:,} bytes in {column}", f"at most {MAX_CELL_BYTES:,}")
    for column in ("code_id", "family"):
        yield from check_identifier(column, cells[column])
    for column in ("family_name", "name"):
        yield from check_name(column, cells[column])
    yield from check_unit(cells["unit"])
    yield from check_key(cells["key"])
    yield from check_color(cells.get("color", ""))
    yield from check_terms(_read_names(cells.get("terms", "")))
    yield from check_keyword_rules(_read_names(cells.get("keyword_rules", "")))
    yield from _check_attributes(cells.get("attributes", ""))
    for column in FLAGS:
        if (cell := cells.get(column, "").strip().lower()) not in YES_OR_NO:
            yield (f"the {column} {quote(cell)}", "yes, no, or nothing")
    if side := cells.get("applies_to", "").strip().lower():
        yield from check_side(side, cells["unit"])
    if not re.fullmatch(r"[0-9]{0,9}", cells["version"]):
        yield (f"the version {quote(cells['version'])}", "a whole number, or nothing")


def _check_attributes(cell: str) -> Iterator[Finding]:
    try:
        attributes = json.loads(cell) if cell else []
    except (ValueError, RecursionError):
        yield ("attributes that are not JSON", "a JSON list of objects, or nothing")
    else:
        yield from check_attributes(attributes)


def _build_code(cells: dict[str, str]) -> CodeRow:
    values: dict[str, Any] = {column: cell for column, cell in cells.items() if column != "description"}
    values["version"] = int(cells["version"]) if cells["version"] else None
    values["color"] = cells.get("color", "").lower()
    values |= {column: YES_OR_NO[cells.get(column, "").strip().lower()] for column in FLAGS}
    values["applies_to"] = cells.get("applies_to", "").strip().lower() or None
    values["attributes"] = read_attributes(json.loads(cells.get("attributes") or "[]"))
    return CodeRow(**values | {column: _read_names(cells.get(column, "")) for column in LISTS})


def _read_names(cell: str) -> tuple[str, ...]:
    """Names separated by bars, or a list as tables of other exports hold it; a bracket alone makes no list."""
    try:
        names = json.loads(cell) if cell.startswith("[") else None
    except (ValueError, RecursionError):
        names = None
    if isinstance(names, list) and all(isinstance(name, str) and not UNSTORABLE.search(name) for name in names):
        return tuple(name.strip() for name in names if name.strip())
    parts = (part.strip() for part in NAME_IN_LIST.findall(cell))
    return tuple(re.sub(r"\\([\\|\[])", r"\1", part) for part in parts if part)


def _find_clashes(codes: Sequence[tuple[int, CodeRow]], known: Container[str]) -> Iterator[Problem]:
    """What cannot be true of all rows together, such as a family described in two ways."""
    located = [LocatedCode(row, code.code_id, code.family, code.key, code.parent) for row, code in codes]
    for number, (found, expected) in find_clashes(located, known=known, noun="row", what="code_id"):
        yield Problem(number, found, expected)
    families: dict[str, tuple[int, CodeRow]] = {}
    for row, code in codes:
        first_row, first = families.setdefault(code.family, (row, code))
        for column in ("family_name", "unit"):
            here, there = getattr(code, column), getattr(first, column)
            if here != there:
                found = f"the {column} {quote(here)} in the family {quote(code.family)}"
                yield Problem(row, found, f"{quote(there)}, as in row {first_row}")
    for column in FAMILY_RULES:
        yield from _find_rule_clashes(column, codes, families)


def _find_rule_clashes(
    column: str, codes: Sequence[tuple[int, CodeRow]], families: dict[str, tuple[int, CodeRow]]
) -> Iterator[Problem]:
    """Rows of a family that say two things of a rule; families that say nothing of it where others do."""
    said: dict[str, tuple[int, CodeRow]] = {}
    for row, code in codes:
        if getattr(code, column) is not None:
            first_row, first = said.setdefault(code.family, (row, code))
            if getattr(code, column) != getattr(first, column):
                found = f"the {column} {quote(str(_show_cell(code, column)))} in the family {quote(code.family)}"
                yield Problem(row, found, f"{quote(str(_show_cell(first, column)))}, as in row {first_row}")
    for family, (row, _) in families.items():
        if said and family not in said:
            answers = "yes or no" if column in FLAGS else ", ".join(SIDES)
            yield Problem(row, f"no {column} for the family {quote(family)}", f"{answers}, as for the other families")
