"""The figures of a machine compared with people, and the counts of how much its suggestions change people's labels. Imports
nothing large, because every page uses this module."""

from __future__ import annotations

from typing import NamedTuple

from transcripts.statistics.figures import Figure, Interval

FEW_POSITIVES = 10
"""With fewer labels by people with the code than this, figures about the code mean nothing."""


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
    """A figure with its interval over turns, the ``interval`` by formula, and the number of labels in its denominator."""

    figure: Figure
    interval: Interval | None
    n: int

    @property
    def value(self) -> float | None:
        return self.figure.value


class Tally(NamedTuple):
    """Counts of units. ``shown`` and ``withheld``: of the ``n`` units in that arm, how many have the same label as the
    machine's.

    The last four count units that the coder decided blind and whose suggestions she then opened: those on which her blind label
    ``differed`` from the machine's, those of them that she ``changed_to`` it; those on which it ``agreed``, and those of them
    that she ``changed_away``.
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
