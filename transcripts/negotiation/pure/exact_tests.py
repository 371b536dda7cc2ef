"""Two exact tests of small tables, by sums of binomial coefficients. scipy has them too, and takes longer to load than a whole
report; the tests compare."""

from __future__ import annotations

import math

_TIES = 1 + 1e-7
"""Tables whose probability is within rounding of the observed one count as equally likely."""


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
    probability of a split at least as uneven. 1 where none changed."""
    changed, fewer = only_a + only_b, min(only_a, only_b)
    tail = math.fsum(math.exp(_log_choose(changed, k) - changed * math.log(2)) for k in range(fewer + 1))
    return min(1.0, 2 * tail)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
