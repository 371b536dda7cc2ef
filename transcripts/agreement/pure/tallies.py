"""Who applied which code to which unit, and the sums over units of each cluster that coefficients are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transcripts.statistics.coefficients import (
    Floats,
    PairCounts,
    SetCounts,
)
from transcripts.statistics.resampling import Resamples, sum_draws

Bools = NDArray[np.bool_]
Places = NDArray[np.intp]
PAIRS_AT_A_TIME = 64
"""Bounds memory where coders are many: what is held grows with pairs x units."""


class LabelTable(NamedTuple):
    """Yes-or-no labels. A unit is what coders decide about, a sentence as a rule. A cluster is a turn: its sentences depend on one
    another, so a bootstrap draws turns.

    ``labels``: codes x coders x units, whether the coder applied the code to the unit; False where not decided.
    ``decided``: coders x units, whether the coder decided about the unit at all, "read, no code" included; or codes x
    coders x units where that differs from code to code. ``clusters``: for each unit the number of its cluster, from 0.
    """

    coders: tuple[str, ...]
    codes: tuple[str, ...]
    labels: Bools
    decided: Bools
    clusters: Places

    def get_decided(self, code: int) -> Bools:
        """Coders x units: whether the coder decided about this code on the unit."""
        return self.decided if self.decided.ndim == 2 else self.decided[code]


class RatingTable(NamedTuple):
    """Numbers on a scale.

    ``ratings``: codes x coders x units, NaN where the coder gave none. ``clusters``: for each unit the number of its
    cluster, from 0.
    """

    coders: tuple[str, ...]
    codes: tuple[str, ...]
    ratings: Floats
    clusters: Places


Numbers = NDArray[Any]
Pairs = tuple[Places, Places]
"""Pairs of coders, by their places in the table; the first comes before the second."""
Sums = tuple[Floats, Floats | None]
"""Sums over everything, and over each resample where there are any."""


def list_pairs(coders: int) -> Iterator[Pairs]:
    """All pairs of coders, a block at a time."""
    a, b = np.triu_indices(coders, 1)
    for start in range(0, len(a), PAIRS_AT_A_TIME):
        yield a[start : start + PAIRS_AT_A_TIME], b[start : start + PAIRS_AT_A_TIME]


class Clusters(NamedTuple):
    """Units are in the order of their clusters; each cluster begins at one of ``starts``."""

    starts: Places

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.starts)

    def sum(self, rows: Numbers, kind: type[np.generic] = np.int32) -> Numbers:
        """``rows``, kinds x units, summed: kinds x clusters."""
        if not self.number:
            return np.zeros((len(rows), 0), dtype=kind)
        sums: Numbers = np.add.reduceat(rows, self.starts, axis=1, dtype=kind)
        return sums


def order_by_cluster(clusters: Places, wanted: Bools) -> tuple[Places, Clusters]:
    """The places of the ``wanted`` units in the order of their clusters, and where each cluster begins in it."""
    places = np.flatnonzero(wanted)
    order = places[np.argsort(clusters[places], kind="stable")]
    return order, Clusters(np.unique(clusters[order], return_index=True)[1])


def keep_shared(table: LabelTable) -> tuple[LabelTable, Clusters]:
    """The units on which two or more coders decided about some code, in the order of their clusters.

    A turn without such units is not drawn either.
    """
    planes = table.decided if table.decided.ndim == 3 else table.decided[None]
    wanted = np.zeros(table.labels.shape[2], dtype=bool)
    for plane in planes:
        wanted |= plane.sum(axis=0) > 1
    order, clusters = order_by_cluster(table.clusters, wanted)
    # Not by [..., order], which lays the units of one coder far apart.
    decided = np.take(table.decided, order, axis=-1)
    labels = np.take(table.labels, order, axis=-1) & decided
    cut = LabelTable(table.coders, table.codes, labels, decided, table.clusters[order])
    return cut, clusters


def sum_up(tallies: Numbers, drawn: Resamples) -> Sums:
    """``tallies``, kinds x clusters, as a total for each kind, and for each kind and resample.

    The totals give the figures; sums over drawn clusters give those of a resample.
    """
    return tallies.sum(axis=1, dtype=np.float64), sum_draws(tallies, drawn)


class PairTally:
    """Sums for pairs of coders on one code after another; how many units they share is summed once where it can be."""

    def __init__(self, table: LabelTable, clusters: Clusters, pairs: Pairs, drawn: Resamples) -> None:
        self._table, self._clusters, self._pairs, self._drawn = table, clusters, pairs, drawn
        self._units: Sums | None = None
        self._shared = np.zeros(0, np.intp)

    def count(self, code: int) -> tuple[PairCounts, PairCounts | None, Places]:
        """The counts of each pair, and of each pair and resample; and in how many clusters each pair shares a unit."""
        table, clusters, (a, b) = self._table, self._clusters, self._pairs
        labels, decided = table.labels[code], table.get_decided(code)
        rows = (labels[a] & labels[b], labels[a] & decided[b], labels[b] & decided[a])
        used, used_draws = sum_up(np.concatenate([clusters.sum(row) for row in rows]), self._drawn)
        if self._units is None or table.decided.ndim == 3:
            shared = clusters.sum(decided[a] & decided[b])
            self._units, self._shared = sum_up(shared, self._drawn), np.count_nonzero(shared, axis=1)
        units, units_draws = self._units
        total = _part(used, units)
        if used_draws is None or units_draws is None:
            return total, None, self._shared
        return total, _part(used_draws, units_draws), self._shared


def _part(used: Floats, units: Floats) -> PairCounts:
    both, yes_a, yes_b = np.split(used, 3)
    return PairCounts(both, yes_a - both, yes_b - both, units - yes_a - yes_b + both)


def count_sets(
    table: LabelTable, clusters: Clusters, pairs: Pairs, drawn: Resamples
) -> tuple[SetCounts, SetCounts | None]:
    """How the sets of codes of each pair compare on the codes that both decided; and in each resample."""
    a, b = pairs
    shape = (len(a), table.labels.shape[2])
    common, either = np.zeros(shape, np.uint16), np.zeros(shape, np.uint16)
    decided = np.zeros(shape, dtype=bool)
    for code, labels in enumerate(table.labels):
        mask = table.get_decided(code)
        shared_here = mask[a] & mask[b]
        decided |= shared_here
        common += labels[a] & labels[b]
        either += (labels[a] | labels[b]) & shared_here
    empty = decided & (either == 0)
    jaccard = np.divide(common, either, out=np.zeros(shape), where=either > 0)
    rows = (decided, empty, jaccard, decided & (common == either))
    total, draws = sum_up(np.concatenate([clusters.sum(row, np.float64) for row in rows]), drawn)
    return SetCounts(*np.split(total, 4)), None if draws is None else SetCounts(*np.split(draws, 4))


def count_group(
    table: LabelTable, clusters: Clusters, code: int, drawn: Resamples
) -> tuple[int, int | None, Floats, Floats | None]:
    """Sums over all coders for one code.

    Returns how many units two or more decided, the number of raters whose units Fleiss' kappa is over (None without
    any), and seven sums, in total and for each resample: three for `measure_binary_alpha`, then four for
    `measure_fleiss_kappa`, the ratings of yes and of no last.
    """
    decided = table.get_decided(code).sum(axis=0, dtype=np.float64)
    yes = table.labels[code].sum(axis=0, dtype=np.float64)
    pairable = decided > 1
    no = decided - yes
    differing = np.divide(yes * no, decided - 1, out=np.zeros(len(yes)), where=pairable)
    raters = find_usual_number(decided[pairable])
    alike = decided == (raters or -1)
    agreeing = (yes * (yes - 1) + no * (no - 1)) * alike
    rows = (decided * pairable, yes * pairable, differing, alike, agreeing, yes * alike, no * alike)
    return int(pairable.sum()), raters, *sum_up(clusters.sum(np.array(rows), np.float64), drawn)


def find_usual_number(raters: Numbers) -> int | None:
    """The number of raters that most units have, of equals the larger; None without a unit."""
    if not len(raters):
        return None
    numbers, units = np.unique(raters, return_counts=True)
    return int(numbers[units == units.max()].max())


def count_equal(
    ratings: Floats, pairs: Pairs, clusters: Clusters, drawn: Resamples
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats] | None, Places]:
    """For each pair, on how many units both gave a number, and the same number; and in each resample; and in how many clusters
    the pair shares a unit."""
    here, there = ratings[pairs[0]], ratings[pairs[1]]
    shared = clusters.sum(~(np.isnan(here) | np.isnan(there)))
    total, draws = sum_up(np.concatenate([shared, clusters.sum(here == there)]), drawn)
    units, equal = np.split(total, 2)
    turns = np.count_nonzero(shared, axis=1)
    if draws is None:
        return (units, equal), None, turns
    units_draws, equal_draws = np.split(draws, 2)
    return (units, equal), (units_draws, equal_draws), turns
