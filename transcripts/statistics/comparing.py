"""Two that met the same units, compared unit by unit: two models on the same texts, two conditions on the same cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from transcripts.statistics.figures import FEW, MIN_CLUSTERS, Mark, mark_clusters
from transcripts.statistics.intervals import Interval
from transcripts.statistics.multiplicity import adjust_holm
from transcripts.statistics.significance import FLIPS, toss_family

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Unit = TypeVar("Unit", bound=Hashable)
CONFIDENCE = 0.95
LEVEL = 0.05
"""The adjusted P from which a verdict is given."""
SIMPLE = 10_000
"""Values with a larger denominator than this are no means of a few repeats, and are rounded."""
FINEST = 10**9
"""To this part of 1 values are rounded whose common denominator is larger."""
ROUNDING = 1e-12


class Direction(StrEnum):
    """What a comparison says of the first of the two. None of them says that there is no difference."""

    HIGHER = "higher"
    LOWER = "lower"
    CANNOT_TELL = "cannot tell"


class Comparison(NamedTuple):
    """A mean difference, first less second, over the units that both have a value for.

    ``interval`` is Student's over clusters, None under three; ``units`` are those compared, ``clusters`` what they lie in, and
    ``left_out`` the units with a value on one side only. ``p`` is of tossing the signs, by the ``method`` named, None under ten
    clusters; ``p_adjusted`` is adjusted for a ``family`` of that many comparisons. ``is_uniform``: all units have the same
    difference, and the interval has no width.
    """

    value: float | None
    interval: Interval | None
    method: str
    units: int
    clusters: int
    left_out: int
    p: float | None
    is_uniform: bool = False
    p_adjusted: float | None = None
    family: int = 0

    @property
    def mark(self) -> Mark | None:
        """Few or rough, by the number of clusters."""
        return None if self.value is None else mark_clusters(self.clusters)

    @property
    def verdict(self) -> Direction | None:
        """Which of the two is higher: the interval lies on one side of 0, and P, adjusted where there is a family, is below .05.

        None where there are too few clusters for any verdict.
        """
        p = self.p if self.p_adjusted is None else self.p_adjusted
        if p is None or self.interval is None:
            return None
        if p >= LEVEL or self.interval.low <= 0 <= self.interval.high:
            return Direction.CANNOT_TELL
        return Direction.HIGHER if self.interval.low > 0 else Direction.LOWER


class Paired(NamedTuple):
    """Differences of units, first less second, as whole numbers over one denominator; see ``Comparison`` for ``left_out``.

    ``clusters`` has one entry a unit, what it lies in, such as the thread of a turn; without it every unit is its own cluster.
    ``open_stream`` opens the stream that tosses are drawn from where not all of them can count.
    """

    differences: NDArray[np.int64]
    denominator: int = 1
    clusters: Sequence[Hashable] | None = None
    left_out: int = 0
    open_stream: Callable[[], np.random.Generator] | None = None


def pair_units(
    first: Mapping[Unit, float | Fraction],
    second: Mapping[Unit, float | Fraction],
    clusters: Mapping[Unit, Hashable] | None = None,
) -> Paired:
    """Two sets of values by their unit, one value a unit: repeats are averaged before. ``clusters`` says what each unit lies in.
    Units with a value on one side only are counted and left out."""
    import numpy as np

    # In the order of the first: draws are of sizes, and no sum depends on the order.
    units = [unit for unit in first if unit in second]
    whole, denominator = _make_whole([first[unit] - second[unit] for unit in units])
    return Paired(
        np.array(whole, np.int64),
        denominator,
        None if clusters is None else [clusters[unit] for unit in units],
        len(first) + len(second) - 2 * len(units),
    )


def _make_whole(differences: Sequence[float | Fraction]) -> tuple[list[int], int]:
    """The differences as whole numbers, and what they were multiplied by: equal sums are equal only in whole numbers."""
    simple = [Fraction(each).limit_denominator(SIMPLE) if isinstance(each, float) else each for each in differences]
    denominator = math.lcm(*(each.denominator for each in simple))
    is_exact = all(
        one is other or abs(one - Fraction(other)) <= ROUNDING for one, other in zip(simple, differences, strict=True)
    )
    if denominator > FINEST or not is_exact:
        return [round(each * FINEST) for each in differences], FINEST
    return [each.numerator * (denominator // each.denominator) for each in simple], denominator


def compare_family(family: Sequence[Paired], flips: int = FLIPS) -> list[Comparison]:
    """Comparisons that are one family: P is adjusted over those that have one (Holm).

    With n units in C clusters, the mean difference m and the sums s_c of the deviations from m in cluster c, the interval is
    m ± t(.975, C - 1) sqrt(C / (C - 1) sum s_c²) / n (Liang and Zeger 1986, with t for few clusters). Where each unit is its own
    cluster this is the paired t interval (Student 1908). P is two-sided: how often the sum is at least as far from 0 when the
    sign of every cluster's sum is tossed (Fisher 1935, The Design of Experiments, section 21). All tosses count, or ``flips``
    drawn from the stream where they are too many.

    Without a unit, value, interval and P are None. Under three clusters there is no interval, and under ten no P: nothing is
    concluded from so few. Differences of 0, such as ties, stay in n; where all are 0, P is 1. Where all are alike the interval has
    no width, and ``is_uniform`` is true.
    """
    sums = [_sum_clusters(each) for each in family]
    tossed = toss_family([each for each, _ in sums], [each.open_stream for each in family], flips)
    drawn = f"sign-flip permutation, {flips:,} random flips"
    found = [
        _compare(paired, *own, p, "sign-flip permutation, exact" if is_exact else drawn)
        for paired, own, (p, is_exact) in zip(family, sums, tossed, strict=True)
    ]
    tested = [each.p for each in found if each.p is not None]
    adjusted = iter(adjust_holm(tested))
    return [each._replace(p_adjusted=None if each.p is None else next(adjusted), family=len(tested)) for each in found]


def _sum_clusters(paired: Paired) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sum of the differences in each cluster, and its number of units."""
    import numpy as np

    if paired.clusters is None:
        return paired.differences, np.ones(len(paired.differences), np.int64)
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(paired.clusters))}
    places = np.array([numbers[cluster] for cluster in paired.clusters], np.int64)
    sums = np.zeros(len(numbers), np.int64)
    np.add.at(sums, places, paired.differences)
    return sums, np.bincount(places, minlength=len(numbers))


def _compare(paired: Paired, sums: NDArray[np.int64], sizes: NDArray[np.int64], p: float, method: str) -> Comparison:
    from scipy.special import stdtrit  # scipy.stats loads slowly

    differences, denominator, *_ = paired
    units, count = len(differences), len(sums)
    if not units:
        return Comparison(None, None, "none", 0, 0, paired.left_out, None)
    total = int(differences.sum())
    value = total / (denominator * units)
    interval = None
    if count >= MIN_CLUSTERS:
        deviations = (sums - sizes * (total / units)) / denominator
        # Summed exactly, so that the order of the units does not matter.
        error = math.sqrt(count / (count - 1) * math.fsum((deviations * deviations).tolist())) / units
        reach = float(stdtrit(count - 1, (1 + CONFIDENCE) / 2)) * error
        interval = Interval(value - reach, value + reach)
    is_uniform = bool((differences == differences[0]).all())
    if is_uniform and interval:
        interval = Interval(value, value)
    if count < FEW:
        return Comparison(value, interval, "none", units, count, paired.left_out, None, is_uniform)
    return Comparison(value, interval, method, units, count, paired.left_out, p, is_uniform)
