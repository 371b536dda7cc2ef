"""Whether models treat some targets alike worse than others: ranks of targets within models.

Ranks rise with the score: 1 is the lowest, ties share their mean (Figure 2, arXiv 2606.17506).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

MIN_TARGETS = 3
MIN_MODELS = 2
FEW_BLOCKS = 10
"""Below so many blocks the chi-square distribution is a poor approximation (method brief R41)."""
TOO_FEW_BLOCKS = 5
"""So many blocks or fewer carry no test."""

Scores = Mapping[str, Mapping[str, float | None]]
"""Block -> target -> score; None or absent where undefined."""


class RankedBlocks(NamedTuple):
    """The ranks of targets within each block, and the blocks left out for an undefined score."""

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
    """Rank the targets within each block, ties by their mean; a block with an undefined score is left out whole (list-wise
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
    None where all blocks agree in full, for it is infinite. Refused under three targets or two blocks, and where no block
    tells targets apart: ``chi2`` and what follows from it are then None, and ``warnings`` say why.
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
        # Rounding leaves a trace above what all blocks in full agreement reach, and below nothing.
        chi2 = highest if found.statistic > highest * (1 - 1e-12) else max(float(found.statistic), 0.0)
        p, kendalls_w, f_df = float(found.pvalue), chi2 / highest, (k - 1, (k - 1) * (n - 1))
        f = (n - 1) * chi2 / (highest - chi2) if chi2 < highest else None
        f_p = 0.0 if f is None else float(f_distribution.sf(f, *f_df))
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

    A label without a family is its own. Means are rounded to six decimals, so that the noise of adding cannot break a
    tie. A member's undefined score makes the family's undefined.
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
    """Why there can be no test, or nothing."""
    if len(ranked.targets) < MIN_TARGETS:
        return f"No Friedman test: it needs at least {MIN_TARGETS} targets, and there are {len(ranked.targets)}."
    if len(ranked.ranks) < MIN_MODELS:
        return (
            f"No Friedman test: it needs at least {MIN_MODELS} {blocks} with a score for every target, "
            f"and there are {len(ranked.ranks)}."
        )
    if all(len(set(ranks)) == 1 for ranks in ranked.ranks):
        return f"No Friedman test: all targets are tied in each of the {blocks}."
    return ""


def _warn(ranked: RankedBlocks, blocks: str, chi2: float | None, f: float | None) -> list[str]:
    warnings = []
    if chi2 is not None and len(ranked.ranks) <= TOO_FEW_BLOCKS:
        warnings.append(
            f"Only {len(ranked.ranks)} {blocks}: too few blocks for either test. Chi-square, the Iman-Davenport F and "
            "both p values only describe these answers."
        )
    elif chi2 is not None and len(ranked.ranks) < FEW_BLOCKS:
        warnings.append(
            f"Only {len(ranked.ranks)} {blocks}: with fewer than {FEW_BLOCKS}, the chi-square p is approximate; "
            "see the Iman-Davenport F."
        )
    if chi2 is not None and f is None:
        warnings.append(f"All {blocks} rank the targets in the same order, so the Iman-Davenport F is infinite.")
    if ranked.dropped:
        warnings.append(f"Left out, for a target without a score: {', '.join(ranked.dropped)}.")
    return warnings
