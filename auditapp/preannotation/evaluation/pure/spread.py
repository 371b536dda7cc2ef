"""How several annotators read the same sentences: each by itself, and every two of them. Never one figure of all.

A code is compared on the sentences that every one of the annotators read for it. Nothing is rounded; None is "not
defined".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from transcripts.agreement.pure.shares import Interval, wilson_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW_SENTENCES = 50
FEW_POSITIVES = 10


class CodeLabels(NamedTuple):
    """One annotator on one code: the sentences it read, ascending, and on which of them it put the code."""

    sentences: NDArray[np.int64]
    labels: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class OwnRate:
    """How often one annotator put a code on the shared sentences. ``read`` is all that it read for this code."""

    annotator: int
    read: int
    put: int
    n: int
    rate: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class PairFigures:
    """Two annotators on the shared sentences. Kappa is Cohen's; positive agreement is 2 both / (2 both + either alone)."""

    first: int
    second: int
    both: int
    only_first: int
    only_second: int
    neither: int
    kappa: float | None
    positive_agreement: float | None


@dataclass(frozen=True, slots=True)
class CodeSpread:
    """One code: ``n`` sentences that all annotators read for it. ``lacking``: those that did not read for it at all."""

    code: str
    n: int
    rates: list[OwnRate]
    pairs: list[PairFigures]
    lacking: list[int]
    warnings: list[str] = field(default_factory=list)

    @property
    def lowest(self) -> float | None:
        return min((each.rate for each in self.rates if each.rate is not None), default=None)

    @property
    def highest(self) -> float | None:
        return max((each.rate for each in self.rates if each.rate is not None), default=None)


def compare_annotators(code: str, read: Mapping[int, CodeLabels], annotators: Sequence[int]) -> CodeSpread:
    """The spread of one code. ``read`` holds, by annotator, what it said; one that is missing read nothing for it."""
    import numpy as np

    taking_part = [each for each in annotators if each in read and len(read[each].sentences)]
    shared: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    for place, each in enumerate(taking_part):
        shared = np.intersect1d(shared, read[each].sentences) if place else read[each].sentences
    if len(taking_part) < 2:
        shared = shared[:0]
    labels = {
        each: read[each].labels[np.searchsorted(read[each].sentences, shared)].astype(bool) for each in taking_part
    }
    rates = [_rate(each, len(read[each].sentences), labels[each]) for each in taking_part]
    return CodeSpread(
        code=code,
        n=len(shared),
        rates=rates,
        pairs=[_compare(*pair, labels) for pair in combinations(taking_part, 2)] if len(shared) else [],
        lacking=[each for each in annotators if each not in taking_part],
        warnings=_list_warnings(len(shared), rates),
    )


def _rate(annotator: int, read: int, labels: NDArray[np.bool_]) -> OwnRate:
    put, n = int(labels.sum()), len(labels)
    return OwnRate(annotator, read, put, n, put / n if n else None, wilson_interval(put, n))


def _compare(first: int, second: int, labels: Mapping[int, NDArray[np.bool_]]) -> PairFigures:
    from transcripts.agreement.pure.coefficients import count_pairs, measure_kappa, measure_positive_agreement

    a, b = labels[first], labels[second]
    both, only_a, only_b = int((a & b).sum()), int((a & ~b).sum()), int((b & ~a).sum())
    neither = len(a) - both - only_a - only_b
    counts = count_pairs(both, only_a, only_b, neither)
    return PairFigures(
        first,
        second,
        both,
        only_a,
        only_b,
        neither,
        _known(float(measure_kappa(counts))),
        _known(float(measure_positive_agreement(counts))),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _list_warnings(n: int, rates: Sequence[OwnRate]) -> list[str]:
    if not n:
        return []
    warnings = []
    if n < FEW_SENTENCES:
        warnings.append(f"Few sentences ({n}).")
    if max((each.put for each in rates), default=0) < FEW_POSITIVES:
        warnings.append(f"No annotator put it {FEW_POSITIVES} times: kappa moves with each of them.")
    return warnings
