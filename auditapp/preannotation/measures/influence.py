"""How far seeing a machine's suggestions moves people: shown against withheld, and before against after a look.

Agreement of the two arms is compared by the difference of shares with Newcombe's hybrid-score interval (1998, method 10)
and Pearson's chi-square without a correction for continuity. The direction of changes after a look is McNemar's exact
test (two-sided binomial on the changes alone). Units are taken for independent, which sentences of one turn are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from transcripts.agreement.shares import Interval, newcombe_interval, wilson_interval


class Share(NamedTuple):
    """``successes`` of ``n``. ``value`` and ``interval`` are ``None`` where ``n`` is 0."""

    successes: int
    n: int

    @property
    def value(self) -> float | None:
        return self.successes / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        return wilson_interval(self.successes, self.n)


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

    def plus(self, other: Tally) -> Tally:
        return Tally(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def looked(self) -> int:
        return self.differed + self.agreed

    def drop_small_arms(self, least: int) -> Tally:
        """The same without an arm of fewer than ``least`` units."""
        return self.keep(shown=self.shown_n >= least, withheld=self.withheld_n >= least, looks=True)

    def keep(self, *, shown: bool, withheld: bool, looks: bool) -> Tally:
        """The same with only those of its parts that are asked for."""
        asked = (shown, shown, withheld, withheld, looks, looks, looks, looks)
        return Tally(*(count if is_kept else 0 for count, is_kept in zip(self, asked, strict=True)))


class Influence(NamedTuple):
    """The figures of a tally; ``None`` where there is nothing to count."""

    agreement_shown: Share
    agreement_withheld: Share
    difference: float | None
    difference_interval: Interval | None
    p_chi2: float | None
    switch: Share
    changed_to: int
    changed_away: int
    p_mcnemar: float | None


def measure_influence(tally: Tally) -> Influence:
    """All figures of ``tally``. Raises ValueError for counts that are no part of their whole."""
    shown, withheld = Share(tally.shown_same, tally.shown_n), Share(tally.withheld_same, tally.withheld_n)
    switch = Share(tally.changed_to, tally.differed)
    for share in (shown, withheld, switch, Share(tally.changed_away, tally.agreed)):
        if not 0 <= share.successes <= share.n:
            raise ValueError(f"{share.successes} of {share.n} is no share")
    a, b = shown.value, withheld.value
    return Influence(
        agreement_shown=shown,
        agreement_withheld=withheld,
        difference=None if a is None or b is None else a - b,
        difference_interval=newcombe_interval(shown.successes, shown.n, withheld.successes, withheld.n),
        p_chi2=chi_square_p(shown, withheld),
        switch=switch,
        changed_to=tally.changed_to,
        changed_away=tally.changed_away,
        p_mcnemar=mcnemar_exact_p(tally.changed_to, tally.changed_away),
    )


def chi_square_p(first: Share, second: Share) -> float | None:
    """Pearson's chi-square of two shares, one degree of freedom, uncorrected; ``None`` where a margin is empty."""
    a, c = first.successes, second.successes
    b, d = first.n - a, second.n - c
    margins = first.n * second.n * (a + c) * (b + d)
    if not margins:
        return None
    statistic = (first.n + second.n) * (a * d - b * c) ** 2 / margins
    # The upper tail of chi-square with one degree of freedom.
    return math.erfc(math.sqrt(statistic / 2))


def mcnemar_exact_p(one_way: int, other_way: int) -> float | None:
    """Two-sided exact test that changes go either way equally often; ``None`` without a change."""
    changes = one_way + other_way
    if not changes:
        return None
    tail = sum(math.comb(changes, count) for count in range(min(one_way, other_way) + 1))
    # Whole numbers to the end: Python divides them rightly however long they are.
    return min(1.0, 2 * tail / (1 << changes))


def pool_tallies(by_coder: Iterable[Mapping[str, Tally]], *, least: int = 2) -> dict[str, Tally]:
    """The sums over coders, family by family, with only those parts to which ``least`` coders or more contribute.

    Otherwise a figure would be one person's. A total is to be made of these alone, or the part left out could be
    reckoned from it.
    """
    gathered: dict[str, list[Tally]] = {}
    for tallies in by_coder:
        for family, tally in tallies.items():
            gathered.setdefault(family, []).append(tally)
    return {family: _pool(tallies, least) for family, tallies in gathered.items()}


def _pool(tallies: Iterable[Tally], least: int) -> Tally:
    listed = list(tallies)
    return add_tallies(listed).keep(
        shown=sum(tally.shown_n > 0 for tally in listed) >= least,
        withheld=sum(tally.withheld_n > 0 for tally in listed) >= least,
        looks=sum(tally.looked > 0 for tally in listed) >= least,
    )


def add_tallies(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies."""
    total = Tally()
    for tally in tallies:
        total = total.plus(tally)
    return total
