"""Differences of two independent samples: of means, and from group to group. Units are taken for independent."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from transcripts.statistics.figures import FEW, MIN_CLUSTERS, Interval, Mark, mark_clusters
from transcripts.statistics.significance import FLIPS, adjust_holm, toss_family

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_ROUNDING = 1e-24
"""As a share of the squared mean: a variance no larger than this is rounding error in numbers that are all the same."""
_SMALLEST = 1e-150
"""Squares of smaller variances are 0 in the arithmetic of this machine."""


class Moments:
    """Number, mean and spread of numbers that are added one at a time, so that no list of them is kept (Welford 1962,
    Technometrics 4:419). ``squares`` is the sum of squared distances from the mean."""

    __slots__ = ("mean", "n", "squares")

    def __init__(self, n: int = 0, mean: float = 0.0, squares: float = 0.0) -> None:
        self.n, self.mean, self.squares = n, mean, squares

    def add(self, value: float) -> None:
        """Add one number."""
        self.n += 1
        distance = value - self.mean
        self.mean += distance / self.n
        self.squares += distance * (value - self.mean)

    def __add__(self, other: Moments) -> Moments:
        """The moments of both sets of numbers together (Chan, Golub and LeVeque 1983, The American Statistician 37:242)."""
        if not self.n or not other.n:
            # Nothing is recomputed here: rounding errors would look like a spread.
            known = self if self.n else other
            return Moments(known.n, known.mean, known.squares)
        n = self.n + other.n
        distance = other.mean - self.mean
        mean = self.mean + distance * other.n / n
        return Moments(n, mean, self.squares + other.squares + distance * distance * self.n * other.n / n)

    @property
    def variance(self) -> float | None:
        """Of a sample, with n - 1; None below two numbers."""
        return self.squares / (self.n - 1) if self.n > 1 else None

    @property
    def sd(self) -> float | None:
        """Standard deviation of a sample; None below two numbers."""
        return None if self.variance is None else math.sqrt(self.variance)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the mean by t; None below two numbers. If all numbers are equal, the interval has no width."""
        if self.variance is None:
            return None
        from scipy.special import stdtrit  # loads slowly, and only here

        reach = float(stdtrit(self.n - 1, 0.975)) * math.sqrt(self.variance / self.n)
        return Interval(self.mean - reach, self.mean + reach)


class Estimate(NamedTuple):
    """An estimate with its variance, and the degrees of freedom of the variance; ``None`` for one treated as known."""

    value: float
    variance: float
    df: float | None = None


class WelchTest(NamedTuple):
    """t of the difference of two means, its degrees of freedom, P of both sides, and the 95 % interval of the difference."""

    t: float
    df: float
    p: float
    interval: Interval


def estimate_difference_of_means(first: Moments, second: Moments) -> Estimate | None:
    """The mean of the first less that of the second. The variances need not be equal, so the degrees of freedom are
    Satterthwaite's (1946, Biometrics Bulletin 2:110). None where one sample has fewer than two numbers, and where neither has
    two that differ by more than rounding: then there is no spread to measure an error by."""
    if first.variance is None or second.variance is None or not (first.squares or second.squares):
        return None
    own, other = first.variance / first.n, second.variance / second.n
    if own + other <= _ROUNDING * (first.mean**2 + second.mean**2) or own + other < _SMALLEST:
        return None
    # Divided by the larger before squaring, so that a small variance does not become 0.
    largest = max(own, other)
    own_part, other_part = own / largest, other / largest
    df = (own_part + other_part) ** 2 / (own_part**2 / (first.n - 1) + other_part**2 / (second.n - 1))
    return Estimate(first.mean - second.mean, own + other, df)


def measure_welch(first: Moments, second: Moments) -> WelchTest | None:
    """A test whether two means are the same, by t with unequal variances (Welch 1947, Biometrika 34:28). None where
    ``estimate_difference_of_means`` gives nothing."""
    found = estimate_difference_of_means(first, second)
    if found is None or found.df is None:
        return None
    from scipy.special import stdtr, stdtrit  # loads slowly, and only here

    error = math.sqrt(found.variance)
    t, reach = found.value / error, float(stdtrit(found.df, 0.975)) * error
    return WelchTest(
        t, found.df, min(1.0, 2 * float(stdtr(found.df, -abs(t)))), Interval(found.value - reach, found.value + reach)
    )


def estimate_difference_of_shares(part: int, n: int, other_part: int, other_n: int) -> Estimate | None:
    """The first share less the second, each with one unit more of both kinds, and the variance of these (Agresti and Caffo 2000,
    The American Statistician 54:280): it is above 0 also where a share is 0 or 1. None where either ``n`` is 0."""
    if not n or not other_n:
        return None
    share, other = (part + 1) / (n + 2), (other_part + 1) / (other_n + 2)
    return Estimate(share - other, share * (1 - share) / (n + 2) + other * (1 - other) / (other_n + 2))


class Heterogeneity(NamedTuple):
    """Cochran's Q, degrees of freedom (of Q, and of its error; ``None`` where variances are treated as known), and P."""

    q: float
    df: int
    df_error: float | None
    p: float


def measure_heterogeneity(estimates: Sequence[Estimate]) -> Heterogeneity | None:
    """A test whether independent estimates differ from one another by more than their errors.

    Q is the sum of squared distances from their mean, each weighted by 1 / variance (Cochran 1954, Biometrics 10:101), and is
    compared with chi-square with one degree of freedom fewer than there are estimates. Where variances were estimated with few
    degrees of freedom, it is divided and compared with F as Welch does (1951, Biometrika 38:330); with two estimates of means
    that is Welch's t. None below two estimates, and where a variance is 0.
    """
    if len(estimates) < 2 or not all(each.variance > 0 for each in estimates):
        return None
    weights = [1 / each.variance for each in estimates]
    total = math.fsum(weights)
    mean = math.fsum(weight * each.value for weight, each in zip(weights, estimates, strict=True)) / total
    q = math.fsum(weight * (each.value - mean) ** 2 for weight, each in zip(weights, estimates, strict=True))
    from scipy.special import chdtrc, fdtrc  # loads slowly, and only here

    number = len(estimates)
    doubt = math.fsum(
        (1 - weight / total) ** 2 / each.df
        for weight, each in zip(weights, estimates, strict=True)
        if each.df is not None
    )
    if not doubt:
        return Heterogeneity(q, number - 1, None, float(chdtrc(number - 1, q)))
    df_error = (number**2 - 1) / (3 * doubt)
    f = q / (number - 1) / (1 + 2 * (number - 2) * doubt / (number**2 - 1))
    return Heterogeneity(q, number - 1, df_error, float(fdtrc(number - 1, df_error, f)))


Unit = TypeVar("Unit", bound=Hashable)
CONFIDENCE = 0.95
LEVEL = 0.05
"""A verdict needs an adjusted P below this."""
SIMPLE = 10_000
"""Values with a larger denominator than this cannot be means of a few repeats, and are rounded."""
FINEST = 10**9
"""Values with a larger common denominator are rounded to this fraction of 1."""
ROUNDING = 1e-12


class Direction(StrEnum):
    """What a comparison says about the first of the two. No value says that there is no difference."""

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
    """Pair two sets of values by unit, with one value per unit: repeats must be averaged before. ``clusters`` names the cluster of
    each unit. Units with a value on one side only are counted and left out."""
    import numpy as np

    # In the order of the first: draws depend only on sizes, and no sum depends on the order.
    units = [unit for unit in first if unit in second]
    whole, denominator = _make_whole([first[unit] - second[unit] for unit in units])
    return Paired(
        np.array(whole, np.int64),
        denominator,
        None if clusters is None else [clusters[unit] for unit in units],
        len(first) + len(second) - 2 * len(units),
    )


def _make_whole(differences: Sequence[float | Fraction]) -> tuple[list[int], int]:
    """The differences as whole numbers, and the factor that made them so: only with whole numbers are equal sums exactly equal."""
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
