"""Intervals that know their clusters: by bootstrap over clusters, and by formula for shares of units in clusters.

Sentences of a turn are not independent, so drawing sentences would give intervals that are too narrow (Field and Welsh
2007, the cluster bootstrap; Efron and Tibshirani 1993, chapter 13). Whole turns or texts are drawn with replacement, and a figure
is computed from each draw. A draw only changes how often each cluster counts, so every figure is computed from sums over clusters,
weighted.

A share of units in clusters, such as sentences of turns or repeats of cases, is a ratio of sums over clusters, each of which may
have a weight. Its variance is linearised over clusters (Cochran 1977, Sampling Techniques, chapter 6): G / (G - 1) times the sum of
the squared weighted residuals of a cluster, over the squared sum of weights. The interval is Wilson's of the effective number of
units, that is the number over the design effect (Rao and Scott 1992, Biometrics 48:577), with Student's t of G - 1 degrees instead
of the normal (as Korn and Graubard 1998, Survey Methodology 24:193). The interval of a difference is Newcombe's hybrid of two such
intervals (1998, Statistics in Medicine 17:873, method 10).

numpy and scipy are loaded when something is computed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from transcripts.statistics.figures import FEW, MIN_CLUSTERS, Figure, Interval, Reason
from transcripts.statistics.significance import MAX_WINDOW, raise_by_squaring

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from transcripts.statistics.coefficients import Floats

CONFIDENCE = 0.95

MAX_RESAMPLES = 10_000
MIN_DEFINED = 0.9
"""The share of resamples in which a figure must be defined for it to have an interval."""
SAME = 1e-6
"""A width no larger than this is only rounding error."""
ROUNDING = 1e-9
"""The probability that rounding may have removed from a sum of probabilities."""
CLUSTERS_AT_A_TIME = 2_000
"""This many weights fit the processor's cache."""


class Resamples(NamedTuple):
    """``weights``: clusters x resamples, how often each cluster was drawn; None if nothing was: ``without`` says why."""

    weights: NDArray[np.uint8] | None
    without: str = ""
    clusters: int | None = None


def draw_resamples(clusters: int, *, resamples: int, seed: int) -> Resamples:
    """Draw as many clusters as there are, ``resamples`` times; the same seed gives the same draws.

    With fewer than ``FEW`` clusters nothing is drawn, because intervals would be too narrow (see docs/reference/method.md).
    Raises ``ValueError`` for a seed below 0 and for more than ``MAX_RESAMPLES``.
    """
    import numpy as np

    if seed < 0:
        raise ValueError(f"The seed is {seed}; it has to be 0 or more.")
    if not 0 <= resamples <= MAX_RESAMPLES:
        raise ValueError(f"{resamples:,} resamples were asked for; there can be from 0 to {MAX_RESAMPLES:,}.")
    if not resamples:
        return Resamples(None, Reason.NOT_DRAWN, clusters)
    if clusters < FEW:
        return Resamples(None, Reason.FEW_DRAWN, clusters)
    # A byte is enough: a cluster is drawn once on average, and 256 times in practically no draw.
    weights = np.empty((resamples, clusters), dtype=np.uint8)
    for row, drawn in zip(weights, _draw(clusters, resamples, seed), strict=True):
        row[:] = drawn
    return Resamples(np.ascontiguousarray(weights.T), clusters=clusters)


def _draw(clusters: int, resamples: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """How often each cluster is drawn, in each resample."""
    import numpy as np

    generator = np.random.default_rng(seed)
    for _ in range(resamples):
        yield np.bincount(generator.integers(0, clusters, clusters), minlength=clusters)


def sum_draws(tallies: NDArray[Any], drawn: Resamples) -> Floats | None:
    """``tallies``, kinds x clusters, summed over the clusters of each resample: kinds x resamples."""
    import numpy as np

    if drawn.weights is None:
        return None
    used = np.flatnonzero(tallies.any(axis=0))
    sums = np.zeros((len(tallies), drawn.weights.shape[1]))
    for start in range(0, len(used), CLUSTERS_AT_A_TIME):
        block = used[start : start + CLUSTERS_AT_A_TIME]
        # Single precision is exact for whole numbers to 16 million, and takes half the time.
        sums += tallies[:, block].astype(np.float32) @ drawn.weights[block].astype(np.float32)
    return sums


def add_interval(figure: Figure, draws: Floats | None, drawn: Resamples) -> Figure:
    """The figure with its percentile interval over ``draws``, or with the reason why there is none."""
    import numpy as np

    if figure.value is None:
        return figure
    figure = figure._replace(clusters=drawn.clusters)
    if draws is None or drawn.clusters is None:
        return figure._replace(no_interval=drawn.without)
    defined = draws[~np.isnan(draws)]
    if len(defined) < MIN_DEFINED * len(draws):
        return figure._replace(no_interval=Reason.OFTEN_UNDEFINED)
    if np.ptp(defined) < SAME:
        return figure._replace(no_interval=Reason.DRAWS_ALIKE)
    return figure._replace(interval=find_percentiles(defined, drawn.clusters))


def find_percentiles(draws: Floats, clusters: int) -> Interval:
    """The 95 % expanded percentile interval of draws of that many clusters, interpolated between neighbours."""
    import numpy as np

    low, high = np.quantile(draws, find_levels(clusters))
    return Interval(float(low), float(high))


def find_levels(clusters: int) -> tuple[float, float]:
    """The shares of draws below the lower and below the upper end of a 95 % interval, for at least two clusters.

    Percentiles at 2.5 and 97.5 % are too narrow for few clusters, as draws vary by (G - 1) / G too little and have normal tails
    instead of Student's. The expanded percentile interval takes Phi(-t sqrt(G / (G - 1))), t of G - 1 degrees (Hesterberg 2015,
    The American Statistician 69:371, section 5.3).
    """
    from scipy.special import ndtr, stdtrit

    t = float(stdtrit(clusters - 1, (1 + CONFIDENCE) / 2))
    low = float(ndtr(-t * math.sqrt(clusters / (clusters - 1))))
    return low, 1 - low


def open_stream(seed: int, *names: str) -> np.random.Generator:
    """A separate stream of random numbers for these names, the same on every machine and in any order of use.

    Names are hashed here because Python's own hash differs from run to run.
    """
    import numpy as np

    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()
    words = [int.from_bytes(digest[start : start + 4], "big") for start in range(0, 16, 4)]
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))


def draw_sums(values: NDArray[np.int64], *, resamples: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Sums over resampled items: ``values`` is kinds x items of whole numbers, the result kinds x resamples.

    The bootstrap over clusters (Field and Welsh 2007; Efron and Tibshirani 1993, chapter 13): as many items as there are
    are drawn with replacement, each with all its answers. Items with equal values are interchangeable, so how often each
    *distinct* column of values is drawn is one multinomial draw over their shares; a few dozen numbers stand for
    thousands of items. Columns are ordered by what they hold, so the order of the items does not matter.
    """
    import numpy as np

    lowest = int(values.min(initial=0))
    base = int(values.max(initial=0)) - lowest + 1
    keys = np.zeros(values.shape[1], dtype=np.int64)
    for kind in values:
        keys = keys * base + (kind - lowest)
    distinct, counts = np.unique(keys, return_counts=True)
    # The commonest first: soon nothing is left for the rare ones, and drawing nothing is free.
    order = np.argsort(-counts, kind="stable")
    distinct = distinct[order]
    drawn = generator.multinomial(values.shape[1], counts[order] / values.shape[1], size=resamples).T.astype(np.float64)
    places = base ** np.arange(len(values) - 1, -1, -1)
    columns = distinct // places[:, None] % base + lowest
    return np.asarray(columns.astype(np.float64) @ drawn)


def sum_all_resamples(values: NDArray[np.int64]) -> Interval | None:
    """The 95 % expanded percentile interval of the sum of resampled whole numbers over *all* resamples; None if too slow.

    ``draw_sums`` approaches it with ever more draws (the ideal bootstrap, Efron and Tibshirani 1993, section 6.4): the sum of n
    independent draws is distributed as the n-fold convolution of the values' shares, by Fourier transform. Only sums within ten
    standard deviations are computed; the rest has a probability less chance than a percentile can show. A percentile is the
    lowest sum that enough of the chance does not exceed.
    """
    import numpy as np

    n, lowest = len(values), int(values.min())
    if int(values.max()) - lowest >= MAX_WINDOW:
        return None
    shares = np.bincount(values - lowest) / n
    steps = np.arange(len(shares))
    middle = float(shares @ steps)
    spread = math.sqrt(max(0.0, n * (float(shares @ (steps * steps)) - middle * middle)))
    window = min(n * (len(shares) - 1), math.ceil(20 * spread) + len(shares)) + 1
    length = 1 << (window - 1).bit_length() if window > 1 else 2
    if length > MAX_WINDOW:
        return None
    start = max(0, int(n * middle) - length // 2)
    around = np.fft.irfft(raise_by_squaring(np.fft.rfft(shares, length), n), length)
    first = start % length
    covered = np.cumsum(np.concatenate((around[first:], around[:first])))
    low, high = np.searchsorted(covered, [level - ROUNDING for level in find_levels(n)])
    return Interval(float(start + int(low) + n * lowest), float(start + int(high) + n * lowest))


_ROUNDING = 1e-12


class ClusterShare(NamedTuple):
    """A share of ``n`` units in ``clusters``. ``variance`` is None for one cluster; ``effective``: how many independent units
    would carry as much information, never above ``n``."""

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

    Clusters without a unit do not count. Where all units are alike no variation can be seen, and each cluster counts as one
    unit. The effective number never exceeds the actual one.
    """
    import numpy as np

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

    ``correlation`` is that of the two shares, 0 where they are of different clusters: see `correlate_shares`. With it the
    hybrid is that of Zou (2007, Psychological Methods 12:399, equation 15). With fewer than ten clusters a positive one is
    treated as 0: an interval narrowed by it would contain the truth too seldom. Its clusters are the smaller number of the two.
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
    import numpy as np

    residuals = []
    for part, unit in ((parts, units), (other_parts, other_units)):
        counts, of = np.asarray(part, dtype=float), np.asarray(unit, dtype=float)
        residuals.append(counts - of * (counts.sum() / of.sum() if of.sum() else 0))
    one, other = residuals
    spread = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / spread if spread > _ROUNDING else 0.0
