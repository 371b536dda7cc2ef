"""Scores under normative stances: counts, medians, agreement, and one condition against another.

Each stance and each criterion is reported separately: nothing is added up or averaged over either. Intervals draw
whole threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transcripts.agreement.pure.measuring import USUAL_RESAMPLES, RatingTable, measure_ratings
from transcripts.negotiation.pure.records import CRITERIA, MAX_VALUE, Pair, Records, Score
from transcripts.statistics.coefficients import Floats, Level
from transcripts.statistics.figures import FEW, Figure, Interval
from transcripts.statistics.resampling import SAME, find_percentiles
from transcripts.statistics.significance import measure_mcnemar

DETERMINATIONS = ("warranted", "updated")
"""The values of a determination about one place of a thread: yes (1), no (0) or unclear."""
COMPARED_FIRST = ("prompted", "unprompted")
"""The conditions that are compared if both are present, the first over the second."""


class Counts(NamedTuple):
    """How often one person gave each value from 0 up, and how often no value (not applicable, or unclear)."""

    values: tuple[int, ...]
    without: int = 0

    @property
    def n(self) -> int:
        return sum(self.values)

    @property
    def median(self) -> float | None:
        """The median; the mean of the two middle values where their number is even."""
        given = [value for value, times in enumerate(self.values) for _ in range(times)]
        return float(median(given)) if given else None


class Superiority(NamedTuple):
    """How often a thread of the first condition scores higher than one of the second, ties counted half.

    U / (n1 n2), where U is the statistic of Mann and Whitney (1947, Annals of Mathematical Statistics 18:50); the measure A
    of Vargha and Delaney (2000, Journal of Educational and Behavioral Statistics 25:101). 0.5: neither is higher.
    ``n``: threads of each that have a value. ``value`` is None where either has none.
    """

    conditions: tuple[str, str]
    n: tuple[int, int]
    value: float | None
    interval: Interval | None


class SignTest(NamedTuple):
    """Over pairs of threads of the same case: in how many pairs the first thread scores higher, lower or the same.

    ``p`` is two-sided and exact, by the binomial distribution of the pairs that differ (Dixon and Mood 1946, JASA
    41:557); None where none differs.
    """

    higher: int
    lower: int
    same: int

    @property
    def p(self) -> float | None:
        return measure_mcnemar(self.higher, self.lower) if self.higher + self.lower else None


class Comparison(NamedTuple):
    """Comparisons within one person's scores: one condition over another, and the threads of pairs. None: nothing to compare."""

    superiority: Superiority | None = None
    signs: SignTest | None = None


class CriterionFigures(NamedTuple):
    """One criterion, or kind of determination, under one stance.

    ``alpha``: Krippendorff's, ordinal for a criterion and nominal for a determination, with its interval over threads; not
    applicable and unclear count as missing. ``n_shared``: threads, or places in them, with the values of two people.
    ``comparisons``: each person's by name; none for determinations. One person's comparison never stands for another's.
    """

    by_coder: dict[str, Counts]
    alpha: Figure
    n_shared: int
    comparisons: Mapping[str, Comparison] = {}

    @property
    def first(self) -> str:
        """The first person by name, whose comparison a report leads with."""
        return next(iter(self.by_coder))

    @property
    def superiority(self) -> Superiority | None:
        """That of the first person."""
        return self.comparisons.get(self.first, Comparison()).superiority

    @property
    def signs(self) -> SignTest | None:
        """That of the first person."""
        return self.comparisons.get(self.first, Comparison()).signs


def measure_scores(
    records: Records, *, seed: int = 0, resamples: int = USUAL_RESAMPLES
) -> dict[str, dict[str, CriterionFigures]]:
    """The figures by the label of the stance and the criterion; a stance or criterion without a score is left out.

    ``seed`` decides the draws of the intervals; with 0 ``resamples`` there are none.
    """
    conditions = {thread.id: thread.condition for thread in records.threads}
    compared = choose_conditions(conditions.values())
    by_stance: dict[str, dict[str, list[Score]]] = {}
    for score in records.scores:
        by_stance.setdefault(score.stance, {}).setdefault(score.criterion, []).append(score)
    known = [label for label in records.stances if label in by_stance]
    found: dict[str, dict[str, CriterionFigures]] = {}
    for label in [*known, *sorted(by_stance.keys() - set(known))]:
        scores = by_stance[label]
        found[label] = {
            criterion: _measure_criterion(
                scores[criterion], records.pairs, conditions, compared, seed=seed, resamples=resamples
            )
            for criterion in CRITERIA
            if criterion in scores
        } | {
            kind: _measure_determinations(scores[kind], seed=seed, resamples=resamples)
            for kind in DETERMINATIONS
            if kind in scores
        }
    return found


def choose_conditions(conditions: Iterable[str]) -> tuple[str, str] | None:
    """Which two conditions are compared: prompted over unprompted, or else the only two, by name. None: no two."""
    named = sorted({condition for condition in conditions if condition})
    if set(COMPARED_FIRST) <= set(named):
        return COMPARED_FIRST
    return (named[0], named[1]) if len(named) == 2 else None


def count_values(scores: Iterable[Score], values: int) -> dict[str, Counts]:
    """The counts of each person, by name, of scores of one stance and criterion that go from 0 to below ``values``."""
    counts: dict[str, list[int]] = {}
    for score in scores:
        row = counts.setdefault(score.coder, [0] * (values + 1))
        row[values if score.value is None else score.value] += 1
    return {coder: Counts(tuple(row[:values]), row[values]) for coder, row in sorted(counts.items())}


def compare_conditions(
    first: Counts, second: Counts, conditions: tuple[str, str], *, seed: int, resamples: int = USUAL_RESAMPLES
) -> Superiority:
    """The superiority of ``first`` over ``second``, with the expanded percentile interval over threads drawn with replacement
    within each condition.
    """
    n = (first.n, second.n)
    if not all(n):
        return Superiority(conditions, n, None, None)
    a, b = np.array(first.values, np.int64), np.array(second.values, np.int64)
    value = float(_share_higher(a[None, :], b[None, :])[0])
    if not resamples or min(n) < FEW:
        return Superiority(conditions, n, value, None)
    generator = np.random.default_rng(seed)
    # Drawing threads with replacement draws the counts of their values from a multinomial.
    draws = _share_higher(
        generator.multinomial(n[0], a / n[0], size=resamples), generator.multinomial(n[1], b / n[1], size=resamples)
    )
    interval = None if np.ptp(draws) < SAME else find_percentiles(draws, min(n))
    return Superiority(conditions, n, value, interval)


def compare_pairs(values: Mapping[str, int], pairs: Iterable[Pair]) -> SignTest:
    """Thread ``a`` against ``b`` of each pair in which both threads have a value in ``values``, by thread."""
    steps = [values[pair.a] - values[pair.b] for pair in pairs if pair.a in values and pair.b in values]
    higher, lower = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    return SignTest(higher, lower, len(steps) - higher - lower)


LEADING = "moves"
"""The criterion whose comparison of conditions comes first in a report on a stance."""


def describe_stances(
    records: Records, *, seed: int = 0, resamples: int = USUAL_RESAMPLES
) -> dict[str, dict[str, object]]:
    """The figures in a form for JSON, each stance with its text, author and context."""
    described: dict[str, dict[str, object]] = {}
    for label, figures in measure_scores(records, seed=seed, resamples=resamples).items():
        row: dict[str, object] = {"stance": dict(records.stances.get(label, {}))}
        for criterion, each in figures.items():
            level = "ordinal" if criterion in CRITERIA else "nominal"
            row[criterion] = {
                "by_coder": {coder: _describe_counts(counts, level) for coder, counts in each.by_coder.items()},
                f"alpha_{level}": each.alpha.value,
                "alpha_interval": _describe_interval(each.alpha.interval),
                "alpha_missing": str(each.alpha.reason),
                "n_shared": each.n_shared,
                "first_coder": each.first,
                "superiority": _describe_superiority(each.superiority, criterion),
                "signs": _describe_signs(each.signs),
                "comparisons": {
                    coder: {
                        "superiority": _describe_superiority(found.superiority, criterion),
                        "signs": _describe_signs(found.signs),
                    }
                    for coder, found in each.comparisons.items()
                },
            }
        # The comparison that a report leads with is that of moves. It says so, for there is none of a stance as a whole.
        row["superiority"] = (
            _describe_superiority(figures[LEADING].superiority, LEADING) if LEADING in figures else None
        )
        described[label] = row
    return described


def _measure_criterion(
    scores: Sequence[Score],
    pairs: Sequence[Pair],
    conditions: Mapping[str, str],
    compared: tuple[str, str] | None,
    *,
    seed: int,
    resamples: int,
) -> CriterionFigures:
    by_coder = count_values(scores, MAX_VALUE + 1)
    comparisons = {
        coder: _compare(
            [score for score in scores if score.coder == coder],
            pairs,
            conditions,
            compared,
            seed=seed,
            resamples=resamples,
        )
        for coder in by_coder
    }
    alpha, n_shared = _measure_alpha(scores, Level.ORDINAL, seed=seed, resamples=resamples)
    return CriterionFigures(by_coder, alpha, n_shared, comparisons)


def _compare(
    own: Sequence[Score],
    pairs: Sequence[Pair],
    conditions: Mapping[str, str],
    compared: tuple[str, str] | None,
    *,
    seed: int,
    resamples: int,
) -> Comparison:
    """The comparisons within one person's scores on one criterion."""
    superiority = None
    if compared is not None:
        nothing = Counts((0,) * (MAX_VALUE + 1))
        first, second = (
            next(
                iter(
                    count_values(
                        (score for score in own if conditions.get(score.thread) == condition), MAX_VALUE + 1
                    ).values()
                ),
                nothing,
            )
            for condition in compared
        )
        superiority = compare_conditions(first, second, compared, seed=seed, resamples=resamples)
    signs = compare_pairs({score.thread: score.value for score in own if score.value is not None}, pairs)
    return Comparison(superiority, signs if sum(signs) else None)


def _measure_determinations(scores: Sequence[Score], *, seed: int, resamples: int) -> CriterionFigures:
    by_coder = count_values(scores, 2)
    alpha, n_shared = _measure_alpha(scores, Level.NOMINAL, seed=seed, resamples=resamples)
    return CriterionFigures(by_coder, alpha, n_shared)


def _measure_alpha(scores: Sequence[Score], level: Level, *, seed: int, resamples: int) -> tuple[Figure, int]:
    """Alpha, and how many units have the values of two people. A unit is a thread or a place in it, a cluster a thread."""
    coders = {name: place for place, name in enumerate(sorted({score.coder for score in scores}))}
    units = {unit: place for place, unit in enumerate(sorted({_find_unit(score) for score in scores}))}
    threads = {thread: place for place, thread in enumerate(dict.fromkeys(unit[0] for unit in units))}
    ratings = np.full((1, len(coders), len(units)), np.nan)
    for score in scores:
        if score.value is not None:
            ratings[0, coders[score.coder], units[_find_unit(score)]] = score.value
    clusters = np.array([threads[unit[0]] for unit in units], np.intp)
    table = RatingTable(tuple(coders), ("score",), ratings, clusters)
    measured = measure_ratings(table, level, seed=seed, resamples=resamples).codes[0]
    return measured.alpha, measured.n_units


def _find_unit(score: Score) -> tuple[str, int, str]:
    return score.thread, -1 if score.turn is None else score.turn, score.feature


def _share_higher(first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    """U / (n1 n2) for each row of two arrays of counts, draws x values."""
    below = np.cumsum(second, axis=1) - second
    wins = (first * (below + second / 2)).sum(axis=1)
    return np.asarray(wins / (first.sum(axis=1) * second.sum(axis=1)))


def _describe_counts(counts: Counts, level: str) -> dict[str, object]:
    row: dict[str, object] = {str(value): times for value, times in enumerate(counts.values)}
    if level == "ordinal":
        return {**row, "na": counts.without, "n": counts.n, "median": counts.median}
    return {**row, "unclear": counts.without, "n": counts.n}


def _describe_interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _describe_signs(found: SignTest | None) -> dict[str, object] | None:
    return None if found is None else {**found._asdict(), "p": found.p}


def _describe_superiority(found: Superiority | None, criterion: str) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "criterion": criterion,
        "conditions": list(found.conditions),
        "n": list(found.n),
        "value": found.value,
        "interval": _describe_interval(found.interval),
    }
