"""P of several tests, adjusted for their number."""

from __future__ import annotations

from collections.abc import Sequence


def adjust_holm(chances: Sequence[float]) -> list[float]:
    """p adjusted for their number by stepping down (Holm 1979, Scand. J. Statist. 6:65), in the order given."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    adjusted = [0.0] * len(chances)
    highest = 0.0
    for position, index in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - position) * chances[index]))
        adjusted[index] = highest
    return adjusted


def adjust_benjamini_hochberg(chances: Sequence[float]) -> list[float]:
    """p adjusted by stepping up, in the order given (Benjamini and Hochberg 1995, J. R. Statist. Soc. B 57:289).

    The i-th smallest of m becomes the least p(j) x m / j over all j >= i, at most 1. Those below a level q are the ones to
    report where a share of q of the reported differences may be false, if the tests are independent or depend on each
    other positively. Holm's p instead limits the chance of a single false one, whatever the dependence, and is never
    smaller.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__, reverse=True)
    adjusted = [0.0] * len(chances)
    lowest = 1.0
    for position, index in enumerate(order):
        lowest = min(lowest, chances[index] * len(chances) / (len(chances) - position))
        adjusted[index] = lowest
    return adjusted
