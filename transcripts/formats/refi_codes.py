"""The tree of codes as both kinds of REFI-QDA file hold it, read into a flat list and written from one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from transcripts.formats.problems import Problem, quote, show_count
from transcripts.formats.refi import escape, read_color, read_guid, read_truth
from transcripts.formats.xml_input import Element, XmlReader, XmlSink, refuse_at

MAX_CODES = 10_000
MAX_PROBLEMS = 1_000
MAX_WARNINGS = 200
MAX_NAME_LENGTH = 200
MAX_CODE_DEPTH = 55
"""Codes within one another that are written: with what lies around them they stay within the depth that is read."""

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
    """Things grouped under a name, by their GUIDs; in a codebook file these are codes only."""

    guid: str
    name: str
    description: str = ""
    codes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class RefiReader:
    """What reading both kinds of file takes: problems, warnings, GUIDs that are given once, and codes."""

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
        """Remember what is wrong; a file with a thousand things wrong is read no further."""
        place = f"line {element.line}{self._counted}"
        self.problems.append(Problem(element.line, found, expected, place))
        if len(self.problems) >= MAX_PROBLEMS:
            raise refuse_at(element.line, f"{MAX_PROBLEMS:,} problems up to here", "a file that follows the standard")

    def warn(self, sentence: str) -> None:
        """Warn about what is left out; beyond the limit, only count."""
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
        """The element's GUID, which no other of its kind may have; "" after a problem."""
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
        """The element's name, which must be there and of a length we can hold; "" after a problem."""
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
                self.warn(f"Line {element.line}{self._counted}: the colour {quote(text)} is none and is left out.")
        if text := element.attributes.get("isCodable", ""):
            truth = read_truth(text)
            if truth is None:
                self.note_problem(element, f"isCodable {quote(text)}", "true or false")
            is_codable = truth is not False
        guid, name = self.read_guid(element, "code"), self.read_name(element, "code")
        return QdcCode(guid, name, color=color, is_codable=is_codable, parent_guid=parent_guid)

    def read_set(self, element: Element) -> QdcSet:
        """A set with those members that were read; others are counted in a warning."""
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
    """What keeps these codes from being written so that they can be read again."""
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
    """Sets that could not be read again, given the GUIDs of what is written."""
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
    """How deep a code lies, 1 at the top; None when its ancestors do not end there."""
    way: dict[str, None] = {}
    while guid not in depths and guid in parents and guid not in way:
        way[guid] = None
        guid = parents[guid]
    depth = depths.get(guid)
    for passed in reversed(way):
        depth = None if depth is None else depth + 1
        depths[passed] = depth
    return depth
