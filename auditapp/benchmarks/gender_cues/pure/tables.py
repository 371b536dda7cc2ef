"""Table 1: how often a model says "woman" about texts by women and by men. Table 2: the themes of its rationales.

Table 1 compares two shares: difference with Newcombe's interval, Pearson's chi-square without a correction or, where few are
expected in a cell, Fisher's exact test; accuracy raw, with Wilson's interval, and balanced. Table 2 is ln(W/M) of distinct
rationales, unsmoothed; with it the same of shares, and with 0.5 added to both counts (Haldane 1956).

Reads trials and themes from JSON lines, without a database.

A trial: {"trial", "review", "condition", "truth", "raw"} and, where there are several, "model". ``raw`` is the answer as it came,
in the published layout or as JSON, or null where none came. A theme: {"record": "theme", "trial", "theme"}."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

from auditapp.benchmarks.gender_cues.pure.parsing import (
    ABSTAINED,
    CATEGORIES,
    CONDITION_NAMES,
    CONDITIONS,
    CONTROL,
    INVALID,
    MAN,
    MAY_ABSTAIN,
    NO_ANSWER,
    OK,
    PRIMED,
    REFUSED,
    SCORED,
    SUBSETS,
    WOMAN,
    find_subset,
    parse_answer,
)
from transcripts.charts.figures import Tone, Verdict
from transcripts.formats.comparisons import (
    Share,
    Sides,
    compare_sides,
    declare_comparisons,
    describe_comparisons,
    judge_comparison,
    name_apart,
    take_share,
)
from transcripts.formats.json_lines import Row, read_each, read_lines, shorten, take_choice, take_text, take_words
from transcripts.formats.problems import ReadError
from transcripts.formats.report_tables import TableRow
from transcripts.statistics.figures import FEW as FEW_TEXTS
from transcripts.statistics.figures import (
    MIN_CLUSTERS,
    Interval,
    Mark,
    mark_clusters,
    newcombe_interval,
    wilson_interval,
)
from transcripts.statistics.significance import (
    adjust_holm,
    choose_test,
    measure_chi_square,
    measure_fisher,
    measure_mcnemar,
)

ALL = "all"
DEGENERATE_ABOVE = 0.9
"""Predictions are degenerate if one label makes up more than this share of them."""
DEGENERATE = "Degenerate: more than 90 % of the predictions are one label, so accuracy and the difference say little."
INFINITIES = "+INF: no rationale on the men's side cites the theme. -INF: no rationale on the women's side cites it."
NOT_COUNTED = (INVALID, REFUSED, NO_ANSWER, ABSTAINED)

AXES = ("truth", "prediction")
PLUS_INFINITY, MINUS_INFINITY = "+INF", "-INF"
CHOSEN_BY_ANSWERS = (
    "The rows “Emotion or style”, “Other evidence” and “None” are defined by the model's own answer, as in the published table: "
    "by the evidence that it named. A difference in them, or between them, does not show an effect of a cue or of the prompt."
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
    said = f"{abstained} of {counted + abstained} answers are abstentions and are left out of rates and accuracy"
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


MODELS, BETWEEN_CONDITIONS = "models", "conditions"
"""The respect in which two sides of a comparison differ."""
ANSWERED, AS_WOMAN, RIGHT, EMOTION = "answered", "woman", "right", "emotion"
MEASURES = {
    ANSWERED: "makes a prediction",
    AS_WOMAN: "predicts a woman",
    RIGHT: "is right",
    EMOTION: "names Emotion or Textual Style",
}
"""What is compared, of answers to texts of the categories woman and man."""
GROUPS = {ALL: "all texts", WOMAN: "women’s texts", MAN: "men’s texts"}
COMPARED = ((ANSWERED, ALL), *((AS_WOMAN, group) for group in GROUPS), (RIGHT, ALL), (EMOTION, ALL))
"""For texts of a single category, being right is the same measure as predicting a woman."""
COMPARED_WORDS = (
    "On the texts of the categories woman and man that both were asked about, text by text: how often each makes a prediction; and "
    "where both predict, how often each predicts a woman, is right, and names Emotion or Textual Style (not compared where the "
    "control prompt was used, which offers neither). P values are adjusted for all comparisons of their kind. Rates are of the "
    "common texts and differ from Table 1. Which texts have no prediction is the model’s doing, so a difference may be one of the "
    "texts."
)
KIND_NAMES = {MODELS: "Models", BETWEEN_CONDITIONS: "Conditions"}
IS_DEGENERATE = Verdict("degenerate", Tone.BAD)
"""The verdict of figures that read predictions of which more than nine in ten are one label."""
Side = tuple[str, str]
"""A model and a condition."""
Shares = Mapping[tuple[str, str], Mapping[Key, Share]]
"""How large a share of a side's answers to each text has what is compared, by measure and group."""


def compare_trials(trials: Sequence[Trial], others: Sequence[Trial] = ()) -> tuple[list[dict[str, Any]], list[str]]:
    """Every two models under one condition, and every two conditions of one model, each with its ``kind``; and a sentence for each
    two that were asked about no common text. ``others`` are not compared with each other; their models have other names.

    The unit is the text; several answers of one side to it are averaged. ``answered`` is of all answers, the other measures are of
    those with a prediction. Rows are those of ``compare_sides``; those of a kind are one family, whatever the measure.
    ``degenerate`` says of which side more than nine in ten predictions on the common texts are one label (first, second, both, or
    ""), where predictions are compared; from ten texts on ``verdict`` is then "degenerate".
    """
    own, foreign = _read_shares(trials), _read_shares(others)
    shares = own | foreign
    families: dict[str, list[Sides]] = {MODELS: [], BETWEEN_CONDITIONS: []}
    for one, other in combinations(shares, 2):
        if one not in own:
            continue
        if one[1] == other[1]:
            families[MODELS] += _list_sides(
                {"kind": MODELS, "under": one[1]}, one[0], other[0], shares[one], shares[other]
            )
        elif one[0] == other[0]:
            about = {"kind": BETWEEN_CONDITIONS, "under": one[0]}
            families[BETWEEN_CONDITIONS] += _list_sides(about, one[1], other[1], shares[one], shares[other])
    asked = [each for family in families.values() for each in family if each.about["measure"] == ANSWERED]
    rows = [row for family in families.values() for row in compare_sides(family, "texts")]
    return [_name_verdict(row) for row in rows], name_apart(asked, "no text in common")


def _read_shares(trials: Sequence[Trial]) -> dict[Side, Shares]:
    found: dict[Side, dict[tuple[str, str], dict[Key, list[bool]]]] = {}
    for trial in trials:
        if trial.truth in SCORED:
            side = found.setdefault((trial.model, trial.condition), defaultdict(lambda: defaultdict(list)))
            for measure, has_it in _measure(trial):
                for group in (ALL, trial.truth):
                    side[measure, group][trial.review].append(has_it)
    return {
        side: {place: {key: take_share(each) for key, each in of.items()} for place, of in places.items()}
        for side, places in found.items()
    }


def _measure(trial: Trial) -> Iterator[tuple[str, bool]]:
    yield ANSWERED, trial.status == OK
    if trial.is_scored:
        yield AS_WOMAN, trial.predicted == WOMAN
        yield RIGHT, trial.predicted == trial.truth
        yield EMOTION, trial.subset == SUBSETS[0]


def _list_sides(about: Mapping[str, str], first: str, second: str, one: Shares, other: Shares) -> list[Sides]:
    degenerate = _name_degenerate(one.get((AS_WOMAN, ALL), {}), other.get((AS_WOMAN, ALL), {}))
    return [
        Sides(
            {
                **about,
                "measure": measure,
                "group": group,
                "degenerate": degenerate if measure in {AS_WOMAN, RIGHT} else "",
            },
            first,
            second,
            one.get((measure, group), {}),
            other.get((measure, group), {}),
        )
        for measure, group in COMPARED
        if measure != EMOTION or CONTROL not in {about["under"], first, second}
    ]


def _name_degenerate(one: Mapping[Key, Share], other: Mapping[Key, Share]) -> str:
    common = one.keys() & other.keys()
    said = [sum(side[key] for key in common) for side in (one, other)]
    first, second = (max(each, len(common) - each) > DEGENERATE_ABOVE * len(common) for each in said)
    return {(True, True): "both", (True, False): "first", (False, True): "second", (False, False): ""}[first, second]


def name_measure(row: Mapping[str, Any]) -> str:
    """What a comparison is of: "predicts a woman, men’s texts"."""
    return f"{MEASURES[row['measure']]}, {GROUPS[row['group']]}"


def _name_verdict(row: TableRow) -> dict[str, Any]:
    """As in Table 1, nothing but that they are degenerate is said of such predictions, and of few texts not even that."""
    return {**row, "verdict": IS_DEGENERATE.words if row["degenerate"] and row["verdict"] else row["verdict"]}


def judge_compared(row: TableRow) -> Verdict:
    """What a comparison says of the two."""
    return IS_DEGENERATE if row["verdict"] == IS_DEGENERATE.words else judge_comparison(row, "texts")


def _find_name(names: Mapping[str, str], key: str) -> str:
    return names.get(key, key)


def name_sides(row: TableRow) -> TableRow:
    """A comparison with the names of its conditions as pages print them."""
    conditions = ("under",) if row["kind"] == MODELS else ("first", "second")
    return {**row, **{side: _find_name(CONDITION_NAMES, row[side]) for side in conditions}}


def list_comparisons(rows: Sequence[TableRow]) -> Iterator[str]:
    """A line for each comparison."""
    lines = describe_comparisons(
        rows, "texts", lambda each: f"{each['under']}, {name_measure(each)}".removeprefix(", ")
    )
    for row, line in zip(rows, lines, strict=True):
        yield line.removesuffix(judge_comparison(row, "texts").words) + judge_compared(row).words


_DECLARED = declare_comparisons(
    "Two models under one condition, or two conditions of one model, on the texts that both were asked about: first minus second.",
    "kind under measure group",
    "texts",
    after="degenerate",
)
_NAMES: dict[str, Mapping[str, str]] = {
    "kind": KIND_NAMES,
    "measure": MEASURES,
    "group": GROUPS,
    **dict.fromkeys(("under", "first", "second"), CONDITION_NAMES),
}
COMPARISONS = replace(
    _DECLARED,
    read_rows=lambda report: (
        {**row, "verdict": judge_compared(each).words}
        for row, each in zip(_DECLARED.read_rows(report), report["comparisons"], strict=True)
    ),
    writers={**_DECLARED.writers, **{name: partial(_find_name, names) for name, names in _NAMES.items()}},
)


THEME = "theme"
RAW = "the answer as it came, or null"


def read_trials(lines: Iterable[bytes], *, name: str) -> tuple[list[Trial], dict[str, list[str]]]:
    """The trials of a file, and the themes that it names as well, by trial. Raises `ReadError`, which names file and line."""
    trials: dict[str, Trial] = {}
    themes: list[tuple[int, tuple[str, str]]] = []
    for number, made in read_each(read_lines(lines, name), name, _read_record):
        if not isinstance(made, Trial):
            themes.append((number, made))
            continue
        if made.key in trials:
            raise ReadError(name, number, f"the trial {shorten(str(made.key))} a second time", "each trial once")
        trials[str(made.key)] = made
    if not trials:
        raise ReadError(name, None, "no trials", "JSON lines, each with trial, review, condition, truth and raw")
    return list(trials.values()), _sort_themes(themes, trials, name=name)


def read_themes(lines: Iterable[bytes], trials: Iterable[Trial], *, name: str) -> dict[str, list[str]]:
    """The themes of a file by trial. Raises `ReadError` for a theme of a trial that there is not."""
    themes = read_each(read_lines(lines, name), name, _read_theme)
    return _sort_themes(themes, {str(trial.key): trial for trial in trials}, name=name)


def _sort_themes(
    themes: Iterable[tuple[int, tuple[str, str]]], trials: Mapping[str, Trial], *, name: str
) -> dict[str, list[str]]:
    """Trials and themes with their line numbers as themes by trial, each as often as it is there."""
    found: dict[str, list[str]] = {}
    for number, (trial, theme) in themes:
        if trial not in trials:
            raise ReadError(name, number, f"a theme of {shorten(trial)}", "a trial of the trials that were given")
        found.setdefault(trial, []).append(theme)
    return found


def _read_record(row: Row) -> Trial | tuple[str, str]:
    return _read_theme(row) if row.get("record") == THEME else _read_trial(row)


def _read_theme(row: Row) -> tuple[str, str]:
    return take_text(row, "trial"), take_text(row, THEME)


def _read_trial(row: Row) -> Trial:
    condition, truth = take_choice(row, "condition", CONDITIONS), take_choice(row, "truth", CATEGORIES)
    parsed = parse_answer(take_words(row, "raw", RAW), may_abstain=condition == MAY_ABSTAIN)
    key, model, review = take_text(row, "trial"), take_text(row, "model", default=""), take_text(row, "review")
    return Trial(key, model, condition, review, truth, parsed.status, parsed.predicted, parsed.codes)
