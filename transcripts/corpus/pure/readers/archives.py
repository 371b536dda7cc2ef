"""Files that are archives: documents, whose paragraphs become lines, logs, and the archive of an account's export."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from transcripts.corpus.pure.readers.base import ReadFile
from transcripts.corpus.pure.readers.contents import Content
from transcripts.corpus.pure.readers.documents import (
    FROM_OPEN_DOCUMENT,
    FROM_WORD,
    OPEN_DOCUMENT,
    WORD_DOCUMENT,
    DocumentText,
    describe_counts,
    read_open_document,
    read_word,
)
from transcripts.corpus.pure.readers.inspect_log import is_inspect_archive, read_inspect_archive
from transcripts.formats.problems import ReadError
from transcripts.formats.zip_input import ZipInput

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
