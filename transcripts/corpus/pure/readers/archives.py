"""Files that are archives: a Word document, whose paragraphs become lines, and the archive of an account's export."""

from __future__ import annotations

import io
from collections.abc import Iterator

from transcripts.corpus.pure.readers.base import MAX_FILE_SIZE, ReadError, ReadFile
from transcripts.corpus.pure.readers.inspect_log import is_inspect_archive, read_inspect_archive
from transcripts.formats.problems import InputRefused
from transcripts.formats.xml_input import Element, XmlReader
from transcripts.formats.zip_input import ZipInput, ZipLimits, open_zip

DOCUMENT = "word/document.xml"
CONVERSATIONS = "conversations.json"
FROM_WORD = (
    "The file is a Word document: its paragraphs were read as lines. Pictures, comments, footnotes, headers and deleted "
    "text were left out."
)

_SIGNATURE = b"PK\x03\x04"
_EXPECTED = f"a Word document (.docx), the archive of an account's export with {CONVERSATIONS}, or a text file"
# Texts pack well, and nothing is unpacked beyond the size that a file may have. Logs are written on while they run, and then hold
# a member more than once.
_LIMITS = ZipLimits(unpacked_bytes=1_000_000_000, entries=20_000, ratio=1_000, last_wins=True)
_WORD = frozenset(
    {
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    }
)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}


def is_archive(data: bytes) -> bool:
    """Whether these are the bytes of a zip archive."""
    return data.startswith(_SIGNATURE)


def unpack(data: bytes, *, name: str) -> tuple[bytes, list[str]] | ReadFile:
    """What is read of an archive, as UTF-8 text, and a warning of what was made of it; of a log that is an archive what was
    read. Raises `ReadError`."""
    try:
        with open_zip(io.BytesIO(data), limits=_LIMITS) as archive:
            if is_inspect_archive(archive):
                return read_inspect_archive(archive, name=name)
            if DOCUMENT in archive:
                return "".join(_read_word(archive)).encode(), [FROM_WORD]
            found = [entry for entry in archive.names if entry.rpartition("/")[2] == CONVERSATIONS]
            if len(found) == 1:
                return _read_entry(archive, found[0], name), []
            entries = archive.names
    except InputRefused as refused:
        problem = refused.problem
        raise ReadError(name, problem.row or None, problem.found, problem.expected) from None
    if any(entry.lower().endswith(".qde") for entry in entries):
        raise ReadError(name, None, "a REFI-QDA project", "it on the page Import a study")
    named = ", ".join(entries[:5])
    raise ReadError(name, None, f"an archive with {named}" if named else "an empty archive", _EXPECTED)


def _read_entry(archive: ZipInput, entry: str, name: str) -> bytes:
    content = bytearray()
    for chunk in archive.read_chunks(entry):
        content += chunk
        if len(content) > MAX_FILE_SIZE:
            raise ReadError(name, None, f"{entry} of more than {MAX_FILE_SIZE:,} bytes", f"at most {MAX_FILE_SIZE:,}")
    return bytes(content)


def _read_word(archive: ZipInput) -> Iterator[str]:
    reader = XmlReader(archive.read_chunks(DOCUMENT), namespaces=_WORD, texts={"t"})
    yield from _read_below(reader, reader.read_root("document"))
    reader.read_end()


def _read_below(reader: XmlReader, parent: Element) -> Iterator[str]:
    for child in reader.read_children(parent):
        if child.tag == "t":
            yield reader.read_text(child)
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        # What stands in another form for programs that do not know the first.
        elif not child.tag.endswith("}Fallback"):
            yield from _read_below(reader, child)
            if child.tag == "p":
                yield "\n"
