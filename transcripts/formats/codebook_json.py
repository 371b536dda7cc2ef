"""The codebook as JSON: everything in a version, written and read back without loss.

A file is read completely or refused; a refusal lists each problem with its family, code or example.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any, NamedTuple

from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_rules import (
    MAX_TEXT_LENGTH,
    UNSTORABLE,
    CodebookContent,
    CodeContent,
    CodeExample,
    FamilyContent,
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
from transcripts.formats.json_lines import read_object
from transcripts.formats.problems import Problem, ReadError, quote
from transcripts.formats.tabular import TextSink

FORMAT = "auditapp-codebook"
FORMAT_VERSION = 1
MAX_FILE_SIZE = 20_000_000
"""Bytes of a file."""
EXAMPLE_KINDS = ("include", "exclude", "anchor")
MAX_LENGTHS = {"title": 200, "origin": 300, "group": 100, "source": 300, "note": 500, "interview": 200}
"""The greatest length of texts other than definitions."""

_LISTS: dict[str, type[FamilyContent | CodeContent | CodeExample]] = {
    "families": FamilyContent,
    "codes": CodeContent,
    "examples": CodeExample,
}
_NOUNS = {"families": "family", "codes": "code", "examples": "example"}
_FORMS = {
    "str": "a text",
    "bool": "true or false",
    "int | None": "a whole number, or null",
    "tuple[str, ...]": "a list of texts",
    "tuple[CodeAttribute, ...]": "a list of objects",
}


class _Entry(NamedTuple):
    """One object of a list; ``row`` counts over all lists, so that problems can be put in order."""

    row: int
    number: int
    noun: str
    cells: dict[str, Any]

    def make_problem(self, finding: Finding) -> Problem:
        named = self.cells.get("identifier", self.cells.get("code"))
        name = f" {quote(named)}" if isinstance(named, str) and named else ""
        return Problem(self.row, *finding, place=f"{self.noun} {self.number}{name}")


def write_codebook_json(content: CodebookContent, stream: TextSink) -> int:
    """Write a codebook as one JSON object; returns the number of its codes."""
    head = {"format": FORMAT, "format_version": FORMAT_VERSION}
    written = asdict(content)
    for entry, code in zip(written["codes"], content.codes, strict=True):
        entry["attributes"] = [attribute.as_json() for attribute in code.attributes]
        if not code.is_category:
            # Most codes are not categories, and older files do not have the field.
            del entry["is_category"]
    for entry in written["families"]:
        if entry["applies_to"] == "any":
            # As is_category.
            del entry["applies_to"]
    stream.write(json.dumps(head | written, ensure_ascii=False, indent=1) + "\n")
    return len(content.codes)


def read_codebook_json(data: bytes, *, name: str) -> CodebookContent:
    """The codebook of a file. Fields that have a default may be left out; unknown ones are refused.

    ``name`` is the file's name, for messages. Raises ``CodebookFileError`` if anything is wrong; then nothing is returned.
    """
    if len(data) > MAX_FILE_SIZE:
        raise CodebookFileError(name, [Problem(0, f"{len(data):,} bytes", f"at most {MAX_FILE_SIZE:,}")])
    try:
        value = read_object(data, name)
    except ReadError as error:
        place = f"line {error.line}" if error.line else ""
        raise CodebookFileError(name, [Problem(error.line or 0, error.found, error.expected, place)]) from None
    if problems := list(_find_head_problems(value)):
        raise CodebookFileError(name, problems)
    lists = _list_entries(value)
    problems = [entry.make_problem(found) for entries in lists.values() for entry in entries for found in _check(entry)]
    if not problems:
        problems = list(_find_clashes(lists))
    if problems:
        raise CodebookFileError(name, sorted(problems, key=lambda problem: problem.row))
    content: dict[str, Any] = {key: value[key] for key in ("title", "origin", "number") if key in value}
    for key, entries in lists.items():
        content[key] = tuple(_build(_LISTS[key], entry.cells) for entry in entries)
    return CodebookContent(**content)


def _find_head_problems(value: Mapping[str, Any]) -> Iterator[Problem]:
    if value.get("format") != FORMAT or value.get("format_version") != FORMAT_VERSION:
        shown = " ".join(str(value.get(key, "")) for key in ("format", "format_version")).strip()
        yield Problem(0, f"the format {quote(shown)}", f"{FORMAT} {FORMAT_VERSION}")
        return
    head = {key: cell for key, cell in value.items() if key not in {"format", "format_version", *_LISTS}}
    for found, expected in _check_fields(CodebookContent, head):
        yield Problem(0, found, expected)
    for key in _LISTS:
        items = value.get(key, [])
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            yield Problem(0, f"{key} of another form", "a list of objects")
    if not value.get("codes"):
        yield Problem(0, "no code", "at least one in codes")


def _list_entries(value: Mapping[str, Any]) -> dict[str, list[_Entry]]:
    lists: dict[str, list[_Entry]] = {}
    row = 0
    for key, noun in _NOUNS.items():
        lists[key] = [_Entry(row + number, number, noun, cells) for number, cells in enumerate(value.get(key, []), 1)]
        row += len(lists[key])
    return lists


def _check(entry: _Entry) -> Iterator[Finding]:
    """The problems of one object by itself."""
    kind = next(kind for key, kind in _LISTS.items() if _NOUNS[key] == entry.noun)
    wrong = list(_check_fields(kind, entry.cells))
    yield from wrong
    if wrong:
        return
    content: Any = _build(kind, entry.cells)
    if isinstance(content, CodeExample):
        if content.kind not in EXAMPLE_KINDS:
            yield (f"the kind {quote(content.kind)}", " or ".join(EXAMPLE_KINDS))
        if not content.quote.strip():
            yield ("an example without a quote", "the words of the example")
        return
    yield from check_identifier("identifier", content.identifier)
    yield from check_name("name", content.name)
    yield from check_color(content.color)
    if isinstance(content, FamilyContent):
        yield from check_unit(content.unit)
        yield from check_side(content.applies_to, content.unit)
    else:
        yield from check_key(content.key)
        yield from check_terms(content.terms)
        yield from check_keyword_rules(content.keyword_rules)


def _check_fields(kind: type[Any], cells: Mapping[str, Any]) -> Iterator[Finding]:
    """Missing or unknown keys, values of the wrong kind, texts that are too long or cannot be stored."""
    known = {field.name: field for field in fields(kind)}
    for key in cells:
        if key not in known:
            yield (f"the key {quote(key)}", f"only {', '.join(known)}")
    for key, field in known.items():
        value = cells.get(key)
        if key not in cells:
            if field.default is MISSING:
                yield (f"no {key}", "it")
        elif field.type == "tuple[CodeAttribute, ...]":
            yield from check_attributes(value)
        elif not _fits(value, str(field.type)):
            yield (f"{key} that is not {_FORMS[str(field.type)]}", _FORMS[str(field.type)])
        else:
            texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
            for text in texts:
                yield from check_text(key, text, max_length=MAX_LENGTHS.get(key, MAX_TEXT_LENGTH))
                if unstorable := UNSTORABLE.search(text):
                    yield (f"the character U+{ord(unstorable[0]):04X} in {key}", "text that can be stored")


def _fits(value: object, form: str) -> bool:
    if form == "tuple[str, ...]":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if form == "int | None":
        return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31)
    return isinstance(value, bool if form == "bool" else str)


def _build(kind: type[Any], cells: Mapping[str, Any]) -> Any:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in cells.items()}
    if "attributes" in values:
        values["attributes"] = read_attributes(values["attributes"])
    if "color" in values:
        values["color"] = values["color"].lower()
    return kind(**values)


def _find_clashes(lists: Mapping[str, list[_Entry]]) -> Iterator[Problem]:
    """Contradictions between objects."""
    families: dict[str, _Entry] = {}
    for entry in lists["families"]:
        identifier = entry.cells["identifier"]
        first = families.setdefault(unicodedata.normalize("NFC", identifier).casefold(), entry)
        if first is not entry:
            found = f"the identifier {quote(identifier)}, which family {first.number} has too"
            yield entry.make_problem((found, "each identifier once, whatever its case"))
    family_names = {entry.cells["identifier"] for entry in lists["families"]}
    located = []
    for entry in lists["codes"]:
        cells = entry.cells
        family = cells["family"]
        located.append(
            LocatedCode(entry.number, cells["identifier"], family, cells.get("key", ""), cells.get("parent", ""))
        )
        if family not in family_names:
            found = f"the family {quote(family)}, which is not among the families"
            yield entry.make_problem((found, "the identifier of a family"))
    known = {code.identifier for code in located}
    for number, finding in find_clashes(located, known=known, noun="code", what="identifier"):
        yield lists["codes"][number - 1].make_problem(finding)
    pinned: dict[tuple[object, ...], _Entry] = {}
    for entry in lists["examples"]:
        code, interview, sentence = (entry.cells.get(key) for key in ("code", "interview", "sentence"))
        if code not in known:
            yield entry.make_problem((f"the code {quote(str(code))}, which is not among the codes", "one of them"))
        if interview and sentence and (first := pinned.setdefault((code, interview, sentence), entry)) is not entry:
            found = f"the sentence of example {first.number} once more"
            yield entry.make_problem((found, "each sentence once in a code"))
