"""The tables and the funnel, each declared once for its files, with what must be read with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from auditapp.benchmarks.gender_cues.pure.parsing import (
    CATEGORIES,
    CAVEATS,
    CONDITION_NAMES,
    MAY_ABSTAIN,
    PARSER_VERSION,
    SUBSETS,
)
from auditapp.benchmarks.gender_cues.pure.tables import (
    ALL,
    AXES,
    CHOSEN_BY_ANSWERS,
    DEGENERATE,
    INFINITIES,
    IS_DEGENERATE,
    NOT_COUNTED,
    Themes,
    Trial,
    adjust_tests,
    compare_trials,
    describe_abstentions,
    list_comparisons,
    make_table1,
    make_table2,
    mark_theme,
    select_rationales,
)
from transcripts.charts.figures import CANNOT_TELL, Verdict, judge_cases, judge_difference
from transcripts.formats.problems import show_count
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, declare, name_ends, print_estimate
from transcripts.statistics.figures import (
    NONE,
    Mark,
    explain_marks,
    explain_marks_in,
    mark_clusters,
    write_estimate,
    write_number,
    write_p,
    write_percent,
    write_signed,
)

Report = Mapping[str, Any]
AXIS_NAMES = {"prediction": "the model's prediction", "truth": "the name-inferred category"}
SUBSET_NAMES = {ALL: "All", "emotion": "Emotion or style", "other": "Other evidence", "none": "None"}
TEXTS, RATIONALES = "texts of one category", "rationales"
"""What is independent in Table 1, of which the smaller side counts, and in Table 2."""
WITH_INTERVAL = ("rate_woman", "rate_man", "difference", "accuracy")


def judge(row: TableRow) -> Verdict:
    """Few texts, degenerate, else whether the two rates differ by the interval of their difference, and by P after Holm's
    adjustment."""
    if few := judge_cases(min(row["n_woman"], row["n_man"]), things="texts"):
        return few
    if row["degenerate"]:
        return IS_DEGENERATE
    if (row["p_holm"] or 0) >= 0.05:
        return Verdict(CANNOT_TELL)
    return judge_difference(row["difference_ci"], more="more often of women’s texts", less="more often of men’s texts")


def list_table1(model: str, table: Mapping[str, Any]) -> Iterator[TableRow]:
    """A row for each condition and subset of a model. Answers that are not counted appear only in the rows for all answers."""
    for condition, rows in table.items():
        if condition == "paired":
            continue
        for subset in (ALL, *SUBSETS):
            row = rows[subset]
            of_woman, of_man = row["predicted_woman"]
            uncounted = {**rows["not_counted"], "not_scored": rows["not_scored"]} if subset == ALL else {}
            said = ["" if subset == ALL else CHOSEN_BY_ANSWERS, describe_abstentions(rows)]
            yield {
                **row,
                **{
                    end: side
                    for name in WITH_INTERVAL
                    for end, side in name_ends(row[f"{name}_ci"], f"{name}_").items()
                },
                **uncounted,
                "model": model,
                "condition": condition,
                "subset": subset,
                "predicted_woman_of_woman": of_woman,
                "predicted_woman_of_man": of_man,
                "mark": mark_clusters(min(row["n_woman"], row["n_man"])),
                "verdict": judge(row).words,
                "note": " ".join(filter(None, said)),
            }


def list_table2(model: str, table: Mapping[str, Any]) -> Iterator[TableRow]:
    """A row for each theme of a model."""
    for name, row in table["themes"].items():
        yield {**table, **row, "model": model, "theme": name, "mark": mark_theme(row)}


def write_ratio(value: float | str | None) -> str:
    """A logarithm with its sign, an infinity as a word, or a dash."""
    return NONE if value is None else value if isinstance(value, str) else write_signed(value)


def _read_models(
    table: str, list_rows: Callable[[str, Mapping[str, Any]], Iterator[TableRow]]
) -> Callable[[Report], Iterator[TableRow]]:
    """The rows of a table of each model that has it."""

    def read(report: Report) -> Iterator[TableRow]:
        for model in report["models"]:
            if (found := report["by_model"][model][table]) is not None:
                yield from list_rows(model, found)

    return read


def _print_rate(head: str, side: str) -> Printed:
    """A rate, with the number of texts predicted to be a woman's."""
    return Printed(head, lambda row: f"{write_number(row[f'rate_{side}'], 3)} ({row[f'predicted_woman_of_{side}']})")


def _print_verdict(row: TableRow) -> str:
    return f"{row['verdict']} ({Mark.ROUGH})" if row["mark"] is Mark.ROUGH else str(row["verdict"])


TABLE1 = ReportTable(
    "table1",
    f"Rates at which texts are predicted to be by a woman, for women's and for men's texts. {DEGENERATE}",
    (
        *declare(str, "model condition subset"),
        *declare(int, "n_woman n_man predicted_woman_of_woman predicted_woman_of_man"),
        *declare(float, "rate_woman rate_woman_low rate_woman_high rate_man rate_man_low rate_man_high"),
        *declare(float, "difference difference_low difference_high chi2"),
        *declare(float, "accuracy accuracy_low accuracy_high balanced_accuracy"),
        *declare(bool, "degenerate"),
        *declare(int, *NOT_COUNTED, "not_scored"),
        *(
            *declare(str, "test"),
            *declare(float, "p p_holm"),
            *declare(int, "family"),
            *declare(str, "mark verdict note"),
        ),
    ),
    _read_models("table1", list_table1),
    printed=[
        Printed("Model", lambda row: str(row["model"])),
        Printed("Condition", lambda row: CONDITION_NAMES[row["condition"]]),
        Printed("Subset", lambda row: SUBSET_NAMES[row["subset"]]),
        Printed("N (W/M)", lambda row: f"{row['n_woman']}/{row['n_man']}"),
        _print_rate("Women’s", "woman"),
        _print_rate("Men’s", "man"),
        print_estimate("Difference", "difference"),
        Printed("P", lambda row: write_p(row["p"])),
        Printed("Test", lambda row: row["test"] or NONE),
        Printed("P (Holm)", lambda row: write_p(row["p_holm"])),
        print_estimate("Accuracy", "accuracy"),
        Printed("Balanced", lambda row: write_number(row["balanced_accuracy"], 3)),
        Printed("Verdict", _print_verdict),
    ],
    alignment="lllrrrrrlrrrl",
)
TABLE2 = ReportTable(
    "table2",
    "Themes of the rationales of Emotion and Textual Style, women's (W) and men's (M): distinct rationales, ln(W/M) unsmoothed, of "
    f"shares, and with 0.5 added to both counts. {INFINITIES}",
    # The logarithms are text where one of them may be an infinity.
    (
        *(*declare(str, "model axis theme"), *declare(int, "w m n_woman n_man")),
        *(*declare(str, "bias bias_rate"), *declare(float, "bias_half"), *declare(str, "mark")),
    ),
    _read_models("table2", list_table2),
    printed=[
        Printed("Model", lambda row: str(row["model"])),
        Printed("By", lambda row: AXIS_NAMES[row["axis"]]),
        Printed("Theme", lambda row: str(row["theme"])),
        Printed("W", lambda row: str(row["w"])),
        Printed("M", lambda row: str(row["m"])),
        Printed("ln(W/M)", lambda row: write_ratio(row["bias"])),
        Printed("of shares", lambda row: write_ratio(row["bias_rate"])),
        Printed("with 0.5 added", lambda row: write_ratio(row["bias_half"])),
        Printed("", lambda row: row["mark"] or ""),
    ],
    alignment="lllrrrrrl",
)


FUNNEL = ReportTable(
    "funnel",
    "How many texts each rule kept, by name-inferred category.",
    (*declare(str, "step"), *declare(int, *CATEGORIES, "total"), *declare(float, "of_step_before of_first")),
    lambda funnel: funnel,
    heads={"of_step_before": "Of the step before", "of_first": "Of the file"},
    writers=dict.fromkeys(("of_step_before", "of_first"), lambda share: write_percent(share, 2)),
)


def caption_table(table: ReportTable[Report], report: Report) -> str:
    """The notes that belong to a table of a report, for its LaTeX."""
    tests = [report["tests"], *report["notes"]] if table is not TABLE2 else []
    things = {"table1": TEXTS, "table2": RATIONALES}.get(table.name, "texts")
    marks = explain_marks((row["mark"] for row in table.read_rows(report)), things)
    return " ".join([table.caption, *tests, *marks, *report["caveats"]])


TESTS = (
    "Difference: Newcombe's interval. P: Pearson's chi-square without a correction for continuity, or Fisher's exact test where "
    "fewer than five are expected in a cell, from ten texts of each category on. Accuracy: Wilson's interval. Two models, or "
    "two conditions, on the same texts: the mean difference with Student's interval over texts, and P of tossed signs (with one "
    "answer to each text, McNemar's exact test), adjusted over all comparisons of their kind on ten texts or more (Holm). All "
    "intervals are 95 % intervals; texts are treated as independent. Holm in Table 1: adjusted over all its tests, one of each "
    "model, condition and subset."
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
            said.append(f"{of}{condition}: {lost} of {asked} answers are not predictions and are counted separately.")
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
        said.append(f"{of}Table 2: themes of {passed_over} answers outside the subset {SUBSETS[0]} are ignored.")
    if without:
        said.append(f"{of}Table 2: {without} of {len(chosen)} rationales have no theme.")
    return said


def list_funnel(funnel: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each step: counts by category, and the share of texts kept."""
    width = max((len(row["step"]) for row in funnel), default=0)
    yield f"{'':{width}}  " + "  ".join(f"{each:>11}" for each in (*CATEGORIES, "total")) + "  of before  of first"
    for row in funnel:
        counts = "  ".join(f"{row[each]:>11,}" for each in (*CATEGORIES, "total"))
        before, first = (write_percent(row[name], 2) for name in ("of_step_before", "of_first"))
        yield f"{row['step']:{width}}  {counts}  {before:>9}  {first:>8}"


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """Both tables of each model, the comparisons, the warnings, what marks say, and what must be read with all of it."""
    lines = list(_list_lines(report))
    yield from lines
    yield from explain_marks_in(lines, "texts")


def _list_lines(report: Mapping[str, Any]) -> Iterator[str]:
    for model in report["models"]:
        tables = report["by_model"][model]
        yield f"Table 1{', ' + model if model else ''}"
        yield from _list_table1(tables["table1"])
        if tables["table2"] is not None:
            yield f"Table 2{', ' + model if model else ''}, by {tables['table2']['axis']}"
            yield from _list_table2(tables["table2"])
    yield from list_comparisons(report["comparisons"])
    yield report["tests"]
    yield from report["notes"]
    yield from (f"Note: {sentence}" for sentence in report["warnings"])
    yield from report["caveats"]


def _list_table1(table: Mapping[str, Any]) -> Iterator[str]:
    listed = list(list_table1("", table))
    for row in listed:
        condition = row["condition"]
        test = f", P {write_p(row['p'])} ({row['test']}; by Holm {write_p(row['p_holm'])})" if row["test"] else ""
        mark = f" ({row['mark']})" if row["mark"] else ""
        yield (
            f"  {condition}, {row['subset']}: N {row['n_woman']}/{row['n_man']}{mark}, said woman "
            f"{write_number(row['rate_woman'], 3)} of women's, {write_number(row['rate_man'], 3)} of men's, difference "
            f"{write_estimate(row['difference'], row['difference_ci'])}{test}, accuracy "
            f"{write_estimate(row['accuracy'], row['accuracy_ci'])}, balanced {write_number(row['balanced_accuracy'], 3)}: "
            f"{row['verdict']}"
        )
        if row["subset"] == SUBSETS[-1]:
            found = table[condition]
            apart = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in found["not_counted"].items())
            yield f"  {condition}, beside: {apart}, androgynous or unknown {found['not_scored']}"
    if any(row["degenerate"] for row in listed):
        yield f"  {DEGENERATE}"


def _list_table2(table: Mapping[str, Any]) -> Iterator[str]:
    yield f"  rationales: {table['n_woman']} women's, {table['n_man']} men's, offset {write_ratio(table['offset'])}"
    marks = {name: mark_theme(row) for name, row in table["themes"].items()}
    for name, row in table["themes"].items():
        yield (
            f"  {name}: W {row['w']}, M {row['m']}, ln(W/M) {write_ratio(row['bias'])}, of shares {write_ratio(row['bias_rate'])}, "
            f"with 0.5 added {write_ratio(row['bias_half'])}{f', {marks[name]}' if marks[name] else ''}"
        )
    yield from (f"  {words}" for words in explain_marks(marks.values(), "rationales"))
    if any(isinstance(row["bias"], str) for row in table["themes"].values()):
        yield f"  {INFINITIES}"
