"""Reads a CSV of reviews row by row: a text and the category that a method inferred from the author's first name.

Names themselves are refused wherever they stand in the file, so that none comes near the study.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from auditapp.benchmarks.gender_cues.pure.limits import CATEGORIES, MAX_TEXT_LENGTH
from transcripts.formats.problems import ReadError, quote
from transcripts.formats.strict_table import StrictTable

CATEGORY_COLUMNS = ("name_inferred_category", "category")
"""The headings under which a category is looked for, in this order."""
TEXT_COLUMN, ID_COLUMN = "text", "id"

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


class Review(NamedTuple):
    """One row. ``identifier`` is what the file calls it, or its number; ``columns`` is every cell by heading."""

    identifier: str
    text: str
    category: str
    columns: Mapping[str, str]


class ReviewFile:
    """The reviews of a CSV in UTF-8, read once, row by row; ``name`` is the file's. ``without_text`` counts rows whose text is
    empty, which are passed over.

    ``text`` and ``category`` are the headings of those columns; left empty, those of this module. Raises ``ReadError``, which
    names the place and never quotes a text, some of it only as rows are read.
    """

    def __init__(self, file: Iterable[bytes], *, name: str, text: str = "", category: str = "") -> None:
        self._table = StrictTable(file, name=name, escaped=False)
        self.without_text = 0
        self.headings = self._table.headings
        self._text = self._table.find(text or TEXT_COLUMN, "one with the text of the reviews")
        named = category or next((each for each in CATEGORY_COLUMNS if each in self.headings), CATEGORY_COLUMNS[0])
        self._category = self._table.find(named, "one with the name-inferred category")
        self._identifier = self.headings.index(ID_COLUMN) if ID_COLUMN in self.headings else -1
        for heading in self.headings:
            if heading != named and _NAME_HEADINGS.fullmatch(heading):
                raise self._refuse_names(heading, "")

    def __iter__(self) -> Iterator[Review]:
        names: Counter[str] = Counter()
        refuse = self._table.refuse
        for number, (line, cells) in enumerate(self._table, 1):
            if number <= _ROWS_LOOKED_AT:
                self._look_for_names(cells, names, number)
            text, category = cells[self._text], cells[self._category].strip().lower()
            if category not in CATEGORIES:
                raise refuse(line, self._describe_category(category), " or ".join(CATEGORIES))
            if not text.strip():
                self.without_text += 1
                continue
            if len(text) > MAX_TEXT_LENGTH:
                expected = f"at most {MAX_TEXT_LENGTH:,} (look whether a quotation mark is missing, or remove the row)"
                raise refuse(line, f"a text of {len(text):,} characters", expected)
            identifier = cells[self._identifier] if self._identifier >= 0 else str(number)
            yield Review(identifier, text, category, dict(zip(self.headings, cells, strict=True)))

    def _describe_category(self, found: str) -> str:
        heading = self.headings[self._category]
        if not found:
            return f"nothing in the column “{heading}”"
        if _is_name(found.title()):
            return f"what looks like a name in the column “{heading}”, which has the category that a method inferred from names"
        return f"the category {quote(found[:40])} in the column “{heading}”"

    def _look_for_names(self, cells: list[str], names: Counter[str], rows: int) -> None:
        for place, (heading, cell) in enumerate(zip(self.headings, cells, strict=True)):
            if place in {self._text, self._category} or not _is_name(cell):
                continue
            names[heading] += 1
            if names[heading] >= max(_MIN_NAMES, _SHARE_OF_NAMES * rows):
                raise self._refuse_names(heading, f": {names[heading]} of the first {rows} rows have one")

    def _refuse_names(self, heading: str, why: str) -> ReadError:
        expected = "a file without it: the probe takes a category that was inferred from names, never the names"
        return self._table.refuse(None, f"the column “{heading}”, which looks like people's names{why}", expected)


def _is_name(cell: str) -> bool:
    words = _WORD.findall(cell)
    if not 1 <= len(words) <= _MAX_WORDS_OF_NAME or not all(word[0].isupper() for word in words):
        return False
    return any(word.lower() in _load_first_names() for word in words)


@cache
def _load_first_names() -> frozenset[str]:
    return frozenset(_FIRST_NAMES.read_text(encoding="utf-8").split())
