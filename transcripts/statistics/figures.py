"""A figure, and what it may say: by how many independent clusters it is of, and by where its interval ends.

Clusters are what is independent: turns, threads, cases, texts, never the sentences or repeats within one. docs/reference/method.md
has the simulated coverage of their intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from transcripts.statistics.intervals import Interval

MIN_CLUSTERS = 3
"""A figure of fewer clusters has no interval."""
FEW = 10
"""A figure of fewer clusters is marked, and no verdict is given on it."""
ROUGH = 20
"""The interval of a figure of fewer clusters is marked."""


class Mark(StrEnum):
    """What is said of a figure of few clusters."""

    FEW = "few"
    ROUGH = "rough"


def explain_mark(mark: Mark, things: str) -> str:
    """What a mark says, in a sentence or two. ``things`` are what is independent, in the plural: turns, threads, cases or texts."""
    if mark is Mark.FEW:
        return f"Few: fewer than {FEW} {things}. Nothing is concluded from it."
    return f"Rough: fewer than {ROUGH} {things}. One more or less can move the figure and its interval far."


def explain_marks(marks: Iterable[str | None], things: str) -> list[str]:
    """What each of the marks says that occur, once."""
    found = set(marks)
    return [explain_mark(mark, things) for mark in Mark if mark in found]


def mark_clusters(clusters: int) -> Mark | None:
    """The mark of a figure of that many clusters; None where they are enough."""
    if clusters < FEW:
        return Mark.FEW
    return Mark.ROUGH if clusters < ROUGH else None


def explain_marks_in(lines: Iterable[str], things: str) -> list[str]:
    """The same of the marks that lines of text have in brackets."""
    text = "\n".join(lines)
    return explain_marks((mark for mark in Mark if f"({mark})" in text), things)


class Reason(StrEnum):
    """Why a figure or its interval is missing, in words for the page."""

    NO_PAIR = "fewer than two coders"
    NOTHING_SHARED = "no unit was decided by two coders"
    NEVER_USED = "nobody used the code"
    ALWAYS_USED = "everybody used the code on every unit"
    NO_VARIATION = "all values are the same"
    NO_PAIR_DEFINES = "not defined for any pair of coders"
    MORE_THAN_TWO = "Cohen's kappa is for two coders; see the mean over pairs"
    NOTHING_CODED = "no coder applied a code to a unit that two decided"
    NO_ERROR = "the large-sample error is 0 and bounds nothing"
    OTHER_SCALE = "only for codes that are applied or not applied"
    NOT_DRAWN = "no resamples were asked for"
    FEW_DRAWN = f"fewer than {FEW} turns, too few to resample"
    OFTEN_UNDEFINED = "too rare: not defined in more than a tenth of the resamples"
    DRAWS_ALIKE = "the same in every resample, which says nothing about certainty"
    ABSOLUTE = "a mean of absolute values, which draws can only move up: it may lie outside their interval"
    TOO_MANY_VALUES = "too many different values for resampling"
    FEW_CLUSTERS = f"fewer than {MIN_CLUSTERS} independent cases (turns, threads, cases or texts)"
    ONE_SIDE = "nothing to compare with on one side"


class Figure(NamedTuple):
    """A figure. ``value`` is None where it is not defined; ``reason`` then says why, for people to read.

    ``interval`` is of 95 %; ``no_interval`` says why a defined figure has none. ``pairs``: of a mean over pairs of coders, how
    many pairs define it. ``method`` names how value and interval were found, ``units`` counts what the value is of, and
    ``clusters`` what is independent among them: turns, threads, cases or texts. It is None where nobody counted.
    """

    value: float | None = None
    reason: str = ""
    interval: Interval | None = None
    no_interval: str = ""
    pairs: int | None = None
    method: str = ""
    units: int | None = None
    clusters: int | None = None

    @property
    def mark(self) -> Mark | None:
        """Few or rough, by the number of clusters."""
        return None if self.value is None or self.clusters is None else mark_clusters(self.clusters)
