"""Agreement of coders on one code: a function for each coefficient, over counts.

A count may be a number or an array, and then every function gives an array of the same shape: one formula serves a
single table and the thousand tables of a bootstrap. Within the arithmetic NaN means "not defined"; `measuring`
turns it into None with a reason before anything leaves this package. Nothing is rounded.

numpy is imported here at the top, so whatever is loaded when the web process starts imports this package's arithmetic
inside functions.

Krippendorff's alpha on any of four scales, with any number of coders and values missing.

Source: Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C and D, with the metrics of
section D. alpha = 1 - D_o / D_e = 1 - (n - 1) sum(o_ck d_ck) / sum(n_c n_k d_ck), over ordered pairs of values.
"""

from __future__ import annotations

from enum import StrEnum
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transcripts.statistics.figures import Interval

Floats = NDArray[np.float64]

_ROUNDING = 1e-13
_NORMAL_QUANTILE = NormalDist().inv_cdf(0.975)


class PairCounts(NamedTuple):
    """Units that two coders decided, counted by who used the code: numbers, or arrays of one shape."""

    both: Floats
    only_a: Floats
    only_b: Floats
    neither: Floats

    @property
    def units(self) -> Floats:
        """Units that both decided."""
        return self.both + self.only_a + self.only_b + self.neither


def count_pairs(both: ArrayLike, only_a: ArrayLike, only_b: ArrayLike, neither: ArrayLike) -> PairCounts:
    """The counts as floats, which the functions below expect."""
    return PairCounts(*(np.asarray(count, dtype=np.float64) for count in (both, only_a, only_b, neither)))


def divide(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """The quotient; NaN, without a warning, where the denominator is 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return quotient


def measure_raw_agreement(counts: PairCounts) -> Floats:
    """Share of units on which two coders agree: p_o = (both + neither) / n (Cohen 1960).

    Undefined without a unit that both decided.
    """
    return divide(counts.both + counts.neither, counts.units)


def measure_positive_agreement(counts: PairCounts) -> Floats:
    """2 both / (2 both + only_a + only_b) (Cicchetti and Feinstein 1990, p_pos; the index of Dice 1945).

    Of the times a code was used, the share in which the other coder used it too: what raw agreement hides when a code is
    rare. Undefined where neither used it.
    """
    return divide(2 * counts.both, 2 * counts.both + counts.only_a + counts.only_b)


def measure_prevalence(counts: PairCounts) -> Floats:
    """Share of the two coders' judgements that say yes. Undefined without a unit that both decided."""
    return divide(2 * counts.both + counts.only_a + counts.only_b, 2 * counts.units)


def measure_prevalence_index(counts: PairCounts) -> Floats:
    """|both - neither| / n (Byrt, Bishop and Carlin 1993). Near 1, kappa is small however well coders agree.

    Undefined without a unit that both decided.
    """
    return divide(np.abs(counts.both - counts.neither), counts.units)


def measure_kappa(counts: PairCounts) -> Floats:
    """Cohen's kappa (p_o - p_e) / (1 - p_e) (Cohen 1960), chance by each coder's own rate.

    Written over whole numbers, 2 (ad - bc) / ((a+b)(b+d) + (a+c)(c+d)), so that 0 is exactly 0. It is 0 when one coder
    alone uses a code. Undefined, p_e being 1, without a shared unit and where both coders never or always use the code.
    """
    a, b, c, d = counts
    return divide(2 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d))


def find_kappa(both: int, only_a: int, only_b: int, neither: int) -> float | None:
    """Cohen's kappa of a single table; None where it is not defined, as when both always say the same one thing."""
    kappa = float(measure_kappa(count_pairs(both, only_a, only_b, neither)))
    return None if np.isnan(kappa) else kappa


def measure_kappa_error(counts: PairCounts) -> Floats:
    """Large-sample standard error of Cohen's kappa (Fleiss, Cohen and Everitt 1969), for two categories.

    It treats units as independent; sentences of one turn are not, so pages show the interval over turns, too. It is 0
    when coders agree on everything, which says nothing about certainty. Undefined where kappa is.
    """
    units = counts.units
    a, b, c, d = (divide(count, units) for count in counts)
    yes_a, yes_b, no_a, no_b = a + b, a + c, c + d, b + d
    kappa = measure_kappa(counts)
    chance = yes_a * yes_b + no_a * no_b
    agreeing = a * (1 - (yes_a + yes_b) * (1 - kappa)) ** 2 + d * (1 - (no_a + no_b) * (1 - kappa)) ** 2
    differing = (1 - kappa) ** 2 * (b * (yes_b + no_a) ** 2 + c * (no_b + yes_a) ** 2)
    spread = agreeing + differing - (kappa - chance * (1 - kappa)) ** 2
    # What rounding leaves of a difference that is 0 would look like a very sure kappa.
    return np.sqrt(divide(np.where(spread < _ROUNDING, 0 * spread, spread), units * (1 - chance) ** 2))


def measure_pabak(counts: PairCounts) -> Floats:
    """Kappa as it would be if both answers were equally common and both coders alike: 2 p_o - 1 (Byrt and others 1993).

    For two categories the same as Bennett's S and the kappa of Brennan and Prediger. Undefined without a shared unit.
    """
    return 2 * measure_raw_agreement(counts) - 1


def measure_ac1(counts: PairCounts) -> Floats:
    """Gwet's AC1 (Gwet 2008): chance is 2 q (1 - q), q the prevalence among the two coders.

    Chance is at most one half, so only a missing unit leaves it undefined: a code nobody used gives 1.
    """
    chance = 2 * measure_prevalence(counts) * (1 - measure_prevalence(counts))
    return divide(measure_raw_agreement(counts) - chance, 1 - chance)


def measure_fleiss_kappa(units: Floats, agreeing: Floats, ratings: Floats) -> Floats:
    """Fleiss' kappa (Fleiss 1971): chance by the rates of all raters together; they need not be the same persons.

    ``agreeing``: ordered pairs of raters that give a unit the same category, over all units. ``ratings``: how often each
    category was given, categories on the first axis. Every unit has the same number of raters, at least two. Undefined
    without a unit, and where only one category was ever given. With two raters it is Scott's pi, and a little below
    Cohen's kappa when their rates differ.
    """
    total = ratings.sum(axis=0)
    raters = divide(total, units)
    observed = divide(agreeing, total * (raters - 1))
    chance = (divide(ratings, total) ** 2).sum(axis=0)
    return divide(observed - chance, 1 - chance)


def measure_binary_alpha(judgements: Floats, yes: Floats, differing: Floats) -> Floats:
    """Krippendorff's alpha for yes and no, any number of coders, any judgements missing.

    1 - (n - 1) o_01 / (n_0 n_1) (Krippendorff 2011, sections A and C). ``differing``: the sum, over units with m
    judgements of which c say yes, of c (m - c) / (m - 1). A unit that only one coder decided drops out.
    Undefined without a unit of two judgements, and where all judgements are the same. With two values all metrics are
    one. `alpha` has other scales.
    """
    no = judgements - yes
    return 1 - divide((judgements - 1) * differing, no * yes)


class SetCounts(NamedTuple):
    """Units that two coders decided, by the sets of codes they applied: numbers, or arrays of one shape.

    ``empty``: neither coder applied a code. ``jaccard``: the sum of |A and B| / |A or B| over the others. ``equal``: same set.
    """

    units: Floats
    empty: Floats
    jaccard: Floats
    equal: Floats


def measure_jaccard(counts: SetCounts) -> Floats:
    """Mean over units of |A and B| / |A or B| (Jaccard 1912); two empty sets agree, and count as 1.

    Undefined without a unit that both decided.
    """
    return divide(counts.jaccard + counts.empty, counts.units)


def measure_jaccard_of_coded(counts: SetCounts) -> Floats:
    """The same mean without the units to which neither coder applied a code. Undefined where that leaves none."""
    return divide(counts.jaccard, counts.units - counts.empty)


def measure_exact_match(counts: SetCounts) -> Floats:
    """Share of units to which two coders applied the same set of codes, the empty set included.

    Undefined without a unit that both decided.
    """
    return divide(counts.equal, counts.units)


def bound_kappa(kappa: float, error: float) -> Interval | None:
    """The large-sample interval of kappa, cut off at -1 and 1; None for an error of 0, which bounds nothing."""
    if not error > 0:
        return None
    reach = _NORMAL_QUANTILE * error
    return Interval(max(-1.0, kappa - reach), min(1.0, kappa + reach))


Places = NDArray[np.intp]


class Level(StrEnum):
    """What a scale allows to be said of two values: whether they are the same, which is larger, by how much, in what ratio."""

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
    for coder in range(len(table) - 1):  # one coder against all later ones; all at once might not fit into memory
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
    # About their mean, because a difference of two large sums would lose the digits that matter.
    scale = _place_values(values, level, totals)
    centre = divide((totals * scale).sum(axis=0), size)
    return np.asarray(2 * size * (totals * (scale - centre) ** 2).sum(axis=0))


def _square_ratios(here: Floats | np.float64, there: Floats) -> Floats:
    """((c - k) / (c + k))^2 for values from 0 up; 0 and 0 do not differ."""
    return np.square(np.nan_to_num(divide(there - here, there + here)))
