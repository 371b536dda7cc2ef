"""Where a theme or a code shows: counts by model or interview, each with what it is counted out of (method brief, R21).

A sentence counts once in a cell, however many people and codes it was coded by. It was decided when a coder whose work
is counted coded it or finished it, so a count is never larger than its denominator. A move counts where it is enacted; the
sentences where it is not are numbers apart. No statistic infers anything across models. The chart shows how large a share of
the decided sentences each cell has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from transcripts.charts import figures as charts
from transcripts.charts.figures import GridChart, GridRow, Missing, Verdict
from transcripts.statistics.figures import FEW, MIN_CLUSTERS, Mark, explain_mark

PROMPTED, UNPROMPTED, UNCLEAR = "prompted", "unprompted", "unclear"
# "Unprompted" claims most, so a sentence counts there only when no coding of it says otherwise.
STRENGTH = {PROMPTED: 2, UNCLEAR: 1, UNPROMPTED: 0}
LATENT = "latent"
# What is never counted with what a model does.
NOT_STATED = "not_stated"
APART = {"demonstrated": "demonstrated", "described": "described", NOT_STATED: "enactment not stated"}
Link = Callable[[str, str], str]


class Evidence(NamedTuple):
    """One coding. ``apart``: of a move that is not enacted, which of `APART` it is."""

    coding_id: int
    coder_id: int
    identifier: str
    level: str
    prompting: str
    sentence_id: int
    turn_id: int
    interview_id: int
    apart: str = ""


class Heading(NamedTuple):
    """Of a row: a theme or a code, with the identifiers of its codes. Of a column: a model or an interview, with the numbers
    of its interviews."""

    key: str
    name: str
    members: frozenset[Any]


@dataclass(frozen=True)
class Cell:
    """What was found of a row in a column, counted in sentences unless the name says otherwise.

    The three of prompting add up to ``sentences``. A sentence two people read on two levels counts in both of those. The three
    of enactment are of moves that are not enacted, in no other number here; a sentence may be in several.
    """

    sentences: int
    turns: int
    interviews: int
    prompted: int
    unprompted: int
    unclear: int
    semantic: int
    latent: int
    out_of: int
    demonstrated: int = 0
    described: int = 0
    not_stated: int = 0

    @property
    def apart(self) -> list[tuple[str, str, int]]:
        """Where moves are not enacted: the kind, its words and its sentences, of those there are."""
        return [(kind, words, found) for kind, words in APART.items() if (found := getattr(self, kind))]

    @property
    def is_present(self) -> bool:
        return self.sentences > 0

    @property
    def is_read(self) -> bool:
        """Whether anything was decided there: without that, absence says nothing."""
        return self.out_of > 0


PresenceRow = tuple[Heading, list[Cell], Cell]
"""A row with its cell under each column, and the one over all of them."""


class Presence(NamedTuple):
    """The whole table; ``denominators`` in the order of the columns, the one over all of them last."""

    columns: list[Heading]
    denominators: list[dict[str, int]]
    rows: list[PresenceRow]


@dataclass
class _Tally:
    """What is collected for one cell before it is counted."""

    turns: set[int] = field(default_factory=set)
    interviews: set[int] = field(default_factory=set)
    prompting: dict[int, str] = field(default_factory=dict)
    semantic: set[int] = field(default_factory=set)
    latent: set[int] = field(default_factory=set)
    apart: dict[str, set[int]] = field(default_factory=lambda: {kind: set() for kind in APART})

    def add(self, evidence: Evidence) -> None:
        sentence, prompting = evidence.sentence_id, evidence.prompting
        if evidence.apart:
            self.apart[evidence.apart].add(sentence)
            return
        self.turns.add(evidence.turn_id)
        self.interviews.add(evidence.interview_id)
        if self.prompting.setdefault(sentence, prompting) != prompting:
            self.prompting[sentence] = combine_prompting(self.prompting[sentence], prompting)
        (self.latent if evidence.level == LATENT else self.semantic).add(sentence)

    def count(self, out_of: int) -> Cell:
        prompting = list(self.prompting.values())
        return Cell(
            sentences=len(prompting),
            turns=len(self.turns),
            interviews=len(self.interviews),
            prompted=prompting.count(PROMPTED),
            unprompted=prompting.count(UNPROMPTED),
            unclear=prompting.count(UNCLEAR),
            semantic=len(self.semantic),
            latent=len(self.latent),
            out_of=out_of,
            **{kind: len(found) for kind, found in self.apart.items()},
        )


def combine_prompting(one: str, other: str) -> str:
    """How a sentence counts whose codings differ: prompted before unclear before unprompted."""
    return max(one, other, key=lambda each: STRENGTH[each])


def count_presence(
    *,
    rows: Sequence[Heading],
    columns: Sequence[Heading],
    evidence: Iterable[Evidence],
    decided: Mapping[int, tuple[int, int]],
    said: Mapping[int, tuple[int, int]] | None = None,
) -> Presence:
    """The table. ``decided`` holds the decided sentences and turns by interview, ``said`` all of them.

    Evidence from interviews that are in no column is left out.
    """
    keys_of_code: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for identifier in row.members:
            keys_of_code[identifier].append(row.key)
    column_of = {interview: column.key for column in columns for interview in column.members}
    tallies: dict[tuple[str, str], _Tally] = defaultdict(_Tally)
    for each in evidence:
        column_key = column_of.get(each.interview_id)
        if column_key is not None:
            for row_key in keys_of_code.get(each.identifier, ()):
                tallies[row_key, column_key].add(each)
    denominators = [_sum_up([column], decided, said or {}) for column in columns]
    overall = _sum_up(columns, decided, said or {})
    counted = []
    for row in rows:
        cells = [
            tallies[row.key, column.key].count(out_of["sentences"])
            for column, out_of in zip(columns, denominators, strict=True)
        ]
        counted.append((row, cells, _add_up(cells, overall["sentences"])))
    return Presence(list(columns), [*denominators, overall], counted)


def _add_up(cells: Sequence[Cell], out_of: int) -> Cell:
    """The cell over all columns: no interview is in two of them, so nothing is counted twice."""
    added = {each.name: sum(getattr(cell, each.name) for cell in cells) for each in fields(Cell)}
    return Cell(**{**added, "out_of": out_of})


def _sum_up(
    columns: Iterable[Heading], decided: Mapping[int, tuple[int, int]], said: Mapping[int, tuple[int, int]]
) -> dict[str, int]:
    """What the counts of these columns are out of, and how much is not decided. ``in_study`` are all interviews there are;
    ``few`` is 1 where the turns are too few to conclude anything from a share."""
    interviews = [interview for column in columns for interview in column.members]
    read = [decided[interview] for interview in interviews if interview in decided]
    sentences, turns = sum(found for found, _ in read), sum(turns for _, turns in read)
    return {
        "sentences": sentences,
        "turns": turns,
        "few": int(0 < turns < FEW),
        "interviews": len(read),
        "in_study": len(interviews),
        "undecided": max(0, sum(said.get(interview, (0, 0))[0] for interview in interviews) - sentences),
    }


def draw_presence(
    presence: Presence, *, title: str, things: str, link: Link, missing: Missing, has_moves: bool = False
) -> GridChart:
    """The chart. ``things`` names the columns; ``link`` gives the address behind the keys of a row and a column.

    Shares of fewer than `MIN_CLUSTERS` decided turns have no shade.
    """
    few = [
        column.name for column, out_of in zip(presence.columns, presence.denominators, strict=False) if out_of["few"]
    ]
    return GridChart(
        key="presence",
        title=title,
        columns=[column.name for column in presence.columns],
        rows=[
            GridRow(
                row.name,
                [
                    _draw_cell(row, column, cell, link, turns=out_of["turns"])
                    for column, out_of, cell in zip(presence.columns, presence.denominators, cells, strict=False)
                ],
                _judge(cells, things),
            )
            for row, cells, _ in presence.rows
        ],
        note=(
            "Sentences found / sentences decided. The larger the share, the stronger the colour. A dash: nothing is decided there, "
            "so absence says nothing. Unprompted: at least one sentence there came before the interviewer had raised it."
            + (f" {explain_mark(Mark.FEW, 'decided turns')} Here: {', '.join(few)}." if few else "")
            + (
                " Moves count where they are enacted; what is only described or shown is in the table."
                if has_moves
                else ""
            )
        ),
        missing=missing,
    )


def _draw_cell(row: Heading, column: Heading, cell: Cell, link: Link, *, turns: int) -> charts.Cell:
    words = f"{row.name}, {column.name}: {describe_cell(cell)}"
    if not cell.is_read:
        return charts.Cell(None, label=words)
    href = link(row.key, column.key) if cell.is_present else ""
    share = cell.sentences / cell.out_of if turns >= MIN_CLUSTERS else None
    return charts.Cell(share, f"{cell.sentences}/{cell.out_of}", words, href)


def _judge(cells: Sequence[Cell], things: str) -> Verdict:
    read = [cell for cell in cells if cell.is_read]
    found = [cell for cell in read if cell.is_present]
    if not read:
        return Verdict("nothing decided")
    unprompted = sum(cell.unprompted > 0 for cell in found)
    return Verdict(f"in {len(found)} of {len(read)} {things}" + (f", unprompted in {unprompted}" if found else ""))


def describe_cell(cell: Cell) -> str:
    """A cell in words."""
    if not cell.is_read:
        return "nothing decided"
    apart = "".join(f", {found} {words}" for _, words, found in cell.apart)
    if not cell.is_present:
        return f"none of {cell.out_of} sentences{apart}"
    parts = (("unprompted", cell.unprompted), ("prompted", cell.prompted), ("unclear", cell.unclear))
    split = ", ".join(f"{number} {name}" for name, number in parts if number)
    return f"{cell.sentences} of {cell.out_of} sentences, {split}{apart}"
