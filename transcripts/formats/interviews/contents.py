"""The bytes of a file, wherever they are stored; archives; and decoding bytes to text.

Text may be in UTF-8, UTF-16 with a mark, Windows-1252 or Mac Roman. Everything else is refused with a sentence that names it.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from transcripts.formats.guarded_input import NO_ZIP, ZipInput, ZipLimits, open_zip
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
from transcripts.formats.text_input import GUESSED, MARKS, guess_encoding, say_guessed

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
# This much of an archive is unpacked into memory; the other files are unpacked when they are read.
_UNPACKED_AT_ONCE = 50_000_000
_AS_CSV = "the sheet saved as CSV, with a first row that names the columns speaker and text"
_AS_DOCX = "the transcript saved as .docx, .odt or .txt"
# Documents that are archives too, recognised by one of their members, and what to do with them.
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
    """The bytes of the file ``name``: in memory, in a file on disk or, with ``entry``, in that file of an archive.

    A file on disk must not change while it is in use; ``stamp``, its size and modification time, shows whether it did.
    """

    name: str
    data: bytes | Path
    entry: str = ""
    stamp: tuple[int, int] | None = None

    @classmethod
    def of(cls, name: str, data: bytes | Path) -> Content:
        """These bytes, or those of the file at a path. Raises `ReadError` for a file that is too large, and ``OSError``."""
        stamp = None if isinstance(data, bytes) else _stamp(data)
        size = len(data) if isinstance(data, bytes) else data.stat().st_size
        if size > MAX_FILE_SIZE:
            raise ReadError(name, None, f"{size:,} bytes", f"at most {MAX_FILE_SIZE:,} bytes in one file (divide it)")
        return cls(name, data, stamp=stamp)

    @property
    def size(self) -> int:
        """The number of bytes; for an entry, the number that its archive declares. Raises `ReadError`."""
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
        """All bytes at once. Raises `ReadError`, also if there are too many to read at once."""
        content = bytearray()
        for chunk in self.read_chunks():
            content += chunk
            if len(content) > MAX_WHOLE_SIZE:
                found = f"more than {MAX_WHOLE_SIZE:,} bytes in a format that is read as a whole"
                raise ReadError(self.name, None, found, f"at most {MAX_WHOLE_SIZE:,} bytes (divide the file)")
        return bytes(content)

    @contextmanager
    def open_archive(self) -> Iterator[ZipInput]:
        """The archive in these bytes, or the one that contains the entry. Raises `ReadError` if it is not safe to read."""
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
    """The readable content of an archive, warnings about it, and the speakers in the tables of a document."""

    content: Content
    warnings: list[str]
    speakers: frozenset[str] = frozenset()


def unpack(content: Content) -> Unpacked | ReadFile:
    """Unpack an archive to UTF-8 text; for a log that is an archive, the result of reading it. Raises `ReadError`."""
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
    """The files in an archive of several files, each under the archive's name and its own; anything else is returned unchanged.

    Raises `ReadError` for an archive that is not safe to read. Files that no reader knows, such as the web page of an account's
    export, are skipped.
    """
    if not content.is_archive:
        return [content]
    with content.open_archive() as archive:
        # Archives that are a single document or log.
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
    """Whether it is a file that file managers add."""
    return entry.startswith("__MACOSX/") or entry.rpartition("/")[2].startswith(".")


_SAVED_AS_DOCX = "it saved as .docx, .odt or .txt"
_TEXT_FILE = "a text file"
_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive within a zip archive", _TEXT_FILE),
    (b"PK\x05\x06", "an empty zip archive", _TEXT_FILE),
    (b"%PDF-", "a PDF file", f"{_SAVED_AS_DOCX}, such as from Word, which opens PDF files"),
    (b"\x7fELF", "a program", _TEXT_FILE),
    (b"\x1f\x8b", "a gzip archive", "the file in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "the files in it, or a zip archive"),
    (b"Rar!\x1a", "a RAR archive", "the files in it, or a zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Word or Excel file", f"{_SAVED_AS_DOCX}; a sheet as CSV"),
    (b"{\\rtf", "a Rich Text file", _SAVED_AS_DOCX),
    (b"\x89PNG", "a picture", _TEXT_FILE),
    (b"\xff\xd8\xff", "a picture", _TEXT_FILE),
    (b"SQLite format 3\x00", "an SQLite database", _TEXT_FILE),
    (b"PAR1", "a Parquet file", "it written as JSON lines or CSV"),
)
_MARKUP = ("<!doctype", "<html", "<head", "<body", "<?xml", "<svg")
_MARKS_OF_UTF_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_UTF_8_TEXT = "UTF-8 text (save the file as UTF-8 and import it again)"
# What cp1252 leaves undefined, and where ISO 8859-1 has only control characters.
_NOT_IN_WINDOWS_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")
_ONLY_IN_WINDOWS = frozenset(range(0x80, 0xA0))
_JSON = re.compile(rb"\s*(?:\{|\[\s*[\[{\]])")
_GUESSED_BYTES = 2_000_000


class Encoding(NamedTuple):
    """The encoding of a file: the codec, the mark at the beginning, and a warning if it is a guess."""

    codec: str = "utf-8"
    mark: bytes = b""
    warning: str = ""


UTF_8 = Encoding()


def find_encoding(content: Content) -> Encoding:
    """The encoding that the mark of a file gives; without a mark UTF-8, or the one that accents and quotation marks suggest.

    JSON is UTF-8. Raises `ReadError` for bytes that are not text.
    """
    chunks = content.read_chunks()
    first = next(chunks, b"")
    _refuse_other_kinds(first, content.name)
    for mark, codec in MARKS:
        if first.startswith(mark):
            return Encoding(codec, mark)
    if _JSON.match(first) or b"\x00" in first or _is_utf_8(chain([first], chunks)):
        return UTF_8
    data = b""
    for chunk in content.read_chunks():
        data += chunk
        if len(data) > _GUESSED_BYTES:
            break
    if not (codec := guess_encoding(data)):
        return UTF_8
    return Encoding(codec, warning=say_guessed(codec, data.decode(codec, "ignore")))


def _is_utf_8(chunks: Iterable[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in chunks:
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def read_text(
    content: Content, encoding: Encoding = UTF_8, *, note: Callable[[int], None] = lambda _size: None
) -> Iterator[str]:
    """The text of a file, piece by piece, without a byte order mark; ``note`` receives the number of bytes read so far.

    Raises `ReadError` for a file that is empty, too large or in another encoding, at the latest after the last piece.
    """
    name = content.name
    decoder = codecs.getincrementaldecoder(encoding.codec)()
    size = lines = 0
    is_blank = is_first = True
    for chunk in chain(content.read_chunks(), [b""]):
        if is_first:
            _refuse_other_kinds(chunk, name)
        data = chunk[len(encoding.mark) :] if is_first else chunk
        size += len(chunk)
        if size > MAX_FILE_SIZE:
            found = f"more than {MAX_FILE_SIZE:,} bytes"
            raise ReadError(name, None, found, f"at most {MAX_FILE_SIZE:,} bytes in one file (divide it)")
        note(size)
        # The first bytes of a character whose others are in the next chunk.
        pending = decoder.getstate()[0]
        try:
            text = decoder.decode(data, final=not chunk)
        except UnicodeDecodeError as error:
            offset = size - len(data) - len(pending) + error.start
            line = lines + (pending + data).count(b"\n", 0, error.start) + 1
            if encoding.codec != "utf-8":
                codec = GUESSED.get(encoding.codec, encoding.codec[:6].upper())
                found = (
                    f"byte 0x{error.object[error.start]:02X} at offset {offset:,}, which is not {codec} as the rest is"
                )
                raise ReadError(name, line, found, _UTF_8_TEXT) from None
            raise _describe_wrong_byte(content, offset, line, error.object[error.start]) from None
        if "\x00" in text:
            raise _describe_null(text, lines, name)
        if is_first and text[:1000].lstrip().lower().startswith(_MARKUP):
            raise ReadError(name, 1, "a web page or XML", "JSON lines or lines of speakers and text")
        lines += text.count("\n")
        is_blank, is_first = is_blank and not text.strip(), False
        if is_blank and not chunk:
            raise ReadError(name, None, "an empty file", "at least one interview")
        yield text


def _refuse_other_kinds(data: bytes, name: str) -> None:
    if data.startswith(_MARKS_OF_UTF_32):
        raise ReadError(name, 1, "text in UTF-32", _UTF_8_TEXT)
    for signature, kind, expected in _SIGNATURES:
        if data.startswith(signature):
            raise ReadError(name, None, kind, expected)
    if data.startswith(b"MZ") and b"\x00" in data[:64]:
        raise ReadError(name, None, "a program", _TEXT_FILE)


def _describe_wrong_byte(content: Content, offset: int, line: int, byte: int) -> ReadError:
    refuse_by_ending(content.name)
    first = next(content.read_chunks())
    high = frozenset().union(*map(frozenset, content.read_chunks())) & frozenset(range(0x80, 0x100))
    if b"\x00" in first[:1000]:
        guess = "UTF-16 without a mark"
    elif codec := guess_encoding(b"".join(content.read_chunks())[:_GUESSED_BYTES]):
        guess = GUESSED[codec] if high & _ONLY_IN_WINDOWS or codec == "mac-roman" else "Latin-1 (ISO 8859-1)"
    elif high & _NOT_IN_WINDOWS_1252:
        guess = "no text, or text in several encodings"
    else:
        guess = "text in the encoding of another language, such as Windows-1250 or Windows-1251"
    found = f"byte 0x{byte:02X} at offset {offset:,}, which is not UTF-8"
    return ReadError(content.name, line, f"{found}; the file looks like {guess}", _UTF_8_TEXT)


def _describe_null(text: str, lines: int, name: str) -> ReadError:
    """``lines`` have ended before this piece of the text."""
    refuse_by_ending(name)
    position = text.index("\x00")
    share = text.count("\x00") / len(text)
    guess = "; the file looks like UTF-16" if share > 0.2 else ""
    line = lines + text.count("\n", 0, position) + 1
    return ReadError(name, line, f"the character U+0000{guess}", _UTF_8_TEXT)
