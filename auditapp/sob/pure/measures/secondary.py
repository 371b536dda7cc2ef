"""Texts that target more than one group (12 % in the paper, which scores by the first alone)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from auditapp.sob.pure.measures.intervals import (
    Sample,
    draw_scores,
    find_percentiles,
    resample_scores,
)
from auditapp.sob.pure.measures.scores import divide, subtract
from auditapp.sob.pure.measures.tallies import ItemMatrix
from transcripts.agreement.shares import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SecondaryScore(NamedTuple):
    """The score over the texts whose further targets include ``target``."""

    model: str
    task: str
    target: str
    n_items: int
    n_nonrefused: int
    sob: float | None
    ci: Interval | None


class SecondaryContrast(NamedTuple):
    """Texts with against texts without a further target; ``difference`` is with minus without."""

    model: str
    task: str
    n_items_with: int
    n_items_without: int
    sob_with: float | None
    sob_without: float | None
    difference: float | None
    ci: Interval | None


class _Part(NamedTuple):
    """One model's answers to some of a task's texts."""

    model: str
    task: str
    target: str
    sample: Sample

    @property
    def n_items(self) -> int:
        return int((self.sample.usable > 0).sum())

    @property
    def n_nonrefused(self) -> int:
        return int(self.sample.usable.sum())

    @property
    def sob(self) -> float | None:
        return divide(int(self.sample.sums.sum()), self.n_nonrefused)


def score_secondary(matrices: Mapping[str, ItemMatrix], *, seed: int, resamples: int) -> list[SecondaryScore]:
    """Scores by further target, in paper counting; a text counts under each of its further ones.

    The paper scores by the first target alone (method brief R39). Most frequent first, ties by name; intervals as for
    cells.
    """
    parts = [part for task, matrix in matrices.items() for part in _take_parts(task, matrix, _find_rows(matrix))]
    intervals = resample_scores([part.sample for part in parts], seed=seed, resamples=resamples)
    return [
        SecondaryScore(
            part.model, part.task, part.target, part.n_items, part.n_nonrefused, part.sob, found[0] if found else None
        )
        for part, found in zip(parts, intervals, strict=True)
    ]


def contrast_secondary(matrices: Mapping[str, ItemMatrix], *, seed: int, resamples: int) -> list[SecondaryContrast]:
    """Scores with against without a further target; texts of either kind are resampled by themselves.

    A task whose texts are all of one kind has no row.
    """
    pairs: list[tuple[_Part, _Part]] = []
    for task, matrix in matrices.items():
        rows = _split_by_secondary(matrix)
        if all(len(found) for found in rows.values()):
            parts = list(_take_parts(task, matrix, rows))
            pairs += zip(parts[0::2], parts[1::2], strict=True)

    def compare(pair: tuple[_Part, _Part]) -> SecondaryContrast:
        having, lacking = pair
        draws = [draw_scores(part.sample, seed=seed, resamples=resamples) for part in pair]
        return SecondaryContrast(
            having.model,
            having.task,
            having.n_items,
            lacking.n_items,
            having.sob,
            lacking.sob,
            subtract(having.sob, lacking.sob),
            None if draws[0] is None or draws[1] is None else find_percentiles(draws[0][0] - draws[1][0]),
        )

    return [compare(pair) for pair in pairs]


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


def _take_parts(task: str, matrix: ItemMatrix, rows: Mapping[str, NDArray[np.int64]]) -> Iterator[_Part]:
    for column, model in enumerate(matrix.models):
        for target, found in rows.items():
            names = (model, task, "secondary", target)
            sample = Sample(names, matrix.usable[found, column], matrix.paper[found, column][None, :])
            yield _Part(model, task, target, sample)
