"""Which targets differ, after a Friedman test: all pairs, by Nemenyi's and by Conover's method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from auditapp.sob.measures.ranks import RankedBlocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class PosthocPair:
    """Two targets compared; ``difference`` is that of their mean ranks, a minus b.

    ``statistic`` is None where it would be infinite; ``p_adjusted`` where the method itself covers all pairs.
    """

    a: str
    b: str
    difference: float
    statistic: float | None
    p: float
    p_adjusted: float | None


@dataclass(frozen=True, slots=True)
class PosthocTest:
    """All pairs of targets in one task. ``critical_difference`` is Nemenyi's, None for Conover's."""

    task: str
    blocks: str
    method: str
    adjustment: str | None
    critical_difference: float | None
    alpha: float
    pairs: tuple[PosthocPair, ...]


class _Difference(NamedTuple):
    a: str
    b: str
    mean_ranks: float


def compare_nemenyi(ranked: RankedBlocks, *, task: str, blocks: str = "models") -> PosthocTest:
    """Nemenyi's test: q = sqrt(2) |difference of mean ranks| / sqrt(k (k + 1) / (6 n)), a studentized range of k groups.

    The critical difference is q_alpha / sqrt(2) x sqrt(k (k + 1) / (6 n)) (Demsar 2006, JMLR 7:1). The range covers all
    pairs at once, so p needs no adjustment. Ties are not corrected for.
    """
    n, k = len(ranked.ranks), len(ranked.targets)
    unit = math.sqrt(k * (k + 1) / (6 * n)) / math.sqrt(2)
    found = list(_list_differences(ranked))
    statistics = [abs(each.mean_ranks) / unit for each in found]
    chances = exceed_studentized_range(statistics, k)
    pairs = tuple(
        PosthocPair(each.a, each.b, each.mean_ranks, statistic, p, None)
        for each, statistic, p in zip(found, statistics, chances, strict=True)
    )
    return PosthocTest(task, blocks, "nemenyi", None, find_critical_range(k) * unit, ALPHA, pairs)


def compare_conover(ranked: RankedBlocks, *, task: str, blocks: str = "models") -> PosthocTest:
    """Conover's test: t = |R_a - R_b| / sqrt(2 (n A - sum R^2) / ((n - 1)(k - 1))), df = (n - 1)(k - 1).

    R are rank sums and A is the sum of all squared ranks (Conover 1999, Practical Nonparametric Statistics, section 5.8,
    equation 6). p is adjusted over all pairs by Holm's method. Where all blocks agree in full t is infinite.
    """
    from scipy.special import stdtr

    n, k = len(ranked.ranks), len(ranked.targets)
    squares = sum(rank * rank for ranks in ranked.ranks for rank in ranks)
    spread = n * squares - sum(total * total for total in ranked.rank_sums)
    unit = math.sqrt(max(0.0, 2 * spread / ((n - 1) * (k - 1)))) / n
    found = list(_list_differences(ranked))
    statistics: list[float | None] = []
    chances = []
    for each in found:
        distance = abs(each.mean_ranks)
        statistic = distance / unit if unit > 1e-9 else 0.0 if distance == 0 else None
        statistics.append(statistic)
        chances.append(0.0 if statistic is None else 2 * float(stdtr((n - 1) * (k - 1), -statistic)))
    pairs = tuple(
        PosthocPair(each.a, each.b, each.mean_ranks, statistic, p, adjusted)
        for each, statistic, p, adjusted in zip(found, statistics, chances, adjust_holm(chances), strict=True)
    )
    return PosthocTest(task, blocks, "conover", "holm", None, ALPHA, pairs)


def adjust_holm(chances: Sequence[float]) -> list[float]:
    """p adjusted for their number by stepping down (Holm 1979, Scand. J. Statist. 6:65), in the order given."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    adjusted = [0.0] * len(chances)
    highest = 0.0
    for position, index in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - position) * chances[index]))
        adjusted[index] = highest
    return adjusted


def exceed_studentized_range(values: Sequence[float], groups: int) -> list[float]:
    """P(range of ``groups`` standard normal numbers > value): the studentized range with infinite degrees of freedom.

    1 - k x integral of phi(z) [Phi(z) - Phi(z - q)]^(k - 1), by the trapezoid rule, whose error on such a curve is below
    rounding. Loading scipy.stats for its own would take longer than everything else a report does.
    """
    import numpy as np
    from scipy.special import ndtr

    points = np.linspace(-9.0, 9.0, 721)
    density = np.exp(-points * points / 2) / math.sqrt(2 * math.pi)
    below = ndtr(points)

    def exceed(value: float) -> float:
        inside: NDArray[np.float64] = density * (below - ndtr(points - value)) ** (groups - 1)
        covered = groups * float(inside.sum()) * float(points[1] - points[0])
        return min(1.0, max(0.0, 1 - covered))

    return [exceed(value) for value in values]


def find_critical_range(groups: int, alpha: float = ALPHA) -> float:
    """The studentized range that is exceeded with the chance ``alpha``, by halving the interval it lies in."""
    low, high = 0.0, 20.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if exceed_studentized_range([middle], groups)[0] > alpha:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _list_differences(ranked: RankedBlocks) -> Iterator[_Difference]:
    means = {target: total / len(ranked.ranks) for target, total in zip(ranked.targets, ranked.rank_sums, strict=True)}
    for a, b in combinations(ranked.targets, 2):
        yield _Difference(a, b, means[a] - means[b])
