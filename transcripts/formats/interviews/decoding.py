"""From bytes to text: UTF-8, UTF-16 with a mark, Windows-1252 and Mac Roman; a plain answer to everything else."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from transcripts.formats.interviews.base import MAX_FILE_SIZE, refuse_by_ending
from transcripts.formats.interviews.contents import Content
from transcripts.formats.problems import ReadError
from transcripts.formats.text_input import GUESSED, MARKS, guess_encoding, say_guessed

_AS_DOCX = "it saved as .docx, .odt or .txt"
_TEXT_FILE = "a text file"
_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive within a zip archive", _TEXT_FILE),
    (b"PK\x05\x06", "an empty zip archive", _TEXT_FILE),
    (b"%PDF-", "a PDF file", f"{_AS_DOCX}, such as from Word, which opens PDF files"),
    (b"\x7fELF", "a program", _TEXT_FILE),
    (b"\x1f\x8b", "a gzip archive", "the file in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "the files in it, or a zip archive"),
    (b"Rar!\x1a", "a RAR archive", "the files in it, or a zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Word or Excel file", f"{_AS_DOCX}; a sheet as CSV"),
    (b"{\\rtf", "a Rich Text file", _AS_DOCX),
    (b"\x89PNG", "a picture", _TEXT_FILE),
    (b"\xff\xd8\xff", "a picture", _TEXT_FILE),
    (b"SQLite format 3\x00", "an SQLite database", _TEXT_FILE),
    (b"PAR1", "a Parquet file", "it written as JSON lines or CSV"),
)
_MARKUP = ("<!doctype", "<html", "<head", "<body", "<?xml", "<svg")
_MARKS_OF_UTF_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_EXPECTED = "UTF-8 text (save the file as UTF-8 and import it again)"
# What cp1252 leaves undefined, and where ISO 8859-1 has only control characters.
_NOT_IN_WINDOWS_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")
_ONLY_IN_WINDOWS = frozenset(range(0x80, 0xA0))
_JSON = re.compile(rb"\s*(?:\{|\[\s*[\[{\]])")
_GUESSED_BYTES = 2_000_000


class Encoding(NamedTuple):
    """How the bytes of a file are text: the codec, the mark at their beginning, and a warning where it is a guess."""

    codec: str = "utf-8"
    mark: bytes = b""
    warning: str = ""


UTF_8 = Encoding()


def find_encoding(content: Content) -> Encoding:
    """The encoding that the mark of a file says; of a text without one UTF-8, or what its accents and quotation marks show.

    JSON is UTF-8. Raises `ReadError` for what is no text.
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
    """The text of a file, piece by piece, without a byte order mark; ``note`` is told how many bytes have been read.

    Raises `ReadError` for what is empty, too large or in another encoding, at the latest behind the last piece.
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
                raise ReadError(name, line, found, _EXPECTED) from None
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
        raise ReadError(name, 1, "text in UTF-32", _EXPECTED)
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
    return ReadError(content.name, line, f"{found}; the file looks like {guess}", _EXPECTED)


def _describe_null(text: str, lines: int, name: str) -> ReadError:
    """``lines`` have ended before this piece of the text."""
    refuse_by_ending(name)
    position = text.index("\x00")
    share = text.count("\x00") / len(text)
    guess = "; the file looks like UTF-16" if share > 0.2 else ""
    line = lines + text.count("\n", 0, position) + 1
    return ReadError(name, line, f"the character U+0000{guess}", _EXPECTED)
