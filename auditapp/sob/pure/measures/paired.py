"""Two models on the same texts, such as one with and without reasoning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from auditapp.sob.pure.counting import OVERALL
from auditapp.sob.pure.measures.cautions import explain_no_width
from auditapp.sob.pure.measures.scores import divide
from auditapp.sob.pure.measures.tallies import ItemMatrix, split_rows
from transcripts.statistics.figures import MIN_CLUSTERS
from transcripts.statistics.intervals import Interval
from transcripts.statistics.multiplicity import adjust_benjamini_hochberg, adjust_holm
from transcripts.statistics.resampling import draw_sums, find_percentiles, open_stream, sum_all_resamples
from transcripts.statistics.significance import toss_signs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FINEST = 10**9
"""Texts asked in so many different numbers of repeats that no smaller denominator fits all are rounded to this."""


def compare_pairs(
    matrices: Mapping[str, ItemMatrix],
    pairs: Sequence[tuple[str, str]],
    *,
    targets: Sequence[str],
    seed: int,
    resamples: int,
    flips: int,
) -> list[dict[str, Any]]:
    """Every pair of models in every task, over all texts and per target.

    The difference of two models' scores, a minus b, is over the texts that both have a usable answer to: a text's score is
    the mean over its repeats, and each text counts the same. ``n_left_out`` texts have a usable answer from only one of the
    two. ``p`` is None where there is no text to test with; ``p_adjusted`` is Holm's over all tests of the task, and
    ``p_adjusted_bh`` that of Benjamini and Hochberg. A pair with a model that has no answers in a task has no row there.
    ``flips`` are drawn only where counting all of them is too much.
    """
    tests: list[dict[str, Any]] = []
    for task, matrix in matrices.items():
        rows = split_rows(matrix)
        columns = {model: column for column, model in enumerate(matrix.models)}
        found = []
        for model_a, model_b in pairs:
            if model_a not in columns or model_b not in columns:
                continue
            both = [columns[model_a], columns[model_b]]
            for target in (OVERALL, *targets):
                if target in rows:
                    usable, sums = matrix.usable[rows[target]][:, both], matrix.paper[rows[target]][:, both]
                    names = (task, target, model_a, model_b)
                    found.append(_compare(names, usable, sums, seed=seed, resamples=resamples, flips=flips))
        tests += _adjust(found)
    return tests


def _compare(
    names: tuple[str, str, str, str],
    usable: NDArray[np.int64],
    sums: NDArray[np.int64],
    *,
    seed: int,
    resamples: int,
    flips: int,
) -> dict[str, Any]:
    """Two columns of a matrix over some of its rows."""
    having = usable > 0
    kept = having.all(axis=1)
    n = int(kept.sum())
    scores, denominator = _scale(usable[kept], sums[kept])
    differences = scores[:, 0] - scores[:, 1]
    p, is_exact = (
        toss_signs(differences.tolist(), lambda: open_stream(seed, *names, "flips"), flips) if n else (None, True)
    )
    test = "sign-flip permutation, exact" if is_exact else f"sign-flip permutation, {flips:,} random flips"
    task, target, model_a, model_b = names
    interval = _resample(differences, denominator, names, seed=seed, resamples=resamples)
    return {
        "task": task,
        "target": target,
        "model_a": model_a,
        "model_b": model_b,
        "n_items": n,
        "n_left_out": int(having.any(axis=1).sum()) - n,
        "mean_a": divide(int(scores[:, 0].sum()), denominator * n),
        "mean_b": divide(int(scores[:, 1].sum()), denominator * n),
        "difference": divide(int(differences.sum()), denominator * n),
        "ci": interval,
        "ci_note": explain_no_width(interval, n, is_uniform=bool((differences == differences[:1]).all())),
        "p": p,
        "p_adjusted": None,
        "p_adjusted_bh": None,
        "test": test if n else "none",
        "adjustment": "holm",
        "seed": seed,
    }


def _scale(usable: NDArray[np.int64], sums: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Each text's two scores as whole numbers, and their common denominator: no sum of them depends on their order."""
    import numpy as np

    denominator = math.lcm(*np.unique(usable).tolist())
    if denominator > FINEST:
        return np.rint(sums / usable * FINEST).astype(np.int64), FINEST
    return sums * (denominator // usable), denominator


def _resample(
    differences: NDArray[np.int64], denominator: int, names: Sequence[str], *, seed: int, resamples: int
) -> Interval | None:
    """The expanded percentile interval of the mean difference over resampled texts, over all resamples where that can be had."""
    n = len(differences)
    if n < MIN_CLUSTERS or not resamples:
        return None
    exact = sum_all_resamples(differences)
    if exact:
        return Interval(exact.low / (denominator * n), exact.high / (denominator * n))
    generator = open_stream(seed, *names, "paired")
    drawn = draw_sums(differences[None, :], resamples=resamples, generator=generator)
    return find_percentiles(drawn[0] / (denominator * n), n)


def _adjust(tests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    chances = [test["p"] for test in tests if test["p"] is not None]
    adjusted = zip(adjust_holm(chances), adjust_benjamini_hochberg(chances), strict=True)
    return [
        test if test["p"] is None else test | dict(zip(("p_adjusted", "p_adjusted_bh"), next(adjusted), strict=True))
        for test in tests
    ]
