"""XML: of unknown origin, read as a stream of elements; and written piece by piece, an element a line."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, NamedTuple

from transcripts.formats.problems import InputRefused, Problem, quote
from transcripts.formats.refi import escape

CHUNK_BYTES = 65_536
MAX_NESTING = 64
MAX_ELEMENTS = 1_000_000
# A chunk is given to the parser line by line, so that elements know their lines; one of hardly more than line ends is
# given whole, for each gift takes time.
MAX_LINES_IN_A_CHUNK = 2_000

_POSITION = re.compile(", line [0-9]+, column [0-9]+$")


class Element(NamedTuple):
    """The beginning of an element. ``tag`` is its local name, or "{namespace}name" outside the namespaces read."""

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
    """Elements of a file of unknown origin, in document order. Each is read once: its children or its text, at once or not at all.

    No tree is built. A document type declaration is refused when it begins, so no entity is ever declared; nothing is fetched;
    depth and number of elements are bounded. What is refused raises ``InputRefused`` with its line.

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
        """The children of an element; what the caller leaves unread of one is passed over."""
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
        """See the document through, so that what comes after the root is checked too."""
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
        """Comments say nothing to us."""

    def pi(self, target: str, text: str | None = None) -> None:
        """Nor do processing instructions."""

    def close(self) -> None:
        """Nothing is left to do."""


def _read_events(chunks: Iterable[bytes], collector: _Collector) -> Iterator[Element | End]:
    from lxml import etree

    target: Any = collector
    internal: Any = "internal"  # the stubs know of yes and no only
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
    """Elements of one namespace, written as they come. Attributes that are None are left out."""

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
    """A document in UTF-8 whose root's children are written inside ``with``."""
    from lxml import etree

    held = {name: escape(value) for name, value in attributes.items() if value is not None}
    with etree.xmlfile(stream, encoding="utf-8") as file:
        file.write_declaration()
        with file.element(f"{{{namespace}}}{root}", held, nsmap={None: namespace}):
            yield XmlSink(file, namespace)
