"""Intervals of scores, by resampling whole texts, of ten or more: of fewer they are too narrow (docs/reference/method.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from transcripts.statistics.figures import FEW, Interval
from transcripts.statistics.resampling import draw_sums, find_percentiles, open_stream, sum_all_resamples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Sample(NamedTuple):
    """The texts of one cell: ``usable`` answers of each and the sums of their attributes, one row per counting.

    ``names`` identify the cell and select its random stream.
    """

    names: tuple[str, ...]
    usable: NDArray[np.int64]
    sums: NDArray[np.int64]


def draw_scores(sample: Sample, *, seed: int, resamples: int) -> NDArray[np.float64] | None:
    """Scores (sum of attributes / usable answers) of resampled texts, countings x resamples; None under ten texts.

    Texts without a usable answer are no part of the score and are not drawn.
    """
    import numpy as np

    kept = sample.usable > 0
    if int(kept.sum()) < FEW or not resamples:
        return None
    values = np.vstack([sample.usable[kept], sample.sums[:, kept]])
    drawn = draw_sums(values, resamples=resamples, generator=open_stream(seed, *sample.names))
    return np.asarray(drawn[1:] / drawn[0])


def resample_scores(samples: Iterable[Sample], *, seed: int, resamples: int) -> list[tuple[Interval, ...] | None]:
    """For each sample, the 95 % expanded percentile interval of its score under each counting; None under ten texts.

    Where every text has the same number of usable answers, as without repeats, the interval is that over all resamples,
    and no seed enters; otherwise over ``resamples`` draws. None too where ``resamples`` is 0.
    """

    def find_intervals(sample: Sample) -> tuple[Interval, ...] | None:
        return _find_exact(sample) or _find_drawn(sample, seed=seed, resamples=resamples)

    return [find_intervals(sample) if resamples else None for sample in samples]


def _find_exact(sample: Sample) -> tuple[Interval, ...] | None:
    kept = sample.usable > 0
    answers = sample.usable[kept]
    if len(answers) < FEW or answers.min() != answers.max():
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
    clusters = int((sample.usable > 0).sum())
    return None if draws is None else tuple(find_percentiles(each, clusters) for each in draws)
