"""A thread laid out over its turns: moves in lanes of stages, the ledger in tracks. Does not import Django. Neighbouring turns
without anything new are one cell, so even with 200 answers the page has about as many cells as entries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from transcripts.analysis.search.pure.tables import ENACTMENTS, SIGNS, Fill
from transcripts.formats.interviews.threads import find_stage
from transcripts.negotiation.pure.records import Coding, Turn

STAGES = {"front": "What the model says", "back": "Its private reasoning", "tool": "Its tools"}
TRACKS = {"conduct": "In what it says and in its tools", "back": "In its private reasoning"}
NOT_STATED = "enactment not stated"


class Column(NamedTuple):
    """A turn of the model, or of a tool. ``is_challenged``: it comes after a challenge of the interviewer's."""

    turn: int
    stage: str
    is_challenged: bool


class Mark(NamedTuple):
    """A move in a turn: as a sign, and in words. ``coding`` is the id of the first coding that it marks."""

    sign: str
    words: str
    coding: str


@dataclass(frozen=True, slots=True)
class Cell:
    """The content of ``width`` neighbouring turns, starting at ``turn``: marks, a status, or nothing. ``is_carried``: the
    status was stated in an earlier turn and still applies. ``coding``: the id of the coding.
    """

    turn: int
    width: int = 1
    marks: tuple[Mark, ...] = ()
    status: str = ""
    is_carried: bool = False
    coding: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.marks or self.status or self.coding)


@dataclass(frozen=True, slots=True)
class Line:
    """A code over the turns. ``count``: the number of turns that have it; ``flags``: remarks about it, in words."""

    code: str
    cells: tuple[Cell, ...]
    count: int
    flags: tuple[str, ...] = ()
    last: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """Lines that belong to one stage or track; ``key`` is its short name, ``columns`` are the turns across, and ``turns`` is the
    number of those that belong to it.
    """

    key: str
    name: str
    lines: tuple[Line, ...]
    turns: int
    columns: tuple[Column, ...]


def list_columns(turns: Sequence[Turn], challenged: Iterable[int]) -> list[Column]:
    """The turns of the model and of its tools in order. ``challenged``: the positions of the interviewer's challenges."""
    challenges, columns, is_challenged = set(challenged), [], False
    for turn in turns:
        if turn.role == "interviewer":
            is_challenged = turn.position in challenges
        elif stage := find_stage(turn.role, turn.channel):
            columns.append(Column(turn.position, stage, is_challenged))
    return columns


def lay_out_moves(columns: Sequence[Column], codings: Iterable[Coding], moves: Sequence[str]) -> list[Lane]:
    """The coded moves, with a lane for each stage that has turns."""
    stage_of = {column.turn: column.stage for column in columns}
    found: dict[tuple[str, str, int], list[Coding]] = defaultdict(list)
    for coding in codings:
        if coding.code in moves and coding.turn in stage_of:
            found[stage_of[coding.turn], coding.code, coding.turn].append(coding)
    lanes = []
    for stage, name in STAGES.items():
        lines = []
        for move in moves:
            marks = {turn: _mark(found[stage, move, turn]) for turn in stage_of if (stage, move, turn) in found}
            if marks:
                filled = {turn: Cell(turn, marks=marked) for turn, marked in marks.items()}
                lines.append(Line(move, _fill(columns, filled), len(marks)))
        if number := sum(column.stage == stage for column in columns):
            lanes.append(Lane(stage, name, tuple(lines), number, tuple(columns)))
    return lanes


def lay_out_ledger(
    columns: Sequence[Column],
    ledger: Mapping[str, Mapping[str, Mapping[str, Any]]],
    features: Sequence[str],
    codings: Mapping[tuple[int, str], str],
) -> list[Lane]:
    """The entries of each feature by track, as in a report, and the statuses carried forward. ``codings``: the coding of each
    entry, by turn and feature.
    """
    lanes = []
    for track, name in TRACKS.items():
        own = [column for column in columns if (column.stage == "back") == (track == "back")]
        entries = ledger.get(track, {})
        lines = []
        for feature in (*features, *(each for each in entries if each not in features)):
            entry = entries.get(feature)
            if entry is None:
                continue
            said = {int(turn): str(status or "") for turn, status in entry["entries"]}
            filled = {
                turn: Cell(turn, status=status or "no status", coding=codings.get((turn, feature), ""))
                for turn, status in said.items()
            }
            last = str(entry.get("last") or "")
            lines.append(Line(feature, _fill(own, filled, carry=said), len(said), tuple(entry["flags"]), last))
        if own:
            lanes.append(Lane(track, name, tuple(lines), len(own), tuple(own)))
    return lanes


def _mark(codings: Sequence[Coding]) -> tuple[Mark, ...]:
    marks = []
    for word, fill in {**ENACTMENTS, "": Fill.DASHED}.items():
        alike = [each for each in codings if each.enactment == word]
        if alike:
            number = str(len(alike)) if len(alike) > 1 else ""
            marks.append(Mark(f"{SIGNS[fill]}{number}", f"{len(alike)} {word or NOT_STATED}", alike[0].id))
    return tuple(marks)


def _fill(
    columns: Sequence[Column], filled: Mapping[int, Cell], carry: Mapping[int, str] | None = None
) -> tuple[Cell, ...]:
    """The cells of a line over all columns: the filled ones and, between them, the status carried forward or nothing."""
    cells: list[Cell] = []
    begins, width, status = 0, 0, ""
    for column in columns:
        cell = filled.get(column.turn)
        if cell is None:
            begins, width = begins if width else column.turn, width + 1
            continue
        if width:
            cells.append(Cell(begins, width, status=status, is_carried=bool(status)))
            width = 0
        cells.append(cell)
        status = carry.get(column.turn, "") if carry is not None else ""
    if width:
        cells.append(Cell(begins, width, status=status, is_carried=bool(status)))
    return tuple(cells)
