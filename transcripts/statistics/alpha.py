"""Krippendorff's alpha on any of four scales, with any number of coders and values missing.

Source: Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C and D, with the metrics of
section D. alpha = 1 - D_o / D_e = 1 - (n - 1) sum(o_ck d_ck) / sum(n_c n_k d_ck), over ordered pairs of values.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transcripts.statistics.coefficients import Floats, divide

Places = NDArray[np.intp]


class Level(StrEnum):
    """What may be said of two values: whether they are the same, which is more, by how much, in what ratio."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


class Coincidences(NamedTuple):
    """How often values meet in a unit.

    ``values``: the different values, ascending. ``first``, ``second``: for each cell of the matrix that is not 0
    the places of its two values, ``first <= second``. ``weights``: cells x clusters; off the diagonal o_ck + o_kc.
    """

    values: Floats
    first: Places
    second: Places
    weights: Floats


def count_coincidences(ratings: Floats, clusters: Places | None = None) -> Coincidences:
    """Coincidences of ``ratings``, coders x units with NaN where a coder gave no value.

    ``clusters`` is the cluster of each unit, 0 and up; without it all units are one. A unit with m values adds
    1 / (m - 1) for each ordered pair of them; a unit with fewer than two adds nothing.
    """
    present = ~np.isnan(ratings)
    raters = present.sum(axis=0)
    present &= raters > 1
    values, places = np.unique(ratings[present], return_inverse=True)
    table = np.full(ratings.shape, -1, dtype=np.intp)
    table[present] = places
    if clusters is None:
        clusters = np.zeros(ratings.shape[1], dtype=np.intp)
    size = int(clusters.max(initial=0)) + 1
    keys: list[Places] = [np.empty(0, np.intp)]
    shares: list[Floats] = [np.empty(0)]
    for coder in range(len(table) - 1):  # one against all after him; all at once could be more than fits into memory
        others, shared = np.nonzero((table[coder + 1 :] >= 0) & (table[coder] >= 0))
        here, there = table[coder, shared], table[coder + 1 + others, shared]
        cell = np.minimum(here, there) * len(values) + np.maximum(here, there)
        key, place = np.unique(cell * size + clusters[shared], return_inverse=True)
        keys.append(key)
        shares.append(np.asarray(np.bincount(place, 2 / (raters[shared] - 1)), np.float64))
    cell, cluster = np.divmod(np.concatenate(keys), size)
    cells, place = np.unique(cell, return_inverse=True)
    weights = np.zeros((len(cells), size))
    np.add.at(weights, (place, cluster), np.concatenate(shares))
    first, second = np.divmod(cells, max(1, len(values)))
    return Coincidences(values, first, second, weights)


def measure_alpha(found: Coincidences, level: Level, meetings: Floats | None = None) -> Floats:
    """Alpha of the data, an array of one; or of resamples, by ``meetings``: the weights summed, cells x resamples.

    Undefined (NaN) where no unit has two values, and where all values are the same.
    """
    if meetings is None:
        meetings = found.weights.sum(axis=1, keepdims=True)
    totals = np.zeros((len(found.values), meetings.shape[1]))
    np.add.at(totals, found.first, meetings / 2)
    np.add.at(totals, found.second, meetings / 2)
    size = totals.sum(axis=0)
    observed = (meetings * _square_differences(found, level, totals)).sum(axis=0)
    expected = _expect_difference(found.values, level, totals)
    expected[(totals > 0).sum(axis=0) < 2] = 0
    return 1 - divide((size - 1) * observed, expected)


def _square_differences(found: Coincidences, level: Level, totals: Floats) -> Floats:
    """The metric d^2 of the values of each cell: cells x 1, or for ranks, which a resample moves, cells x resamples."""
    if level is Level.NOMINAL:
        return np.asarray(found.first != found.second, np.float64)[:, None]
    if level is Level.RATIO:
        return _square_ratios(found.values[found.first], found.values[found.second])[:, None]
    scale = _place_values(found.values, level, totals)
    return np.square(scale[found.second] - scale[found.first])


def _place_values(values: Floats, level: Level, totals: Floats) -> Floats:
    """The place of each value on a line on which d is the distance: its size, or the middle of its ranks.

    Krippendorff's ordinal metric, the values from c to k less half of the two ends, is the distance of the middles.
    """
    return np.cumsum(totals, axis=0) - totals / 2 if level is Level.ORDINAL else values[:, None]


def _expect_difference(values: Floats, level: Level, totals: Floats) -> Floats:
    """The sum of n_c n_k d^2 over ordered pairs of values, for each resample."""
    size = totals.sum(axis=0)
    if level is Level.NOMINAL:
        return np.asarray((totals * (size - totals)).sum(axis=0))
    if level is Level.RATIO:
        sums = np.zeros(totals.shape[1])
        for value, total in zip(values, totals, strict=True):
            sums += total * (_square_ratios(value, values) @ totals)
        return sums
    # About their mean, for the difference of two large sums would lose what is looked for.
    scale = _place_values(values, level, totals)
    centre = divide((totals * scale).sum(axis=0), size)
    return np.asarray(2 * size * (totals * (scale - centre) ** 2).sum(axis=0))


def _square_ratios(here: Floats | np.float64, there: Floats) -> Floats:
    """((c - k) / (c + k))^2 for values from 0 up; 0 and 0 do not differ."""
    return np.square(np.nan_to_num(divide(there - here, there + here)))
