"""Intervals of scores, by resampling whole texts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from transcripts.statistics.intervals import Interval
from transcripts.statistics.significance import MAX_WINDOW, raise_by_squaring

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIDENCE = 0.95
MIN_ITEMS = 2
"""From one text every resample would be the data."""
ROUNDING = 1e-9
"""Chance that rounding may have taken from a sum of chances."""


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
    """The 95 % percentile interval of the sum of resampled whole numbers over *all* resamples; None if that is too long.

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
    low, high = np.searchsorted(covered, [(1 - CONFIDENCE) / 2 - ROUNDING, (1 + CONFIDENCE) / 2 - ROUNDING])
    return Interval(float(start + int(low) + n * lowest), float(start + int(high) + n * lowest))


def find_percentiles(draws: NDArray[np.float64]) -> Interval:
    """The 95 % percentile interval of draws, interpolated between neighbours."""
    import numpy as np

    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


class Sample(NamedTuple):
    """The texts of one cell: ``usable`` answers of each and the sums of their attributes, one row per counting.

    ``names`` identify the cell and select its random stream.
    """

    names: tuple[str, ...]
    usable: NDArray[np.int64]
    sums: NDArray[np.int64]


def draw_scores(sample: Sample, *, seed: int, resamples: int) -> NDArray[np.float64] | None:
    """Scores (sum of attributes / usable answers) of resampled texts, countings x resamples; None under two texts.

    Texts without a usable answer are no part of the score and are not drawn.
    """
    import numpy as np

    kept = sample.usable > 0
    if int(kept.sum()) < MIN_ITEMS or not resamples:
        return None
    values = np.vstack([sample.usable[kept], sample.sums[:, kept]])
    drawn = draw_sums(values, resamples=resamples, generator=open_stream(seed, *sample.names))
    return np.asarray(drawn[1:] / drawn[0])


def resample_scores(samples: Iterable[Sample], *, seed: int, resamples: int) -> list[tuple[Interval, ...] | None]:
    """For each sample, the 95 % percentile interval of its score under each counting; None under two texts.

    Where every text has the same number of usable answers, as without repeats, the interval is that over all resamples,
    and no seed enters; otherwise over ``resamples`` draws. None too where ``resamples`` is 0.
    """

    def find_intervals(sample: Sample) -> tuple[Interval, ...] | None:
        return _find_exact(sample) or _find_drawn(sample, seed=seed, resamples=resamples)

    return [find_intervals(sample) if resamples else None for sample in samples]


def _find_exact(sample: Sample) -> tuple[Interval, ...] | None:
    kept = sample.usable > 0
    answers = sample.usable[kept]
    if len(answers) < MIN_ITEMS or answers.min() != answers.max():
        return None
    intervals: list[Interval] = []
    countings = sample.sums[:, kept]
    for number, sums in enumerate(countings):
        # Countings often agree, and then need one interval.
        agrees = number > 0 and bool((sums == countings[0]).all())
        found = intervals[0] if agrees else sum_all_resamples(sums)
        if found is None:
            return None
        intervals.append(found)
    total = int(answers.sum())
    return tuple(Interval(each.low / total, each.high / total) for each in intervals)


def _find_drawn(sample: Sample, *, seed: int, resamples: int) -> tuple[Interval, ...] | None:
    draws = draw_scores(sample, seed=seed, resamples=resamples)
    return None if draws is None else tuple(map(find_percentiles, draws))
