"""The XML of a REFI-QDA project file: users, codes, texts with their codings, notes and sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from transcripts.formats.problems import InputRefused, Problem, quote
from transcripts.formats.qde_sources import TEXT_TAGS, LoadedText, SourceReader, drop_notes
from transcripts.formats.qdpx_content import QdpxFile, QdpxNote, QdpxProject, QdpxSource, QdpxUser
from transcripts.formats.qdpx_own import OwnPart
from transcripts.formats.refi import ORIGIN, PROJECT_NAMESPACES, read_guid, unescape
from transcripts.formats.refi_codes import QdcSet
from transcripts.formats.xml_input import Element, XmlReader

_MEDIA = {"PictureSource": "picture", "PDFSource": "PDF", "AudioSource": "recording", "VideoSource": "video"}
_NOT_READ = {"Case": "cases", "Link": "links", "Graph": "graphs"}


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
