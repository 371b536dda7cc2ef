"""Table 1, how often a model says "woman" of texts by women and by men, and Table 2, the themes of its rationales.

Table 1 compares two shares: difference with Newcombe's interval, Pearson's chi-square without a correction or, where few are
expected in a cell, Fisher's exact test; accuracy raw, with Wilson's interval, and balanced. Table 2 is ln(W/M) of distinct
rationales, unsmoothed; with it the same of shares, and with 0.5 added to both counts (Haldane 1956).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from auditapp.benchmarks.gender_cues.pure.limits import CONTROL, MAN, PRIMED, SCORED, WOMAN
from auditapp.benchmarks.gender_cues.pure.parsing import (
    ABSTAINED,
    INVALID,
    NO_ANSWER,
    OK,
    REFUSED,
    SUBSETS,
    find_subset,
)
from transcripts.statistics.figures import FEW as FEW_TEXTS
from transcripts.statistics.figures import MIN_CLUSTERS, Mark, mark_clusters
from transcripts.statistics.intervals import Interval, newcombe_interval, wilson_interval
from transcripts.statistics.multiplicity import adjust_holm
from transcripts.statistics.significance import choose_test, measure_chi_square, measure_fisher, measure_mcnemar

ALL = "all"
DEGENERATE_ABOVE = 0.9
"""Predictions are degenerate where one label makes up more of them than this."""
DEGENERATE = "Degenerate: more than 90 % of the predictions are one label, so accuracy and the difference say little."
INFINITIES = "+INF: no rationale on the men's side cites the theme. -INF: none on the women's side does."
NOT_COUNTED = (INVALID, REFUSED, NO_ANSWER, ABSTAINED)

AXES = ("truth", "prediction")
PLUS_INFINITY, MINUS_INFINITY = "+INF", "-INF"
CHOSEN_BY_ANSWERS = (
    "The rows “Emotion or style”, “Other evidence” and “None” are chosen by the model's own answer, as in the published table: by "
    "the evidence that it named. A difference in them, or between them, does not show an effect of a cue or of the prompt."
)
Ratio = float | str | None
"""A natural logarithm, ``PLUS_INFINITY``, ``MINUS_INFINITY``, or ``None`` where both counts are 0."""

Key = int | str
Themes = Mapping[Any, Iterable[str]]
"""The themes of rationales, by the key of their trial."""


class Trial(NamedTuple):
    """One answer. ``review`` is the same for answers to the same text, so that conditions can be paired."""

    key: Key
    model: str
    condition: str
    review: Key
    truth: str
    status: str
    predicted: str | None
    codes: Sequence[str]

    @property
    def is_scored(self) -> bool:
        return self.status == OK and self.truth in SCORED

    @property
    def subset(self) -> str:
        return find_subset(self.codes)


def make_table1(trials: Sequence[Trial]) -> dict[str, Any]:
    """Table 1 of one model: by condition and subset, what is not counted, and the two conditions paired.

    {condition: {subset: {...}, "not_counted": {status: n}, "not_counted_of": {category: {status: n}}, "not_scored": n},
    "paired": {...} or None}. ``not_scored`` are the answers on texts whose category is neither woman nor man.
    """
    table: dict[str, Any] = {}
    for condition in dict.fromkeys(trial.condition for trial in trials):
        of_condition = [trial for trial in trials if trial.condition == condition]
        scored = [trial for trial in of_condition if trial.is_scored]
        by_truth = Counter((trial.truth, trial.status) for trial in of_condition)
        rows: dict[str, Any] = {ALL: measure_subset(scored)}
        for subset in SUBSETS:
            rows[subset] = measure_subset([trial for trial in scored if trial.subset == subset])
        rows["not_counted"] = {status: sum(by_truth[truth, status] for truth in SCORED) for status in NOT_COUNTED}
        rows["not_counted_of"] = {
            truth: {status: by_truth[truth, status] for status in NOT_COUNTED} for truth in SCORED
        }
        rows["not_scored"] = sum(trial.truth not in SCORED for trial in of_condition)
        table[condition] = rows
    table["paired"] = pair_conditions(trials)
    return table


def adjust_tests(tables: Iterable[Mapping[str, Any]]) -> int:
    """Add Holm's P to the tests of the tables 1 of all models of a report, and how many they are, which is returned too.

    The family is one test of each model, condition and subset.
    """
    tests: list[dict[str, Any]] = []
    for table in tables:
        for condition, found in table.items():
            rows = [found[key] for key in (ALL, *SUBSETS)] if condition != "paired" else []
            tests += [row for row in rows if row["p"] is not None]
    for row, p in zip(tests, adjust_holm([row["p"] for row in tests]), strict=True):
        row |= {"p_holm": p, "family": len(tests)}
    return len(tests)


def describe_abstentions(rows: Mapping[str, Any]) -> str:
    """How many answers of a condition are left out of its rates and its accuracy because the model abstained; empty where none
    is."""
    abstained = rows["not_counted"][ABSTAINED]
    if not abstained:
        return ""
    counted = rows[ALL]["n_woman"] + rows[ALL]["n_man"]
    said = f"{abstained} of {counted + abstained} answers abstain and are left out of rates and accuracy"
    return f"{said}, which are of the other {counted}."


def measure_subset(trials: Iterable[Trial]) -> dict[str, Any]:
    """The figures of some scored answers; ``None`` where there is nothing to divide by."""
    counts = Counter((trial.truth, trial.predicted) for trial in trials)
    women, men = (sum(counts[truth, predicted] for predicted in SCORED) for truth in SCORED)
    return measure_counts(counts[WOMAN, WOMAN], women, counts[MAN, WOMAN], men)


def measure_counts(women_as_woman: int, women: int, men_as_woman: int, men: int) -> dict[str, Any]:
    """The figures of Table 1 from its four counts: of women's texts and of men's, how many are predicted as a woman's and how many
    there are. ``p`` is that of ``test``, the one that counts (``choose_test``); with fewer than ten texts of a category there is
    none. Of fewer than three texts there is no interval.

    Raises ValueError for counts that are no part of their whole.
    """
    n, right = women + men, women_as_woman + men - men_as_woman
    said_woman = women_as_woman + men_as_woman
    rate_woman = women_as_woman / women if women else None
    rate_man = men_as_woman / men if men else None
    both = rate_woman is not None and rate_man is not None
    chi_square = measure_chi_square(women_as_woman, women, men_as_woman, men)
    is_few = min(women, men) < FEW_TEXTS
    test, p = (None, None) if is_few else choose_test(women_as_woman, women, men_as_woman, men)
    return {
        "n_woman": women,
        "n_man": men,
        "predicted_woman": [women_as_woman, men_as_woman],
        "rate_woman": rate_woman,
        "rate_woman_ci": _bound(women_as_woman, women),
        "rate_man": rate_man,
        "rate_man_ci": _bound(men_as_woman, men),
        "difference": rate_woman - rate_man if rate_woman is not None and rate_man is not None else None,
        "difference_ci": newcombe_interval(women_as_woman, women, men_as_woman, men)
        if min(women, men) >= MIN_CLUSTERS
        else None,
        "chi2": chi_square.statistic if chi_square else None,
        "p_chi2": chi_square.p if chi_square else None,
        "p_fisher": measure_fisher(women_as_woman, women, men_as_woman, men),
        "test": test,
        "p": p,
        "p_holm": None,
        "family": None,
        "accuracy": right / n if n else None,
        "accuracy_ci": _bound(right, n),
        "balanced_accuracy": (women_as_woman / women + 1 - men_as_woman / men) / 2 if both else None,
        "degenerate": max(said_woman, n - said_woman) > DEGENERATE_ABOVE * n if n else None,
    }


def _bound(part: int, n: int) -> Interval | None:
    return wilson_interval(part, n) if n >= MIN_CLUSTERS else None


def pair_conditions(trials: Iterable[Trial]) -> dict[str, Any] | None:
    """Texts answered under control and primed: how many were right under one alone, and McNemar's exact P. ``None`` where no text
    was answered under both: then the conditions were asked about different texts, and nothing is paired.

    Of several answers to one text under one condition the first counts.
    """
    right: dict[str, dict[Key, bool]] = {CONTROL: {}, PRIMED: {}}
    for trial in trials:
        if trial.is_scored and trial.condition in right:
            right[trial.condition].setdefault(trial.review, trial.predicted == trial.truth)
    control, primed = right[CONTROL], right[PRIMED]
    both = control.keys() & primed.keys()
    if not both:
        return None
    control_only = sum(control[review] and not primed[review] for review in both)
    primed_only = sum(primed[review] and not control[review] for review in both)
    return {
        "reviews": len(both),
        "control_only": control_only,
        "primed_only": primed_only,
        "p_mcnemar": measure_mcnemar(control_only, primed_only),
    }


def select_rationales(trials: Iterable[Trial]) -> list[Trial]:
    """The answers that Table 2 is about: primed, scored, with Emotion or Textual Style applied."""
    return [trial for trial in trials if trial.condition == PRIMED and trial.is_scored and trial.subset == SUBSETS[0]]


def make_table2(trials: Iterable[Trial], themes: Themes, *, axis: str) -> dict[str, Any]:
    """Table 2 of one model: for each theme, how many rationales on women's and on men's texts cite it, each once.

    ``themes`` are those of each trial by key; others than of ``select_rationales`` are passed over. ``axis``: whether woman and
    man are the name-inferred category (``truth``) or what the model predicted (``prediction``).
    """
    chosen = select_rationales(trials)
    sides = {trial.key: trial.truth if axis == AXES[0] else trial.predicted for trial in chosen}
    n = Counter(sides.values())
    counts = Counter((name, side) for key, side in sides.items() for name in set(themes.get(key, ())))
    n_woman, n_man = n[WOMAN], n[MAN]
    names = sorted({name for name, _ in counts})
    return {
        "axis": axis,
        "n_woman": n_woman,
        "n_man": n_man,
        "offset": math.log(n_woman / n_man) if n_woman and n_man else None,
        "themes": {name: _measure_theme(counts[name, WOMAN], counts[name, MAN], n_woman, n_man) for name in names},
    }


def _measure_theme(w: int, m: int, n_woman: int, n_man: int) -> dict[str, Any]:
    has_shares = bool(n_woman and n_man)
    return {
        "w": w,
        "m": m,
        "bias": compare_counts(w, m),
        "bias_rate": compare_shares(w, m, n_woman, n_man) if has_shares else None,
        "bias_half": math.log((w + 0.5) / (m + 0.5)),
    }


def mark_theme(theme: Mapping[str, Any]) -> Mark | None:
    """The mark of a theme of Table 2, by how many rationales cite it."""
    return mark_clusters(theme["w"] + theme["m"])


def compare_counts(w: int, m: int) -> Ratio:
    """ln(w/m), never smoothed."""
    if w and m:
        return math.log(w / m)
    if not w and not m:
        return None
    return PLUS_INFINITY if w else MINUS_INFINITY


def compare_shares(w: int, m: int, n_woman: int, n_man: int) -> Ratio:
    """ln((w/n_woman)/(m/n_man)): the ratio without the offset that unequal numbers of rationales bring in."""
    ratio = compare_counts(w, m)
    return ratio - math.log(n_woman / n_man) if isinstance(ratio, float) else ratio
