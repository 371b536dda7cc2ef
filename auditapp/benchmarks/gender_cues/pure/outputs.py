"""The tables and the funnel, each declared once for its files, with what must be read with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from auditapp.benchmarks.gender_cues.pure.comparing import IS_DEGENERATE
from auditapp.benchmarks.gender_cues.pure.limits import CATEGORIES, CONDITION_NAMES
from auditapp.benchmarks.gender_cues.pure.parsing import SUBSETS
from auditapp.benchmarks.gender_cues.pure.tables import (
    ALL,
    CHOSEN_BY_ANSWERS,
    DEGENERATE,
    INFINITIES,
    NOT_COUNTED,
    describe_abstentions,
    mark_theme,
)
from transcripts.charts.figures import Verdict
from transcripts.charts.verdicts import CANNOT_TELL, judge_cases, judge_difference
from transcripts.formats.numbers import NONE, write_number, write_p, write_percent, write_signed
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, declare, name_ends, print_estimate
from transcripts.statistics.figures import Mark, explain_marks, mark_clusters

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
    """A row for each condition and subset of a model. What is not counted is in the rows of all answers alone."""
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


def _read_funnel(funnel: Sequence[TableRow]) -> Sequence[TableRow]:
    return funnel


def _print_rate(head: str, side: str) -> Printed:
    """A rate, with the number of texts predicted to be a woman's."""
    return Printed(head, lambda row: f"{write_number(row[f'rate_{side}'], 3)} ({row[f'predicted_woman_of_{side}']})")


def _print_verdict(row: TableRow) -> str:
    return f"{row['verdict']} ({Mark.ROUGH})" if row["mark"] is Mark.ROUGH else str(row["verdict"])


TABLE1 = ReportTable(
    "table1",
    f"Rates at which texts are predicted to be by a woman, of women's and of men's texts. {DEGENERATE}",
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


def _write_share(share: float | None) -> str:
    return write_percent(share, 2)


FUNNEL = ReportTable(
    "funnel",
    "How many texts each rule kept, by name-inferred category.",
    (*declare(str, "step"), *declare(int, *CATEGORIES, "total"), *declare(float, "of_step_before of_first")),
    _read_funnel,
    heads={"of_step_before": "Of the step before", "of_first": "Of the file"},
    writers=dict.fromkeys(("of_step_before", "of_first"), _write_share),
)


def caption_table(table: ReportTable[Report], report: Report) -> str:
    """What must be read with a table of a report, for its LaTeX."""
    tests = [report["tests"], *report["notes"]] if table is not TABLE2 else []
    things = {"table1": TEXTS, "table2": RATIONALES}.get(table.name, "texts")
    marks = explain_marks((row["mark"] for row in table.read_rows(report)), things)
    return " ".join([table.caption, *tests, *marks, *report["caveats"]])
