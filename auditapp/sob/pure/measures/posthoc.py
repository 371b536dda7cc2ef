"""Which targets differ, after a Friedman test: all pairs, by Nemenyi's and by Conover's method."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from auditapp.sob.pure.measures.ranks import RankedBlocks
from transcripts.statistics.multiplicity import adjust_benjamini_hochberg, adjust_holm

ALPHA = 0.05


def compare_nemenyi(ranked: RankedBlocks, *, task: str, blocks: str = "models") -> dict[str, Any]:
    """Nemenyi's test: q = sqrt(2) |difference of mean ranks| / sqrt(k (k + 1) / (6 n)), a studentized range of k groups.

    The critical difference is q_alpha / sqrt(2) x sqrt(k (k + 1) / (6 n)) (Demsar 2006, JMLR 7:1). The range covers all
    pairs at once, so p needs no adjustment. Ties are not corrected for.
    """
    from scipy.stats import studentized_range

    n, k = len(ranked.ranks), len(ranked.targets)
    unit = math.sqrt(k * (k + 1) / (6 * n)) / math.sqrt(2)
    found = list(_list_differences(ranked))
    statistics = [abs(difference) / unit for _, _, difference in found]
    chances = studentized_range.sf(statistics, k, math.inf)
    pairs = [
        _describe_pair(a, b, difference, statistic=statistic, p=min(1.0, max(0.0, float(p))))
        for (a, b, difference), statistic, p in zip(found, statistics, chances, strict=True)
    ]
    critical = float(studentized_range.isf(ALPHA, k, math.inf)) * unit
    head = {"task": task, "blocks": blocks, "method": "nemenyi", "adjustment": None, "n_blocks": n}
    return {**head, "critical_difference": critical, "alpha": ALPHA, "pairs": pairs}


def compare_conover(ranked: RankedBlocks, *, task: str, blocks: str = "models") -> dict[str, Any]:
    """Conover's test: t = |R_a - R_b| / sqrt(2 (n A - sum R^2) / ((n - 1)(k - 1))), df = (n - 1)(k - 1).

    R are rank sums and A is the sum of all squared ranks (Conover 1999, Practical Nonparametric Statistics, section 5.8,
    equation 6). p is adjusted over all pairs by Holm's method, and beside it by that of Benjamini and Hochberg. Where all
    blocks agree in full t is infinite.
    """
    from scipy.stats import t

    n, k = len(ranked.ranks), len(ranked.targets)
    squares = sum(rank * rank for ranks in ranked.ranks for rank in ranks)
    spread = n * squares - sum(total * total for total in ranked.rank_sums)
    unit = math.sqrt(max(0.0, 2 * spread / ((n - 1) * (k - 1)))) / n
    found = list(_list_differences(ranked))
    statistics = [
        abs(difference) / unit if unit > 1e-9 else 0.0 if difference == 0 else math.inf for _, _, difference in found
    ]
    chances = [float(p) for p in 2 * t.sf(statistics, (n - 1) * (k - 1))]
    adjusted = zip(adjust_holm(chances), adjust_benjamini_hochberg(chances), strict=True)
    pairs = [
        _describe_pair(
            a,
            b,
            difference,
            statistic=None if math.isinf(statistic) else statistic,
            p=p,
            p_adjusted=holm,
            p_adjusted_bh=bh,
        )
        for (a, b, difference), statistic, p, (holm, bh) in zip(found, statistics, chances, adjusted, strict=True)
    ]
    head = {"task": task, "blocks": blocks, "method": "conover", "adjustment": "holm", "n_blocks": n}
    return {**head, "critical_difference": None, "alpha": ALPHA, "pairs": pairs}


def _describe_pair(
    a: str,
    b: str,
    difference: float,
    *,
    statistic: float | None,
    p: float,
    p_adjusted: float | None = None,
    p_adjusted_bh: float | None = None,
) -> dict[str, Any]:
    """Two targets compared; ``difference`` is that of their mean ranks, a minus b.

    ``statistic`` is None where it would be infinite; ``p_adjusted`` and ``p_adjusted_bh`` where the method itself covers all
    pairs.
    """
    adjusted = {"p_adjusted": p_adjusted, "p_adjusted_bh": p_adjusted_bh}
    return {"a": a, "b": b, "difference": difference, "statistic": statistic, "p": p, **adjusted}


def _list_differences(ranked: RankedBlocks) -> Iterator[tuple[str, str, float]]:
    """Every pair of targets with the difference of their mean ranks."""
    means = {target: total / len(ranked.ranks) for target, total in zip(ranked.targets, ranked.rank_sums, strict=True)}
    for a, b in combinations(ranked.targets, 2):
        yield a, b, means[a] - means[b]
