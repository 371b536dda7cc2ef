"""Bootstrap over clusters: whole turns or texts are drawn with replacement, and a figure is computed from each draw.

Sentences of a turn are not independent, so drawing sentences would give intervals that are too narrow (Field and Welsh
2007, the cluster bootstrap; Efron and Tibshirani 1993, chapter 13). A draw only changes how often each cluster counts, so
every figure is computed from sums over clusters, weighted. numpy is loaded when something is drawn.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from transcripts.statistics.figures import FEW, Figure, Reason
from transcripts.statistics.intervals import Interval
from transcripts.statistics.significance import MAX_WINDOW, raise_by_squaring

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from transcripts.statistics.coefficients import Floats

CONFIDENCE = 0.95

MAX_RESAMPLES = 10_000
MIN_DEFINED = 0.9
"""Share of the resamples that must define a figure, for an interval to be given."""
SAME = 1e-6
"""A width that is only rounding."""
ROUNDING = 1e-9
"""Chance that rounding may have taken from a sum of chances."""
CLUSTERS_AT_A_TIME = 2_000
"""As many weights as fit the processor's cache."""


class Resamples(NamedTuple):
    """``weights``: clusters x resamples, how often each cluster was drawn; None where nothing was, ``without`` says why."""

    weights: NDArray[np.uint8] | None
    without: str = ""
    clusters: int | None = None


def draw_resamples(clusters: int, *, resamples: int, seed: int) -> Resamples:
    """Draw as many clusters as there are, ``resamples`` times; the same seed gives the same draws.

    Of fewer than ``FEW`` clusters nothing is drawn: intervals would be too narrow, see docs/reference/method.md. Raises
    ``ValueError`` for a seed below 0 and for more resamples than memory is meant for.
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
    # A byte is enough: a cluster is drawn once on average, and 256 times in no draw that will ever be seen.
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
    """A stream of random numbers of its own for what the names say, the same on every machine and in any order.

    Names are hashed, for Python's own hash differs from run to run.
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
    # The commonest first: what is left for the rare ones is soon nothing, which costs nothing to draw.
    order = np.argsort(-counts, kind="stable")
    distinct = distinct[order]
    drawn = generator.multinomial(values.shape[1], counts[order] / values.shape[1], size=resamples).T.astype(np.float64)
    places = base ** np.arange(len(values) - 1, -1, -1)
    columns = distinct // places[:, None] % base + lowest
    return np.asarray(columns.astype(np.float64) @ drawn)


def sum_all_resamples(values: NDArray[np.int64]) -> Interval | None:
    """The 95 % expanded percentile interval of the sum of resampled whole numbers over *all* resamples; None if that is too long.

    What ``draw_sums`` approaches with ever more draws (the ideal bootstrap, Efron and Tibshirani 1993, section 6.4): the
    sum of n independent draws is distributed as the n-fold convolution of the values' shares, by Fourier transform. Only
    sums within ten standard deviations are computed; the rest has a probability less chance than a percentile can show. A
    percentile is the lowest sum that enough of the chance does not exceed.
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
