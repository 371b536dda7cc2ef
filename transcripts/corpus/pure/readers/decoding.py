"""From bytes to text: strict UTF-8, and a plain answer to everything else."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from itertools import chain

from transcripts.corpus.pure.readers.base import MAX_FILE_SIZE, ReadError
from transcripts.corpus.pure.readers.contents import Content

_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive within a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"%PDF-", "a PDF file"),
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0", "an old Word or Excel file"),
    (b"{\\rtf", "a Rich Text file"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_MARKUP = ("<!doctype", "<html", "<head", "<body", "<?xml", "<svg")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_EXPECTED = "UTF-8 text (save the file as UTF-8 and import it again)"
# What cp1252 leaves undefined, and where ISO 8859-1 has only control characters.
_NOT_IN_WINDOWS_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")
_ONLY_IN_WINDOWS = frozenset(range(0x80, 0xA0))


def read_text(content: Content, *, note: Callable[[int], None] = lambda _size: None) -> Iterator[str]:
    """The text of a file, piece by piece, without a byte order mark; ``note`` is told how many bytes have been read.

    Raises `ReadError` for what is empty, too large or no UTF-8, at the latest behind the last piece.
    """
    name = content.name
    decoder = codecs.getincrementaldecoder("utf-8")()
    size = lines = dropped = 0
    is_blank = is_first = True
    for chunk in chain(content.read_chunks(), [b""]):
        if is_first:
            _refuse_other_kinds(chunk, name)
            dropped = len(codecs.BOM_UTF8) if chunk.startswith(codecs.BOM_UTF8) else 0
        data = chunk[dropped:] if is_first else chunk
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
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            raise ReadError(name, 1, f"text in {encoding}", _EXPECTED)
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            raise ReadError(name, None, kind, "a text file")
    if data.startswith(b"MZ") and b"\x00" in data[:64]:
        raise ReadError(name, None, "a program", "a text file")


def _describe_wrong_byte(content: Content, offset: int, line: int, byte: int) -> ReadError:
    first = next(content.read_chunks())
    high = frozenset().union(*map(frozenset, content.read_chunks())) & frozenset(range(0x80, 0x100))
    if b"\x00" in first[:1000]:
        guess = "UTF-16 without a mark"
    elif high & _ONLY_IN_WINDOWS and not high & _NOT_IN_WINDOWS_1252:
        guess = "Windows-1252"
    elif high & _ONLY_IN_WINDOWS:
        guess = "no text, or text in several encodings"
    else:
        guess = "Latin-1 (ISO 8859-1)"
    found = f"byte 0x{byte:02X} at offset {offset:,}, which is not UTF-8"
    return ReadError(content.name, line, f"{found}; the file looks like {guess}", _EXPECTED)


def _describe_null(text: str, lines: int, name: str) -> ReadError:
    """``lines`` have ended before this piece of the text."""
    position = text.index("\x00")
    share = text.count("\x00") / len(text)
    guess = "; the file looks like UTF-16" if share > 0.2 else ""
    line = lines + text.count("\n", 0, position) + 1
    return ReadError(name, line, f"the character U+0000{guess}", _EXPECTED)
