"""What measuring a machine against people gives. Loads nothing heavy, for every page knows these."""

from __future__ import annotations

from typing import NamedTuple

from transcripts.statistics.figures import Figure
from transcripts.statistics.intervals import Interval

FEW_POSITIVES = 10
"""Below as many labels by people with the code, no figure about it tells anything."""


class CrossTable(NamedTuple):
    """Labels by who applied the code: both, only the machine, only the person, neither."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def n(self) -> int:
        return sum(self)


class Estimate(NamedTuple):
    """A figure with its interval over turns, the ``interval`` by formula, and how many labels it is a share of."""

    figure: Figure
    interval: Interval | None
    n: int

    @property
    def value(self) -> float | None:
        return self.figure.value
