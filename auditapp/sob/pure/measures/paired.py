"""Two models on the same texts, such as one with and without reasoning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from auditapp.sob.pure.counting import OVERALL
from auditapp.sob.pure.measures.intervals import (
    LEAST_ITEMS,
    LONGEST_WINDOW,
    draw_sums,
    find_percentiles,
    open_stream,
    sum_all_resamples,
)
from auditapp.sob.pure.measures.posthoc import adjust_holm
from auditapp.sob.pure.measures.scores import divide
from auditapp.sob.pure.measures.tallies import ItemMatrix, split_rows
from transcripts.agreement.shares import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FINEST = 10**9
"""Texts asked in so many different numbers of repeats that no smaller denominator fits all are rounded to this."""
LOWEST_P = 1e-12
"""Sums of rounded numbers tell smaller chances from nothing no longer."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The difference of two models' scores, a minus b, over the texts that both have a usable answer to.

    A text's score is the mean over its repeats, and each text counts the same. ``n_left_out`` texts have a usable answer
    from only one of the two. ``p`` is None where there is no text to test with; ``p_adjusted`` is Holm's over all tests of
    the task.
    """

    task: str
    target: str
    model_a: str
    model_b: str
    n_items: int
    n_left_out: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    ci: Interval | None
    p: float | None
    p_adjusted: float | None
    test: str
    adjustment: str
    seed: int


class PairedOptions(NamedTuple):
    """``flips`` are drawn only where counting all of them is too much."""

    seed: int
    resamples: int
    flips: int


class _Question(NamedTuple):
    """Two columns of a matrix over some of its rows."""

    task: str
    target: str
    model_a: str
    model_b: str
    usable: NDArray[np.int64]
    sums: NDArray[np.int64]


class _Chance(NamedTuple):
    p: float
    test: str


def compare_pairs(
    matrices: Mapping[str, ItemMatrix],
    pairs: Sequence[tuple[str, str]],
    *,
    targets: Sequence[str],
    options: PairedOptions,
) -> list[PairedTest]:
    """Every pair of models in every task, over all texts and per target.

    A pair with a model that has no answers in a task has no row there.
    """
    tests: list[PairedTest] = []
    for task, matrix in matrices.items():
        questions = _ask(task, matrix, pairs, targets)
        tests += _adjust([_answer(each, options) for each in questions])
    return tests


def _ask(task: str, matrix: ItemMatrix, pairs: Sequence[tuple[str, str]], targets: Sequence[str]) -> list[_Question]:
    rows = split_rows(matrix)
    columns = {model: column for column, model in enumerate(matrix.models)}
    questions = []
    for model_a, model_b in pairs:
        if model_a not in columns or model_b not in columns:
            continue
        both = [columns[model_a], columns[model_b]]
        for target in (OVERALL, *targets):
            found = rows.get(target)
            if found is not None:
                usable, sums = matrix.usable[found][:, both], matrix.paper[found][:, both]
                questions.append(_Question(task, target, model_a, model_b, usable, sums))
    return questions


def _answer(question: _Question, options: PairedOptions) -> PairedTest:
    having = question.usable > 0
    kept = having.all(axis=1)
    usable, sums = question.usable[kept], question.sums[kept]
    n = len(usable)
    scaled = _scale(usable, sums)
    names = (question.task, question.target, question.model_a, question.model_b)
    chance = _flip_signs(scaled.differences, names, options) if n else None
    return PairedTest(
        task=question.task,
        target=question.target,
        model_a=question.model_a,
        model_b=question.model_b,
        n_items=n,
        n_left_out=int(having.any(axis=1).sum()) - n,
        mean_a=divide(int(scaled.scores[:, 0].sum()), scaled.denominator * n),
        mean_b=divide(int(scaled.scores[:, 1].sum()), scaled.denominator * n),
        difference=divide(int(scaled.differences.sum()), scaled.denominator * n),
        ci=_resample(scaled, names, options),
        p=chance.p if chance else None,
        p_adjusted=None,
        test=chance.test if chance else "none",
        adjustment="holm",
        seed=options.seed,
    )


class _Scaled(NamedTuple):
    """Each text's two scores as whole numbers over one common denominator: no sum of them depends on their order."""

    scores: NDArray[np.int64]
    denominator: int

    @property
    def differences(self) -> NDArray[np.int64]:
        return self.scores[:, 0] - self.scores[:, 1]


def _scale(usable: NDArray[np.int64], sums: NDArray[np.int64]) -> _Scaled:
    import numpy as np

    denominator = math.lcm(*np.unique(usable).tolist())
    if denominator > FINEST:
        return _Scaled(np.rint(sums / usable * FINEST).astype(np.int64), FINEST)
    return _Scaled(sums * (denominator // usable), denominator)


def _resample(scaled: _Scaled, names: Sequence[str], options: PairedOptions) -> Interval | None:
    """The percentile interval of the mean difference over resampled texts, over all resamples where that can be had."""
    n = len(scaled.scores)
    if n < LEAST_ITEMS or not options.resamples:
        return None
    exact = sum_all_resamples(scaled.differences)
    if exact:
        return Interval(exact.low / (scaled.denominator * n), exact.high / (scaled.denominator * n))
    generator = open_stream(options.seed, *names, "paired")
    drawn = draw_sums(scaled.differences[None, :], resamples=options.resamples, generator=generator)
    return find_percentiles(drawn[0] / (scaled.denominator * n))


def _flip_signs(differences: NDArray[np.int64], names: Sequence[str], options: PairedOptions) -> _Chance:
    """How often |sum of differences| is at least as large when each text's sign is tossed (Fisher 1935; two-sided).

    Texts without a difference change no sum. All 2^n tosses count, exactly, unless the sums are too many; then ``flips`` of
    them are drawn, and p is (1 + those as large) / (1 + flips) (Phipson and Smyth 2010).
    """
    import numpy as np

    found, counts = np.unique(abs(differences[differences != 0]), return_counts=True)
    sizes = dict(zip(found.tolist(), counts.tolist(), strict=True))
    observed = abs(int(differences.sum()))
    p = _count_flips(sizes, observed)
    if p is not None:
        return _Chance(p, "sign-flip permutation, exact")
    generator = open_stream(options.seed, *names, "flips")
    total = sum(
        size * (2 * generator.binomial(count, 0.5, size=options.flips) - count) for size, count in sizes.items()
    )
    as_large = int((abs(total) >= observed).sum())
    p = (1 + as_large) / (1 + options.flips)
    return _Chance(p, f"sign-flip permutation, {options.flips:,} random flips")


def _count_flips(sizes: Mapping[int, int], observed: int) -> float | None:
    """P(|sum| >= observed) over all tosses, from the sum's characteristic function: product of cos(size x angle)^count.

    Sums within ten standard deviations are told apart; beyond lies less than ``LOWEST_P`` (Hoeffding 1963). None where
    those are too many.
    """
    import numpy as np

    reach = sum(size * count for size, count in sizes.items())
    spread = math.sqrt(sum(size * size * count for size, count in sizes.items()))
    half = min(reach, math.ceil(10 * spread))
    length = 1 << (2 * half + 1).bit_length()
    if length > LONGEST_WINDOW:
        return None
    if observed > half:
        return LOWEST_P
    angles = 2 * np.pi / length * np.arange(length // 2 + 1)
    wave = np.ones(length // 2 + 1)
    for size, count in sizes.items():
        wave *= np.cos(size * angles) ** count
    # Place s holds the chance of the sum s, and place length - s that of -s, which is the same.
    chances = np.fft.irfft(wave, n=length)
    inside = float(chances[0] + 2 * chances[1:observed].sum()) if observed else 0.0
    return min(1.0, max(LOWEST_P, 1 - inside))


def _adjust(tests: Sequence[PairedTest]) -> list[PairedTest]:
    adjusted = iter(adjust_holm([test.p for test in tests if test.p is not None]))
    return [test if test.p is None else replace(test, p_adjusted=next(adjusted)) for test in tests]
