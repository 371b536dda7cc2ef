"""Project files of REFI-QDA (.qdpx), written source by source: memory does not grow with the number of codings.

The same state gives the same bytes. Texts are written to the archive directly; the XML and our own part are kept in temporary
files until the last source is written, because an archive is written one entry at a time.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Protocol, TypeVar, cast

from transcripts.formats.guarded_input import DEFAULT_LIMITS, XmlSink, refuse_unstorable, write_document
from transcripts.formats.problems import FileRefused, Problem, quote
from transcripts.formats.qdpx_content import (
    ENTRY,
    QdpxCoding,
    QdpxNote,
    QdpxProject,
    QdpxSelection,
    QdpxSource,
    list_own_lines,
    make_head,
)
from transcripts.formats.qdpx_read import PROJECT_ENTRY, ProjectFileError
from transcripts.formats.refi import (
    GUID_EXPECTED,
    ORIGIN,
    PROJECT_NAMESPACE,
    find_code_problems,
    find_set_problems,
    make_guid,
    read_guid,
    show_moment,
    write_codes,
)
from transcripts.formats.text_input import Folded, fold

MAX_TEXT_FILES = 1_900
"""Texts beyond this number are written into the XML, because readers limit the number of entries in an archive."""
HELD_IN_MEMORY = 8_000_000
"""Bytes of a temporary file before it is moved to the disk."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""A fixed time, the earliest in a zip archive, so that exports of the same state are identical."""
OUTCOME = "nothing was written"

T = TypeVar("T")


class _Made(Protocol):
    @property
    def user(self) -> str: ...

    @property
    def created(self) -> datetime | None: ...


def write_qdpx(
    project: QdpxProject, *, sources: Iterable[QdpxSource], notes: Iterable[QdpxNote], stream: BinaryIO
) -> Counter[str]:
    """Write a project file; returns how many sources, selections, codings and notes were written.

    ``notes`` are asked for after the last source, so a caller can collect them on the way. Raises ``ProjectFileError`` for data
    that could not be read back unchanged; the content of ``stream`` is then useless.
    """
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        SpooledTemporaryFile(HELD_IN_MEMORY) as document,
        SpooledTemporaryFile(HELD_IN_MEMORY) as own,
    ):
        writer = _ProjectWriter(project, archive, cast("BinaryIO", own))
        try:
            writer.write(cast("BinaryIO", document), sources, notes)
        except FileRefused:
            raise
        except ValueError as error:
            raise _refuse(str(error), "text without NUL and lone surrogates, times with a time zone") from error
        _copy_entry(archive, PROJECT_ENTRY, cast("BinaryIO", document))
        if own.tell():
            _copy_entry(archive, ENTRY, cast("BinaryIO", own))
    return writer.written


class _ProjectWriter:
    def __init__(self, project: QdpxProject, archive: zipfile.ZipFile, own: BinaryIO) -> None:
        self.written: Counter[str] = Counter()
        self._project = project
        self._archive = archive
        self._own = own
        self._users = {user.guid for user in project.users}
        self._codes = {code.guid for code in project.codes}
        self._variables = {name: make_guid("variable", project.name, name) for name in project.variables}
        self._sources: set[str] = set()
        self._notes: set[str] = set()
        self._sink: XmlSink
        self._notes_needed = set(project.notes).union(*(code.notes for code in project.codes))

    def write(self, document: BinaryIO, sources: Iterable[QdpxSource], notes: Iterable[QdpxNote]) -> None:
        project = self._project
        self._check_project()
        root = {"name": project.name, "origin": ORIGIN, **self._show_made(project, "creatingUserGUID")}
        with write_document(document, "Project", root, namespace=PROJECT_NAMESPACE) as sink:
            self._sink = sink
            self._write_head()
            with self._maybe_element("Sources", sources) as texts:
                for source in texts:
                    self._write_source(source)
            with self._maybe_element("Notes", notes) as memos:
                for note in memos:
                    self._write_note(note)
            self._write_tail()

    def _check_project(self) -> None:
        project = self._project
        problems = list(find_code_problems(project.codes))
        if len(self._users) < len(project.users) or any(read_guid(guid) != guid for guid in self._users):
            problems.append(Problem(0, "users with the same guid or none", f"each with its own guid, {GUID_EXPECTED}"))
        if len(self._variables) < len(project.variables) or not all(name.strip() for name in self._variables):
            problems.append(Problem(0, "variables with the same name or none", "a different name for each"))
        if problems:
            raise ProjectFileError("The project", problems, outcome=OUTCOME)

    def _write_head(self) -> None:
        project, sink = self._project, self._sink
        if project.users:
            with sink.element("Users"):
                for user in project.users:
                    sink.leaf("User", {"guid": user.guid, "name": user.name, "id": user.id or None})
        if project.codes:
            with sink.element("CodeBook"):
                write_codes(sink, project.codes)
        if self._variables:
            with sink.element("Variables"):
                for name, guid in self._variables.items():
                    sink.leaf("Variable", {"guid": guid, "name": name, "typeOfVariable": "Text"})

    def _write_tail(self) -> None:
        project, sink = self._project, self._sink
        problems = list(find_set_problems(project.sets, codes=self._codes, sources=self._sources, notes=self._notes))
        if missing := self._notes_needed - self._notes:
            problems.append(Problem(0, f"a reference to the note {min(missing)}, which is not written", "it"))
        if problems:
            raise ProjectFileError("The project", problems, outcome=OUTCOME)
        with self._maybe_element("Sets", project.sets) as sets:
            for group in sets:
                with sink.element("Set", {"guid": group.guid, "name": group.name}):
                    self._write_description(group.description)
                    members = {"MemberCode": group.codes, "MemberSource": group.sources, "MemberNote": group.notes}
                    for tag, guids in members.items():
                        for guid in guids:
                            sink.leaf(tag, {"targetGUID": guid})
        self._write_description(project.description)
        self._write_note_references(project.notes)

    def _write_source(self, source: QdpxSource) -> None:
        place = f"source {len(self._sources) + 1} {quote(source.name)}"
        self._check_guid(source.guid, "source", place, self._sources)
        if source.text is None:
            raise _refuse("a source without its text", "the text", place)
        _check_turns(source, len(source.text), place)
        attributes = {"guid": source.guid, "name": source.name, **self._show_made(source)}
        in_file = len(self._sources) <= MAX_TEXT_FILES
        folded = fold(source.text)
        if in_file:
            self._write_text(source.guid, folded.text)
            attributes["plainTextPath"] = f"internal://{source.guid}.txt"
        with self._sink.element("TextSource", attributes):
            self._write_description(source.description)
            if not in_file:
                self._sink.leaf("PlainTextContent", text=folded.text)
            for selection in source.selections:
                self._write_selection(selection, source.text, folded, place)
            self._write_codings(source.codings, place)
            self._write_note_references(source.notes)
            for name, value in source.attributes.items():
                if name not in self._variables:
                    raise _refuse(f"the attribute {quote(name)}", "one of the project's variables", place)
                with self._sink.element("VariableValue"):
                    self._sink.leaf("VariableRef", {"targetGUID": self._variables[name]})
                    self._sink.leaf("TextValue", text=value)
        for line in list_own_lines(source, folded.places):
            if not self._own.tell():
                self._own.write(make_head())
            self._own.write(line)
        self.written.update(sources=1, selections=len(source.selections))

    def _write_text(self, guid: str, text: str) -> None:
        refuse_unstorable(text)
        # A byte-order mark at the beginning is read as that of the file, so a text that begins with one needs a second one.
        data = ("\ufeff" + text if text.startswith("\ufeff") else text).encode()
        entry = _make_entry(f"sources/{guid}.txt")
        if len(data) > DEFAULT_LIMITS.ratio_from and len(zlib.compress(data, 1)) * DEFAULT_LIMITS.ratio < 2 * len(data):
            entry.compress_type = zipfile.ZIP_STORED  # packed, it would look like a bomb
        self._archive.writestr(entry, data)

    def _write_selection(self, selection: QdpxSelection, text: str, folded: Folded, place: str) -> None:
        if not 0 <= selection.start <= selection.end <= len(text):
            found = f"a selection from {selection.start:,} to {selection.end:,} of {len(text):,} characters"
            raise _refuse(found, "one inside the text", place)
        self._check_guid(selection.guid, "selection", place)
        attributes = {
            "guid": selection.guid,
            "name": selection.name or None,
            "startPosition": str(folded.find(selection.start)),
            "endPosition": str(folded.find(selection.end)),
            **self._show_made(selection),
        }
        with self._sink.element("PlainTextSelection", attributes):
            self._write_description(selection.description)
            self._write_codings(selection.codings, place)
            self._write_note_references(selection.notes)

    def _write_codings(self, codings: Sequence[QdpxCoding], place: str) -> None:
        for coding in codings:
            self._check_guid(coding.guid, "coding", place)
            if coding.code not in self._codes:
                raise _refuse(f"a coding with the code {quote(coding.code)}", "one of the project's codes", place)
            with self._sink.element("Coding", {"guid": coding.guid, **self._show_made(coding)}):
                self._sink.leaf("CodeRef", {"targetGUID": coding.code})
                self._write_note_references(coding.notes)
        self.written["codings"] += len(codings)

    def _write_note(self, note: QdpxNote) -> None:
        self._check_guid(note.guid, "note", f"note {len(self._notes) + 1}", self._notes)
        attributes = {"guid": note.guid, "name": note.name, **self._show_made(note)}
        in_file = len(self._sources) + len(self._notes) <= MAX_TEXT_FILES
        if in_file:
            self._write_text(note.guid, note.text)
            attributes["plainTextPath"] = f"internal://{note.guid}.txt"
        with self._sink.element("Note", attributes):
            self._write_description(note.description)
            if not in_file:
                self._sink.leaf("PlainTextContent", text=note.text)
        self.written["notes"] += 1

    def _write_description(self, text: str) -> None:
        if text:
            self._sink.leaf("Description", text=text)

    def _write_note_references(self, notes: Iterable[str]) -> None:
        for note in notes:
            self._notes_needed.add(note)
            self._sink.leaf("NoteRef", {"targetGUID": note})

    @contextmanager
    def _maybe_element(self, tag: str, items: Iterable[T]) -> Iterator[Iterable[T]]:
        """Write the items inside an element if there are any, because the standard has no empty lists."""
        iterator = iter(items)
        first = list(islice(iterator, 1))
        if first:
            with self._sink.element(tag):
                yield chain(first, iterator)
        else:
            yield ()

    def _show_made(self, made: _Made, key: str = "creatingUser") -> dict[str, str | None]:
        """The author and the time as attributes."""
        if made.user and made.user not in self._users:
            raise _refuse(f"the user {quote(made.user)}", "one of the project's users")
        return {key: made.user or None, "creationDateTime": show_moment(made.created) if made.created else None}

    def _check_guid(self, guid: str, kind: str, place: str, seen: set[str] | None = None) -> None:
        if read_guid(guid) != guid:
            raise _refuse(f"the {kind} guid {quote(guid)}", f"a guid of {GUID_EXPECTED} in lower case", place)
        if seen is not None:
            if guid in seen:
                raise _refuse(f"the {kind} guid {guid} once more", f"each {kind} with a guid of its own", place)
            seen.add(guid)


def _check_turns(source: QdpxSource, length: int, place: str) -> None:
    for turn in source.turns:
        if not 0 <= turn.start <= turn.end <= length:
            found = f"a turn from {turn.start:,} to {turn.end:,} of {length:,} characters"
            raise _refuse(found, "one inside the text", place)


def _make_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    return entry


def _copy_entry(archive: zipfile.ZipFile, name: str, content: BinaryIO) -> None:
    entry = _make_entry(name)
    entry.file_size = content.tell()
    content.seek(0)
    with archive.open(entry, "w") as target:
        shutil.copyfileobj(content, target)


def _refuse(found: str, expected: str, place: str = "") -> ProjectFileError:
    return ProjectFileError("The project", [Problem(0, found, expected, place)], outcome=OUTCOME)
