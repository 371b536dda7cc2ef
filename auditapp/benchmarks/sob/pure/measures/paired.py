"""Every two models on the same texts: which of them attributes more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from auditapp.benchmarks.sob.pure.counting import OVERALL
from auditapp.benchmarks.sob.pure.measures.cautions import explain_no_width
from auditapp.benchmarks.sob.pure.measures.scores import divide
from auditapp.benchmarks.sob.pure.measures.tallies import ItemMatrix, split_rows
from transcripts.statistics.comparing import FINEST, Comparison, Paired, compare_family
from transcripts.statistics.figures import FEW
from transcripts.statistics.multiplicity import adjust_benjamini_hochberg
from transcripts.statistics.resampling import open_stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Pair = tuple[str, str]


def list_pairs(models: Sequence[str], declared: Sequence[Pair] = ()) -> list[Pair]:
    """Every two of the models once: those declared first and in their order, then the others by name."""
    known = [pair for pair in declared if set(pair) <= set(models)]
    either_way = {frozenset(pair) for pair in known}
    return [*known, *(pair for pair in combinations(sorted(models), 2) if frozenset(pair) not in either_way)]


def compare_models(
    matrices: Mapping[str, ItemMatrix], *, targets: Sequence[str], seed: int, flips: int, reasoning: Sequence[Pair] = ()
) -> list[dict[str, Any]]:
    """Every two models in every task, over all texts and per target. ``reasoning`` are pairs (without, with reasoning)."""
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

    The difference of two models' scores, a minus b, is over the texts that both have a usable answer to: a text's score is
    the mean over its repeats, and each text counts the same. ``n_left_out`` texts have a usable answer from only one of the
    two. ``ci`` is Student's over texts, None under three. ``p`` is None under ten, where nothing is tested; ``p_adjusted`` is
    Holm's over the tests of the task, ``family`` of them, and ``p_adjusted_bh`` that of Benjamini and Hochberg. ``mark`` and
    ``verdict`` are those of a comparison. ``flips`` are drawn only where counting all of them is too much.
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
            **_describe(each),
            "p_adjusted_bh": None if each.p is None else next(chances),
            "adjustment": "holm",
            "family": each.family,
            "seed": seed,
        }
        for (model_a, model_b, target), of_both, each in zip(places, means, compared, strict=True)
    ]


def explain_family(tests: Sequence[Mapping[str, Any]]) -> str:
    """Over how many tests P is adjusted, by task; "" where nothing is tested."""
    sizes = {test["task"].replace("_", "-"): test["family"] for test in tests if test["p"] is not None}
    said = " and ".join(f"{size:,} tests in {task}" for task, size in sizes.items())
    return f"P is adjusted over {said} by Holm: every pair and target with {FEW} texts or more." if said else ""


def _describe(found: Comparison) -> dict[str, Any]:
    return {
        "difference": found.value,
        "ci": found.interval,
        "ci_note": explain_no_width(found.interval, found.units, is_uniform=found.is_uniform),
        "mark": found.mark,
        "p": found.p,
        "p_adjusted": found.p_adjusted,
        "verdict": found.verdict,
        "test": found.method,
    }


def _scale(usable: NDArray[np.int64], sums: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Each text's two scores as whole numbers, and their common denominator: no sum of them depends on their order."""
    import numpy as np

    denominator = math.lcm(*np.unique(usable).tolist())
    if denominator > FINEST:
        return np.rint(sums / usable * FINEST).astype(np.int64), FINEST
    return sums * (denominator // usable), denominator
