"""An interview as a score sheet: codes in rows, the model's turns in columns. Knows nothing of Django.

A mark is filled where a move is enacted, half filled where it is demonstrated in an example, hollow where it is only
described, dashed where that is not stated; for codes without enactment filled is semantic and hollow latent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from transcripts.analysis.search.pure.tables import Heading

NAME_WIDTH = 190
MAX_NAME_LENGTH = 28
ROW_HEIGHT = 22
COLUMN = 46
TOP = 46
APART = 13
CHALLENGE = "challenge"


class Fill(StrEnum):
    """How a mark is drawn."""

    FILLED = "filled"
    HALF = "half"
    HOLLOW = "hollow"
    DASHED = "dashed"


# From the fullest on: what is drawn how, with the word for it.
ENACTMENTS = {"enacted": Fill.FILLED, "demonstrated": Fill.HALF, "described": Fill.HOLLOW}
LEVELS = {"semantic": Fill.FILLED, "latent": Fill.HOLLOW}
SIGNS = {Fill.FILLED: "●", Fill.HALF: "◐", Fill.HOLLOW: "○", Fill.DASHED: "◌"}


class SheetMark(Protocol):
    """Anything that says which code was applied in which turn, and how."""

    @property
    def turn(self) -> int: ...
    @property
    def code(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def enactment(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Part:
    """Marks of one kind in a cell."""

    fill: Fill
    word: str
    count: int

    @property
    def sign(self) -> str:
        return SIGNS[self.fill]


@dataclass(frozen=True, slots=True)
class SheetCell:
    """The codings with one code in one turn of the model; ``is_challenged``: it answers a challenge."""

    turn: int
    is_challenged: bool
    parts: list[Part]

    @property
    def in_words(self) -> str:
        """As in "2 enacted, 1 described"."""
        return ", ".join(f"{part.count} {part.word}" for part in self.parts)


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A code over all turns."""

    heading: Heading
    cells: list[SheetCell]

    @property
    def turns(self) -> int:
        """In how many turns the code was applied, or the move enacted."""
        return sum(any(self._counts(part) for part in cell.parts) for cell in self.cells)

    @property
    def apart(self) -> list[Part]:
        """In how many turns a move was only demonstrated, described, or coded without its enactment."""
        parts = [part for cell in self.cells for part in cell.parts if not self._counts(part)]
        turns = Counter((part.fill, part.word) for part in parts)
        return [
            Part(fill, word, turns[fill, word])
            for fill, word in sorted(turns, key=lambda each: [*SIGNS].index(each[0]))
        ]

    def _counts(self, part: Part) -> bool:
        return part.fill == Fill.FILLED or not self.heading.has_enactment


def build_sheet(
    headings: Sequence[Heading], columns: Sequence[tuple[int, bool]], marks: Iterable[SheetMark]
) -> list[SheetRow]:
    """Count the marks of every code in every turn. ``columns`` are the turns, with whether each answers a challenge."""
    by_enactment = {heading.identifier for heading in headings if heading.has_enactment}
    found: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for mark in marks:
        found[mark.code, mark.turn][mark.enactment if mark.code in by_enactment else mark.level] += 1
    rows = []
    for heading in headings:
        kinds = ENACTMENTS if heading.has_enactment else LEVELS
        cells = []
        for turn, is_challenged in columns:
            counted = found.get((heading.identifier, turn), Counter())
            parts = [Part(fill, word, counted[word]) for word, fill in kinds.items() if counted[word]]
            if unsaid := sum(counted.values()) - sum(part.count for part in parts):
                parts.append(Part(Fill.DASHED, "enactment not stated", unsaid))
            cells.append(SheetCell(turn, is_challenged, parts))
        rows.append(SheetRow(heading, cells))
    return rows


def draw_sheet(columns: Sequence[tuple[int, bool]], rows: Sequence[SheetRow]) -> dict[str, object]:
    """The score sheet as a picture, for its template; lengths are in pixels."""
    placed = [(NAME_WIDTH + COLUMN * n, *column) for n, column in enumerate(columns)]
    middles = [TOP + ROW_HEIGHT * n + ROW_HEIGHT // 2 for n in range(len(rows))]
    return {
        "width": NAME_WIDTH + COLUMN * len(placed) + 8,
        "height": TOP + ROW_HEIGHT * len(rows) + 6,
        "names": [
            {"y": y, "text": shorten(row.heading.name), "full": row.heading.name}
            for y, row in zip(middles, rows, strict=True)
        ],
        "columns": placed,
        "glyphs": [
            glyph
            for y, row in zip(middles, rows, strict=True)
            for (x, *_), cell in zip(placed, row.cells, strict=True)
            for glyph in _draw_cell(row.heading, cell, x + COLUMN / 2, y)
        ],
    }


def _draw_cell(heading: Heading, cell: SheetCell, middle: float, y: int) -> Iterable[dict[str, object]]:
    """The glyphs of a cell side by side; one that stands for several codings has their number under it."""
    first = middle - APART * (len(cell.parts) - 1) / 2
    for number, part in enumerate(cell.parts):
        title = f"{heading.name}, turn {cell.turn}: {part.count} {part.word}"
        count = str(part.count) if part.count > 1 else ""
        x = round(first + APART * number, 1)
        yield {"x": x, "y": y, "fill": part.fill, "count": count, "title": title, "family": heading.family}


def shorten(name: str) -> str:
    """A name that fits beside its row; the full name is in the drawing's title and in the table."""
    return name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1].rstrip() + "…"
