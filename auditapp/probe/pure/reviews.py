"""Reads a CSV of reviews row by row: a text and the category that a method inferred from the author's first name.

Names themselves are refused wherever they stand in the file, so that none comes near the study.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from auditapp.probe.pure.limits import CATEGORIES, MAX_TEXT_LENGTH
from transcripts.formats.csv_input import CsvError, read_csv

CATEGORY_COLUMNS = ("name_inferred_category", "category")
"""The headings under which a category is looked for, in this order."""
TEXT_COLUMN, ID_COLUMN = "text", "id"
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}

_NAME_HEADINGS = re.compile(
    r"(?:(?:first|last|given|family|middle|full|user|nick|author|reviewer|patient|client|customer|person|display)[ _-]?)?"
    r"(?:name|names)|forename|surname|author|authors|reviewer|username|nickname",
    re.IGNORECASE,
)
# Common first names, as a sign that a column holds names. No gender stands beside them, and none is inferred.
_FIRST_NAMES = Path(__file__).parent.parent / "data" / "first_names.txt"
_ROWS_LOOKED_AT = 500
_MIN_NAMES = 5
_SHARE_OF_NAMES = 0.3
_MAX_WORDS_OF_NAME = 4
_WORD = re.compile(r"[^\W\d_]+")


class ReviewsRefused(Exception):
    """A file that cannot be read as reviews; the message names the place, and never quotes a text."""


class Review(NamedTuple):
    """One row. ``identifier`` is what the file calls it, or its number; ``columns`` is every cell by heading."""

    identifier: str
    text: str
    category: str
    columns: Mapping[str, str]


class ReviewFile:
    """The reviews of a CSV in UTF-8, read once, row by row. ``without_text`` counts rows whose text is empty, which are
    passed over.

    ``text``, ``category`` and ``identifier`` are the headings of those columns; left empty, those of this module. Raises
    ``ReviewsRefused``, some of it only as rows are read.
    """

    def __init__(self, file: BinaryIO, *, text: str = "", category: str = "", identifier: str = "") -> None:
        self._reader = read_csv(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
        self.without_text = 0
        self.headings = self._read_headings()
        self.text_column = self._find(text or TEXT_COLUMN, "the text of the reviews")
        named = category or next((each for each in CATEGORY_COLUMNS if each in self.headings), CATEGORY_COLUMNS[0])
        self.category_column = self._find(named, "the name-inferred category")
        self.identifier_column = identifier or (ID_COLUMN if ID_COLUMN in self.headings else "")
        if identifier:
            self._find(identifier, "what the file calls each review")
        for heading in self.headings:
            if heading != self.category_column and _NAME_HEADINGS.fullmatch(heading.strip()):
                raise ReviewsRefused(
                    f"The column “{heading}” looks like people's names. Remove it: the probe takes a category that was inferred "
                    "from names, never the names."
                )

    def __iter__(self) -> Iterator[Review]:
        names: Counter[str] = Counter()
        width, text, category = len(self.headings), self.text_column, self.category_column
        place_of_text, place_of_category = self.headings.index(text), self.headings.index(category)
        place_of_id = self.headings.index(self.identifier_column) if self.identifier_column else -1
        number = 0
        for cells in self._read_rows():
            if not cells:
                continue
            number += 1
            if len(cells) != width:
                raise ReviewsRefused(
                    f"Line {self._reader.line_num}: {len(cells)} cells under {width} headings. Write every row with as many "
                    "cells as there are headings."
                )
            if number <= _ROWS_LOOKED_AT:
                self._look_for_names(cells, names, number)
            found = cells[place_of_category].strip().lower()
            if found not in CATEGORIES:
                raise ReviewsRefused(self._describe_category(found))
            if not cells[place_of_text].strip():
                self.without_text += 1
                continue
            if len(cells[place_of_text]) > MAX_TEXT_LENGTH:
                raise ReviewsRefused(
                    f"Line {self._reader.line_num}: the text has {len(cells[place_of_text]):,} characters; the limit is "
                    f"{MAX_TEXT_LENGTH:,}. Look whether a quotation mark is missing, or remove the row."
                )
            if "\x00" in cells[place_of_text]:
                raise ReviewsRefused(
                    f"Line {self._reader.line_num}: the text has a NUL character in it. Remove the character or the row."
                )
            identifier = cells[place_of_id] if place_of_id >= 0 else str(number)
            yield Review(identifier, cells[place_of_text], found, dict(zip(self.headings, cells, strict=True)))

    def _read_headings(self) -> list[str]:
        headings = next(self._read_rows(), [])
        if not headings or headings == [""]:
            raise ReviewsRefused("The file is empty. The first line must name the columns, such as text and category.")
        if len(headings) == 1 and (parted := next((sign for sign in SEPARATORS if sign in headings[0]), "")):
            raise ReviewsRefused(
                f"The columns in line 1 are separated by {SEPARATORS[parted]}. Separate them by commas."
            )
        headings = [each.strip() for each in headings]
        twice = [heading for heading, count in Counter(headings).items() if count > 1]
        if twice:
            raise ReviewsRefused(f"Two columns are called “{twice[0]}”. Give every column a name of its own.")
        return headings

    def _find(self, heading: str, holds: str) -> str:
        if heading not in self.headings:
            raise ReviewsRefused(
                f"There is no column “{heading}” for {holds}. The columns are: {', '.join(self.headings)}. Give the one that "
                "holds it this heading."
            )
        return heading

    def _read_rows(self) -> Iterator[list[str]]:
        try:
            yield from self._reader
        except CsvError as error:
            raise ReviewsRefused(
                f"Line {self._reader.line_num}: the CSV cannot be read ({error}). A text with line breaks or quotation marks "
                "stands in quotation marks, those within doubled."
            ) from error
        except UnicodeDecodeError as error:
            line = self._reader.line_num
            place = f"After line {line}" if line else "At its beginning"
            raise ReviewsRefused(f"{place} the file is not UTF-8. Save it as UTF-8.") from error

    def _describe_category(self, found: str) -> str:
        place = f"Line {self._reader.line_num}, column “{self.category_column}”:"
        if _is_name(found.title()):
            return (
                f"{place} this looks like a name. The column must hold the category that a method inferred from the first name: "
                f"{', '.join(CATEGORIES)}."
            )
        said = "nothing stands there" if not found else f"“{found[:40]}” is no category"
        return f"{place} {said}. Write {', '.join(CATEGORIES[:-1])} or {CATEGORIES[-1]}."

    def _look_for_names(self, cells: list[str], names: Counter[str], rows: int) -> None:
        for heading, cell in zip(self.headings, cells, strict=True):
            if heading in {self.text_column, self.category_column} or not _is_name(cell):
                continue
            names[heading] += 1
            if names[heading] >= max(_MIN_NAMES, _SHARE_OF_NAMES * rows):
                raise ReviewsRefused(
                    f"The column “{heading}” looks like people's names: {names[heading]} of the first {rows} rows hold one. "
                    "Remove it: the probe takes a category that was inferred from names, never the names."
                )


def _is_name(cell: str) -> bool:
    words = _WORD.findall(cell)
    if not 1 <= len(words) <= _MAX_WORDS_OF_NAME or not all(word[0].isupper() for word in words):
        return False
    return any(word.lower() in _load_first_names() for word in words)


@cache
def _load_first_names() -> frozenset[str]:
    return frozenset(_FIRST_NAMES.read_text(encoding="utf-8").split())
