"""Bootstrap over clusters: whole turns are drawn with replacement, and a figure is computed from each draw.

Sentences of a turn are not independent, so drawing sentences would give intervals that are too narrow (Field and Welsh
2007, the cluster bootstrap; percentile interval: Efron and Tibshirani 1993, chapter 13). A draw only changes how
often each cluster counts, so every figure is computed from sums over clusters, weighted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transcripts.statistics.coefficients import CONFIDENCE, Floats
from transcripts.statistics.figures import Figure, Reason
from transcripts.statistics.intervals import Interval

MAX_RESAMPLES = 10_000
MIN_DEFINED = 0.9
"""Share of the resamples that must define a figure, for an interval to be given."""
SAME = 1e-6
"""A width that is only rounding."""
CLUSTERS_AT_A_TIME = 2_000
"""As many weights as fit the processor's cache."""


class Resamples(NamedTuple):
    """``weights``: clusters x resamples, how often each cluster was drawn; None where nothing was, ``without`` says why."""

    weights: NDArray[np.uint8] | None
    without: str = ""


def draw_resamples(clusters: int, *, resamples: int, seed: int) -> Resamples:
    """Draw as many clusters as there are, ``resamples`` times; the same seed gives the same draws.

    From one cluster every draw would be the data, so nothing is drawn. Raises ``ValueError`` for a seed below 0 and for
    more resamples than memory is meant for.
    """
    if seed < 0:
        raise ValueError(f"The seed is {seed}; it has to be 0 or more.")
    if not 0 <= resamples <= MAX_RESAMPLES:
        raise ValueError(f"{resamples:,} resamples were asked for; there can be from 0 to {MAX_RESAMPLES:,}.")
    if not resamples:
        return Resamples(None, Reason.NOT_DRAWN)
    if clusters < 2:
        return Resamples(None, Reason.ONE_CLUSTER)
    # A byte is enough: a cluster is drawn once on average, and 256 times in no draw that will ever be seen.
    weights = np.empty((resamples, clusters), dtype=np.uint8)
    for row, drawn in zip(weights, _draw(clusters, resamples, seed), strict=True):
        row[:] = drawn
    return Resamples(np.ascontiguousarray(weights.T))


def draw_sums(tallies: NDArray[Any], *, resamples: int, seed: int) -> Floats:
    """What `sum_draws` gives of the draws of `draw_resamples`, for tallies that are summed once: no draw is kept.

    For small tables of many clusters; ``tallies`` are kinds x clusters, of two clusters at least.
    """
    numbers = tallies.astype(float)
    draws = _draw(tallies.shape[1], resamples, seed)
    return np.array([numbers @ drawn for drawn in draws]).T


def _draw(clusters: int, resamples: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """How often each cluster is drawn, in each resample."""
    generator = np.random.default_rng(seed)
    for _ in range(resamples):
        yield np.bincount(generator.integers(0, clusters, clusters), minlength=clusters)


def sum_draws(tallies: NDArray[Any], drawn: Resamples) -> Floats | None:
    """``tallies``, kinds x clusters, summed over the clusters of each resample: kinds x resamples."""
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
    if figure.value is None:
        return figure
    if draws is None:
        return figure._replace(no_interval=drawn.without)
    defined = draws[~np.isnan(draws)]
    if len(defined) < MIN_DEFINED * len(draws):
        return figure._replace(no_interval=Reason.OFTEN_UNDEFINED)
    if np.ptp(defined) < SAME:
        return figure._replace(no_interval=Reason.DRAWS_ALIKE)
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return figure._replace(interval=Interval(float(low), float(high)))
