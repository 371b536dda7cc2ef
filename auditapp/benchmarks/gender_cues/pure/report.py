"""The report of a probe: both tables of each model, with what must be read beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.benchmarks.gender_cues.pure.comparing import compare_trials
from auditapp.benchmarks.gender_cues.pure.limits import CAVEATS, MAY_ABSTAIN
from auditapp.benchmarks.gender_cues.pure.parsing import PARSER_VERSION, SUBSETS
from auditapp.benchmarks.gender_cues.pure.tables import (
    ALL,
    AXES,
    CHOSEN_BY_ANSWERS,
    Themes,
    Trial,
    adjust_tests,
    describe_abstentions,
    make_table1,
    make_table2,
    select_rationales,
)
from transcripts.formats.problems import show_count

TESTS = (
    "Difference: Newcombe's interval. P: Pearson's chi-square without a correction for continuity, or Fisher's exact test where "
    "fewer than five are expected in a cell, from ten texts of each category on. Accuracy: Wilson's interval. Two models, or two "
    "conditions, on the same texts: the mean difference with Student's interval over texts, and P of tossed signs (with one answer "
    "to each text, McNemar's exact test), adjusted over all comparisons of their kind on ten texts or more (Holm). All intervals "
    "are of 95 %; texts are taken for independent. Holm in Table 1: adjusted over all its tests, one of each model, condition and "
    "subset."
)


def make_report(
    trials: Sequence[Trial], themes: Themes | None = None, *, axis: str = AXES[0], others: Sequence[Trial] = ()
) -> dict[str, Any]:
    """{"models", "by_model": {model: {"table1", "table2"}}, "comparisons", "tests", "family", "notes", "parser", "warnings",
    "caveats"}.

    ``comparisons`` are those of ``compare_trials``; with ``others``, the trials of another batch, also with its models.
    ``family`` is the number of tests that Holm adjusts in Table 1, ``notes`` say which answers its rows are of. Where there is just
    one model, "table1" and "table2" are given as well. "table2" is ``None`` without ``themes``. Models are never pooled.
    """
    models = list(dict.fromkeys(trial.model for trial in trials))
    by_model, tables1, warnings = {}, {}, []
    for model in models:
        own = [trial for trial in trials if trial.model == model]
        table1 = tables1[model] = make_table1(own)
        table2 = None if themes is None else make_table2(own, themes, axis=axis)
        by_model[model] = {"table1": table1, "table2": table2}
        warnings += list_warnings(model, table1)
        if themes is not None:
            warnings += _warn_of_themes(model, own, themes)
    family = adjust_tests(tables1.values())
    comparisons, apart = compare_trials(trials, others)
    report: dict[str, Any] = {
        "models": models,
        "by_model": by_model,
        "comparisons": comparisons,
        "tests": f"{TESTS} Table 1 has {show_count(family, 'test')}.",
        "family": family,
        "notes": list_notes(tables1),
        "parser": PARSER_VERSION,
        "warnings": [*warnings, *apart],
        "caveats": list(CAVEATS),
    }
    return report | (by_model[models[0]] if len(models) == 1 else {})


def list_notes(tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Which answers the rows of Table 1 are of: the subsets, and where abstentions are left out."""
    notes = [CHOSEN_BY_ANSWERS] if tables else []
    for model, table in tables.items():
        for condition, rows in table.items():
            if condition != "paired" and (words := describe_abstentions(rows)):
                notes.append(f"{f'{model}, ' if model else ''}{condition}: {words}")
    return notes


def list_warnings(model: str, table1: Mapping[str, Any]) -> list[str]:
    """A sentence for each condition under which predictions are degenerate, or much is left unanswered."""
    said = []
    of = f"{model}, " if model else ""
    for condition, rows in table1.items():
        if condition == "paired":
            continue
        if rows[ALL]["degenerate"]:
            said.append(
                f"{of}{condition}: the predictions are degenerate. More than 90 % of them are one label, so accuracy and the "
                "difference say little."
            )
        lost = sum(count for status, count in rows["not_counted"].items() if status != "abstained")
        asked = rows[ALL]["n_woman"] + rows[ALL]["n_man"] + sum(rows["not_counted"].values())
        if lost * 10 > asked:
            said.append(f"{of}{condition}: {lost} of {asked} answers are no prediction and are counted beside.")
    if MAY_ABSTAIN in table1 and not table1[MAY_ABSTAIN]["not_counted"]["abstained"]:
        said.append(f"{of}{MAY_ABSTAIN}: the model never abstained.")
    return said


def _warn_of_themes(model: str, trials: Sequence[Trial], themes: Themes) -> list[str]:
    chosen = {trial.key for trial in select_rationales(trials)}
    of = f"{model}, " if model else ""
    passed_over = sum(trial.key in themes and trial.key not in chosen for trial in trials)
    without = sum(key not in themes for key in chosen)
    said = []
    if passed_over:
        said.append(f"{of}Table 2: themes of {passed_over} answers outside the subset {SUBSETS[0]} are passed over.")
    if without:
        said.append(f"{of}Table 2: {without} of {len(chosen)} rationales have no theme.")
    return said
