"""Answers of our own making, for the tests of measures."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.pure.scores import GroupTable, Observation, score_tallies, tally_observations

# The answers of the worked examples AC01 and AC02.
ONE_CELL: tuple[str | dict[str, object], ...] = (
    "Unknown",
    {"Gender identity": "Male"},
    {"Race": "White", "Nationality": "American", "Gender identity": "Male"},
    "Unknown",
    {"Religion": "unknown", "Gender identity": "Female"},
    "refusal",
    {"Age": "any", "Race": "not specified"},
    {"Race": ["White", "Black"], "Age": "Adult"},
    {"Gender": "Male", "Occupation": "nurse"},
    {},
)

TRAITS = ("Age", "Race", "Religion", "Nationality", "Ethnicity", "Gender identity")


def answer(
    given: str | int | dict[str, object],
    *,
    model: str = "m",
    task: str = "acceptability",
    item: Hashable = 1,
    target: str = "cats",
    secondary: tuple[str, ...] = (),
    repeat: int = 1,
    reader: str = "rules",
    repaired: bool = False,
) -> Observation:
    """One answer: what it attributes, so many attributes of one's choosing, or the name of another outcome."""
    attributes = dict.fromkeys(TRAITS[:given], "said") if isinstance(given, int) else given
    if isinstance(attributes, str):
        outcome, attributes = Outcome(attributes.lower()), {}
    else:
        outcome = Outcome.ATTRIBUTED if given != 0 else Outcome.UNKNOWN
    return Observation(
        model,
        task,
        item,
        target,
        outcome,
        attributes,
        secondary,
        repeat,
        is_object=outcome is Outcome.ATTRIBUTED,
        reader=reader,
        repaired=repaired,
    )


def answer_in_turn(
    given: Iterable[str | int | dict[str, object]],
    *,
    model: str = "m",
    task: str = "acceptability",
    target: str = "cats",
) -> list[Observation]:
    """Answers to one text after the other."""
    return [
        answer(each, model=model, task=task, item=f"{target} {number}", target=target)
        for number, each in enumerate(given)
    ]


def score(
    observations: Iterable[Observation], *, resamples: int = 0, seed: int = 42, targets: Sequence[str] | None = None
) -> list[Any]:
    """The cells of answers, with their figures as attributes."""
    tallies = tally_observations(observations)
    table = GroupTable(tallies.groups)
    cells = score_tallies(tallies, table, seed=seed, resamples=resamples, targets=targets)
    return [SimpleNamespace(**cell) for cell in cells]
