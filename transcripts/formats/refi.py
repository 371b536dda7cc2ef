"""Codebooks as REFI-QDA files (.qdc), which other programs for qualitative analysis read and write.

Also what codebook files and project files have in common: names, GUIDs, colours, times, characters; and the tree of codes as both
contain it, read into a flat list and written from one.
"""

from __future__ import annotations

import io
import json
import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple

from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, CodeExample
from transcripts.formats.guarded_input import (
    Element,
    XmlReader,
    XmlSink,
    escape,
    read_chunks,
    refuse_at,
    unescape,
    write_document,
)
from transcripts.formats.problems import InputRefused, Problem, quote, show_count

ORIGIN = "auditapp"
"""The name of this program in its files."""

CODEBOOK_NAMESPACE = "urn:QDA-XML:codebook:1.0"
PROJECT_NAMESPACE = "urn:QDA-XML:project:1.0"
# Some exporters separate the version number with a colon. MAXQDA 24 and ATLAS.ti name the draft 0:4 for codebooks, also for
# the codebook inside a project.
_VERSIONS = ("1.0", "1:0", "0.4", "0:4")
CODEBOOK_NAMESPACES = frozenset(f"urn:QDA-XML:codebook:{version}" for version in _VERSIONS)
PROJECT_NAMESPACES = CODEBOOK_NAMESPACES | {f"urn:QDA-XML:project:{version}" for version in _VERSIONS}

_GUID_SPACE = uuid.UUID("6d0f6f0e-9a55-5c5b-8f5e-0b6f2d1c7a43")
_GUID = re.compile(r"\s*\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?\s*", re.IGNORECASE)
_COLOR = re.compile(r"\s*#([0-9a-f]{6}|[0-9a-f]{3})\s*", re.IGNORECASE)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def make_guid(*parts: str) -> str:
    """The GUID of the thing with these stable names, such as ("code", study, identifier); the same in every export."""
    return str(uuid.uuid5(_GUID_SPACE, json.dumps(parts)))


def read_guid(text: str | None) -> str | None:
    """A GUID in lower case and without braces; None if it is not a GUID."""
    match = _GUID.fullmatch(text or "")
    return match[1].lower() if match else None


def read_color(text: str) -> str | None:
    """A colour as "#rrggbb"; None if it is not a colour."""
    match = _COLOR.fullmatch(text)
    if match is None:
        return None
    digits = match[1].lower()
    return "#" + (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits))


def read_truth(text: str) -> bool | None:
    """A truth value; None if it is neither true nor false."""
    return _TRUTH.get(text.strip())


def read_moment(text: str) -> datetime | None:
    """A date-time in UTC, which is also assumed if no time zone is given; None if it is not a date-time."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def show_moment(moment: datetime) -> str:
    """As in ``2024-11-05T09:30:00Z``. Raises ``ValueError`` for a date-time without a time zone."""
    if moment.tzinfo is None:
        raise ValueError(f"The date-time {moment} has no time zone.")
    return moment.astimezone(UTC).isoformat()[:-6] + "Z"


MAX_CODES = 10_000
MAX_PROBLEMS = 1_000
MAX_WARNINGS = 200
MAX_NAME_LENGTH = 200
MAX_CODE_DEPTH = 55
"""The depth of nested codes that is written, so that with the elements around them they stay within the depth that is read."""

GUID_EXPECTED = "8-4-4-4-12 hexadecimal digits"


class QdcCode(NamedTuple):
    """A code; one that is not codable is a category, such as a family of ours. A text that is "" is not known.

    ``color`` is "#rrggbb"; ``notes`` are GUIDs of notes on the code, which only a project file has.
    """

    guid: str
    name: str
    description: str = ""
    color: str = ""
    is_codable: bool = True
    parent_guid: str = ""
    notes: tuple[str, ...] = ()


class QdcSet(NamedTuple):
    """A named group of things, by GUID; in a codebook file, only of codes."""

    guid: str
    name: str
    description: str = ""
    codes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class RefiReader:
    """The shared part of reading both kinds of file: problems, warnings, unique GUIDs, and codes."""

    def __init__(self, xml: XmlReader) -> None:
        self.xml = xml
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self.unlisted_warnings = 0
        self.left_out: Counter[str] = Counter()
        self.codes: list[QdcCode] = []
        # Some programs write a codebook on one line, where its number does not say which code is meant.
        self._counted = ""
        self._lines: defaultdict[str, dict[str, int]] = defaultdict(dict)

    def note_problem(self, element: Element, found: str, expected: str) -> None:
        """Record a problem; a file with a thousand problems is read no further."""
        place = f"line {element.line}{self._counted}"
        self.problems.append(Problem(element.line, found, expected, place))
        if len(self.problems) >= MAX_PROBLEMS:
            raise refuse_at(element.line, f"{MAX_PROBLEMS:,} problems up to here", "a file that follows the standard")

    def warn(self, sentence: str) -> None:
        """Warn about something that is left out; beyond the limit, only count."""
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(sentence)
        else:
            self.unlisted_warnings += 1

    def list_warnings(self) -> Iterator[str]:
        """All warnings, and counts of what occurs too often to be listed one by one."""
        yield from self.warnings
        if self.unlisted_warnings:
            yield f"… and {show_count(self.unlisted_warnings, 'more warning')}."
        for what, times in self.left_out.items():
            if times:
                yield f"Left out: {what} ({times:,})."

    def read_guid(self, element: Element, kind: str) -> str:
        """The element's GUID, which must be unique among its kind; "" after a problem."""
        text = element.attributes.get("guid")
        guid = read_guid(text)
        if guid is None:
            found = f"the guid {quote(text)}" if text else f"a {kind} without a guid"
            self.note_problem(element, found, f"a guid of {GUID_EXPECTED}")
            return ""
        line = self._lines[kind].get(guid)
        if line is not None:
            found = f"the guid {guid}, which the {kind} in line {line} has too"
            self.note_problem(element, found, f"each {kind} with a guid of its own")
        self._lines[kind][guid] = element.line
        return guid

    def knows(self, kind: str, guid: str | None) -> bool:
        """Whether an element of this kind with this GUID was read."""
        return guid in self._lines[kind]

    def read_name(self, element: Element, kind: str) -> str:
        """The element's name, which is required and limited in length; "" after a problem."""
        name = element.attributes.get("name", "")
        if not name.strip():
            self.note_problem(element, f"a {kind} without a name", "a name")
        elif len(name) > MAX_NAME_LENGTH:
            found = f"a {kind} whose name has {len(name):,} characters"
            self.note_problem(element, found, f"at most {MAX_NAME_LENGTH}")
        return name

    def read_target(self, element: Element) -> str | None:
        """The GUID that a reference points to, if it is one."""
        return read_guid(element.attributes.get("targetGUID"))

    def read_codes(self, parent: Element, parent_guid: str = "") -> None:
        """Add the codes inside an element, and theirs, in document order."""
        for element in self.xml.read_children(parent):
            if element.tag == "Code":
                self._read_code(element, parent_guid)

    def _read_code(self, element: Element, parent_guid: str) -> None:
        if len(self.codes) >= MAX_CODES:
            raise refuse_at(element.line, f"more than {MAX_CODES:,} codes", f"at most {MAX_CODES:,}")
        self._counted = f", code {len(self.codes) + 1}"
        code = self._read_attributes(element, parent_guid)
        self._counted = ""
        place = len(self.codes)
        self.codes.append(code)
        description, notes = "", []
        for child in self.xml.read_children(element):
            if child.tag == "Description":
                description = self.xml.read_text(child)
            elif child.tag == "NoteRef":
                notes.append(self.read_target(child) or "")
            elif child.tag == "Code":
                self._read_code(child, code.guid)
        self.codes[place] = code._replace(description=description, notes=tuple(filter(None, notes)))

    def _read_attributes(self, element: Element, parent_guid: str) -> QdcCode:
        color, is_codable = "", True
        if text := element.attributes.get("color", ""):
            color = read_color(text) or ""
            if not color:
                self.warn(f"Line {element.line}{self._counted}: {quote(text)} is not a colour and is left out.")
        if text := element.attributes.get("isCodable", ""):
            truth = read_truth(text)
            if truth is None:
                self.note_problem(element, f"isCodable {quote(text)}", "true or false")
            is_codable = truth is not False
        guid, name = self.read_guid(element, "code"), self.read_name(element, "code")
        return QdcCode(guid, name, color=color, is_codable=is_codable, parent_guid=parent_guid)

    def read_set(self, element: Element) -> QdcSet:
        """Read a set with the members that were read; others are counted in a warning."""
        group = QdcSet(self.read_guid(element, "set"), element.attributes.get("name", ""))
        members: dict[str, list[str]] = {"code": [], "source": [], "note": []}
        missing = 0
        for child in self.xml.read_children(element):
            if child.tag == "Description":
                group = group._replace(description=self.xml.read_text(child))
            elif child.tag in {"MemberCode", "MemberSource", "MemberNote"}:
                kind = child.tag.removeprefix("Member").lower()
                # A codebook file names its members by guid, a project file by targetGUID.
                guid = self.read_target(child) or read_guid(child.attributes.get("guid"))
                if guid is not None and self.knows(kind, guid):
                    members[kind].append(guid)
                else:
                    missing += 1
        if missing:
            self.warn(f"Not read of the set {quote(group.name)}: {show_count(missing, 'member')}.")
        codes, sources, notes = map(tuple, members.values())
        return group._replace(codes=codes, sources=sources, notes=notes)


def write_codes(sink: XmlSink, codes: Sequence[QdcCode]) -> None:
    """Write the codes, each below its parent; the list must have no problems."""
    children: defaultdict[str, list[QdcCode]] = defaultdict(list)
    for code in codes:
        children[code.parent_guid].append(code)
    with sink.element("Codes"):
        for code in children[""]:
            _write_code(sink, code, children)


def _write_code(sink: XmlSink, code: QdcCode, children: Mapping[str, Sequence[QdcCode]]) -> None:
    is_codable = "true" if code.is_codable else "false"
    attributes = {"guid": code.guid, "name": code.name, "isCodable": is_codable, "color": code.color or None}
    with sink.element("Code", attributes):
        if code.description:
            sink.leaf("Description", text=code.description)
        for note in code.notes:
            sink.leaf("NoteRef", {"targetGUID": note})
        for child in children.get(code.guid, ()):
            _write_code(sink, child, children)


def find_code_problems(codes: Sequence[QdcCode]) -> Iterator[Problem]:
    """Problems that would prevent reading these codes back."""
    if len(codes) > MAX_CODES:
        yield Problem(0, f"{len(codes):,} codes", f"at most {MAX_CODES:,}")
    depths: dict[str, int | None] = {"": 0}
    parents = {code.guid: code.parent_guid for code in codes}
    seen: set[str] = set()
    for number, code in enumerate(codes, 1):
        for found, expected in _find_problems(code):
            yield Problem(number, found, expected, f"code {number} {quote(code.name)}")
        if code.guid in seen:
            yield Problem(
                number, f"the guid {code.guid} once more", "each code with a guid of its own", f"code {number}"
            )
        seen.add(code.guid)
        depth = _measure_depth(code.guid, parents, depths)
        if depth is None:
            found = "a parent that is not among the codes, or is below the code itself"
            yield Problem(number, found, "a parent above it", f"code {number} {quote(code.name)}")
        elif depth > MAX_CODE_DEPTH:
            found = f"a code nested {depth} deep"
            yield Problem(number, found, f"at most {MAX_CODE_DEPTH}", f"code {number} {quote(code.name)}")


def find_set_problems(
    sets: Sequence[QdcSet],
    *,
    codes: AbstractSet[str],
    sources: AbstractSet[str] = frozenset(),
    notes: AbstractSet[str] = frozenset(),
) -> Iterator[Problem]:
    """Problems that would prevent reading these sets back, given the GUIDs of what is written."""
    seen: set[str] = set()
    for number, group in enumerate(sets, 1):
        place = f"set {number} {quote(group.name)}"
        if read_guid(group.guid) != group.guid or group.guid in seen:
            yield Problem(number, f"the guid {quote(group.guid)}", f"a guid of its own, {GUID_EXPECTED}", place)
        seen.add(group.guid)
        for kind, members, known in (
            ("code", group.codes, codes),
            ("source", group.sources, sources),
            ("note", group.notes, notes),
        ):
            if unknown := set(members) - known:
                yield Problem(number, f"the {kind} {min(unknown)}, which is not written", "members that are", place)


def _find_problems(code: QdcCode) -> Iterator[tuple[str, str]]:
    if read_guid(code.guid) != code.guid:
        yield f"the guid {quote(code.guid)}", f"a guid of {GUID_EXPECTED} in lower case"
    if not code.name.strip() or len(code.name) > MAX_NAME_LENGTH:
        yield f"a name of {len(code.name):,} characters", f"a name of at most {MAX_NAME_LENGTH}"
    if code.color and read_color(code.color) != code.color:
        yield f"the colour {quote(code.color)}", "#rrggbb in lower case"
    for text in (code.name, code.description):
        try:
            escape(text)
        except ValueError as error:
            yield str(error), "text without NUL and lone surrogates"


def _measure_depth(guid: str, parents: Mapping[str, str], depths: dict[str, int | None]) -> int | None:
    """The depth of a code, 1 at the top; None if its ancestors form a circle."""
    way: dict[str, None] = {}
    while guid not in depths and guid in parents and guid not in way:
        way[guid] = None
        guid = parents[guid]
    depth = depths.get(guid)
    for passed in reversed(way):
        depth = None if depth is None else depth + 1
        depths[passed] = depth
    return depth


PARTS = {"include": "Include", "exclude": "Exclude", "rules": "Rules"}
EXAMPLES = {"include": "Example", "exclude": "Counterexample", "anchor": "Anchor example"}
EXAMPLE_PARTS = {"note": "Note", "interview": "Interview", "sentence": "Sentence"}

_LABELS = "|".join([*PARTS.values(), *EXAMPLES.values(), *EXAMPLE_PARTS.values()])
_HEADING = re.compile(rf"(?:\A|\n\n)== ({_LABELS}) ==\n")
_CONTROLS = re.compile(rf"^(?=\\*== (?:{_LABELS}) ==$)", re.MULTILINE)
_ESCAPED_CONTROL = re.compile(rf"^\\(?=\\*== (?:{_LABELS}) ==$)", re.MULTILINE)
MAX_CODEBOOK_SIZE = 5_000_000
"""Bytes of a codebook file."""


class CodeDescription(NamedTuple):
    """The parts of a description. ``examples`` have no ``code``; ``rules`` are those of a family."""

    definition: str = ""
    include: str = ""
    exclude: str = ""
    rules: str = ""
    examples: tuple[CodeExample, ...] = ()


def compose_description(parts: CodeDescription) -> str:
    """The parts as one text; ``read_description`` is the inverse.

    The definition comes first; every further part has a heading line, such as ``== Include ==``, with an empty line before it.
    A line of the text that looks like a heading gets a backslash before it.
    """
    sections = [(label, getattr(parts, name)) for name, label in PARTS.items() if getattr(parts, name)]
    for example in parts.examples:
        sections.append((EXAMPLES[example.kind], example.quote))
        sections += [
            (label, str(getattr(example, name)))
            for name, label in EXAMPLE_PARTS.items()
            if getattr(example, name) not in {"", None}
        ]
    texts = [f"== {label} ==\n{_escape(text)}" for label, text in sections]
    return "\n\n".join([_escape(parts.definition), *texts] if parts.definition else texts)


def read_description(description: str) -> CodeDescription:
    """The parts of a text that ``compose_description`` wrote. A text that differs from what it would have written is read as a
    definition, so that texts of other programs are not divided."""
    definition, *rest = _HEADING.split(description)
    found: dict[str, str] = {}
    examples: list[CodeExample] = []
    part_of = {label: name for name, label in PARTS.items()}
    kind_of = {label: kind for kind, label in EXAMPLES.items()}
    example_part_of = {label: name for name, label in EXAMPLE_PARTS.items()}
    for label, escaped in zip(rest[::2], rest[1::2], strict=True):
        text = _ESCAPED_CONTROL.sub("", escaped)
        if label in part_of:
            found[part_of[label]] = text
        elif label in kind_of:
            examples.append(CodeExample(code="", kind=kind_of[label], quote=text))
        elif examples:
            value: Any = int(text) if label == "Sentence" and re.fullmatch("[0-9]{1,9}", text) else text
            examples[-1] = replace(examples[-1], **{example_part_of[label]: value})
    parts = CodeDescription(_ESCAPED_CONTROL.sub("", definition), **found, examples=tuple(examples))
    return parts if compose_description(parts) == description else CodeDescription(description)


def _escape(text: str) -> str:
    return _CONTROLS.sub(r"\\", text)


def read_qdc(data: bytes, *, name: str) -> tuple[list[QdcCode], list[QdcSet], list[str]]:
    """The codes and sets of a codebook file, and sentences on what was left out.

    Codes are in document order: a code comes before the codes below it. ``name`` is the file's name, for messages. Raises
    ``CodebookFileError`` when anything is wrong: then nothing is returned.
    """
    if len(data) > MAX_CODEBOOK_SIZE:
        raise CodebookFileError(name, [Problem(0, f"{len(data):,} bytes", f"at most {MAX_CODEBOOK_SIZE:,}")])
    if data.startswith(b"PK\3\4"):
        problem = Problem(0, "an archive, such as a project file (.qdpx)", "a codebook file (.qdc)")
        raise CodebookFileError(name, [problem])
    xml = XmlReader(read_chunks(io.BytesIO(data)), namespaces=CODEBOOK_NAMESPACES, texts={"Description"})
    reader = RefiReader(xml)
    try:
        sets = _read_codebook(reader)
    except InputRefused as refused:
        raise CodebookFileError(name, [*reader.problems, refused.problem]) from None
    if reader.problems:
        raise CodebookFileError(name, reader.problems)
    if not reader.codes:
        raise CodebookFileError(name, [Problem(0, "no code", "at least one Code in Codes")])
    return list(reader.codes), sets, list(reader.list_warnings())


def _read_codebook(reader: RefiReader) -> list[QdcSet]:
    """Read the codes, which the reader keeps, and the sets."""
    root = reader.xml.read_root("CodeBook")
    if root.attributes.get("origin", "") == ORIGIN:
        reader.xml.decode = unescape
    sets = []
    for child in reader.xml.read_children(root):
        if child.tag == "Codes":
            reader.read_codes(child)
        elif child.tag == "Sets":
            sets += [reader.read_set(group) for group in reader.xml.read_children(child) if group.tag == "Set"]
    reader.xml.read_end()
    return sets


def write_qdc(codes: Iterable[QdcCode], stream: BinaryIO, *, sets: Sequence[QdcSet] = ()) -> int:
    """Write the codes, each below its parent, in the order given; returns their number.

    Raises ``CodebookFileError``, before anything is written, if a code or set cannot be represented in the file.
    """
    codes = list(codes)
    if problems := list(_find_codebook_problems(codes, sets)):
        raise CodebookFileError("The codebook", problems, outcome="nothing was written")
    document = io.BytesIO()
    try:
        with write_document(document, "CodeBook", {"origin": ORIGIN}, namespace=CODEBOOK_NAMESPACE) as sink:
            write_codes(sink, codes)
            if sets:
                with sink.element("Sets"):
                    for group in sets:
                        _write_set(sink, group)
    except ValueError as error:
        problem = Problem(0, str(error), "text without NUL and lone surrogates")
        raise CodebookFileError("The codebook", [problem], outcome="nothing was written") from error
    stream.write(document.getvalue())
    return len(codes)


def _write_set(sink: XmlSink, group: QdcSet) -> None:
    with sink.element("Set", {"guid": group.guid, "name": group.name}):
        if group.description:
            sink.leaf("Description", text=group.description)
        for guid in group.codes:
            sink.leaf("MemberCode", {"guid": guid})


def _find_codebook_problems(codes: Sequence[QdcCode], sets: Sequence[QdcSet]) -> Iterator[Problem]:
    if not codes:
        yield Problem(0, "no code", "at least one")
    yield from find_code_problems(codes)
    for number, code in enumerate(codes, 1):
        if code.notes:
            yield Problem(number, "notes on a code", "none, for only a project file has them", f"code {number}")
    yield from find_set_problems(sets, codes={code.guid for code in codes})


def lay_out_codes(content: CodebookContent, *, scope: str) -> list[QdcCode]:
    """The families of a codebook as codes that are not codable, and below each its codes and categories.

    ``scope`` is the study's stable name: GUIDs are made of it and of the identifiers, so that exports of the same codebook have
    the same. Only the name, the colour and the description of a code are written.
    """
    examples: defaultdict[str, list[CodeExample]] = defaultdict(list)
    for example in content.examples:
        examples[example.code].append(example)
    below: defaultdict[tuple[str, str], list[CodeContent]] = defaultdict(list)
    for code in content.codes:
        below[code.family, code.parent].append(code)
    laid_out: list[QdcCode] = []

    def lay_out(parent: QdcCode, family: str, identifier: str) -> None:
        for code in below[family, identifier]:
            parts = CodeDescription(
                code.definition, code.include, code.exclude, examples=tuple(examples[code.identifier])
            )
            guid = make_guid("code", scope, code.identifier)
            description = compose_description(parts)
            is_codable = not code.is_category
            laid_out.append(QdcCode(guid, code.name, description, code.color, is_codable, parent.guid))
            lay_out(laid_out[-1], family, code.identifier)

    for family in content.families:
        description = compose_description(CodeDescription(family.description, rules=family.rules))
        guid = make_guid("family", scope, family.identifier)
        laid_out.append(QdcCode(guid, family.name, description, family.color, is_codable=False))
        lay_out(laid_out[-1], family.identifier, "")
    return laid_out
