"""The XML of a REFI-QDA project file: users, codes, texts with their codings, notes and sets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from transcripts.formats.problems import InputRefused, Problem, quote, show_count
from transcripts.formats.qdpx_content import (
    OwnPart,
    QdpxCoding,
    QdpxFile,
    QdpxNote,
    QdpxProject,
    QdpxSelection,
    QdpxSource,
    QdpxUser,
)
from transcripts.formats.refi import ORIGIN, PROJECT_NAMESPACES, read_guid, read_moment, unescape
from transcripts.formats.refi_codes import QdcSet, RefiReader
from transcripts.formats.text_input import find_unfolded
from transcripts.formats.xml_input import Element, XmlReader, refuse_at

MAX_PUT_ON_TEXTS = 400_000
"""Selections and codings of a project, which are held in memory together."""
_MEDIA = {"PictureSource": "picture", "PDFSource": "PDF", "AudioSource": "recording", "VideoSource": "video"}
_NOT_READ = {"Case": "cases", "Link": "links", "Graph": "graphs"}
TEXT_TAGS = frozenset(
    {
        "Description",
        "PlainTextContent",
        "TextValue",
        "BooleanValue",
        "IntegerValue",
        "FloatValue",
        "DateValue",
        "DateTimeValue",
    }
)
_POSITION = re.compile(r"\s*([+-]?[0-9]{1,12})\s*")

LoadedText = tuple[str | None, str]
"""The text a path stands for, or ``None`` and why it is missing."""
MAX_LENGTH = 2**31 - 1
"""How far a selection may reach into a text that is missing."""


class SourceReader(RefiReader):
    """Reads sources and notes; ``load_text`` finds what their paths stand for."""

    def __init__(self, xml: XmlReader, *, load_text: Callable[[str], LoadedText], own: OwnPart) -> None:
        super().__init__(xml)
        self.variables: dict[str, str] = {}
        self._load_text = load_text
        self._own = own
        self._put_on_texts = 0
        self._shared: dict[str, str] = {}
        self._placed: set[str] = set()
        self._repeated = 0

    def list_warnings(self) -> Iterator[str]:
        """As of codes, and how many selections and codings bear a GUID once more: nothing is lost by that."""
        yield from super().list_warnings()
        if self._repeated:
            yield f"{show_count(self._repeated, 'guid')} of selections or codings came more than once; all of them were read."

    def read_reference(self, text: str | None, kind: str) -> str:
        """A GUID that refers to something already read; "" where it does not."""
        guid = read_guid(text)
        if guid is not None and not self.knows(kind, guid):
            self.left_out[f"references to a {kind} that is not in the file"] += 1
        return self._shared.setdefault(guid, guid) if guid is not None and self.knows(kind, guid) else ""

    def read_user(self, element: Element) -> str:
        """Who made it."""
        return self.read_reference(element.attributes.get("creatingUser"), "user")

    def read_created(self, element: Element) -> datetime | None:
        """When it was made."""
        text = element.attributes.get("creationDateTime")
        moment = read_moment(text) if text else None
        if text and moment is None:
            self.left_out["times that cannot be read"] += 1
        return moment

    def read_text_source(self, element: Element) -> QdpxSource:
        """A text with its selections; those outside it are left out."""
        source = QdpxSource(
            guid=self.read_guid(element, "source"),
            name=element.attributes.get("name", ""),
            text=None,
            user=self.read_user(element),
            created=self.read_created(element),
        )
        inline: str | None = None
        selections: list[QdpxSelection] = []
        codings: list[QdpxCoding] = []
        attributes: dict[str, str] = {}
        notes: list[str] = []
        for child in self.xml.read_children(element):
            match child.tag:
                case "Description":
                    source = source._replace(description=self.xml.read_text(child))
                case "PlainTextContent":
                    inline = self.xml.read_text(child)
                case "PlainTextSelection":
                    selections.append(self._read_selection(child))
                case "Coding":
                    codings += self._read_coding(child)
                case "NoteRef":
                    notes += self.read_note_reference(child)
                case "VariableValue":
                    attributes |= self._read_value(child)
        source = source._replace(
            text=self._find_text(element, inline),
            attributes=attributes or source.attributes,
            codings=tuple(codings),
            notes=tuple(notes),
        )
        return self._lay_over(source, selections)

    def read_note(self, element: Element) -> QdpxNote:
        """A memo; one whose text is missing is kept for its description."""
        note = QdpxNote(
            guid=self.read_guid(element, "note"),
            name=element.attributes.get("name", ""),
            text="",
            user=self.read_user(element),
            created=self.read_created(element),
        )
        inline: str | None = None
        for child in self.xml.read_children(element):
            if child.tag == "Description":
                note = note._replace(description=self.xml.read_text(child))
            elif child.tag == "PlainTextContent":
                inline = self.xml.read_text(child)
        return note._replace(text=self._find_text(element, inline) or "")

    def _find_text(self, element: Element, inline: str | None) -> str | None:
        path = element.attributes.get("plainTextPath", "")
        text, reason = inline, "the file does not have it"
        if inline is None and path:
            text, reason = self._load_text(path)
        elif inline is None and element.attributes.get("richTextPath"):
            reason = "the file has it as formatted text only, which is not read"
        if text is None:
            name = quote(element.attributes.get("name", ""))
            self.warn(f"The text of {name} is missing: {reason}.")
        return text

    def _lay_over(self, source: QdpxSource, selections: list[QdpxSelection]) -> QdpxSource:
        if (as_exported := self._own.find_text(source)) is not None:
            text, places = as_exported
            source = source._replace(text=text)
            selections = [
                one._replace(start=find_unfolded(one.start, places), end=find_unfolded(one.end, places))
                for one in selections
            ]
        turns = self._own.find_turns(source)
        if turns is None:
            why = "is missing" if source.text is None else "was changed"
            self.warn(f"The turns of {quote(source.name)} are left out, for its text {why}.")
        length = MAX_LENGTH if source.text is None else len(source.text)
        inside = [one for one in selections if 0 <= one.start <= one.end <= length]
        if outside := len(selections) - len(inside):
            found = show_count(outside, "selection")
            self.warn(f"{found} of {quote(source.name)} lie outside its text and are left out.")
        return source._replace(selections=tuple(inside), turns=turns or ())

    def _read_selection(self, element: Element) -> QdpxSelection:
        selection = QdpxSelection(
            guid=self._read_placed(element, "selection"),
            start=self._read_position(element, "startPosition"),
            end=self._read_position(element, "endPosition"),
            name=element.attributes.get("name", ""),
            user=self.read_user(element),
            created=self.read_created(element),
        )
        codings: list[QdpxCoding] = []
        notes: list[str] = []
        for child in self.xml.read_children(element):
            match child.tag:
                case "Description":
                    selection = selection._replace(description=self.xml.read_text(child))
                case "Coding":
                    codings += self._read_coding(child)
                case "NoteRef":
                    notes += self.read_note_reference(child)
        return selection._replace(codings=tuple(codings), notes=tuple(notes))

    def _read_coding(self, element: Element) -> Iterator[QdpxCoding]:
        guid = self._read_placed(element, "coding")
        user, created = self.read_user(element), self.read_created(element)
        code = ""
        notes: list[str] = []
        for child in self.xml.read_children(element):
            if child.tag == "CodeRef":
                code = self.read_reference(child.attributes.get("targetGUID"), "code")
            elif child.tag == "NoteRef":
                notes += self.read_note_reference(child)
        if code:
            details: Mapping[str, str] | None = self._own.details.get(guid)
            coding = QdpxCoding(guid, code, user, created, tuple(notes))
            yield coding._replace(details=details) if details else coding
        else:
            self.left_out["codings without a code that is in the file"] += 1

    def _read_placed(self, element: Element, kind: str) -> str:
        """The GUID of a selection or coding, of which there may be many."""
        self._put_on_texts += 1
        if self._put_on_texts > MAX_PUT_ON_TEXTS:
            found = f"more than {MAX_PUT_ON_TEXTS:,} selections and codings"
            raise refuse_at(element.line, found, f"at most {MAX_PUT_ON_TEXTS:,}")
        text = element.attributes.get("guid", "")
        guid = read_guid(text)
        if guid is None:
            found = f"the guid {quote(text)}" if text else f"a {kind} without a guid"
            self.note_problem(element, found, "a guid of 8-4-4-4-12 hexadecimal digits")
            return ""
        if guid in self._placed:
            self._repeated += 1
        self._placed.add(guid)
        return guid

    def _read_position(self, element: Element, name: str) -> int:
        text = element.attributes.get(name, "")
        match = _POSITION.fullmatch(text)
        if match is None:
            self.note_problem(element, f"the {name} {quote(text)}", "a whole number")
        return int(match[1]) if match else 0

    def read_note_reference(self, element: Element) -> Iterator[str]:
        """Notes come after what refers to them, so whether a note exists is known later."""
        if (guid := self.read_target(element)) is not None:
            yield self._shared.setdefault(guid, guid)

    def _read_value(self, element: Element) -> dict[str, str]:
        name, value = "", ""
        for child in self.xml.read_children(element):
            if child.tag == "VariableRef":
                name = self.variables.get(self.read_target(child) or "", "")
            elif child.tag.endswith("Value"):
                value = self.xml.read_text(child)
        if not name:
            self.left_out["values of a variable that is not in the file"] += 1
        return {name: value} if name else {}


def drop_notes(source: QdpxSource, keep: Callable[[tuple[str, ...]], tuple[str, ...]]) -> QdpxSource:
    """The source with those references to notes that ``keep`` keeps."""

    def drop(coding: QdpxCoding) -> QdpxCoding:
        return coding._replace(notes=keep(coding.notes)) if coding.notes else coding

    selections = (
        one._replace(codings=tuple(map(drop, one.codings)), notes=keep(one.notes))
        if one.notes or any(coding.notes for coding in one.codings)
        else one
        for one in source.selections
    )
    return source._replace(
        selections=tuple(selections), codings=tuple(map(drop, source.codings)), notes=keep(source.notes)
    )


class ProjectRefused(Exception):
    """The problems of a project's XML."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(str(problems[0]))
        self.problems = problems


def read_qde(chunks: Iterable[bytes], *, load_text: Callable[[str], LoadedText], own: OwnPart) -> QdpxFile:
    """The project; ``load_text`` finds the text that a path stands for. Raises ``ProjectRefused``."""
    xml = XmlReader(chunks, namespaces=PROJECT_NAMESPACES, texts=TEXT_TAGS)
    reader = _ProjectReader(xml, load_text=load_text, own=own)
    try:
        file = reader.read()
    except InputRefused as refused:
        raise ProjectRefused([*reader.problems, refused.problem]) from None
    if reader.problems:
        raise ProjectRefused(reader.problems)
    return file


class _ProjectReader(SourceReader):
    def read(self) -> QdpxFile:
        root = self.xml.read_root("Project")
        origin = root.attributes.get("origin", "")
        if origin == ORIGIN:
            self.xml.decode = unescape
            root = root._replace(attributes={name: unescape(value) for name, value in root.attributes.items()})
        self._users: list[QdpxUser] = []
        self._sources: list[QdpxSource] = []
        self._notes: list[QdpxNote] = []
        self._sets: list[QdcSet] = []
        self._about_all: list[str] = []
        self._variable_names: set[str] = set()
        self._times_named: Counter[str] = Counter()
        self._description = ""
        for section in self.xml.read_children(root):
            self._read_section(section)
        self.xml.read_end()
        project = QdpxProject(
            name=root.attributes.get("name", ""),
            description=self._description,
            user=self._find_creator(root),
            created=self.read_created(root),
            users=tuple(self._users),
            codes=tuple(self.codes),
            variables=tuple(self.variables.values()),
            sets=tuple(self._sets),
            notes=tuple(self._about_all),
        )
        file = self._drop_missing_notes(QdpxFile(project, tuple(self._sources), tuple(self._notes), origin))
        return file._replace(warnings=tuple(self.list_warnings()))

    def _read_section(self, section: Element) -> None:
        match section.tag:
            case "Description":
                self._description = self.xml.read_text(section)
                return
            case "NoteRef":
                self._about_all += self.read_note_reference(section)
                return
            case other if other.startswith("{"):
                self._warn_of_namespace(other)
                return
        for element in self.xml.read_children(section):
            match section.tag, element.tag:
                case "Users", "User":
                    attributes = element.attributes
                    guid = self.read_guid(element, "user")
                    self._users.append(QdpxUser(guid, attributes.get("name", ""), attributes.get("id", "")))
                case "CodeBook", "Codes":
                    self.read_codes(element)
                case "Variables", "Variable":
                    self._read_variable(element)
                case "Sources", "TextSource":
                    self._sources.append(self.read_text_source(element))
                case "Sources", media if media in _MEDIA:
                    name = quote(element.attributes.get("name", ""))
                    self.warn(f"The {_MEDIA[media]} {name} is left out, for only texts are read.")
                case "Notes", "Note":
                    self._notes.append(self.read_note(element))
                case "Sets", "Set":
                    self._sets.append(self.read_set(element))
                case _, other if other in _NOT_READ:
                    self.left_out[_NOT_READ[other]] += 1

    def _warn_of_namespace(self, tag: str) -> None:
        """Say what is not read: another version of the standard could have the codes there."""
        namespace, _, name = tag[1:].rpartition("}")
        self.warn(f"The part {quote(name)} is left out, for its namespace {quote(namespace)} is not known.")

    def _read_variable(self, element: Element) -> None:
        """Remember a variable; one that is named as another gets a number, for a text has one value of a name."""
        guid, name = self.read_guid(element, "variable"), self.read_name(element, "variable")
        unique = name
        while unique in self._variable_names:
            self._times_named[name] += 1
            unique = f"{name} ({self._times_named[name] + 1})"
        self._variable_names.add(unique)
        self.variables[guid] = unique

    def _find_creator(self, root: Element) -> str:
        guid = read_guid(root.attributes.get("creatingUserGUID"))
        return guid if guid is not None and self.knows("user", guid) else ""

    def _drop_missing_notes(self, file: QdpxFile) -> QdpxFile:
        """The same with references to notes that are there; a file seldom has others."""
        there = {note.guid for note in file.notes}

        def keep(notes: tuple[str, ...]) -> tuple[str, ...]:
            kept = tuple(note for note in notes if note in there)
            self.left_out["references to a note that is not in the file"] += len(notes) - len(kept)
            return kept

        project = file.project._replace(
            codes=tuple(code._replace(notes=keep(code.notes)) if code.notes else code for code in file.project.codes),
            notes=keep(file.project.notes),
        )
        return file._replace(project=project, sources=tuple(drop_notes(source, keep) for source in file.sources))
