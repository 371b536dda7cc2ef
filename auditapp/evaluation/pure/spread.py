"""How several annotators label the same sentences: each by itself, and every two of them. Never one figure of all.

A code is compared on the sentences that every one of the annotators annotated for it. Nothing is rounded; None is "not
defined".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from transcripts.statistics.figures import wilson_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    # The sentences one annotator annotated for a code, ascending, and on which of them it applied the code.
    Labels = tuple[NDArray[np.int64], NDArray[np.bool_]]

FEW_SENTENCES = 50
FEW_POSITIVES = 10


def compare_annotators(code: str, labelled: Mapping[int, Labels], annotators: Sequence[int]) -> dict[str, Any]:
    """The spread of one code. ``labelled`` has the labels by annotator; one that is missing annotated nothing for it.

    ``n`` sentences are shared by all. ``rates``: how often each applied the code on them (``read``: all sentences it
    annotated for the code), from ``lowest`` to ``highest``. ``pairs``: every two, with Cohen's kappa, and positive
    agreement as 2 both / (2 both + either alone). ``lacking``: annotators that did not annotate for the code at all.
    """
    import numpy as np

    taking_part = [each for each in annotators if each in labelled and len(labelled[each][0])]
    shared: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    for place, each in enumerate(taking_part):
        shared = np.intersect1d(shared, labelled[each][0]) if place else labelled[each][0]
    if len(taking_part) < 2:
        shared = shared[:0]
    n = len(shared)
    on_shared = {
        each: labelled[each][1][np.searchsorted(labelled[each][0], shared)].astype(bool) for each in taking_part
    }
    rates: list[dict[str, Any]] = []
    for each in taking_part:
        put = int(on_shared[each].sum())
        rate = {"rate": put / n if n else None, "interval": wilson_interval(put, n)}
        rates.append({"annotator": each, "read": len(labelled[each][0]), "put": put, "n": n, **rate})
    defined = [each["rate"] for each in rates if each["rate"] is not None]
    return {
        "code": code,
        "n": n,
        "rates": rates,
        "lowest": min(defined, default=None),
        "highest": max(defined, default=None),
        "pairs": [_compare(*pair, on_shared) for pair in combinations(taking_part, 2)] if n else [],
        "lacking": [each for each in annotators if each not in taking_part],
        "has_few_sentences": 0 < n < FEW_SENTENCES,
        "has_few_positives": n > 0 and max((each["put"] for each in rates), default=0) < FEW_POSITIVES,
    }


def _compare(first: int, second: int, labels: Mapping[int, NDArray[np.bool_]]) -> dict[str, Any]:
    from transcripts.statistics.coefficients import count_pairs, measure_kappa, measure_positive_agreement

    a, b = labels[first], labels[second]
    cells = {"both": int((a & b).sum()), "only_first": int((a & ~b).sum()), "only_second": int((b & ~a).sum())}
    cells["neither"] = len(a) - sum(cells.values())
    counts = count_pairs(*cells.values())
    figures = {"kappa": float(measure_kappa(counts)), "positive_agreement": float(measure_positive_agreement(counts))}
    defined = {name: None if math.isnan(value) else value for name, value in figures.items()}
    return {"first": first, "second": second, **cells, **defined}
