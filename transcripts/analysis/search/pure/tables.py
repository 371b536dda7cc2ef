"""Counts of codes in tables and charts: by interview, by model, two codes together, and by turn on a score sheet.

A score sheet has codes in rows and the model's turns in columns. A mark is filled if a move is enacted, half filled if it is
demonstrated in an example, hollow if it is only described, dashed if this is not stated; for codes without enactment, filled
means semantic and hollow latent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations_with_replacement
from typing import NamedTuple, Protocol

from transcripts.charts import figures as charts
from transcripts.charts.figures import Cell, GridChart, GridRow, Missing, Row, RowChart
from transcripts.statistics.figures import MIN_CLUSTERS, Mark, explain_mark, mark_clusters

STEPS = 20
UNIT_WORDS = {
    "sentence": ("sentence", "sentences"),
    "turn": ("turn", "turns"),
    "interview": ("interview", "interviews"),
}
DECIDED = "decided turns (of codes of interviews, interviews)"
"""The units of shares."""


class CodedPlace(Protocol):
    """An object that says which code was applied where, and at which level."""

    @property
    def sentence_id(self) -> int: ...
    @property
    def turn_id(self) -> int: ...
    @property
    def interview_id(self) -> int: ...
    @property
    def code(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def enactment(self) -> str: ...


ENACTED = "enacted"
APART = ("demonstrated", "described", "")
"""Enactments that are never counted with enacted moves: demonstrated in an example, or described; "" is not stated."""


class Heading(NamedTuple):
    """A code as the heading of a column or row."""

    identifier: str
    name: str
    family: str
    unit: str
    has_enactment: bool = False


class Count(NamedTuple):
    """The number of places with a code, out of how many, in how many ``clusters`` (turns or, for codes of interviews,
    interviews). A place with codings of both levels counts in both parts.

    For a code with enactment these are the places where it is enacted; ``apart`` has the numbers of other places, in the order
    of ``APART``. A place may count in both."""

    places: int
    semantic: int
    latent: int
    out_of: int
    clusters: int
    step: int
    unit: str
    apart: tuple[int, ...] = ()

    @property
    def share(self) -> float:
        """Between 0 and 1; 0 out of nothing."""
        return self.places / self.out_of if self.out_of else 0.0

    @property
    def is_few(self) -> bool:
        """Whether there are too few clusters for a share. Counts have no interval, so none is rough."""
        return mark_clusters(self.clusters) == Mark.FEW

    @property
    def can_be_drawn(self) -> bool:
        return self.clusters >= MIN_CLUSTERS

    @property
    def in_words(self) -> str:
        """As in "3 of 160 sentences, 2 semantic, 1 latent"."""
        counted = self.write(self.places) + (" enacted" if self.apart else "")
        return f"{counted}, {self.semantic:,} semantic, {self.latent:,} latent" if self.places else counted

    def write(self, places: int) -> str:
        """As in "3 of 160 sentences"."""
        one, many = UNIT_WORDS[self.unit]
        return f"{places:,} of {self.out_of:,} {one if self.out_of == 1 else many}"


@dataclass
class _Places:
    """The places of one cell."""

    every: set[int] = field(default_factory=set)
    apart: dict[str, set[int]] = field(default_factory=lambda: {each: set() for each in APART})
    latent: set[int] = field(default_factory=set)
    semantic: set[int] = field(default_factory=set)


class CountTable:
    """Places by column (an interview, a model) and code; ``sizes`` are the numbers of all places, by column and unit.

    A count is of places, not of codings: a sentence that two coders coded alike counts once. The place is the sentence for codes
    of sentences, the turn for codes of turns, the interview for codes of interviews. Shares of fewer than `MIN_CLUSTERS`
    clusters have no shade.
    """

    def __init__(
        self,
        headings: Sequence[Heading],
        marks: Iterable[tuple[Hashable, CodedPlace]],
        sizes: Mapping[Hashable, Mapping[str, int]],
    ) -> None:
        self._unit_of = {heading.identifier: heading.unit for heading in headings}
        by_enactment = {heading.identifier for heading in headings if heading.has_enactment}
        self.headings = headings
        self._sizes = sizes
        self._cells: dict[tuple[Hashable, str], _Places] = defaultdict(_Places)
        self._found_in: dict[str, set[int]] = defaultdict(set)
        for column, mark in marks:
            if (unit := self._unit_of.get(mark.code)) is None:
                continue
            place = find_place(mark, unit)
            cell = self._cells[column, mark.code]
            if mark.code in by_enactment and mark.enactment != ENACTED:
                cell.apart[mark.enactment].add(place)
                continue
            cell.every.add(place)
            (cell.latent if mark.level == "latent" else cell.semantic).add(place)
            self._found_in[mark.code].add(mark.interview_id)
        found = [self._count(column, self._unit_of[code], cell) for (column, code), cell in self._cells.items()]
        self._highest = max((each.share for each in found if each.can_be_drawn), default=0.0)

    def count(self, column: Hashable, heading: Heading) -> Count:
        """The count of one cell, with its shade from 0 to ``STEPS``."""
        cell = self._cells.get((column, heading.identifier), _Places())
        count = self._count(column, heading.unit, cell)
        is_shaded = count.places and count.can_be_drawn
        step = max(round(STEPS * count.share / self._highest), 1) if is_shaded and self._highest else 0
        return count._replace(step=step, apart=tuple(map(len, cell.apart.values())) if heading.has_enactment else ())

    def total(self, heading: Heading) -> Count:
        """The count of a code over all columns."""
        counts = [self.count(column, heading) for column in self._sizes]
        names = ("places", "semantic", "latent", "out_of", "clusters")
        added = {name: sum(getattr(count, name) for count in counts) for name in names}
        apart = tuple(map(sum, zip(*(count.apart for count in counts), strict=True)))
        return Count(**added, step=0, unit=heading.unit, apart=apart)

    def count_interviews(self, heading: Heading) -> int:
        """The number of interviews in which a code was applied, or enacted."""
        return len(self._found_in[heading.identifier])

    def _count(self, column: Hashable, unit: str, cell: _Places) -> Count:
        sizes = self._sizes.get(column, {})
        clusters = sizes.get("interview" if unit == "interview" else "turn", 0)
        places = (len(cell.every), len(cell.semantic), len(cell.latent))
        return Count(*places, sizes.get(unit, 0), clusters, step=0, unit=unit)


class PairTable:
    """Codes together, in the same sentence (``by_turn`` false) or in the same turn.

    Codes with enactment count if a coding states this ``enactment``; ``apart``: the numbers of codings with another one or
    none.
    """

    def __init__(
        self, headings: Sequence[Heading], marks: Iterable[CodedPlace], *, by_turn: bool, enactment: str = ENACTED
    ) -> None:
        self.headings = headings
        number_of = {heading.identifier: number for number, heading in enumerate(headings)}
        by_enactment = {heading.identifier for heading in headings if heading.has_enactment}
        codes_at: dict[int, set[int]] = defaultdict(set)
        self.apart: Counter[str] = Counter()
        for mark in marks:
            if mark.code not in number_of:
                continue
            if mark.code in by_enactment and mark.enactment != enactment:
                self.apart[mark.enactment] += 1
                continue
            codes_at[mark.turn_id if by_turn else mark.sentence_id].add(number_of[mark.code])
        self._counts: dict[tuple[int, int], int] = defaultdict(int)
        for codes in codes_at.values():
            for pair in combinations_with_replacement(sorted(codes), 2):
                self._counts[pair] += 1
        apart = [count for (one, other), count in self._counts.items() if one != other]
        self.highest = max(apart, default=0)

    def count(self, one: int, other: int) -> tuple[int, int]:
        """The number of places with both codes, and the shade of their cell: 0 for a code with itself."""
        places = self._counts.get((min(one, other), max(one, other)), 0)
        shaded = places and one != other and self.highest
        return places, max(round(STEPS * places / self.highest), 1) if shaded else 0


def find_place(mark: CodedPlace, unit: str) -> int:
    """The place of a coding, a sentence, a turn or an interview, by its id."""
    return {"turn": mark.turn_id, "interview": mark.interview_id}.get(unit, mark.sentence_id)


def draw_shares(headings: Sequence[Heading], groups: Sequence[tuple[str, Sequence[Count]]]) -> RowChart:
    """The codes that occur in each group, all groups on one scale. A share of fewer than `MIN_CLUSTERS` turns has no bar.

    A bar has a solid part for semantic codings and a striped one for latent ones; its count is printed next to it.
    """
    rows = [
        _draw_share(heading, count, group if len(groups) > 1 else "")
        for group, counts in groups
        for heading, count in zip(headings, counts, strict=True)
        if count.places
    ]
    enacted = " Moves count where they are enacted; how often they are only described or shown is in the table."
    has_enactment = any(heading.has_enactment for heading in headings)
    if rows and not any(row.parts for row in rows):
        why = f"Nothing is drawn of fewer than {MIN_CLUSTERS} decided turns (interviews, for codes applied to interviews)."
    else:
        why = (
            f"None of these codes is {'enacted in' if has_enactment else 'applied to'} a decided sentence yet, so there is no "
            "share to show."
        )
    return RowChart(
        key="shares",
        title="Share of decided sentences or turns with each code",
        rows=rows,
        series=("semantic", "latent"),
        high=None,
        unit="%",
        note=(
            "Shares of what is decided, on one scale. A place coded at both levels counts as semantic here. Codes without a "
            f"count are left out, and of fewer than {MIN_CLUSTERS} decided turns no bar is drawn. "
            f"{explain_mark(Mark.FEW, DECIDED)}"
            f"{enacted if has_enactment else ''}"
        ),
        missing=Missing(why),
    )


def _draw_share(heading: Heading, count: Count, group: str) -> Row:
    # The parts add up to the share: a place coded at both levels is only in the solid part.
    semantic = min(count.semantic, count.places)
    levels = enumerate((semantic, count.places - semantic)) if count.can_be_drawn else ()
    parts = [charts.Part(100 * places / count.out_of, series) for series, places in levels]
    text = f"{count.places:,}/{count.out_of:,}{f' {Mark.FEW}' if count.is_few else ''}"
    return Row(heading.name, parts=parts, text=text, group=group)


def draw_pairs(
    headings: Sequence[Heading], count: Callable[[int, int], tuple[int, int]], *, by_turn: bool
) -> GridChart:
    """A circle for every pair of codes that occurs; its area grows with the count. Each pair appears once, below the diagonal."""
    where = "in the same turn" if by_turn else "on the same sentence"
    rows = [
        GridRow(
            f"{n + 1} {one.name}",
            [_draw_pair(one, other, count(n, m)[0] if m < n else None) for m, other in enumerate(headings[:-1])],
        )
        for n, one in enumerate(headings)
    ]
    hint = "" if by_turn else " Choose “in the same turn” above to look at whole turns."
    return GridChart(
        key="pairs",
        title=f"Codes {where}",
        columns=[f"{n} {heading.name}" for n, heading in enumerate(headings[:-1], start=1)],
        rows=rows,
        has_circles=True,
        rows_are="Code",
        note="The area of a circle grows with the count printed on it. Columns have the same numbers as the rows.",
        missing=Missing(f"No two of these codes are {where} yet, so there are no pairs to show.{hint}"),
    )


def _draw_pair(one: Heading, other: Heading, places: int | None) -> Cell:
    return Cell(places or None, f"{places:,}" if places else "", f"{one.name} and {other.name}: {places or 0:,}")


NAME_WIDTH = 190
MAX_NAME_LENGTH = 28
ROW_HEIGHT = 22
COLUMN = 46
TOP = 46
GAP = 13
CHALLENGE = "challenge"


class Fill(StrEnum):
    """How a mark is drawn."""

    FILLED = "filled"
    HALF = "half"
    HOLLOW = "hollow"
    DASHED = "dashed"


# The enactments in order, from filled to hollow, each with its drawing and its word.
ENACTMENTS = {"enacted": Fill.FILLED, "demonstrated": Fill.HALF, "described": Fill.HOLLOW}
LEVELS = {"semantic": Fill.FILLED, "latent": Fill.HOLLOW}
SIGNS = {Fill.FILLED: "●", Fill.HALF: "◐", Fill.HOLLOW: "○", Fill.DASHED: "◌"}


class SheetMark(Protocol):
    """An object that says which code was applied in which turn, and how."""

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
        """The number of turns in which the code was applied, or the move enacted."""
        return sum(any(self._counts(part) for part in cell.parts) for cell in self.cells)

    @property
    def apart(self) -> list[Part]:
        """The numbers of turns in which a move was only demonstrated, described, or coded without its enactment."""
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
    """Draw the glyphs of a cell side by side; a glyph for several codings has their number below it."""
    first = middle - GAP * (len(cell.parts) - 1) / 2
    for number, part in enumerate(cell.parts):
        title = f"{heading.name}, turn {cell.turn}: {part.count} {part.word}"
        count = str(part.count) if part.count > 1 else ""
        x = round(first + GAP * number, 1)
        yield {"x": x, "y": y, "fill": part.fill, "count": count, "title": title, "family": heading.family}


def shorten(name: str) -> str:
    """A name that fits next to its row; the full name is in the drawing's title and in the table."""
    return name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1].rstrip() + "…"
