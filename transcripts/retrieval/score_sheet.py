"""An interview as a score sheet: codes in rows, the model's turns in columns (method brief, 4.4). Knows nothing of Django.

A mark is filled where a move is enacted, half filled where it is demonstrated in an example, hollow where it is only
described; for codes without enactment filled is semantic and hollow latent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from transcripts.retrieval.bars import NAMES, ROW, Name, shorten
from transcripts.retrieval.tables import Heading

COLUMN = 46
TOP = 46
APART = 13
CHALLENGE = "challenge"


class Fill(StrEnum):
    """How a mark is drawn."""

    FILLED = "filled"
    HALF = "half"
    HOLLOW = "hollow"


# From the fullest on: what is drawn how, with the word for it.
ENACTMENTS = {"enacted": Fill.FILLED, "demonstrated": Fill.HALF, "described": Fill.HOLLOW}
LEVELS = {"semantic": Fill.FILLED, "latent": Fill.HOLLOW}
SIGNS = {Fill.FILLED: "●", Fill.HALF: "◐", Fill.HOLLOW: "○"}


class SheetMark(Protocol):
    """Anything that says which code stands in which turn, and how."""

    @property
    def turn(self) -> int: ...
    @property
    def code(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def enactment(self) -> str: ...


class Column(NamedTuple):
    """A turn of the model: its position in the interview, and what kind of question it answers."""

    turn: int
    prompt_kind: str

    @property
    def is_challenged(self) -> bool:
        return self.prompt_kind == CHALLENGE


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
    """What stands of one code in one turn."""

    column: Column
    parts: list[Part]

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

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
    def count(self) -> int:
        return sum(cell.count for cell in self.cells)

    @property
    def turns(self) -> int:
        """In how many turns the code stands."""
        return sum(1 for cell in self.cells if cell.parts)


class ScoreSheet(NamedTuple):
    """Rows of codes under columns of turns."""

    columns: list[Column]
    rows: list[SheetRow]


@dataclass(frozen=True, slots=True)
class Glyph:
    """A mark in the picture; ``count`` is printed under it where it stands for several."""

    x: float
    y: int
    fill: Fill
    count: str
    title: str
    family: str


class Picture(NamedTuple):
    """The score sheet as a picture; lengths are in its own units, which are pixels."""

    width: int
    height: int
    names: list[Name]
    columns: list[tuple[int, Column]]
    glyphs: list[Glyph]


def build_sheet(
    headings: Sequence[Heading], columns: Sequence[Column], marks: Iterable[SheetMark], *, enactment: bool
) -> ScoreSheet:
    """Count the marks of every code in every turn."""
    kinds = ENACTMENTS if enactment else LEVELS
    found: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for mark in marks:
        found[mark.code, mark.turn][mark.enactment if enactment else mark.level] += 1
    rows = []
    for heading in headings:
        cells = []
        for column in columns:
            counted = found.get((heading.identifier, column.turn), Counter())
            parts = [Part(fill, word, counted[word]) for word, fill in kinds.items() if counted[word]]
            if unsaid := sum(counted.values()) - sum(part.count for part in parts):
                parts.append(Part(Fill.HOLLOW, "without a word on enactment", unsaid))
            cells.append(SheetCell(column, parts))
        rows.append(SheetRow(heading, cells))
    return ScoreSheet(list(columns), rows)


def draw_sheet(sheet: ScoreSheet) -> Picture:
    """Where everything goes."""
    names = [
        Name(TOP + ROW * n + ROW // 2, shorten(row.heading.name), row.heading.name) for n, row in enumerate(sheet.rows)
    ]
    columns = [(NAMES + COLUMN * n, column) for n, column in enumerate(sheet.columns)]
    glyphs = [
        glyph
        for n, row in enumerate(sheet.rows)
        for (x, _), cell in zip(columns, row.cells, strict=True)
        for glyph in _draw_cell(row.heading, cell, x + COLUMN / 2, TOP + ROW * n + ROW // 2)
    ]
    return Picture(NAMES + COLUMN * len(columns) + 8, TOP + ROW * len(sheet.rows) + 6, names, columns, glyphs)


def _draw_cell(heading: Heading, cell: SheetCell, middle: float, y: int) -> Iterable[Glyph]:
    first = middle - APART * (len(cell.parts) - 1) / 2
    for number, part in enumerate(cell.parts):
        title = f"{heading.name}, turn {cell.column.turn}: {part.count} {part.word}"
        count = str(part.count) if part.count > 1 else ""
        yield Glyph(round(first + APART * number, 1), y, part.fill, count, title, heading.family)
