"""Agreement of coders on one code: a function for each coefficient, over counts.

A count may be a number or an array, and then every function gives an array of the same shape: one formula serves a
single table and the thousand tables of a bootstrap. Within the arithmetic NaN means "not defined"; `measuring`
turns it into None with a reason before anything leaves this package. Nothing is rounded.

numpy is imported here at the top, so whatever is loaded when the web process starts imports this package's arithmetic
inside functions.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transcripts.statistics.intervals import Interval

Floats = NDArray[np.float64]

_ROUNDING = 1e-13
_NORMAL_QUANTILE = NormalDist().inv_cdf(0.975)


class PairCounts(NamedTuple):
    """Units that two coders decided, by who used the code: numbers, or arrays of one shape."""

    both: Floats
    only_a: Floats
    only_b: Floats
    neither: Floats

    @property
    def units(self) -> Floats:
        """Units that both decided."""
        return self.both + self.only_a + self.only_b + self.neither


def count_pairs(both: ArrayLike, only_a: ArrayLike, only_b: ArrayLike, neither: ArrayLike) -> PairCounts:
    """The counts as decimals, which is what the functions below take."""
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
    """Kappa as it were with both answers equally common and both coders alike: 2 p_o - 1 (Byrt and others 1993).

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

    ``empty``: neither applied a code. ``jaccard``: the sum of |A and B| / |A or B| over the others. ``equal``: the same set.
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
