"""XML written piece by piece, each element on a line of its own, so that a changed state shows as changed lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO

from transcripts.formats.refi import escape


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
