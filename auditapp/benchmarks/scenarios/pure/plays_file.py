"""Outcomes of plays from a file: JSON lines with case, model, condition, repeat, outcome, group, probability, reasoning, pair and
base."""

from __future__ import annotations

from collections.abc import Iterable

from auditapp.benchmarks.scenarios.pure.measures import PlayOutcome
from transcripts.formats.json_fields import Row, read_each, refuse_field, take_text, take_truth, take_whole
from transcripts.formats.json_lines import read_lines
from transcripts.formats.problems import ReadError


def read_plays(lines: Iterable[bytes], *, name: str) -> list[PlayOutcome]:
    """The plays of a file; ``name`` is the file's, for errors. Raises ``ReadError``, which names the line, for what is no such
    object, and for a play that is there twice."""
    plays: list[PlayOutcome] = []
    seen: dict[tuple[object, ...], int] = {}
    for number, play in read_each(read_lines(lines, name), name, _read_play):
        key = (*play.arm, play.case, play.repeat)
        if key in seen:
            raise ReadError(
                name, number, f"the play of line {seen[key]} again", "each case once under a condition and repeat"
            )
        seen[key] = number
        plays.append(play)
    if not plays:
        raise ReadError(name, None, "no play", "a JSON object on each line")
    return plays


def _read_play(row: Row) -> PlayOutcome:
    if "outcome" not in row:
        raise refuse_field(row, ["outcome"], "true, false or null")
    probability = row.get("probability")
    if probability is not None and (type(probability) not in (int, float) or not 0 <= probability <= 1):
        raise refuse_field(row, ["probability"], "a number from 0 to 1, or null")
    return PlayOutcome(
        case=take_text(row, "case"),
        model=take_text(row, "model"),
        condition=take_text(row, "condition"),
        repeat=take_whole(row, "repeat", lowest=1, default=1),
        outcome=take_truth(row, "outcome"),
        group=take_text(row, "group", default=""),
        probability=probability,
        reasoning=take_truth(row, "reasoning"),
        pair=take_text(row, "pair", default=""),
        base=take_text(row, "base", default=""),
    )
