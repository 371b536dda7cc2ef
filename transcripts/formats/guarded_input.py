"""Safe reading of XML and zip archives of unknown origin; and writing XML piece by piece, one element per line.

XML is read as a stream of elements. Archives are checked before anything is unpacked, and are never unpacked to a disk.

XML 1.0 cannot represent most control characters. Where a text has one we write ``_xHHHH_`` (its code in hexadecimal) and
put ``_x005F_`` for an underscore that would begin such a sequence; files of other tools are not read in this way.

``InputRefused`` is raised, with a sentence, for too many or too large entries, suspiciously compressed entries or entries that
share bytes, names that lead outside or occur twice, encrypted entries, and links.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import sys
import unicodedata
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, NamedTuple

from transcripts.formats.problems import InputRefused, Problem, quote

CHUNK_BYTES = 65_536
MAX_NESTING = 64
MAX_ELEMENTS = 1_000_000
# A chunk is passed to the parser line by line, so that elements know their lines; a chunk of hardly anything but line ends
# is passed whole, because each call takes time.
MAX_LINES_IN_A_CHUNK = 2_000

_UNHELD = "\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
_TO_ESCAPE = re.compile(f"[{_UNHELD}]|_(?=x[0-9A-F]{{4}}[_{_UNHELD}])")
_ESCAPED = re.compile("_x([0-9A-F]{4})_")
_HELD_AGAIN = re.compile(f"[_{_UNHELD}]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_POSITION = re.compile(", line [0-9]+, column [0-9]+$")


def refuse_unstorable(text: str) -> None:
    """Raise ``ValueError`` for NUL and lone surrogates, which neither files nor databases can contain."""
    if unstorable := _UNSTORABLE.search(text):
        raise ValueError(f"the character U+{ord(unstorable[0]):04X} in {quote(_UNSTORABLE.sub('', text))}")


def escape(text: str) -> str:
    """The text in a form that XML 1.0 can contain. Raises ``ValueError`` as ``refuse_unstorable`` does."""
    refuse_unstorable(text)
    return _TO_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def unescape(text: str) -> str:
    """The inverse of ``escape``: ``unescape(escape(x)) == x``."""
    return _ESCAPED.sub(_unescape_one, text)


def _unescape_one(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if _HELD_AGAIN.fullmatch(character) else match[0]


class Element(NamedTuple):
    """The beginning of an element. ``tag`` is its local name, or "{namespace}name" outside the namespaces that are read."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    depth: int


End = tuple[int, str]
"""The end of an element: its depth, and its text if that is kept."""


def read_chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a stream, some at a time."""
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def refuse_at(line: int, found: str, expected: str) -> InputRefused:
    """A refusal that names the line."""
    return InputRefused(Problem(line, found, expected, f"line {line}" if line else ""))


class XmlReader:
    """Elements of a file of unknown origin, in document order. Each can be read once, immediately: its children or its text.

    No tree is built. A document type declaration is refused where it begins, so no entity is ever declared; nothing is fetched;
    depth and number of elements are limited. A refusal raises ``InputRefused`` with the line.

        reader = XmlReader(read_chunks(stream), namespaces={"urn:…"}, texts={"Description"})
        root = reader.read_root("CodeBook")
        for child in reader.read_children(root):
            if child.tag == "Codes":
                …  # read its children by read_children(child), or leave them
        reader.read_end()

    ``texts`` are the tags whose text is kept; ``decode``, once set, is applied to texts and attributes.
    """

    def __init__(self, chunks: Iterable[bytes], *, namespaces: AbstractSet[str], texts: AbstractSet[str]) -> None:
        self.decode: Callable[[str], str] | None = None
        self._namespaces = namespaces
        self._events = _read_events(chunks, _Collector(namespaces, texts))

    def read_root(self, tag: str) -> Element:
        """The root, which must have this name in one of the namespaces."""
        root = next(self._events)
        if not isinstance(root, Element) or root.tag != tag:
            namespace, _, name = str(getattr(root, "tag", "")).rpartition("}")
            where = f"in the namespace {quote(namespace[1:])}" if namespace[1:] else "without a namespace"
            raise refuse_at(
                1,
                f"the root element {quote(name)} {where}",
                f"{tag} in the namespace {' or '.join(sorted(self._namespaces))}",
            )
        return root

    def read_children(self, parent: Element) -> Iterator[Element]:
        """The children of an element; unread parts of a child are skipped."""
        for event in self._events:
            if isinstance(event, Element):
                if event.depth == parent.depth + 1:
                    yield self._decode_attributes(event)
            elif event[0] == parent.depth:
                return

    def read_text(self, element: Element) -> str:
        """The text directly inside an element."""
        for event in self._events:
            if not isinstance(event, Element) and event[0] == element.depth:
                return self.decode(event[1]) if self.decode else event[1]
        raise ValueError("The text of an element is read once.")

    def read_end(self) -> None:
        """Read the document to its end, so that everything after the root is checked too."""
        deque(self._events, maxlen=0)

    def _decode_attributes(self, element: Element) -> Element:
        if self.decode is None or not any("_" in value for value in element.attributes.values()):
            return element
        attributes = {name: self.decode(value) for name, value in element.attributes.items()}
        return element._replace(attributes=attributes)


class _Collector:
    """The parser's events, kept until they are asked for."""

    def __init__(self, namespaces: AbstractSet[str], texts: AbstractSet[str]) -> None:
        self.events: list[Element | End] = []
        self.line = 0
        self._prefixes = {f"{{{namespace}" for namespace in namespaces}
        self._texts = texts
        self._open: list[list[str] | None] = []
        self._elements = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._elements += 1
        if self._elements > MAX_ELEMENTS:
            raise refuse_at(self.line, f"more than {MAX_ELEMENTS:,} elements", "a smaller file")
        if len(self._open) >= MAX_NESTING:
            found = f"elements nested more than {MAX_NESTING} deep"
            raise refuse_at(self.line, found, f"at most {MAX_NESTING}")
        prefix, _, name = tag.rpartition("}")
        if prefix not in self._prefixes:
            name = tag if prefix else f"{{}}{tag}"
        self._open.append([] if name in self._texts else None)
        self.events.append(Element(name, attributes, self.line, len(self._open)))

    def end(self, tag: str) -> None:
        texts = self._open.pop()
        self.events.append((len(self._open) + 1, "".join(texts) if texts else ""))

    def data(self, text: str) -> None:
        if (texts := self._open[-1]) is not None:
            texts.append(text)

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise refuse_at(
            self.line, "a document type declaration (DOCTYPE)", "XML without one, since entities are not read"
        )

    def comment(self, text: str) -> None:
        """Ignore comments."""

    def pi(self, target: str, text: str | None = None) -> None:
        """Ignore processing instructions."""

    def close(self) -> None:
        """Nothing is left to do."""


def _read_events(chunks: Iterable[bytes], collector: _Collector) -> Iterator[Element | End]:
    from lxml import etree

    target: Any = collector
    internal: Any = "internal"  # the stubs allow only yes and no
    # Without a document type there are no entities but XML's own five, which the parser leaves half read in attributes
    # unless it may resolve them.
    parser = etree.XMLParser(
        target=target,
        resolve_entities=internal,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
    )
    try:
        for chunk in chunks:
            breaks = chunk.count(b"\n")
            for piece in io.BytesIO(chunk) if breaks <= MAX_LINES_IN_A_CHUNK else (chunk,):
                collector.line += not collector.line
                parser.feed(piece)
                collector.line += piece.count(b"\n")
            yield from _take(collector)
        parser.close()
    except etree.XMLSyntaxError as error:
        yield from _take(collector)
        line, reason = error.lineno or 0, _POSITION.sub("", " ".join(str(error.msg).split()))
        found = f"something that is not well-formed XML ({reason[:120]})" if collector.line else "an empty file"
        raise refuse_at(line, found, "an XML file") from None
    yield from _take(collector)


def _take(collector: _Collector) -> list[Element | End]:
    events, collector.events = collector.events, []
    return events


class XmlSink:
    """Writes elements of one namespace one by one. Attributes that are None are left out."""

    def __init__(self, file: Any, namespace: str) -> None:
        self._file = file
        self._prefix = f"{{{namespace}}}"

    def element(self, tag: str, attributes: Mapping[str, str | None] | None = None) -> AbstractContextManager[object]:
        """An element whose children are written inside ``with``. Raises ``ValueError`` as ``escape`` does."""
        held = {name: escape(value) for name, value in (attributes or {}).items() if value is not None}
        self._file.write("\n")
        element: AbstractContextManager[object] = self._file.element(self._prefix + tag, held)
        return element

    def leaf(self, tag: str, attributes: Mapping[str, str | None] | None = None, *, text: str = "") -> None:
        """An element with a text or none."""
        with self.element(tag, attributes):
            if text:
                self._file.write(escape(text))


@contextmanager
def write_document(
    stream: BinaryIO, root: str, attributes: Mapping[str, str | None], *, namespace: str
) -> Iterator[XmlSink]:
    """Write a document in UTF-8 whose root's children are written inside ``with``."""
    from lxml import etree

    held = {name: escape(value) for name, value in attributes.items() if value is not None}
    with etree.xmlfile(stream, encoding="utf-8") as file:
        file.write_declaration()
        with file.element(f"{{{namespace}}}{root}", held, nsmap={None: namespace}):
            yield XmlSink(file, namespace)


if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    # The same module as in Python 3.14, which unpacks Zstandard.
    from backports.zstd import ZstdError, zipfile


NO_ZIP = "something that is not a zip archive"
_END = b"PK\5\6"
_END_BYTES = 22
_END64_BYTES = 56
_LOCATOR = b"PK\6\7"
_LOCATOR_BYTES = 20
_MAX_COMMENT_BYTES = 65_535
_LEADING_ELSEWHERE = re.compile(r"[\\\0]|\A[A-Za-z]:")
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD})
# What `zipfile` and `zlib` raise for damaged bytes.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    ZstdError,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class ZipLimits(NamedTuple):
    """Limits for the size of an archive. ``ratio`` applies to entries larger than ``ratio_from`` bytes. With ``last_wins`` a name
    may occur more than once, and the last entry counts."""

    archive_bytes: int = 200_000_000
    entries: int = 2_000
    directory_bytes: int = 2_000_000
    unpacked_bytes: int = 200_000_000
    ratio: int = 100
    ratio_from: int = 1_000_000
    last_wins: bool = False


DEFAULT_LIMITS = ZipLimits()


class ZipInput:
    """A checked archive. Entries are found regardless of the case of their names."""

    def __init__(self, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> None:
        self._archive = archive
        self._entries = entries

    def __contains__(self, name: str) -> bool:
        return _fold(name) in self._entries

    @property
    def names(self) -> list[str]:
        """The names of its files, as spelled in the archive."""
        return [entry.filename for entry in self._entries.values() if not entry.is_dir()]

    def read_chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an entry, some at a time and at most as many as the archive declares."""
        try:
            with self._archive.open(self._entries[_fold(name)]) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk
        except _BROKEN as error:
            raise _refuse(f"the entry {quote(name)}, which cannot be unpacked", "an undamaged archive") from error

    def read_size(self, name: str) -> int:
        """The unpacked bytes of an entry, as the archive declares them."""
        return self._entries[_fold(name)].file_size

    def read_entry(self, name: str) -> bytes:
        """All bytes of an entry."""
        return b"".join(self.read_chunks(name))


@contextmanager
def open_zip(stream: BinaryIO, *, limits: ZipLimits = DEFAULT_LIMITS) -> Iterator[ZipInput]:
    """Check an archive; raises ``InputRefused`` for one that is not safe to read."""
    _check_directory(stream, limits)
    try:
        archive = zipfile.ZipFile(stream)
    except _BROKEN as error:
        raise _refuse("something that is not a readable zip archive", "an undamaged zip archive") from error
    with archive:
        yield ZipInput(archive, _list_entries(archive, limits))


def _refuse(found: str, expected: str) -> InputRefused:
    return InputRefused(Problem(0, found, expected))


def _check_directory(stream: BinaryIO, limits: ZipLimits) -> None:
    """Limit the size of the directory before it is read, because every entry takes memory."""
    size = stream.seek(0, 2)
    if size > limits.archive_bytes:
        raise _refuse(f"an archive of {size:,} bytes", f"at most {limits.archive_bytes:,}")
    start = max(0, size - _MAX_COMMENT_BYTES - _END_BYTES - _LOCATOR_BYTES - _END64_BYTES)
    stream.seek(start)
    tail = stream.read()
    stream.seek(0)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise _refuse(NO_ZIP, "a zip archive")
    (directory,) = struct.unpack_from("<L", tail, at + 12)
    locator = at - _LOCATOR_BYTES
    if locator >= _END64_BYTES and tail.startswith(_LOCATOR, locator):
        (large,) = struct.unpack_from("<Q", tail, locator - _END64_BYTES + 40)
        directory = max(large, directory if directory < 2**32 - 1 else 0)
    if directory > limits.directory_bytes:
        raise _refuse(f"a list of contents of {directory:,} bytes", f"at most {limits.directory_bytes:,}")


def _list_entries(archive: zipfile.ZipFile, limits: ZipLimits) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > limits.entries:
        raise _refuse(f"{len(infos):,} entries", f"at most {limits.entries:,}")
    entries: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for info in infos:
        _check_name(info)
        _check_kind(info)
        total += info.file_size
        if total > limits.unpacked_bytes:
            raise _refuse("more bytes unpacked than are read", f"at most {limits.unpacked_bytes:,}")
        if info.file_size > max(limits.ratio_from, limits.ratio * info.compress_size):
            found = (
                f"the entry {quote(info.filename)}, which grows from {info.compress_size:,} to {info.file_size:,} bytes"
            )
            raise _refuse(found, f"at most {limits.ratio} times as many")
        name = _fold(info.filename)
        if name in entries and not limits.last_wins:
            raise _refuse(f"the entry {quote(info.filename)} twice, perhaps in another case", "each name once")
        entries[name] = info
    _check_places(infos)
    return entries


def _check_name(info: zipfile.ZipInfo) -> None:
    name = info.orig_filename
    parts = name.removesuffix("/").split("/")
    if _LEADING_ELSEWHERE.search(name) or any(part in {"", ".", ".."} for part in parts):
        raise _refuse(f"the entry name {quote(name)}", "names below the archive, separated by /")


def _check_kind(info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if info.flag_bits & 0x1:
        raise _refuse(f"the encrypted entry {quote(info.filename)}", "an archive without a password")
    if kind == stat.S_IFLNK:
        raise _refuse(f"the symbolic link {quote(info.filename)}", "files and folders")
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise _refuse(f"the entry {quote(info.filename)}, which is no file", "files and folders")
    if info.compress_type not in _METHODS:
        raise _refuse(f"the entry {quote(info.filename)}, packed by method {info.compress_type}", "deflated or stored")


def _check_places(infos: list[zipfile.ZipInfo]) -> None:
    """Refuse entries that share bytes, which can make a small archive unpack to a large one."""
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise _refuse(f"the entry {quote(info.filename)}, which shares bytes with another", "entries apart")
        end = info.header_offset + 30 + info.compress_size


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
