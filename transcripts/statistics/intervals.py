"""Intervals of shares, of the difference of two and of a ratio, by formula, units taken for independent. Loads nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, correlation, fmean
from typing import NamedTuple

_Z = 1.959963984540054


class Interval(NamedTuple):
    """The two ends of a 95 % interval."""

    low: float
    high: float


class Share(NamedTuple):
    """``part`` of ``n``. The share and its interval are ``None`` where ``n`` is 0."""

    part: int
    n: int

    @property
    def value(self) -> float | None:
        return self.part / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval (Wilson)."""
        return wilson_interval(self.part, self.n)


def wilson_interval(successes: float, n: int, confidence: float = 0.95) -> Interval | None:
    """The interval of a share, from 0 to 1, of 95 % unless said (Wilson 1927, JASA 22:209); None where ``n`` is 0.

    ``successes`` need not be whole: the sum of what each of ``n`` cases reached, from 0 to 1, has at most the spread of a count.
    Raises ValueError for successes that are no part of ``n``.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share")
    if n == 0:
        return None
    share, z = successes / n, _find_z(confidence)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    middle, scale = share + z * z / (2 * n), 1 + z * z / n
    # At the ends rounding leaves a trace of what is exactly 0 or 1.
    low = 0.0 if successes == 0 else (middle - spread) / scale
    return Interval(low, 1.0 if successes == n else (middle + spread) / scale)


def newcombe_interval(successes: int, n: int, other_successes: int, other_n: int) -> Interval | None:
    """The 95 % interval of the first share minus the second, of independent samples; None where either ``n`` is 0.

    Newcombe 1998 (Statistics in Medicine 17:873), method 10: the ends of both Wilson intervals, squared and added.
    """
    first, second = wilson_interval(successes, n), wilson_interval(other_successes, other_n)
    if first is None or second is None:
        return None
    share, other = successes / n, other_successes / other_n
    low = math.hypot(share - first.low, second.high - other)
    high = math.hypot(first.high - share, other - second.low)
    return Interval(max(-1.0, share - other - low), min(1.0, share - other + high))


def paired_difference_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """The interval of the mean of ``first`` minus that of ``second``, each a share from 0 to 1 of the same cases, in one order;
    None where there are none.

    Newcombe 1998 (Statistics in Medicine 17:2635), method 10, without continuity correction: with a and b the two means, (l, u) and
    (m, v) the ends of their Wilson intervals, and r their correlation over cases, the ends are a - b less the root of
    (a - l)^2 - 2 r (a - l) (v - b) + (v - b)^2, and a - b plus the root of (u - a)^2 - 2 r (u - a) (b - m) + (b - m)^2. For shares
    of 0 and 1 this is the interval of paired shares; means of repeats vary at most as much. Where all of one side are alike, r is
    0.
    """
    ends = [end for each in (first, second) if (end := wilson_interval(math.fsum(each), len(each), confidence))]
    if not ends:
        return None
    a, b = fmean(first), fmean(second)
    varies = len(set(first)) > 1 and len(set(second)) > 1
    together = correlation(first, second) if varies else 0.0

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one * one - 2 * together * one * other + other * other))

    low = a - b - reach(a - ends[0].low, ends[1].high - b)
    high = a - b + reach(ends[0].high - a, b - ends[1].low)
    return Interval(max(-1.0, low), min(1.0, high))


def paired_ratio_interval(upper: Sequence[float], lower: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The interval of the sum of ``upper`` over that of ``lower``, shares of the same cases in one order.

    With u_i and p_i the two shares of case i, U and P their sums and R = U / P, it is
    exp(ln R ± z sqrt(sum (u_i / U - p_i / P)^2)), the delta method over cases. For shares of 0 and 1 this is the interval of a
    ratio of paired shares, exp(ln R ± z sqrt((b + c) / (U P))), where b cases have the lower share alone and c the upper alone
    (Nam and Blackwelder 2002, Statistics in Medicine 21:689).

    None where either sum is 0, which includes no cases, and where the ratio is the same in every case, so that nothing says how far
    it could be off; one case is such.
    """
    over, under = math.fsum(upper), math.fsum(lower)
    if not over or not under:
        return None
    steps = math.sqrt(math.fsum((u / over - p / under) ** 2 for u, p in zip(upper, lower, strict=True)))
    if math.isclose(steps, 0, abs_tol=1e-12):
        return None
    spread = _find_z(confidence) * steps
    return Interval(over / under * math.exp(-spread), over / under * math.exp(spread))


def _find_z(confidence: float) -> float:
    return _Z if confidence == 0.95 else NormalDist().inv_cdf((1 + confidence) / 2)
