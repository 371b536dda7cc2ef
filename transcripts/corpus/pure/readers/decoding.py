"""From bytes to text: strict UTF-8, and a plain answer to everything else."""

from __future__ import annotations

import codecs

from transcripts.corpus.pure.readers.base import MAX_FILE_SIZE, ReadError

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


def decode_text(data: bytes, *, name: str) -> str:
    """The text of a file, without a byte order mark. Raises `ReadError` for what is empty, too large or no UTF-8."""
    if len(data) > MAX_FILE_SIZE:
        raise ReadError(name, None, f"{len(data):,} bytes", f"at most {MAX_FILE_SIZE:,} bytes in one file")
    _refuse_other_kinds(data, name)
    content = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _describe_wrong_byte(content, len(data) - len(content), error, name) from None
    if "\x00" in text:
        raise _describe_null(text, name)
    if not text.strip():
        raise ReadError(name, None, "an empty file", "at least one interview")
    if text[:1000].lstrip().lower().startswith(_MARKUP):
        raise ReadError(name, 1, "a web page or XML", "JSON lines or lines of speakers and text")
    return text


def _refuse_other_kinds(data: bytes, name: str) -> None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            raise ReadError(name, 1, f"text in {encoding}", _EXPECTED)
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            raise ReadError(name, None, kind, "a text file")
    if data.startswith(b"MZ") and b"\x00" in data[:64]:
        raise ReadError(name, None, "a program", "a text file")


def _describe_wrong_byte(content: bytes, dropped: int, error: UnicodeDecodeError, name: str) -> ReadError:
    line = content.count(b"\n", 0, error.start) + 1
    high = frozenset(content) & frozenset(range(0x80, 0x100))
    if b"\x00" in content[:1000]:
        guess = "UTF-16 without a mark"
    elif high & _ONLY_IN_WINDOWS and not high & _NOT_IN_WINDOWS_1252:
        guess = "Windows-1252"
    elif high & _ONLY_IN_WINDOWS:
        guess = "no text, or text in several encodings"
    else:
        guess = "Latin-1 (ISO 8859-1)"
    offset = dropped + error.start
    found = f"byte 0x{content[error.start]:02X} at offset {offset:,}, which is not UTF-8"
    return ReadError(name, line, f"{found}; the file looks like {guess}", _EXPECTED)


def _describe_null(text: str, name: str) -> ReadError:
    position = text.index("\x00")
    share = text.count("\x00") / len(text)
    guess = "; the file looks like UTF-16" if share > 0.2 else ""
    line = text.count("\n", 0, position) + 1
    return ReadError(name, line, f"the character U+0000{guess}", _EXPECTED)
