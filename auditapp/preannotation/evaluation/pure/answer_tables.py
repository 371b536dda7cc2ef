"""A machine's answers to a code's own question beside people's, on labels that both applied. Plain Python and numpy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from transcripts.statistics.alpha import Level, count_coincidences, measure_alpha


class AnswerTable(NamedTuple):
    """``counts``: machine's answers (rows) by people's (columns), in the order of ``choices``. ``n``: pairs of answers.

    ``raw``: the share of equal ones. ``alpha``: Krippendorff's, nominal; None where it is not defined. ``unanswered``: labels
    that both applied and to which one of them gave no answer, or none of the choices.
    """

    choices: Sequence[str]
    counts: list[list[int]]
    n: int
    raw: float | None
    alpha: float | None
    unanswered: int

    @property
    def cells(self) -> list[tuple[str, str, int]]:
        """Each pair of answers, the machine's and a person's, with how often there were both; also those that there were not."""
        return [
            (machine, person, count)
            for machine, counts in self.rows
            for person, count in zip(self.choices, counts, strict=True)
        ]

    @property
    def rows(self) -> list[tuple[str, list[int]]]:
        """Each row with its answer."""
        return list(zip(self.choices, self.counts, strict=True))


def tabulate_answers(choices: Sequence[str], pairs: Iterable[tuple[str, str]]) -> AnswerTable:
    """The table of ``pairs``, each what the machine and what a person answered ("" for nothing) about one label that both
    applied. A label that several persons applied has a pair with each."""
    given = Counter(pairs)
    counts = [[given[machine, person] for person in choices] for machine in choices]
    n = sum(map(sum, counts))
    equal = sum(row[place] for place, row in enumerate(counts))
    return AnswerTable(
        choices, counts, n, equal / n if n else None, _measure_alpha(counts) if n else None, given.total() - n
    )


def _measure_alpha(counts: Sequence[Sequence[int]]) -> float | None:
    """Alpha of two readers, the machine and a person, no matter who; None where all answers are the same."""
    table = np.array(counts)
    first, second = np.nonzero(table)
    times = table[first, second]
    ratings = np.repeat(np.array([first, second], dtype=np.float64), times, axis=1)
    value = float(measure_alpha(count_coincidences(ratings), Level.NOMINAL)[0])
    return None if np.isnan(value) else value
