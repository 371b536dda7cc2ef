"""How well a machine's labels agree with those of people who had not seen them, code by code; its answers to a code's own
question compared with people's; and how several annotators label the same sentences.

One person's decision on one unit is one label; labels of several people are pooled. Every share has an interval by formula, which
treats labels as independent, and one from resampling whole turns, because sentences of a turn depend on one another. Formulas and
their sources are in docs/reference/method.md. Loads numpy; pages import this inside functions.

Several annotators are described one by one and compared in pairs, never in a single figure for all. A code is compared on the
sentences that all of the annotators annotated for it. Nothing is rounded; None means "not defined".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditapp.annotators.pure.figures import FEW_POSITIVES, CrossTable, Estimate
from transcripts.statistics import coefficients
from transcripts.statistics.coefficients import (
    Floats,
    Level,
    PairCounts,
    count_coincidences,
    count_pairs,
    divide,
    measure_alpha,
    measure_kappa,
    measure_positive_agreement,
)
from transcripts.statistics.figures import FEW, Figure, Interval, Reason, wilson_interval
from transcripts.statistics.resampling import Resamples, add_interval, draw_resamples, sum_draws

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]

USUAL_RESAMPLES = 1_000
FEW_UNITS = 30
NEARLY_ALWAYS = 0.9
NEARLY_NEVER = 0.01
MAX_PAIRS_DRAWN = 6
"""Computing intervals for more pairs of coders would take too long for a page."""


class CodeLabels(NamedTuple):
    """The labels of one code. ``machine``: by unit. ``people`` and ``counts``: coders x units, the labels and whether each is
    counted."""

    code: str
    machine: Bools
    people: Bools
    counts: Bools


def _share(part: str, whole: str) -> Callable[[PairCounts], Floats]:
    """The share of the labels in the cells ``part`` among those in ``whole``; the cells tp, fp, fn and tn are written a, b, c
    and d."""

    def measure(counts: PairCounts) -> Floats:
        cells = dict(zip("abcd", counts, strict=True))
        return divide(sum(cells[letter] for letter in part), sum(cells[letter] for letter in whole))

    return measure


# Cells of which each share is, in the letters a: both, b: only the machine, c: only the person, d: neither.
SHARES = {
    "precision": ("a", "ab", "the machine never applied it"),
    "recall": ("a", "ac", "no person applied it"),
    "specificity": ("d", "bd", "people applied it to every unit"),
    "false_failure_rate": ("b", "bd", "people applied it to every unit"),
    "prevalence": ("ac", "abcd", "no unit was decided"),
    "machine_share": ("ab", "abcd", "no unit was decided"),
    "raw": ("ad", "abcd", "no unit was decided"),
}
OTHERS: dict[str, tuple[Callable[[PairCounts], Floats], str]] = {
    "f1": (coefficients.measure_positive_agreement, "neither the machine nor a person applied it"),
    "kappa": (coefficients.measure_kappa, "all labels are the same"),
    "pabak": (coefficients.measure_pabak, "no unit was decided"),
    "ac1": (coefficients.measure_ac1, "no unit was decided"),
}
FIGURES = (
    *("precision", "recall", "specificity", "f1", "kappa", "prevalence", "machine_share", "false_failure_rate"),
    *("raw", "pabak", "ac1"),
)
MEASURES: dict[str, Callable[[PairCounts], Floats]] = {
    **{name: _share(part, whole) for name, (part, whole, _) in SHARES.items()},
    **{name: measure for name, (measure, _) in OTHERS.items()},
}


def calibrate(
    codes: Sequence[CodeLabels], clusters: Numbers, *, seed: int, resamples: int = USUAL_RESAMPLES
) -> tuple[list[dict[str, Any]], int]:
    """Every figure of every code, and the number of turns; ``clusters`` has the turn of each unit.

    For each code: its ``table``, its ``figures`` by name (see ``FIGURES``), the numbers of units, turns and coders they are based
    on, the agreement of ``people`` among themselves, and ``warnings``. For the intervals, whole turns in which some label counts
    are resampled. Without resamples there are only the intervals by formula.
    """
    used = np.zeros(len(clusters), dtype=bool)
    for each in codes:
        used |= each.counts.any(axis=0)
    units = np.flatnonzero(used)
    _, turns = np.unique(clusters[units], return_inverse=True)
    turns = turns.reshape(-1)
    number = int(turns.max(initial=-1)) + 1
    drawn = draw_resamples(number, resamples=resamples, seed=seed)
    kept = [CodeLabels(each.code, each.machine[units], each.people[:, units], each.counts[:, units]) for each in codes]
    tallies = [_tally(each, turns, number) for each in kept]
    sums = sum_draws(np.concatenate(tallies), drawn) if tallies else None
    found = []
    for place, (each, tally) in enumerate(zip(kept, tallies, strict=True)):
        draws = None if sums is None else count_pairs(*sums[4 * place : 4 * place + 4])
        found.append(_calibrate_code(each, tally, draws, drawn, turns))
    return found, number


def list_warnings(table: CrossTable, *, n_units: int, positive_turns: int | None = None) -> tuple[str, ...]:
    """Warnings about the figures of one code. ``positive_turns``: in how many turns people applied it, if known."""
    warnings = []
    positives, share = table.tp + table.fn, (table.tp + table.fp) / table.n if table.n else None
    if n_units < FEW_UNITS:
        warnings.append(f"few units ({n_units})")
    if positives < FEW_POSITIVES:
        warnings.append(f"fewer than {FEW_POSITIVES} positives by people ({positives})")
    elif positive_turns is not None and positive_turns < FEW:
        warnings.append(f"people applied it in fewer than {FEW} turns ({positive_turns})")
    if share is not None and share > NEARLY_ALWAYS:
        warnings.append(f"the machine applies it to nearly all sentences ({100 * share:.0f} %)")
    if share is not None and share < NEARLY_NEVER:
        warnings.append(f"the machine applies it to hardly any sentence ({100 * share:.1f} %)")
    if table.n and positives > NEARLY_ALWAYS * table.n:
        warnings.append(f"people apply it to nearly all sentences ({100 * positives / table.n:.0f} %)")
    return tuple(warnings)


def bound_f1(table: CrossTable) -> Interval | None:
    """F1 = 2 J / (1 + J) rises with J = TP / (TP + FP + FN), so its ends are those of Wilson's interval of J, transformed."""
    ends = wilson_interval(table.tp, table.tp + table.fp + table.fn)
    return ends and Interval(2 * ends.low / (1 + ends.low), 2 * ends.high / (1 + ends.high))


def _calibrate_code(
    labels: CodeLabels, tally: Floats, draws: PairCounts | None, drawn: Resamples, turns: Numbers
) -> dict[str, Any]:
    table = CrossTable(*(round(float(count)) for count in tally.sum(axis=1)))
    has_label = labels.counts.any(axis=0)
    n_units, n_turns = int(has_label.sum()), len(np.unique(turns[has_label]))
    positive_turns = int((tally[0] + tally[2] > 0).sum())
    drawn = _narrow(drawn, n_turns)
    return {
        "code": labels.code,
        "table": table,
        "n_units": n_units,
        "n_turns": n_turns,
        "positive_turns": positive_turns,
        "n_coders": int(labels.counts.any(axis=1).sum()),
        "figures": _measure(table, None if drawn.weights is None else draws, drawn),
        "people": _compare_people(labels, turns, drawn),
        "warnings": list_warnings(table, n_units=n_units, positive_turns=positive_turns),
    }


def _narrow(drawn: Resamples, turns: int) -> Resamples:
    """The resamples of a figure for which only ``turns`` of the resampled turns have labels; as everywhere, there are none if
    there are few turns."""
    if drawn.weights is None or turns >= FEW:
        return drawn._replace(clusters=turns)
    return Resamples(None, Reason.FEW_DRAWN, turns)


def _tally(labels: CodeLabels, turns: Numbers, number: int) -> Floats:
    """Labels by cell and turn."""
    yes = (labels.people & labels.counts).sum(axis=0)
    all_labels = labels.counts.sum(axis=0)
    cells = (yes * labels.machine, (all_labels - yes) * labels.machine)
    others = (yes * ~labels.machine, (all_labels - yes) * ~labels.machine)
    return np.array([np.bincount(turns, weights=cell, minlength=number) for cell in (*cells, *others)])


def _measure(table: CrossTable, draws: PairCounts | None, drawn: Resamples) -> dict[str, Estimate]:
    counts = count_pairs(*table)
    found = {}
    for name in FIGURES:
        value, measure = float(MEASURES[name](counts)), MEASURES[name]
        if np.isnan(value):
            figure = Figure(reason=SHARES[name][2] if name in SHARES else OTHERS[name][1])
        else:
            figure = add_interval(Figure(value), None if draws is None else measure(draws), drawn)
        found[name] = Estimate(figure, _bound(name, table, counts), _count(name, table))
    return found


def _count(name: str, table: CrossTable) -> int:
    """The denominator of a figure."""
    if name in SHARES:
        cells = dict(zip("abcd", table, strict=True))
        return sum(cells[letter] for letter in SHARES[name][1])
    return table.n - table.tn if name == "f1" else table.n


def _bound(name: str, table: CrossTable, counts: PairCounts) -> Interval | None:
    if name in SHARES:
        cells = dict(zip("abcd", table, strict=True))
        return wilson_interval(sum(cells[letter] for letter in SHARES[name][0]), _count(name, table))
    if name == "f1":
        return bound_f1(table)
    if name == "kappa":
        kappa, error = float(coefficients.measure_kappa(counts)), float(coefficients.measure_kappa_error(counts))
        ends = None if np.isnan(kappa) else coefficients.bound_kappa(kappa, error)
        return ends and Interval(*ends)
    if name == "pabak":
        ends = wilson_interval(table.tp + table.tn, table.n)
        return ends and Interval(2 * ends[0] - 1, 2 * ends[1] - 1)
    return None


def _compare_people(labels: CodeLabels, turns: Numbers, drawn: Resamples) -> dict[str, Any] | None:
    """Agreement of people with one another and with the machine, on the units that two or more people decided; ``None`` if
    there are no such units.

    ``kappa`` is the mean over ``pairs`` pairs of coders, ``machine_kappa`` the mean over the same coders of each with the
    machine; the same for positive agreement.
    """
    shared = np.flatnonzero(labels.counts.sum(axis=0) > 1)
    if not len(shared):
        return None
    counts, people, machine = labels.counts[:, shared], labels.people[:, shared], labels.machine[shared]
    coders = np.flatnonzero(counts.any(axis=1))
    pairs = [(people[a], people[b], counts[a] & counts[b]) for a, b in combinations(coders, 2)]
    pairs = [pair for pair in pairs if pair[2].any()]
    with_machine = [(machine, people[coder], counts[coder]) for coder in coders]
    several = len(pairs) > MAX_PAIRS_DRAWN
    drawn = Resamples(None, f"not drawn for more than {MAX_PAIRS_DRAWN} pairs") if several else drawn
    drawn = _narrow(drawn, len(np.unique(turns[shared])))
    kappa, positive = _average(pairs, turns[shared], drawn)
    machine_kappa, machine_positive = _average(with_machine, turns[shared], drawn)
    return {
        "n_units": len(shared),
        "pairs": len(pairs),
        "kappa": kappa,
        "positive_agreement": positive,
        "machine_kappa": machine_kappa,
        "machine_positive_agreement": machine_positive,
    }


def _average(pairs: Sequence[tuple[Bools, Bools, Bools]], turns: Numbers, drawn: Resamples) -> list[Figure]:
    """Kappa and positive agreement, averaged over those pairs of readers that define each."""
    number = 0 if drawn.weights is None else len(drawn.weights)
    number = max(number, int(turns.max(initial=-1)) + 1)
    tables = [_tally_pair(*pair, turns, number) for pair in pairs]
    sums = sum_draws(np.concatenate(tables), drawn)
    figures = []
    for name in ("kappa", "f1"):
        values = np.array([float(MEASURES[name](count_pairs(*table.sum(axis=1)))) for table in tables])
        defined = values[~np.isnan(values)]
        if not len(defined):
            figures.append(Figure(reason=OTHERS[name][1], pairs=0))
            continue
        draws = None if sums is None else _average_draws(MEASURES[name], sums)
        figures.append(add_interval(Figure(float(defined.mean()), pairs=len(defined)), draws, drawn))
    return figures


def _average_draws(measure: Callable[[PairCounts], Floats], sums: Floats) -> Floats:
    """In a resample, the mean is over the pairs for which the figure is defined there."""
    drawn = np.array([measure(count_pairs(*sums[start : start + 4])) for start in range(0, len(sums), 4)])
    return divide(np.nansum(drawn, axis=0), (~np.isnan(drawn)).sum(axis=0))


def _tally_pair(a: Bools, b: Bools, shared: Bools, turns: Numbers, number: int) -> NDArray[Any]:
    # Four places for each turn, the cell of the unit among them: one count instead of four.
    cells = 2 * ~a[shared] + ~b[shared]
    found = np.bincount(4 * turns[shared] + cells, minlength=4 * number)
    return found.reshape(number, 4).T


class AnswerTable(NamedTuple):
    """``counts``: machine's answers (rows) by people's (columns), in the order of ``choices``. ``n``: pairs of answers.

    ``raw``: the share of equal ones. ``alpha``: Krippendorff's, nominal; None where it is not defined. ``unanswered``: labels
    that both applied and for which one of them gave no answer, or an answer that is not a choice.
    """

    choices: Sequence[str]
    counts: list[list[int]]
    n: int
    raw: float | None
    alpha: float | None
    unanswered: int

    @property
    def cells(self) -> list[tuple[str, str, int]]:
        """Each pair of answers, the machine's and a person's, with its count; pairs that did not occur are included."""
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
    """The table of ``pairs``. Each pair has the machine's and a person's answer ("" for none) about one label that both
    applied. A label that several people applied gives a pair for each person."""
    given = Counter(pairs)
    counts = [[given[machine, person] for person in choices] for machine in choices]
    n = sum(map(sum, counts))
    equal = sum(row[place] for place, row in enumerate(counts))
    return AnswerTable(
        choices, counts, n, equal / n if n else None, _measure_alpha(counts) if n else None, given.total() - n
    )


def _measure_alpha(counts: Sequence[Sequence[int]]) -> float | None:
    """Alpha of two raters, the machine and any person; None if all answers are the same."""
    table = np.array(counts)
    first, second = np.nonzero(table)
    times = table[first, second]
    ratings = np.repeat(np.array([first, second], dtype=np.float64), times, axis=1)
    value = float(measure_alpha(count_coincidences(ratings), Level.NOMINAL)[0])
    return None if np.isnan(value) else value


# The sentences one annotator annotated for a code, ascending, and on which of them it applied the code.
Labels = tuple[NDArray[np.int64], NDArray[np.bool_]]

FEW_SENTENCES = 50


def compare_annotators(code: str, labelled: Mapping[int, Labels], annotators: Sequence[int]) -> dict[str, Any]:
    """The spread of one code between annotators. ``labelled`` has the labels by annotator; an annotator that is missing
    annotated nothing for this code.

    ``n`` sentences are shared by all. ``rates``: how often each applied the code on them (``read``: all sentences it
    annotated for the code), from ``lowest`` to ``highest``. ``pairs``: every two, with Cohen's kappa, and positive
    agreement as 2 both / (2 both + either alone). ``lacking``: annotators that did not annotate for the code at all.
    """
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
    a, b = labels[first], labels[second]
    cells = {"both": int((a & b).sum()), "only_first": int((a & ~b).sum()), "only_second": int((b & ~a).sum())}
    cells["neither"] = len(a) - sum(cells.values())
    counts = count_pairs(*cells.values())
    figures = {"kappa": float(measure_kappa(counts)), "positive_agreement": float(measure_positive_agreement(counts))}
    defined = {name: None if math.isnan(value) else value for name, value in figures.items()}
    return {"first": first, "second": second, **cells, **defined}
