"""How well stated probabilities fit what came true: Brier's score, the calibration error, and the bins of a reliability diagram."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from transcripts.statistics.figures import MIN_CLUSTERS
from transcripts.statistics.intervals import Interval, wilson_interval

BINS = 10
MIN_STATED = 100
TOO_FEW = (
    f"Below {MIN_STATED} cases with a stated probability there is no expected calibration error and no reliability diagram, "
    "because both would show chance: the error of a perfectly calibrated model is about 0.26 with 10 of them, 0.21 with 20 and "
    "0.10 with 100."
)


class Stated(NamedTuple):
    """A probability that was stated, whether what it is about came true, and the cluster (a case, a text) that it belongs to."""

    cluster: Hashable
    probability: float
    came_true: bool


class Bin(NamedTuple):
    """The ``n`` probabilities from ``low`` up to ``high``, of ``clusters`` clusters: the mean of what was stated, and the share
    that came true with its 95 % interval. Both are None in an empty bin; below three clusters there is no interval."""

    low: float
    high: float
    n: int
    clusters: int
    stated: float | None
    share: float | None
    interval: Interval | None


class Calibration(NamedTuple):
    """Of ``n`` stated probabilities of ``clusters`` clusters; ``brier`` is None without any. Below ``MIN_STATED`` clusters
    ``error`` is None and there are no ``bins``; ``TOO_FEW`` says why."""

    n: int
    clusters: int
    brier: float | None
    error: float | None
    bins: tuple[Bin, ...]


def measure_calibration(stated: Iterable[Stated]) -> Calibration:
    """Brier's score, the expected calibration error and its ten bins.

    Brier's score is the mean of (p - y)^2, y being 1 where it came true and else 0 (Brier 1950, Monthly Weather Review 78:1). The
    expected calibration error is the mean over bins of |mean of p - share that came true|, each bin weighted by its n (Naeini,
    Cooper and Hauskrecht 2015, AAAI 29). Bins have equal width, each from its lower end up to its upper one, the last with 1.

    The interval of a share is Wilson's. Where clusters have several probabilities in a bin, its n is (sum of m)^2 / (sum of m^2), m
    being how many a cluster has there: the mean of clusters, weighted by m, varies at most as much as a share of that n. Of one
    cluster, or two, there is none. Raises ``ValueError`` for a probability outside 0 to 1.
    """
    known = list(stated)
    if wrong := [each.probability for each in known if not 0 <= each.probability <= 1]:
        raise ValueError(f"{wrong[0]} is not a probability from 0 to 1")
    brier = fmean((each.probability - each.came_true) ** 2 for each in known) if known else None
    clusters = len({each.cluster for each in known})
    if clusters < MIN_STATED:
        return Calibration(len(known), clusters, brier, None, ())
    placed: list[list[Stated]] = [[] for _ in range(BINS)]
    for each in known:
        placed[min(int(each.probability * BINS), BINS - 1)].append(each)
    # Of each bin the sums suffice: its weight cancels its mean's denominator.
    off = math.fsum(abs(math.fsum(each.probability - each.came_true for each in own)) for own in placed)
    bins = tuple(_measure_bin(place, own) for place, own in enumerate(placed))
    return Calibration(len(known), clusters, brier, off / len(known), bins)


def _measure_bin(place: int, own: Sequence[Stated]) -> Bin:
    low, high = place / BINS, (place + 1) / BINS
    if not own:
        return Bin(low, high, 0, 0, None, None, None)
    sizes = Counter(each.cluster for each in own).values()
    share = fmean(each.came_true for each in own)
    independent = len(own) ** 2 // sum(size * size for size in sizes)
    interval = wilson_interval(share * independent, independent) if len(sizes) >= MIN_CLUSTERS else None
    return Bin(low, high, len(own), len(sizes), fmean(each.probability for each in own), share, interval)
