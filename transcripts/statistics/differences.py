"""Differences of two independent samples: of means, and from group to group. Units are taken for independent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from transcripts.statistics.intervals import Interval

_ROUNDING = 1e-24
"""Of squared means: a variance that is no larger is the rounding of numbers that are all the same."""
_SMALLEST = 1e-150
"""Squares of smaller variances are 0 in the arithmetic of this machine."""


class Moments:
    """Number, mean and spread of numbers that are added one at a time, so that no list of them is kept (Welford 1962,
    Technometrics 4:419). ``squares`` is the sum of squared distances from the mean."""

    __slots__ = ("mean", "n", "squares")

    def __init__(self, n: int = 0, mean: float = 0.0, squares: float = 0.0) -> None:
        self.n, self.mean, self.squares = n, mean, squares

    def add(self, value: float) -> None:
        """Take one number in."""
        self.n += 1
        distance = value - self.mean
        self.mean += distance / self.n
        self.squares += distance * (value - self.mean)

    def __add__(self, other: Moments) -> Moments:
        """Of the numbers of both (Chan, Golub and LeVeque 1983, The American Statistician 37:242)."""
        if not self.n or not other.n:
            # Nothing is computed again: rounding would become a spread.
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
        """The 95 % interval of the mean by t; None below two numbers. Numbers that are all equal have an interval without width."""
        if self.variance is None:
            return None
        from scipy.special import stdtrit  # loads slowly, and only here

        reach = float(stdtrit(self.n - 1, 0.975)) * math.sqrt(self.variance / self.n)
        return Interval(self.mean - reach, self.mean + reach)


class Estimate(NamedTuple):
    """An estimate with its variance, and the degrees of freedom of the variance; ``None`` where it is taken for known."""

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
    """Whether two means are the same, by t with variances of their own (Welch 1947, Biometrika 34:28). None where
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
    """Cochran's Q, degrees of freedom (of Q, and of its error; ``None`` where variances are taken for known), and P."""

    q: float
    df: int
    df_error: float | None
    p: float


def measure_heterogeneity(estimates: Sequence[Estimate]) -> Heterogeneity | None:
    """Whether independent estimates differ from one another by more than their errors.

    Q is the sum of squared distances from their mean, each weighed by 1 / variance (Cochran 1954, Biometrics 10:101), and is held
    against chi-square with one degree less than there are estimates. Where variances were estimated with few degrees of freedom,
    it is divided and held against F as Welch does (1951, Biometrika 38:330); with two estimates of means that is Welch's t.
    None below two estimates, and where a variance is 0.
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
