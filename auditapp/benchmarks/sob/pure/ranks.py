"""Whether models agree in treating some targets worse than others, based on ranks of targets within models.

Ranks rise with the score: 1 is the lowest, and tied scores share their mean rank (Figure 2, arXiv 2606.17506).

All pairs of targets are tested for a difference, by Nemenyi's and by Conover's method."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from auditapp.benchmarks.sob.pure.answer_words import OVERALL
from auditapp.benchmarks.sob.pure.cautions import explain_no_width
from auditapp.benchmarks.sob.pure.scores import ItemMatrix, divide, split_rows
from transcripts.statistics.differences import FINEST, Paired, compare_family
from transcripts.statistics.figures import FEW
from transcripts.statistics.resampling import open_stream
from transcripts.statistics.significance import adjust_benjamini_hochberg, adjust_holm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MIN_TARGETS = 3
MIN_MODELS = 2
FEW_BLOCKS = 10
"""With fewer blocks the chi-square distribution is a poor approximation (method brief R41)."""
TOO_FEW_BLOCKS = 5
"""With this number of blocks or fewer there is no test: with three blocks and three targets, the Iman-Davenport P was below .05 in
17 % of simulated reports without a difference (docs/reference/method.md)."""

Scores = Mapping[str, Mapping[str, float | None]]
"""Block -> target -> score; None or absent where undefined."""
ALPHA = 0.05


class RankedBlocks(NamedTuple):
    """The ranks of targets within each block, and the blocks left out because of an undefined score."""

    targets: tuple[str, ...]
    ranks: list[list[float]]
    dropped: tuple[str, ...]

    @property
    def rank_sums(self) -> list[float]:
        """Sum of ranks of each target."""
        return [sum(column) for column in zip(*self.ranks, strict=True)]

    @property
    def mean_ranks(self) -> dict[str, float]:
        """Mean rank of each target; empty without a block."""
        n = len(self.ranks)
        return {target: total / n for target, total in zip(self.targets, self.rank_sums, strict=True)} if n else {}


def rank_blocks(scores: Scores, targets: Sequence[str]) -> RankedBlocks:
    """Rank the targets within each block; ties get their mean rank. A block with an undefined score is left out entirely (list-wise
    deletion)."""
    ranks: list[list[float]] = []
    dropped: list[str] = []
    for block, by_target in scores.items():
        values = [value for target in targets if (value := by_target.get(target)) is not None]
        if len(values) == len(targets):
            in_order = sorted(values)
            ranks.append([(bisect_left(in_order, each) + bisect_right(in_order, each) + 1) / 2 for each in values])
        else:
            dropped.append(block)
    return RankedBlocks(tuple(targets), ranks, tuple(dropped))


def compare_targets(
    scores: Scores, targets: Sequence[str], *, task: str, blocks: str = "models", warnings: Iterable[str] = ()
) -> dict[str, Any]:
    """Friedman's test with targets as treatments and models or families as blocks (Friedman 1937, JASA 32:675).

    chi2 = [12 / (n k (k + 1)) x sum R^2 - 3 n (k + 1)] / [1 - sum (t^3 - t) / (n (k^3 - k))] over rank sums R and ties of
    t equal scores within a block (Conover 1999, section 5.8), df = k - 1. Kendall's W = chi2 / (n (k - 1)).
    Iman and Davenport 1980: F = (n - 1) chi2 / (n (k - 1) - chi2) with k - 1 and (k - 1)(n - 1) degrees of freedom; F is
    None if all blocks agree fully, because it is then infinite. With ``TOO_FEW_BLOCKS`` blocks or fewer there is no P. There is no
    test with fewer than three targets or two blocks, or if all targets are tied in every block: ``chi2`` and everything computed
    from it are then None, and ``warnings`` say why.
    """
    from scipy.stats import f as f_distribution
    from scipy.stats import friedmanchisquare

    ranked = rank_blocks(scores, targets)
    n, k = len(ranked.ranks), len(targets)
    refusal = _refuse(ranked, blocks)
    chi2 = p = kendalls_w = f = f_p = f_df = None
    if not refusal:
        highest = n * (k - 1)
        found = friedmanchisquare(*zip(*ranked.ranks, strict=True))
        # Rounding errors can put the statistic slightly above its maximum (full agreement of all blocks), or below 0.
        chi2 = highest if found.statistic > highest * (1 - 1e-12) else max(float(found.statistic), 0.0)
        kendalls_w, f_df = chi2 / highest, (k - 1, (k - 1) * (n - 1))
        f = (n - 1) * chi2 / (highest - chi2) if chi2 < highest else None
        if n > TOO_FEW_BLOCKS:
            p, f_p = float(found.pvalue), 0.0 if f is None else float(f_distribution.sf(f, *f_df))
    return {
        "task": task,
        "blocks": blocks,
        "targets": ranked.targets,
        "chi2": chi2,
        "df": None if refusal else k - 1,
        "p": p,
        "kendalls_w": kendalls_w,
        "n_blocks": n,
        "k_treatments": k,
        "mean_ranks": ranked.mean_ranks,
        "iman_davenport_f": f,
        "iman_davenport_p": f_p,
        "iman_davenport_df": f_df,
        "ties_corrected": True,
        "dropped": ranked.dropped,
        "counting": "paper",
        "warnings": tuple(filter(None, [refusal, *warnings, *_warn(ranked, blocks, chi2, f)])),
    }


def merge_families(scores: Scores, families: Mapping[str, str]) -> dict[str, dict[str, float | None]]:
    """One block per family: the mean of its members' scores, so that blocks are independent (method brief R41).

    A label without a family is a family by itself. Means are rounded to six decimals, so that rounding errors cannot break a
    tie. If one member's score is undefined, so is the family's.
    """
    members: dict[str, list[Mapping[str, float | None]]] = {}
    for model, by_target in scores.items():
        members.setdefault(families.get(model, model), []).append(by_target)
    return {
        family: {
            target: _mean([each.get(target) for each in rows]) for target in dict.fromkeys(t for r in rows for t in r)
        }
        for family, rows in members.items()
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 6) if known and len(known) == len(values) else None


def _refuse(ranked: RankedBlocks, blocks: str) -> str:
    """Why there can be no test; "" if there can be one."""
    if len(ranked.targets) < MIN_TARGETS:
        return f"No Friedman test: it needs at least {MIN_TARGETS} targets, but there are only {len(ranked.targets)}."
    if len(ranked.ranks) < MIN_MODELS:
        return (
            f"No Friedman test: it needs at least {MIN_MODELS} {blocks} with a score for every target, but there are only "
            f"{len(ranked.ranks)}."
        )
    if all(len(set(ranks)) == 1 for ranks in ranked.ranks):
        return f"No Friedman test: all targets are tied in each of the {blocks}."
    return ""


def _warn(ranked: RankedBlocks, blocks: str, chi2: float | None, f: float | None) -> list[str]:
    warnings = []
    if chi2 is not None and len(ranked.ranks) <= TOO_FEW_BLOCKS:
        warnings.append(
            f"Only {len(ranked.ranks)} {blocks}: too few blocks for either test, so there is no P and no comparison of pairs. "
            "Chi-square and the Iman-Davenport F only describe these answers."
        )
    elif chi2 is not None and len(ranked.ranks) < FEW_BLOCKS:
        warnings.append(
            f"Only {len(ranked.ranks)} {blocks}: with fewer than {FEW_BLOCKS}, the chi-square P is only approximate; see the "
            "Iman-Davenport F."
        )
    if chi2 is not None and f is None:
        warnings.append(f"All {blocks} rank the targets in the same order, so the Iman-Davenport F is infinite.")
    if ranked.dropped:
        warnings.append(f"Left out, for a target without a score: {', '.join(ranked.dropped)}.")
    return warnings


def compare_nemenyi(ranked: RankedBlocks, *, task: str, blocks: str = "models") -> dict[str, Any]:
    """Nemenyi's test: q = sqrt(2) |difference of mean ranks| / sqrt(k (k + 1) / (6 n)), a studentized range of k groups.

    The critical difference is q_alpha / sqrt(2) x sqrt(k (k + 1) / (6 n)) (Demsar 2006, JMLR 7:1). The range covers all
    pairs at once, so p needs no adjustment. There is no correction for ties.
    """
    from scipy.stats import studentized_range

    n, k = len(ranked.ranks), len(ranked.targets)
    unit = math.sqrt(k * (k + 1) / (6 * n)) / math.sqrt(2)
    found = list(_list_differences(ranked))
    statistics = [abs(difference) / unit for _, _, difference in found]
    chances = studentized_range.sf(statistics, k, math.inf)
    pairs = [
        _describe_pair(pair, statistic, min(1.0, max(0.0, float(p))))
        for pair, statistic, p in zip(found, statistics, chances, strict=True)
    ]
    critical = float(studentized_range.isf(ALPHA, k, math.inf)) * unit
    head = {"task": task, "blocks": blocks, "method": "nemenyi", "adjustment": None, "n_blocks": n}
    return {**head, "critical_difference": critical, "alpha": ALPHA, "pairs": pairs}


def compare_conover(ranked: RankedBlocks, *, task: str, blocks: str = "models") -> dict[str, Any]:
    """Conover's test: t = |R_a - R_b| / sqrt(2 (n A - sum R^2) / ((n - 1)(k - 1))), df = (n - 1)(k - 1).

    R are rank sums and A is the sum of all squared ranks (Conover 1999, Practical Nonparametric Statistics, section 5.8,
    equation 6). p is adjusted over all pairs by Holm's method, and separately by that of Benjamini and Hochberg. If all
    blocks agree fully, t is infinite.
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
        _describe_pair(pair, None if math.isinf(statistic) else statistic, p, holm, bh)
        for pair, statistic, p, (holm, bh) in zip(found, statistics, chances, adjusted, strict=True)
    ]
    head = {"task": task, "blocks": blocks, "method": "conover", "adjustment": "holm", "n_blocks": n}
    return {**head, "critical_difference": None, "alpha": ALPHA, "pairs": pairs}


def _describe_pair(
    pair: tuple[str, str, float], statistic: float | None, p: float, holm: float | None = None, bh: float | None = None
) -> dict[str, Any]:
    """The comparison of two targets; ``difference`` is between their mean ranks, a minus b.

    ``statistic`` is None if it is infinite; ``p_adjusted`` and ``p_adjusted_bh`` are None if the test itself covers all pairs.
    """
    a, b, difference = pair
    adjusted = {"p_adjusted": holm, "p_adjusted_bh": bh}
    return {"a": a, "b": b, "difference": difference, "statistic": statistic, "p": p, **adjusted}


def _list_differences(ranked: RankedBlocks) -> Iterator[tuple[str, str, float]]:
    """Every pair of targets with the difference of their mean ranks."""
    means = {target: total / len(ranked.ranks) for target, total in zip(ranked.targets, ranked.rank_sums, strict=True)}
    for a, b in combinations(ranked.targets, 2):
        yield a, b, means[a] - means[b]


Pair = tuple[str, str]


def list_pairs(models: Sequence[str], declared: Sequence[Pair] = ()) -> list[Pair]:
    """Every pair of models once: first the declared ones in their order, then the others by name."""
    known = [pair for pair in declared if set(pair) <= set(models)]
    either_way = {frozenset(pair) for pair in known}
    return [*known, *(pair for pair in combinations(sorted(models), 2) if frozenset(pair) not in either_way)]


def compare_models(
    matrices: Mapping[str, ItemMatrix], *, targets: Sequence[str], seed: int, flips: int, reasoning: Sequence[Pair] = ()
) -> list[dict[str, Any]]:
    """Every pair of models in every task, over all texts and per target. ``reasoning`` has pairs (without, with reasoning)."""
    tests: list[dict[str, Any]] = []
    for task, matrix in matrices.items():
        pairs = list_pairs(matrix.models, reasoning)
        tests += [
            test | {"reasoning": (test["model_a"], test["model_b"]) in reasoning}
            for test in compare_pairs(task, matrix, pairs, targets=targets, seed=seed, flips=flips)
        ]
    return tests


def compare_pairs(
    task: str, matrix: ItemMatrix, pairs: Sequence[Pair], *, targets: Sequence[str], seed: int, flips: int
) -> list[dict[str, Any]]:
    """Pairs of models in one task, over all texts and per target: one family of tests.

    The difference of two models' scores, a minus b, is over the texts to which both have a usable answer: a text's score is
    the mean over its repeats, and each text counts the same. ``n_left_out`` texts have a usable answer from only one of the
    two. ``ci`` is Student's interval over texts, None for fewer than three. ``p`` is None for fewer than ten texts, which are not
    tested; ``p_adjusted`` is Holm's over the ``family`` tests of the task, and ``p_adjusted_bh`` that of Benjamini and Hochberg.
    ``mark`` and ``verdict`` are those of a comparison. ``flips`` are drawn only if there are too many to count all of them.
    """
    rows, columns = split_rows(matrix), {model: column for column, model in enumerate(matrix.models)}
    given = [target for target in (OVERALL, *targets) if target in rows]
    tallies = {target: (matrix.usable[rows[target]], matrix.paper[rows[target]]) for target in given}
    places = [(*pair, target) for pair in pairs for target in given]
    found, means = [], []
    for model_a, model_b, target in places:
        both = [columns[model_a], columns[model_b]]
        usable, sums = (each[:, both] for each in tallies[target])
        having = usable > 0
        kept = having.all(axis=1)
        scores, denominator = _scale(usable[kept], sums[kept])
        means.append([divide(int(side.sum()), denominator * len(side)) for side in scores.T])
        found.append(
            Paired(
                scores[:, 0] - scores[:, 1],
                denominator,
                left_out=int(having.any(axis=1).sum()) - len(scores),
                open_stream=partial(open_stream, seed, task, target, model_a, model_b, "flips"),
            )
        )
    compared = compare_family(found, flips)
    chances = iter(adjust_benjamini_hochberg([each.p for each in compared if each.p is not None]))
    return [
        {
            "task": task,
            "target": target,
            "model_a": model_a,
            "model_b": model_b,
            "n_items": each.units,
            "n_left_out": each.left_out,
            "mean_a": of_both[0],
            "mean_b": of_both[1],
            "difference": each.value,
            "ci": each.interval,
            "ci_note": explain_no_width(each.interval, each.units, is_uniform=each.is_uniform),
            "mark": each.mark,
            "p": each.p,
            "p_adjusted": each.p_adjusted,
            "verdict": each.verdict,
            "test": each.method,
            "p_adjusted_bh": None if each.p is None else next(chances),
            "adjustment": "holm",
            "family": each.family,
            "seed": seed,
        }
        for (model_a, model_b, target), of_both, each in zip(places, means, compared, strict=True)
    ]


def explain_family(tests: Sequence[Mapping[str, Any]]) -> str:
    """Over how many tests P is adjusted, by task; "" if nothing is tested."""
    sizes = {test["task"].replace("_", "-"): test["family"] for test in tests if test["p"] is not None}
    said = " and ".join(f"{size:,} tests in {task}" for task, size in sizes.items())
    return f"P is adjusted over {said} by Holm: every pair and target with {FEW} texts or more." if said else ""


def _scale(usable: NDArray[np.int64], sums: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Each text's two scores as whole numbers, and their common denominator, so that no sum depends on the order of the texts."""
    import numpy as np

    denominator = math.lcm(*np.unique(usable).tolist())
    if denominator > FINEST:
        return np.rint(sums / usable * FINEST).astype(np.int64), FINEST
    return sums * (denominator // usable), denominator
