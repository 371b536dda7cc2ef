"""The bytes of a file, wherever they lie, and files that are archives."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from transcripts.formats.interviews.base import MAX_FILE_SIZE, MAX_WHOLE_SIZE, ReadFile, refuse_by_ending
from transcripts.formats.interviews.documents import (
    FROM_OPEN_DOCUMENT,
    FROM_WORD,
    OPEN_DOCUMENT,
    WORD_DOCUMENT,
    DocumentText,
    describe_counts,
    read_open_document,
    read_word,
)
from transcripts.formats.interviews.inspect_log import is_inspect_archive, read_inspect_archive
from transcripts.formats.problems import InputRefused, ReadError
from transcripts.formats.zip_input import NO_ZIP, ZipInput, ZipLimits, open_zip

CHUNK_BYTES = 1 << 20

_SIGNATURE = b"PK\x03\x04"
# Texts pack well, and nothing is unpacked beyond the size that files may have. Logs are written on while they run, and then hold
# a member more than once.
_LIMITS = ZipLimits(
    archive_bytes=MAX_FILE_SIZE, unpacked_bytes=1_000_000_000, entries=20_000, ratio=1_000, last_wins=True
)
CONVERSATIONS = "conversations.json"

_CONVERSATIONS = re.compile(r"(?:\A|/)conversations(?:-\d+)?\.json\Z")
_KNOWN = (".json", ".jsonl", ".txt", ".md", ".vtt", ".srt", ".sbv", ".tsv", ".docx", ".odt", ".eval", ".traj")
_EXPECTED = (
    f"a document (.docx, .odt), a log (.eval), the archive of an account's export with {CONVERSATIONS}, or a text file"
)
# So much of the files of an archive is unpacked into memory; of those behind, each is unpacked when it is read.
_UNPACKED_AT_ONCE = 50_000_000
_AS_CSV = "the sheet saved as CSV, with a first row that names the columns speaker and text"
_AS_DOCX = "the transcript saved as .docx, .odt or .txt"
# Documents that are archives too, by a member of theirs, and what to do with them.
_OTHER_DOCUMENTS = {
    "xl/workbook.xml": ("an Excel workbook", _AS_CSV),
    "xl/workbook.bin": ("an Excel workbook", _AS_CSV),
    "ppt/presentation.xml": ("a PowerPoint presentation", _AS_DOCX),
    "META-INF/container.xml": ("a book (EPUB)", _AS_DOCX),
    "Index/Document.iwa": ("a document of Pages, Numbers or Keynote", f"{_AS_DOCX} (File, Export)"),
}
_OPEN_KINDS = {
    "spreadsheet": ("an OpenDocument spreadsheet", _AS_CSV),
    "presentation": ("an OpenDocument presentation", _AS_DOCX),
    "graphics": ("an OpenDocument drawing", _AS_DOCX),
}


@dataclass(frozen=True)
class Content:
    """The bytes of the file ``name``: in memory, in a file on a disk, or, with ``entry``, in that file of an archive.

    A file on a disk must stay as it is while it is in use: ``stamp``, its size and the time of its change, shows whether it did.
    """

    name: str
    data: bytes | Path
    entry: str = ""
    stamp: tuple[int, int] | None = None

    @classmethod
    def of(cls, name: str, data: bytes | Path) -> Content:
        """These bytes, or those of the file at a path. Raises `ReadError` for more than are read, and ``OSError``."""
        stamp = None if isinstance(data, bytes) else _stamp(data)
        size = len(data) if isinstance(data, bytes) else data.stat().st_size
        if size > MAX_FILE_SIZE:
            raise ReadError(name, None, f"{size:,} bytes", f"at most {MAX_FILE_SIZE:,} bytes in one file (divide it)")
        return cls(name, data, stamp=stamp)

    @property
    def size(self) -> int:
        """Bytes; of an entry those that its archive declares. Raises `ReadError`."""
        if self.entry:
            with self.open_archive() as archive:
                return archive.read_size(self.entry)
        return len(self.data) if isinstance(self.data, bytes) else self.data.stat().st_size

    @property
    def is_archive(self) -> bool:
        """Whether these are the bytes of a zip archive. Raises `ReadError`."""
        return next(self.read_chunks(), b"").startswith(_SIGNATURE)

    def hash(self) -> str:
        """The SHA-256 of the bytes. Raises `ReadError`."""
        digest = hashlib.sha256()
        for chunk in self.read_chunks():
            digest.update(chunk)
        return digest.hexdigest()

    def read_chunks(self) -> Iterator[bytes]:
        """The bytes, some at a time. Raises `ReadError`."""
        if self.entry:
            with self.open_archive() as archive:
                yield from archive.read_chunks(self.entry)
        elif isinstance(self.data, bytes):
            for first in range(0, len(self.data), CHUNK_BYTES):
                yield self.data[first : first + CHUNK_BYTES]
        else:
            with self._open_file(self.data) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk

    def read_whole(self) -> bytes:
        """All bytes at once. Raises `ReadError`, also for more than are read so."""
        content = bytearray()
        for chunk in self.read_chunks():
            content += chunk
            if len(content) > MAX_WHOLE_SIZE:
                found = f"more than {MAX_WHOLE_SIZE:,} bytes in a format that is read as a whole"
                raise ReadError(self.name, None, found, f"at most {MAX_WHOLE_SIZE:,} bytes (divide the file)")
        return bytes(content)

    @contextmanager
    def open_archive(self) -> Iterator[ZipInput]:
        """The archive that these bytes are, or in which the entry is. Raises `ReadError` for one that is not safe to read."""
        stream = io.BytesIO(self.data) if isinstance(self.data, bytes) else self._open_file(self.data)
        try:
            with stream, open_zip(stream, limits=_LIMITS) as archive:
                yield archive
        except InputRefused as refused:
            problem = refused.problem
            if problem.found == NO_ZIP:
                refuse_by_ending(self.name)
            raise ReadError(self.name, problem.row or None, problem.found, problem.expected) from None

    def _open_file(self, path: Path) -> io.BufferedReader:
        if _stamp(path) != self.stamp:
            found = "a file that was changed while it was read"
            raise ReadError(self.name, None, found, "a file that stays as it is until the import has ended")
        return path.open("rb")


def _stamp(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


class Unpacked(NamedTuple):
    """What is read of an archive, warnings of what was made of it, and who speaks in the tables of a document."""

    content: Content
    warnings: list[str]
    speakers: frozenset[str] = frozenset()


def unpack(content: Content) -> Unpacked | ReadFile:
    """What is read of an archive, as UTF-8 text; of a log that is an archive what was read. Raises `ReadError`."""
    name = content.name
    with content.open_archive() as archive:
        if is_inspect_archive(archive):
            return read_inspect_archive(archive, name=name)
        if WORD_DOCUMENT in archive:
            return _unpack_document(name, read_word(archive), FROM_WORD)
        if OPEN_DOCUMENT in archive and "META-INF/manifest.xml" in archive:
            _refuse_other_open_kinds(archive, name)
            return _unpack_document(name, read_open_document(archive, name), FROM_OPEN_DOCUMENT)
        found = [entry for entry in archive.names if entry.rpartition("/")[2] == CONVERSATIONS]
        if len(found) == 1:
            return Unpacked(replace(content, entry=found[0]), [])
        entries = archive.names
    for entry, (kind, expected) in _OTHER_DOCUMENTS.items():
        if entry in entries:
            raise ReadError(name, None, kind, expected)
    if any(entry.lower().endswith(".qde") for entry in entries):
        raise ReadError(name, None, "a REFI-QDA project", "it on the page Import a study")
    named = ", ".join(entries[:5])
    raise ReadError(name, None, f"an archive with {named}" if named else "an empty archive", _EXPECTED)


def _unpack_document(name: str, document: DocumentText, told: str) -> Unpacked:
    return Unpacked(
        Content(name, document.text.encode()), [told, *describe_counts(document.counted)], document.speakers
    )


def _refuse_other_open_kinds(archive: ZipInput, name: str) -> None:
    if "mimetype" not in archive:
        return
    declared = b"".join(archive.read_chunks("mimetype")).decode("ascii", "replace")
    for kind, (found, expected) in _OPEN_KINDS.items():
        if kind in declared:
            raise ReadError(name, None, found, expected)


def expand(content: Content) -> list[Content]:
    """The files in an archive of several, each under the archive's name and its own; what is no such archive is given back.

    Raises `ReadError` for an archive that is not safe to read. What the archive holds besides files that readers know, such as
    the web page of an account's export, is passed over.
    """
    if not content.is_archive:
        return [content]
    with content.open_archive() as archive:
        # Archives that are one thing by themselves.
        single = (WORD_DOCUMENT, OPEN_DOCUMENT, *_OTHER_DOCUMENTS, "header.json", "_journal/start.json")
        accounts = [entry for entry in archive.names if _CONVERSATIONS.search(entry)]
        if any(entry in archive for entry in single) or len(accounts) == 1:
            return [content]
        known = [entry for entry in archive.names if entry.lower().endswith(_KNOWN) and not _is_hidden(entry)]
        files, unpacked = [], 0
        for entry in accounts or known:
            within = replace(content, name=f"{content.name}/{entry}"[-255:], entry=entry)
            unpacked += archive.read_size(entry)
            if unpacked <= _UNPACKED_AT_ONCE:
                within = Content(within.name, archive.read_entry(entry))
            files.append(within)
        return files or [content]


def _is_hidden(entry: str) -> bool:
    """What file managers add."""
    return entry.startswith("__MACOSX/") or entry.rpartition("/")[2].startswith(".")
