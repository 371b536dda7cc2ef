"""A CSV file read strictly, row by row. What is wrong is refused with its line; nothing is quoted but short headings."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import unescape_formula
from transcripts.formats.text_input import (
    A_CSV_FILE,
    NO_NUL,
    CsvError,
    explain_error,
    explain_width,
    find_other_format,
    read_csv,
)

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
MAX_HEADINGS_LISTED = 50
_LINES_AT_A_TIME = 1_000
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEADING = re.compile(r"[\w.#?:/-]{1,40}")


class StrictTable:
    """The rows of a CSV in UTF-8 that is given line by line in bytes, under the headings of its first row.

    Iterate over it once: a row is the line on which it begins, and a cell for each heading. Rows without any content are passed
    over. ``name`` is the file's, for errors. ``needed`` headings have to be there, others may; no heading is there twice.
    Unless ``escaped`` is false, the apostrophes that our exports put before what looks like a formula are taken off.
    ``separator`` is the sign between columns; unless ``quotes_strictly``, a quotation mark that encloses no cell is part of it.

    Raises ``ReadError``, some of it only as rows are read.
    """

    def __init__(
        self,
        lines: Iterable[bytes],
        *,
        name: str,
        needed: Sequence[str] = (),
        escaped: bool = True,
        separator: str = ",",
        quotes_strictly: bool = True,
    ) -> None:
        self.name, self._escaped = name, escaped
        self._has_apostrophe = False
        self._reader = read_csv(self._decode(iter(lines)), delimiter=separator, strict=quotes_strictly)
        self._rows = self._read()
        line, cells = next(self._rows, (None, []))
        self.headings = [heading.strip() for heading in cells]
        if not any(self.headings):
            columns = f"the columns {', '.join(needed)}" if needed else "the names of the columns in the first line"
            raise self.refuse(None, "an empty file", columns)
        self._heading_line = line
        self._check_headings()
        for heading in needed:
            self.find(heading, f"the columns {', '.join(needed)}")

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return self._rows

    def read_objects(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The same rows, the cells by their headings."""
        return ((line, dict(zip(self.headings, cells, strict=True))) for line, cells in self)

    def find(self, heading: str, expected: str) -> int:
        """The place of the cells under a heading. Raises ``ReadError`` where there is no such heading."""
        if heading not in self.headings:
            found = f"no column {heading} (there are {list_headings(self.headings)})"
            raise self.refuse(self._heading_line, found, expected)
        return self.headings.index(heading)

    def refuse(self, line: int | None, found: str, expected: str) -> ReadError:
        """The error that says what is wrong in a line, or in the whole file."""
        return ReadError(self.name, line, found, expected)

    def _check_headings(self) -> None:
        first = self.headings[0]
        if len(self.headings) == 1 and (sign := next((sign for sign in SEPARATORS if sign in first), "")):
            raise self.refuse(self._heading_line, f"columns separated by {SEPARATORS[sign]}", "by commas")
        counts = Counter(filter(None, self.headings))
        if twice := [heading for heading, count in counts.items() if count > 1]:
            found = f"the column {twice[0]}" if is_heading(twice[0]) else "a column"
            raise self.refuse(self._heading_line, f"{found} more than once", "it once")

    def _read(self) -> Iterator[tuple[int, list[str]]]:
        """The rows, the first of which are the headings."""
        reader, line, width = self._reader, 1, -1
        try:
            for cells in reader:
                # Almost every row has as many cells as the headings, and something in the first.
                if len(cells) != width or not cells[0]:
                    if not any(cells):
                        line = reader.line_num + 1
                        continue
                    if width > 0 and len(cells) != width:
                        raise self.refuse(line, *explain_width(len(cells), width))
                    width = len(cells)
                has_apostrophe = self._has_apostrophe and "'" in "".join(cells)
                yield line, list(map(unescape_formula, cells)) if has_apostrophe else cells
                line = reader.line_num + 1
        except CsvError as error:
            raise self.refuse(line, *explain_error(error)) from None
        except UnicodeDecodeError as error:
            found = f"the byte 0x{error.object[error.start]:02X}, which is not UTF-8"
            raise self.refuse(reader.line_num + 1, found, "a file in UTF-8") from None

    def _decode(self, lines: Iterator[bytes]) -> Iterator[str]:
        """The lines as text. Many are looked at at once, which takes half of the time."""
        first = next(lines, b"").removeprefix(codecs.BOM_UTF8)
        kind = "text in UTF-16" if first.startswith(_UTF_16) else find_other_format(first)
        if kind:
            raise self.refuse(None, kind, A_CSV_FILE)
        lines, number = chain([first], lines), 1
        while batch := list(islice(lines, _LINES_AT_A_TIME)):
            joined = b"".join(batch)
            if b"\0" in joined:
                number += next(place for place, content in enumerate(batch) if b"\0" in content)
                raise self.refuse(number, *NO_NUL)
            self._has_apostrophe |= self._escaped and b"'" in joined
            yield from map(bytes.decode, batch)
            number += len(batch)


def is_heading(name: str) -> bool:
    """Whether it can be shown as a heading: what is longer or has blanks may be a text of a file without headings."""
    return _HEADING.fullmatch(name) is not None


def list_headings(headings: Sequence[str]) -> str:
    """The headings that can be shown, and how many there are besides."""
    named = [heading for heading in headings if is_heading(heading)]
    more = [f"{len(named) - MAX_HEADINGS_LISTED} more"] if len(named) > MAX_HEADINGS_LISTED else []
    if hidden := len(headings) - len(named):
        more.append(f"{hidden} whose name is empty or reads like a text")
    return ", ".join([*named[:MAX_HEADINGS_LISTED], *more])
