"""What measuring a machine against people gives, and how far seeing its suggestions moves people: shown against withheld, and
before against after a look. Loads nothing heavy, for every page knows these.

Agreement of the two arms is compared by the difference of shares with Newcombe's hybrid-score interval (1998, method 10)
and Pearson's chi-square without a correction for continuity. The direction of changes after a look is McNemar's exact
test (two-sided binomial on the changes alone). Units are taken for independent, which sentences of one turn are not:
``influence_by_turn`` goes by turns, as withholding is drawn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from transcripts.statistics.figures import Figure
from transcripts.statistics.intervals import Interval, Share, newcombe_interval
from transcripts.statistics.significance import measure_chi_square, measure_mcnemar

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


def measure_influence(tally: Tally) -> dict[str, Any]:
    """All figures of ``tally``; ``None`` where there is nothing to count. Raises ValueError for counts that are no part of
    their whole."""
    shown, withheld = Share(tally.shown_same, tally.shown_n), Share(tally.withheld_same, tally.withheld_n)
    switch = Share(tally.changed_to, tally.differed)
    for share in (shown, withheld, switch, Share(tally.changed_away, tally.agreed)):
        if not 0 <= share.part <= share.n:
            raise ValueError(f"{share.part} of {share.n} is no share")
    a, b = shown.value, withheld.value
    tested = measure_chi_square(*shown, *withheld)
    changes = tally.changed_to + tally.changed_away
    return {
        "agreement_shown": shown,
        "agreement_withheld": withheld,
        "difference": None if a is None or b is None else a - b,
        "difference_interval": newcombe_interval(shown.part, shown.n, withheld.part, withheld.n),
        "p_chi2": tested.p if tested else None,
        "switch": switch,
        "changed_to": tally.changed_to,
        "changed_away": tally.changed_away,
        "p_mcnemar": measure_mcnemar(tally.changed_to, tally.changed_away) if changes else None,
    }
