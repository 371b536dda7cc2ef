"""What measuring a machine against people gives, and what is counted of how far seeing its suggestions moves people. Loads nothing
heavy, for every page knows these."""

from __future__ import annotations

from typing import NamedTuple

from transcripts.statistics.figures import Figure, Interval

FEW_POSITIVES = 10
"""Below this number of labels by people with the code, no figure about it says anything."""


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


class Tally(NamedTuple):
    """Counts of units. ``shown`` and ``withheld``: of ``n`` in that arm, how many are labelled as the machine has it.

    The last four count units she decided blind and then looked at: blind she ``differed`` from the machine, and of
    those ``changed_to`` it; blind she ``agreed``, and of those ``changed_away``.
    """

    shown_same: int = 0
    shown_n: int = 0
    withheld_same: int = 0
    withheld_n: int = 0
    differed: int = 0
    changed_to: int = 0
    agreed: int = 0
    changed_away: int = 0

    @property
    def looked(self) -> int:
        return self.differed + self.agreed
