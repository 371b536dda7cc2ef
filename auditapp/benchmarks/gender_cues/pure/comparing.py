"""Two models, or two conditions of one model, on the texts that both were asked about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

from auditapp.benchmarks.gender_cues.pure.limits import CONDITION_NAMES, CONTROL, MAN, SCORED, WOMAN
from auditapp.benchmarks.gender_cues.pure.parsing import OK, SUBSETS
from auditapp.benchmarks.gender_cues.pure.tables import ALL, DEGENERATE_ABOVE, Key, Trial
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
from transcripts.formats.report_tables import TableRow

MODELS, CONDITIONS = "models", "conditions"
"""What two sides of a comparison differ in."""
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
"""Of the texts of one category, to be right says the same as to predict a woman."""
COMPARED_WORDS = (
    "On the texts of the categories woman and man that both were asked about, text by text: how often each makes a prediction; and "
    "where both predict, how often each predicts a woman, is right, and names Emotion or Textual Style (not compared where the "
    "control prompt was used, which offers neither). P values are adjusted for all comparisons of their kind. Rates are of the "
    "common texts and differ from Table 1. Which texts have no prediction is the model’s doing, so a difference may be one of the "
    "texts."
)
KIND_NAMES = {MODELS: "Models", CONDITIONS: "Conditions"}
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
    families: dict[str, list[Sides]] = {MODELS: [], CONDITIONS: []}
    for one, other in combinations(shares, 2):
        if one not in own:
            continue
        if one[1] == other[1]:
            families[MODELS] += _list_sides(
                {"kind": MODELS, "under": one[1]}, one[0], other[0], shares[one], shares[other]
            )
        elif one[0] == other[0]:
            about = {"kind": CONDITIONS, "under": one[0]}
            families[CONDITIONS] += _list_sides(about, one[1], other[1], shares[one], shares[other])
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
