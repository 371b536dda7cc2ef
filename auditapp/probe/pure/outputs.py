"""The tables and the funnel, each declared once for its files, with what must be read with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auditapp.probe.pure.limits import CATEGORIES
from auditapp.probe.pure.listing import write_ratio
from auditapp.probe.pure.parsing import SUBSETS
from auditapp.probe.pure.tables import (
    ALL,
    CHOSEN_BY_ANSWERS,
    DEGENERATE,
    INFINITIES,
    NOT_COUNTED,
    describe_abstentions,
)
from transcripts.formats.numbers import NONE, write_number, write_p, write_percent
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, print_estimate

Report = Mapping[str, Any]
CONDITION_NAMES = {"control": "Control", "primed": "Primed for emotion", "may_abstain": "May abstain"}
AXIS_NAMES = {"prediction": "the model's prediction", "truth": "the name-inferred category"}
SUBSET_NAMES = {ALL: "All", "emotion": "Emotion or style", "other": "Other evidence", "none": "None"}


INTERVALS = {
    "rate_woman_ci": "rate_woman",
    "rate_man_ci": "rate_man",
    "difference_ci": "difference",
    "accuracy_ci": "accuracy",
}


def _read_table1(report: Report) -> Iterator[TableRow]:
    """A row for each model, condition and subset. What is not counted is in the rows of all answers alone."""
    for model in report["models"]:
        for condition, rows in report["by_model"][model]["table1"].items():
            if condition == "paired":
                continue
            for subset in (ALL, *SUBSETS):
                row = rows[subset]
                of_woman, of_man = row["predicted_woman"]
                uncounted = {**rows["not_counted"], "not_scored": rows["not_scored"]} if subset == ALL else {}
                said = ["" if subset == ALL else CHOSEN_BY_ANSWERS, describe_abstentions(rows)]
                yield {
                    **row,
                    **{f"{name}{end}": side for ci, name in INTERVALS.items() for end, side in _name_ends(row[ci])},
                    **uncounted,
                    "model": model,
                    "condition": condition,
                    "subset": subset,
                    "predicted_woman_of_woman": of_woman,
                    "predicted_woman_of_man": of_man,
                    "note": " ".join(filter(None, said)),
                }


def _name_ends(interval: Sequence[float] | None) -> Sequence[tuple[str, float | None]]:
    low, high = interval or (None, None)
    return ("_low", low), ("_high", high)


def _read_table2(report: Report) -> Iterator[TableRow]:
    """A row for each model and theme."""
    for model in report["models"]:
        table = report["by_model"][model]["table2"]
        if table is not None:
            for name, row in table["themes"].items():
                yield {**table, **row, "model": model, "theme": name}


def _read_funnel(funnel: Sequence[TableRow]) -> Sequence[TableRow]:
    return funnel


TABLE1 = ReportTable(
    "table1",
    f"Rates at which texts are predicted to be by a woman, of women's and of men's texts. (d): degenerate. {DEGENERATE}",
    (
        *("model", "condition", "subset", "n_woman", "n_man", "predicted_woman_of_woman", "predicted_woman_of_man"),
        *("rate_woman", "rate_woman_low", "rate_woman_high", "rate_man", "rate_man_low", "rate_man_high"),
        *("difference", "difference_low", "difference_high", "chi2", "p_chi2", "p_fisher"),
        *("accuracy", "accuracy_low", "accuracy_high", "balanced_accuracy", "degenerate"),
        *NOT_COUNTED,
        "not_scored",
        *("test", "p_holm", "note"),
    ),
    _read_table1,
    printed=[
        Printed("Model", lambda row: str(row["model"])),
        Printed("Condition", lambda row: CONDITION_NAMES[row["condition"]]),
        Printed("Subset", lambda row: SUBSET_NAMES[row["subset"]]),
        Printed("N (W/M)", lambda row: f"{row['n_woman']}/{row['n_man']}"),
        Printed("Women", lambda row: write_number(row["rate_woman"], 3)),
        Printed("Men", lambda row: write_number(row["rate_man"], 3)),
        print_estimate("Difference", "difference"),
        Printed("P", lambda row: write_p(row["p"])),
        Printed("Test", lambda row: row["test"] or NONE),
        Printed("P (Holm)", lambda row: write_p(row["p_holm"])),
        print_estimate("Accuracy", "accuracy"),
        Printed(
            "Balanced", lambda row: write_number(row["balanced_accuracy"], 3) + (" (d)" if row["degenerate"] else "")
        ),
    ],
    alignment="lllrrrrrlrrr",
)
TABLE2 = ReportTable(
    "table2",
    "Themes of the rationales of Emotion and Textual Style, women's (W) and men's (M): distinct rationales, ln(W/M) unsmoothed, of "
    f"shares, and with 0.5 added to both counts. {INFINITIES}",
    ("model", "axis", "theme", "w", "m", "n_woman", "n_man", "bias", "bias_rate", "bias_half"),
    _read_table2,
    printed=[
        Printed("Model", lambda row: str(row["model"])),
        Printed("By", lambda row: AXIS_NAMES[row["axis"]]),
        Printed("Theme", lambda row: str(row["theme"])),
        Printed("W", lambda row: str(row["w"])),
        Printed("M", lambda row: str(row["m"])),
        Printed("ln(W/M)", lambda row: write_ratio(row["bias"])),
        Printed("of shares", lambda row: write_ratio(row["bias_rate"])),
        Printed("+0.5", lambda row: write_ratio(row["bias_half"])),
    ],
    alignment="lllrrrrr",
)


def _write_share(share: float | None) -> str:
    return write_percent(share, 2)


FUNNEL = ReportTable(
    "funnel",
    "How many texts each rule kept, by name-inferred category.",
    ("step", *CATEGORIES, "total", "of_step_before", "of_first"),
    _read_funnel,
    heads={"of_step_before": "Of the step before", "of_first": "Of the file"},
    writers=dict.fromkeys(("of_step_before", "of_first"), _write_share),
)


def caption_table(table: ReportTable[Report], report: Report) -> str:
    """What must be read with a table of a report, for its LaTeX."""
    tests = [report["tests"], *report["notes"]] if table is not TABLE2 else []
    return " ".join([table.caption, *tests, *report["caveats"]])
