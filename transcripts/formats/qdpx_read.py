"""Project files of REFI-QDA (.qdpx, and the bare .qde inside) read into plain tuples.

Users, codes, texts with their codings, notes and sets are read. A file is refused if it is not safe or its XML violates the
standard; parts that are only missing or of another kind (media, formatted text, links) are listed in ``warnings``.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import BinaryIO

from transcripts.formats.guarded_input import (
    DEFAULT_LIMITS,
    Element,
    XmlReader,
    ZipInput,
    ZipLimits,
    open_zip,
    read_chunks,
    refuse_at,
    unescape,
)
from transcripts.formats.problems import FileRefused, InputRefused, Problem, ReadError, quote, show_count
from transcripts.formats.qdpx_content import (
    ENTRY,
    OwnPart,
    QdpxCoding,
    QdpxFile,
    QdpxNote,
    QdpxProject,
    QdpxSelection,
    QdpxSource,
    QdpxUser,
    read_own_part,
)
from transcripts.formats.refi import ORIGIN, PROJECT_NAMESPACES, QdcSet, RefiReader, read_guid, read_moment
from transcripts.formats.text_input import find_unfolded

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
"""The text at a path, or ``None`` and the reason why it is missing."""
MAX_LENGTH = 2**31 - 1
"""The greatest position of a selection in a text that is missing."""


class SourceReader(RefiReader):
    """Reads sources and notes; ``load_text`` finds the texts at their paths."""

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
        """The warnings about codes, and the number of selections and codings with a repeated GUID, which loses nothing."""
        yield from super().list_warnings()
        if self._repeated:
            yield f"{show_count(self._repeated, 'guid')} of selections or codings occurred more than once; all of them were read."

    def read_reference(self, text: str | None, kind: str) -> str:
        """A GUID that refers to something already read, or ""."""
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
        """Read a memo; if its text is missing, it is kept for its description."""
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
            self.warn(f"The turns of {quote(source.name)} are left out, because its text {why}.")
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
        """The GUID of a selection or coding, whose number is limited."""
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
        """Read a reference to a note. Notes come after the references, so whether a note exists is known later."""
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
    """The source with only those references to notes that ``keep`` accepts."""

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
    """Read the project; ``load_text`` finds the text at a path. Raises ``ProjectRefused``."""
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
                    self.warn(f"The {_MEDIA[media]} {name} is left out, because only texts are read.")
                case "Notes", "Note":
                    self._notes.append(self.read_note(element))
                case "Sets", "Set":
                    self._sets.append(self.read_set(element))
                case _, other if other in _NOT_READ:
                    self.left_out[_NOT_READ[other]] += 1

    def _warn_of_namespace(self, tag: str) -> None:
        """Warn about an unknown namespace, because another version of the standard could have the codes there."""
        namespace, _, name = tag[1:].rpartition("}")
        self.warn(f"The part {quote(name)} is left out, because its namespace {quote(namespace)} is not known.")

    def _read_variable(self, element: Element) -> None:
        """Store a variable; if its name is taken it gets a number, because a text has only one value per name."""
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
        """The same with only those references whose notes exist; a file seldom has others."""
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


PROJECT_ENTRY = "project.qde"
MAX_PROJECT_SIZE = 200_000_000
"""Bytes of a bare .qde file."""

_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_INTERNAL = re.compile(r"internal:/{1,3}", re.IGNORECASE)


class ProjectFileError(FileRefused):
    """A project file was refused, or a study cannot be written as one."""


def read_qdpx(stream: BinaryIO, *, name: str, limits: ZipLimits = DEFAULT_LIMITS) -> QdpxFile:
    """The project in a seekable stream. ``name`` is the file's name, for messages. Raises ``ProjectFileError``."""
    stream.seek(0)
    try:
        if stream.read(4).startswith(b"PK"):
            with open_zip(stream, limits=limits) as archive:
                return _read_archive(archive)
        size = stream.seek(0, io.SEEK_END)
        if size > MAX_PROJECT_SIZE:
            raise InputRefused(Problem(0, f"{size:,} bytes", f"at most {MAX_PROJECT_SIZE:,}"))
        stream.seek(0)
        return read_qde(read_chunks(stream), load_text=_miss_text, own=OwnPart({}, {}, {}, {}))
    except InputRefused as refused:
        raise ProjectFileError(name, [refused.problem]) from None
    except ProjectRefused as refused:
        raise ProjectFileError(name, refused.problems) from None


def _read_archive(archive: ZipInput) -> QdpxFile:
    # People who repack an unpacked project often include the folder around it.
    projects = [entry for entry in archive.names if entry.casefold().rpartition("/")[2] == PROJECT_ENTRY]
    if PROJECT_ENTRY not in archive and len(projects) != 1:
        raise InputRefused(Problem(0, f"an archive with {len(projects)} entries {PROJECT_ENTRY}", "one"))
    own, warnings = OwnPart({}, {}, {}, {}), []
    if ENTRY in archive:
        try:
            own = read_own_part(archive.read_chunks(ENTRY))
        except (ValueError, ReadError):
            warnings.append(f"The entry {ENTRY} was changed or is of another version; turns and details are left out.")
    loader = _TextLoader(archive)
    file = read_qde(
        archive.read_chunks(PROJECT_ENTRY if PROJECT_ENTRY in archive else projects[0]), load_text=loader.load, own=own
    )
    return file._replace(warnings=(*warnings, *file.warnings))


class _TextLoader:
    """Finds texts in the archive and nowhere else, in any folder where other programs put them."""

    def __init__(self, archive: ZipInput) -> None:
        self._archive = archive
        self._loaded: dict[str, LoadedText] = {}
        self._by_last_part = {name.rpartition("/")[2].casefold(): name for name in archive.names}

    def load(self, path: str) -> LoadedText:
        file, internal = _INTERNAL.subn("", path, count=1)
        if not internal or not path.lower().startswith("internal:"):
            return None, f"it lies outside the file, at {quote(path)}"
        entry = f"sources/{file}"
        if entry not in self._archive:
            entry = self._by_last_part.get(file.rpartition("/")[2].casefold(), "")
        if not entry:
            return None, f"{quote(file)} is not in the archive"
        if entry not in self._loaded:
            self._loaded[entry] = _decode(self._archive.read_entry(entry))
        return self._loaded[entry]


def _decode(data: bytes) -> LoadedText:
    encoding = _BYTE_ORDER_MARKS.get(data[:2], "utf-8-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return None, f"it is not in UTF-8, beginning with byte {error.start + 1:,}"
    if "\0" in text:
        return None, f"it has a NUL at character {text.index(chr(0)) + 1:,}, which cannot be stored"
    return text, ""


def _miss_text(path: str) -> LoadedText:
    return None, f"{quote(path)} is not part of a bare .qde file; read the .qdpx that it comes from"
