"""Shares of units in clusters, such as sentences of turns or repeats of cases, with intervals that know the clusters.

A share is a ratio of sums over clusters, each of which may have a weight. Its variance is linearised over clusters (Cochran 1977,
Sampling Techniques, chapter 6): G / (G - 1) times the sum of the squared weighted residuals of a cluster, over the squared sum of
weights. The interval is Wilson's of the effective number of units, that is the number over the design effect (Rao and Scott 1992,
Biometrics 48:577), with Student's t of G - 1 degrees instead of the normal (as Korn and Graubard 1998, Survey Methodology 24:193).
The interval of a difference is Newcombe's hybrid of two such intervals (1998, Statistics in Medicine 17:873, method 10).

Loads numpy and scipy; pages import this inside functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transcripts.statistics.figures import FEW, MIN_CLUSTERS, Figure, Reason
from transcripts.statistics.intervals import Interval

_ROUNDING = 1e-12


class ClusterShare(NamedTuple):
    """A share of ``n`` units in ``clusters``. ``variance`` is None for one cluster; ``effective``: how many independent units
    would say as much, never above ``n``."""

    value: float
    n: int
    clusters: int
    variance: float | None
    effective: float

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval; None for fewer than ``MIN_CLUSTERS`` clusters."""
        from scipy.special import stdtrit

        if self.variance is None or self.clusters < MIN_CLUSTERS:
            return None
        t, n, share = float(stdtrit(self.clusters - 1, 0.975)), self.effective, self.value
        scale = 1 + t * t / n
        middle, spread = share + t * t / (2 * n), t * math.sqrt(share * (1 - share) / n + t * t / (4 * n * n))
        return Interval(max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale))

    @property
    def figure(self) -> Figure:
        """The share as a figure."""
        interval = self.interval
        why = "" if interval else Reason.FEW_CLUSTERS
        return Figure(
            self.value, interval=interval, no_interval=why, method=METHOD, units=self.n, clusters=self.clusters
        )


METHOD = "Wilson's interval of the effective number of units, by Student's t over clusters"


def average_clusters(parts: ArrayLike, units: ArrayLike, weights: ArrayLike | None = None) -> ClusterShare | None:
    """The share of ``parts`` in ``units``, a number of each cluster, ``weights`` 1 unless given; None where there is no unit.

    Clusters without a unit do not count. Where every unit is alike nothing is seen to vary, and each cluster counts as one unit.
    Units never count for more than they are.
    """
    part, unit = np.asarray(parts, dtype=float), np.asarray(units, dtype=float)
    weight = np.ones(len(unit)) if weights is None else np.asarray(weights, dtype=float)
    some = unit > 0
    part, unit, weight = part[some], unit[some], weight[some]
    clusters, n = len(unit), int(unit.sum())
    if not clusters:
        return None
    size = float(weight @ unit)
    share = float(weight @ part) / size
    if clusters == 1:
        return ClusterShare(share, n, clusters, None, 1.0)
    residuals = weight * (part - share * unit)
    variance = clusters / (clusters - 1) * float(residuals @ residuals) / size**2
    if not 0 < part.sum() < n:
        return ClusterShare(float(part[0] > 0), n, clusters, 0.0, float(clusters))
    effective = min(float(n), share * (1 - share) / max(variance, _ROUNDING / n))
    return ClusterShare(share, n, clusters, variance, effective)


def subtract_shares(first: ClusterShare | None, second: ClusterShare | None, correlation: float = 0.0) -> Figure:
    """The first share minus the second, with its interval; not defined where either is missing.

    ``correlation`` is that of the two shares, 0 where they are of different clusters: see `correlate_shares`. With it the hybrid is
    that of Zou (2007, Psychological Methods 12:399, equation 15). Of fewer than ten clusters a positive one is taken for 0: an
    interval that it narrows would contain the truth too seldom. Its clusters are the fewer of the two.
    """
    if first is None or second is None:
        return Figure(reason=Reason.ONE_SIDE)
    difference = first.value - second.value
    described = Figure(
        difference,
        no_interval=Reason.FEW_CLUSTERS,
        method=f"Newcombe's hybrid of two intervals, each {METHOD}",
        units=first.n + second.n,
        clusters=min(first.clusters, second.clusters),
    )
    one, other = first.interval, second.interval
    if one is None or other is None:
        return described
    if first.clusters < FEW or second.clusters < FEW:
        correlation = min(0.0, correlation)
    low = _add_sides(first.value - one.low, other.high - second.value, correlation)
    high = _add_sides(one.high - first.value, second.value - other.low, correlation)
    interval = Interval(max(-1.0, difference - low), min(1.0, difference + high))
    return described._replace(interval=interval, no_interval="")


def _add_sides(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one * one + other * other - 2 * correlation * one * other))


def correlate_shares(parts: ArrayLike, units: ArrayLike, other_parts: ArrayLike, other_units: ArrayLike) -> float:
    """The correlation of two shares of the same clusters, numbers of each cluster in the same order: that of their linearised
    residuals (Cochran 1977, chapter 6). 0 where a share has no unit or does not vary. A cluster may lack units of either."""
    residuals = []
    for part, unit in ((parts, units), (other_parts, other_units)):
        counts, of = np.asarray(part, dtype=float), np.asarray(unit, dtype=float)
        residuals.append(counts - of * (counts.sum() / of.sum() if of.sum() else 0))
    one, other = residuals
    spread = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / spread if spread > _ROUNDING else 0.0
