"""Tests of significance: of two shares, of pairs, of paired differences.

Fisher's and McNemar's exact tests are sums of binomial coefficients. scipy has them too, and takes longer to load than a whole
report; the tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_TIES = 1 + 1e-7
"""Tables whose probability is within rounding of the observed one count as equally likely."""
_ROUNDING = 1e-12
MAX_WINDOW = 1 << 17
"""Up to this number of sums, P is computed exactly; for more, drawing is faster."""
_AT_A_TIME = 1 << 15
"""This many numbers fit the processor's cache."""
_WAVES = 1 << 19
"""This many numbers of waves are computed at once: 4 MB."""
MIN_P = 1e-12
"""Below this, rounding errors are larger than the probability itself."""
FLIPS = 10_000


def measure_fisher(part: int, n: int, other_part: int, other_n: int) -> float | None:
    """Two-sided P that two shares are the same, ``part`` of ``n`` and ``other_part`` of ``other_n`` (Fisher 1935): the
    probability, with all margins fixed, of tables no more likely than this one. None where either ``n`` is 0."""
    if not n or not other_n:
        return None
    total, size = part + other_part, n + other_n
    whole = _log_choose(size, total)
    lowest, highest = max(0, total - other_n), min(n, total)
    chances = [
        math.exp(_log_choose(n, k) + _log_choose(other_n, total - k) - whole) for k in range(lowest, highest + 1)
    ]
    limit = chances[part - lowest] * _TIES
    return min(1.0, math.fsum(chance for chance in chances if chance <= limit))


def measure_mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided P that pairs change one way as often as the other (McNemar 1947, exact): of pairs that changed, the binomial
    probability of a split at least as uneven. 1 where none changed. The sign test of Dixon and Mood (1946) is the same test."""
    changed, fewer = only_a + only_b, min(only_a, only_b)
    tail = math.fsum(math.exp(_log_choose(changed, k) - changed * math.log(2)) for k in range(fewer + 1))
    return min(1.0, 2 * tail)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


class ChiSquare(NamedTuple):
    """Pearson's statistic with one degree of freedom, and its P."""

    statistic: float
    p: float


def measure_chi_square(part: int, n: int, other_part: int, other_n: int) -> ChiSquare | None:
    """Pearson's chi-square that two shares are the same, uncorrected for continuity (Pearson 1900); None where a margin is
    empty. It is the square of the z of two proportions with a pooled variance."""
    rest, other_rest = n - part, other_n - other_part
    margins = n * other_n * (part + other_part) * (rest + other_rest)
    if not margins:
        return None
    statistic = (n + other_n) * (part * other_rest - rest * other_part) ** 2 / margins
    # The upper tail of chi-square with one degree of freedom.
    return ChiSquare(statistic, math.erfc(math.sqrt(statistic / 2)))


MIN_EXPECTED = 5
"""Pearson's chi-square is for tables in which no expected count is below this."""


def choose_test(part: int, n: int, other_part: int, other_n: int) -> tuple[str, float | None]:
    """The one test of two shares, by name, and its P: Pearson's where at least five are expected in each cell (Cochran 1954,
    Biometrics 10:417), else Fisher's. Only the margins decide, so nobody can pick the smaller P. None where either ``n`` is 0."""
    total, size = part + other_part, n + other_n
    if min(n, other_n) * min(total, size - total) >= MIN_EXPECTED * size > 0:
        found = measure_chi_square(part, n, other_part, other_n)
        return "Pearson", found.p if found else None
    return "Fisher", measure_fisher(part, n, other_part, other_n)


def measure_student(values: NDArray[np.float64]) -> float:
    """Two-sided P that independent values, at least two, have the mean 0, by t (Student 1908, Biometrika 6:1).

    Values that are all alike have no spread to measure an error by: P is then that of tossing their signs, 2 / 2^n, and 1 where
    all are 0.
    """
    from scipy.special import stdtr  # loads slowly

    n = len(values)
    mean = math.fsum(values.tolist()) / n  # exact, so that the order does not matter
    error = math.sqrt(math.fsum(((values - mean) ** 2).tolist()) / (n - 1) / n)
    if error > _ROUNDING:
        return 2 * float(stdtr(n - 1, -abs(mean) / error))
    return 2.0 ** (1 - n) if abs(mean) > _ROUNDING else 1.0


def toss_signs(
    differences: Sequence[int] | NDArray[np.int64],
    open_stream: Callable[[], np.random.Generator] | None = None,
    flips: int = FLIPS,
) -> tuple[float, bool]:
    """``toss_family`` of one test."""
    [found] = toss_family([differences], [open_stream], flips)
    return found


def toss_family(
    family: Sequence[Sequence[int] | NDArray[np.int64]],
    streams: Sequence[Callable[[], np.random.Generator] | None],
    flips: int = FLIPS,
) -> list[tuple[float, bool]]:
    """The two-sided P that paired differences lean to neither side, and whether it is exact (Fisher 1935, The Design of
    Experiments, section 21), for each test of a family: how often the sum is at least as far from 0 when each sign is tossed.

    Differences are whole numbers, one for each unit of evidence. Those of 0 change no sum: without any other P is 1. All 2^n
    tosses count, unless the sums are too many; then ``flips`` of them are drawn from the stream of the test, and P is (1 + those as
    large) / (1 + flips) (Phipson and Smyth 2010). Of differences of one size it is McNemar's exact test.
    """
    import numpy as np  # loads slowly

    tests = []
    for differences in family:
        apart = np.abs(np.asarray(differences, np.int64))
        found, counts = np.unique(apart[apart > 0], return_counts=True)
        tests.append((dict(zip(found.tolist(), counts.tolist(), strict=True)), abs(int(np.sum(differences)))))
    return [
        (_draw_flips(*test, open_stream, flips), False) if p is None else (p, True)
        for test, open_stream, p in zip(tests, streams, _count_flips(tests), strict=True)
    ]


def _draw_flips(
    sizes: Mapping[int, int], observed: int, open_stream: Callable[[], np.random.Generator] | None, flips: int
) -> float:
    import numpy as np

    generator = open_stream() if open_stream else np.random.default_rng(0)
    total = sum(size * (2 * generator.binomial(count, 0.5, size=flips) - count) for size, count in sizes.items())
    return (1 + int(np.sum(np.abs(total) >= observed))) / (1 + flips)


def _count_flips(tests: Sequence[tuple[Mapping[int, int], int]]) -> list[float | None]:
    """P(|sum| >= observed) over all tosses, from the sum's characteristic function: product of cos(size x angle)^count.

    A test is how often each size occurs, and the observed sum. Sums within ten standard deviations are computed; the rest has a
    probability less than ``MIN_P`` (Hoeffding 1963). None where those are too many.
    """
    chances: list[float | None] = [None] * len(tests)
    alike: dict[int, list[int]] = {}
    for place, (sizes, observed) in enumerate(tests):
        reach = sum(size * count for size, count in sizes.items())
        spread = math.sqrt(sum(size * size * count for size, count in sizes.items()))
        half = min(reach, math.ceil(10 * spread))
        length = 1 << (2 * half + 1).bit_length()
        if not observed:
            chances[place] = 1.0
        elif length <= MAX_WINDOW and observed > half:
            chances[place] = MIN_P
        elif length <= MAX_WINDOW:
            alike.setdefault(length, []).append(place)
    for length, places in alike.items():
        at_once = max(1, _WAVES // length)
        for first in range(0, len(places), at_once):
            some = places[first : first + at_once]
            for place, p in zip(some, _count_windows([tests[place] for place in some], length), strict=True):
                chances[place] = p
    return chances


def _count_windows(tests: Sequence[tuple[Mapping[int, int], int]], length: int) -> list[float]:
    """The same for tests whose sums fit the same window: their waves are multiplied in one step."""
    import numpy as np

    logs, is_negative = _read_cosines(length)
    every = sorted({size for sizes, _ in tests for size in sizes})
    times = np.array([[sizes.get(size, 0) for size in every] for sizes, _ in tests], np.float64)
    steps, wave = np.arange(length // 2 + 1), np.empty((len(tests), length // 2 + 1))
    for some in np.array_split(steps, len(every) * len(steps) // _AT_A_TIME + 1):
        angles = np.array(every)[:, None] * some % length
        wave[:, some] = np.exp(times @ logs[angles]) * (1 - 2 * (times @ is_negative[angles] % 2))
    # Place s has the chance of the sum s, and place length - s that of -s, which is the same.
    chances = np.fft.irfft(wave, n=length)
    inside = [each[0] + 2 * each[1:observed].sum() for each, (_, observed) in zip(chances, tests, strict=True)]
    return [min(1.0, max(MIN_P, 1 - float(each))) for each in inside]


@lru_cache(maxsize=8)
def _read_cosines(length: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For the cosine at each of ``length`` angles around the circle: the logarithm of its size, and whether it is negative."""
    import numpy as np

    steps = np.arange(length)
    with np.errstate(divide="ignore"):
        # From 1 - sin² and not from the cosine, which is rounded near 1. Where the cosine is 0: a number whose exponential is 0.
        logs = np.maximum(np.log1p(-(np.sin(2 * np.pi / length * steps) ** 2)) / 2, -1000)
    return logs, ((length < 4 * steps) & (4 * steps < 3 * length)).astype(np.float64)


def raise_by_squaring(wave: NDArray[Any], power: int) -> NDArray[Any]:
    """The wave raised to a whole power, several times as fast as numpy does it."""
    import numpy as np

    raised = np.ones_like(wave)
    while power:
        if power & 1:
            raised = raised * wave
        power >>= 1
        if power:
            wave = wave * wave
    return raised


def adjust_holm(chances: Sequence[float]) -> list[float]:
    """P values adjusted for their number by stepping down (Holm 1979, Scand. J. Statist. 6:65), in the order given."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    adjusted = [0.0] * len(chances)
    highest = 0.0
    for position, index in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - position) * chances[index]))
        adjusted[index] = highest
    return adjusted


def adjust_benjamini_hochberg(chances: Sequence[float]) -> list[float]:
    """p adjusted by stepping up, in the order given (Benjamini and Hochberg 1995, J. R. Statist. Soc. B 57:289).

    The i-th smallest of m becomes the least p(j) x m / j over all j >= i, at most 1. Those below a level q are the ones to
    report where a share of q of the reported differences may be false, if the tests are independent or depend on each
    other positively. Holm's p instead limits the chance of a single false one, whatever the dependence, and is never
    smaller.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__, reverse=True)
    adjusted = [0.0] * len(chances)
    lowest = 1.0
    for position, index in enumerate(order):
        lowest = min(lowest, chances[index] * len(chances) / (len(chances) - position))
        adjusted[index] = lowest
    return adjusted
