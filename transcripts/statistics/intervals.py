"""Intervals of shares, and the difference of two with its interval and test: by formula, units taken for independent. Loads
nothing."""

from __future__ import annotations

import math
from statistics import NormalDist
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
    share, z = successes / n, _Z if confidence == 0.95 else NormalDist().inv_cdf((1 + confidence) / 2)
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
