"""Outcomes of plays from a file: JSON lines with case, model, condition, repeat, outcome, group, pair and probability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from auditapp.scenarios.pure.measures import PlayOutcome
from transcripts.corpus.pure.readers.json_lines import name_json_type, read_lines
from transcripts.formats.problems import ReadError

_TEXTS = ("case", "model", "condition")


def read_plays(lines: Iterable[bytes], *, name: str) -> list[PlayOutcome]:
    """The plays of a file; ``name`` is the file's, for errors. Raises ``ReadError``, which names the line, for what is no such
    object, and for a play that is there twice."""
    plays: list[PlayOutcome] = []
    seen: dict[tuple[object, ...], int] = {}
    for number, row in read_lines(lines, name):
        play = _read_play(row, number, name)
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


def _read_play(row: Mapping[str, Any], line: int, name: str) -> PlayOutcome:
    def refuse(key: str, expected: str) -> ReadError:
        value = row.get(key)
        shown = f"{value}" if isinstance(value, int | float) and not isinstance(value, bool) else name_json_type(value)
        found = f"no “{key}”" if key not in row else f"an empty “{key}”" if value == "" else f"“{key}” that is {shown}"
        return ReadError(name, line, found, expected)

    for key in _TEXTS:
        if not isinstance(row.get(key), str) or not row[key]:
            raise refuse(key, "a text that is not empty")
    repeat = row.get("repeat", 1)
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
        raise refuse("repeat", "a whole number from 1")
    for key in ("outcome", "reasoning"):
        if not (row.get(key) is None or isinstance(row[key], bool)):
            raise refuse(key, "true, false or null")
    if "outcome" not in row:
        raise refuse("outcome", "true, false or null")
    for key in ("group", "pair"):
        if not isinstance(row.get(key) or "", str):
            raise refuse(key, "a text")
    probability = row.get("probability")
    if probability is not None and (
        isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 <= probability <= 1
    ):
        raise refuse("probability", "a number from 0 to 1, or null")
    return PlayOutcome(
        case=row["case"],
        model=row["model"],
        condition=row["condition"],
        repeat=repeat,
        outcome=row["outcome"],
        group=row.get("group") or "",
        probability=probability,
        reasoning=row.get("reasoning"),
        pair=row.get("pair") or "",
    )
