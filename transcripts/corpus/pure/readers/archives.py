"""Files that are archives: documents, whose paragraphs become lines, logs, and the archive of an account's export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transcripts.corpus.pure.readers.base import MAX_WHOLE_SIZE, ReadError, ReadFile
from transcripts.corpus.pure.readers.contents import Content
from transcripts.corpus.pure.readers.inspect_log import is_inspect_archive, read_inspect_archive
from transcripts.formats.xml_input import Element, XmlReader
from transcripts.formats.zip_input import ZipInput

DOCUMENT = "word/document.xml"
FOOTNOTES = ("word/footnotes.xml", "word/endnotes.xml")
OPEN_DOCUMENT = "content.xml"
CONVERSATIONS = "conversations.json"
FROM_WORD = (
    "The file is a Word document: its paragraphs, also those of tables, were read as lines, footnotes at the end. Pictures, "
    "comments, headers and deleted text were left out."
)
FROM_OPEN_DOCUMENT = (
    "The file is an OpenDocument text: its paragraphs, also those of tables, were read as lines, notes in their place in "
    "brackets. Pictures, comments and deleted text were left out."
)

_CONVERSATIONS = re.compile(r"(?:\A|/)conversations(?:-\d+)?\.json\Z")
_KNOWN = (".json", ".jsonl", ".txt", ".md", ".vtt", ".srt", ".tsv", ".docx", ".odt", ".eval", ".traj")
_EXPECTED = (
    f"a document (.docx, .odt), a log (.eval), the archive of an account's export with {CONVERSATIONS}, or a text file"
)
# So much of the files of an archive is unpacked into memory; of those behind, each is unpacked when it is read.
_UNPACKED_AT_ONCE = 50_000_000
_WORD = frozenset(
    {
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    }
)
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_SPACES = {"tab": "\t", "line-break": "\n"}
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}


def unpack(content: Content) -> tuple[Content, list[str]] | ReadFile:
    """What is read of an archive, as UTF-8 text, and a warning of what was made of it; of a log that is an archive what was
    read. Raises `ReadError`."""
    name = content.name
    with content.open_archive() as archive:
        if is_inspect_archive(archive):
            return read_inspect_archive(archive, name=name)
        if DOCUMENT in archive:
            return Content(name, "".join(_read_word(archive)).encode()), [FROM_WORD]
        if OPEN_DOCUMENT in archive and "META-INF/manifest.xml" in archive:
            return Content(name, _read_open_document(archive, name).encode()), [FROM_OPEN_DOCUMENT]
        found = [entry for entry in archive.names if entry.rpartition("/")[2] == CONVERSATIONS]
        if len(found) == 1:
            return replace(content, entry=found[0]), []
        entries = archive.names
    if any(entry.lower().endswith(".qde") for entry in entries):
        raise ReadError(name, None, "a REFI-QDA project", "it on the page Import a study")
    named = ", ".join(entries[:5])
    raise ReadError(name, None, f"an archive with {named}" if named else "an empty archive", _EXPECTED)


def expand(content: Content) -> list[Content]:
    """The files in an archive of several, each under the archive's name and its own; what is no such archive is given back.

    Raises `ReadError` for an archive that is not safe to read. What the archive holds besides files that readers know, such as
    the web page of an account's export, is passed over.
    """
    if not content.is_archive:
        return [content]
    with content.open_archive() as archive:
        # Archives that are one thing by themselves.
        single = (DOCUMENT, OPEN_DOCUMENT, "header.json", "_journal/start.json")
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


def _read_entry(archive: ZipInput, entry: str, name: str) -> bytes:
    content = bytearray()
    for chunk in archive.read_chunks(entry):
        content += chunk
        if len(content) > MAX_WHOLE_SIZE:
            raise ReadError(name, None, f"{entry} of more than {MAX_WHOLE_SIZE:,} bytes", f"at most {MAX_WHOLE_SIZE:,}")
    return bytes(content)


def _read_word(archive: ZipInput) -> Iterator[str]:
    for entry, root in ((DOCUMENT, "document"), *zip(FOOTNOTES, ("footnotes", "endnotes"), strict=True)):
        if entry in archive:
            reader = XmlReader(archive.read_chunks(entry), namespaces=_WORD, texts={"t"})
            yield from _read_below(reader, reader.read_root(root))
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


def _read_open_document(archive: ZipInput, name: str) -> str:
    """The paragraphs and headings of an OpenDocument text, each as a line."""
    from lxml import etree

    content = _read_entry(archive, OPEN_DOCUMENT, name)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ReadError(
            name, None, f"{OPEN_DOCUMENT}, which is not well-formed XML", "an undamaged document"
        ) from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise ReadError(name, None, f"{OPEN_DOCUMENT} with a document type declaration", "a document without one")
    return "".join(_write_paragraphs(root))


def _write_paragraphs(element: Any) -> Iterator[str]:
    kind = _local(element)
    if kind in {"tracked-changes", "annotation", "forms"}:
        return
    if kind in {"p", "h"}:
        yield f"{''.join(_write_words(element))}\n"
        return
    for child in element:
        yield from _write_paragraphs(child)


def _write_words(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        kind = _local(child)
        if kind == "s":
            yield " " * min(int(child.get(f"{_TEXT}c", "1") or 1), 1_000)
        elif kind in _SPACES:
            yield _SPACES[kind]
        elif kind == "note":
            bodies = (body for body in child if _local(body) == "note-body")
            words = " ".join("".join(_write_words(body)).strip() for body in bodies)
            yield f" [{words}]"
        elif kind not in {"annotation", "change"}:
            yield from _write_words(child)
        yield child.tail or ""


def _local(element: Any) -> str:
    """The name of an element without its namespace; "" for comments."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
