"""Texts that target more than one group (12 % in the paper, which scores by the first alone)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from auditapp.benchmarks.sob.pure.measures.score_intervals import Sample, draw_scores, resample_scores
from auditapp.benchmarks.sob.pure.measures.scores import divide, explain_intervals, subtract
from auditapp.benchmarks.sob.pure.measures.tallies import ItemMatrix
from transcripts.statistics.figures import FEW
from transcripts.statistics.resampling import find_percentiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def score_secondary(matrices: Mapping[str, ItemMatrix], *, seed: int, resamples: int) -> list[dict[str, object]]:
    """Scores by further target, in paper counting, JSON-ready; a text counts under each of its further ones.

    The paper scores by the first target alone (method brief R39). Most frequent first, ties by name; intervals as for
    cells.
    """
    samples = [
        sample for task, matrix in matrices.items() for sample in _take_samples(task, matrix, _find_rows(matrix))
    ]
    intervals = resample_scores(samples, seed=seed, resamples=resamples)
    return [
        {
            "model": sample.names[0],
            "task": sample.names[1],
            "target": sample.names[3],
            "n_items": _count_items(sample),
            "n_nonrefused": int(sample.usable.sum()),
            "sob": _score(sample),
            "ci": found[0] if found else None,
            "few_items": _count_items(sample) < FEW,
            "ci_note": explain_intervals(sample, found)[0],
        }
        for sample, found in zip(samples, intervals, strict=True)
    ]


def contrast_secondary(matrices: Mapping[str, ItemMatrix], *, seed: int, resamples: int) -> list[dict[str, object]]:
    """Scores of texts with minus those of texts without a further target, JSON-ready.

    Texts of either kind are resampled by themselves. A task whose texts are all of one kind has no row.
    """
    rows = []
    for task, matrix in matrices.items():
        split = _split_by_secondary(matrix)
        if not all(len(found) for found in split.values()):
            continue
        samples = list(_take_samples(task, matrix, split))
        for having, lacking in zip(samples[0::2], samples[1::2], strict=True):
            draws = [draw_scores(sample, seed=seed, resamples=resamples) for sample in (having, lacking)]
            sob_with, sob_without = _score(having), _score(lacking)
            row: dict[str, object] = {
                "model": having.names[0],
                "task": task,
                "n_items_with": _count_items(having),
                "n_items_without": _count_items(lacking),
                "sob_with": sob_with,
                "sob_without": sob_without,
                "difference": subtract(sob_with, sob_without),
                "ci": None
                if draws[0] is None or draws[1] is None
                else find_percentiles(draws[0][0] - draws[1][0], min(map(_count_items, (having, lacking)))),
            }
            rows.append(row)
    return rows


def _count_items(sample: Sample) -> int:
    return int((sample.usable > 0).sum())


def _score(sample: Sample) -> float | None:
    return divide(int(sample.sums.sum()), int(sample.usable.sum()))


def _find_rows(matrix: ItemMatrix) -> dict[str, NDArray[np.int64]]:
    import numpy as np

    rows: dict[str, list[int]] = {}
    for row, targets in enumerate(matrix.secondaries):
        for target in dict.fromkeys(targets):
            if target:
                rows.setdefault(target, []).append(row)
    sizes = Counter({target: len(found) for target, found in rows.items()})
    return {target: np.array(rows[target]) for target in sorted(rows, key=lambda each: (-sizes[each], each))}


def _split_by_secondary(matrix: ItemMatrix) -> dict[str, NDArray[np.int64]]:
    import numpy as np

    having = np.array([any(targets) for targets in matrix.secondaries], dtype=bool)
    return {"with": np.flatnonzero(having), "without": np.flatnonzero(~having)}


def _take_samples(task: str, matrix: ItemMatrix, rows: Mapping[str, NDArray[np.int64]]) -> Iterator[Sample]:
    """Each model's answers to each group of a task's texts."""
    for column, model in enumerate(matrix.models):
        for target, found in rows.items():
            names = (model, task, "secondary", target)
            yield Sample(names, matrix.usable[found, column], matrix.paper[found, column][None, :])
