"""Both tables and the funnel as rows for CSV, and the tables as LaTeX (booktabs), each with what must be read beside it."""

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
from transcripts.formats.latex import write_plain_table
from transcripts.formats.numbers import write_estimate, write_number, write_p

Report = Mapping[str, Any]
TABLE1_COLUMNS = (
    *("model", "condition", "subset", "n_woman", "n_man", "predicted_woman_of_woman", "predicted_woman_of_man"),
    *("rate_woman", "rate_woman_low", "rate_woman_high", "rate_man", "rate_man_low", "rate_man_high"),
    *("difference", "difference_low", "difference_high", "chi2", "p_chi2", "p_fisher"),
    *("accuracy", "accuracy_low", "accuracy_high", "balanced_accuracy", "degenerate"),
    *NOT_COUNTED,
    "not_scored",
    *("p_chi2_holm", "p_fisher_holm", "note"),
)
TABLE2_COLUMNS = ("model", "axis", "theme", "w", "m", "n_woman", "n_man", "bias", "bias_rate", "bias_half")
FUNNEL_COLUMNS = ("step", *CATEGORIES, "total", "of_step_before", "of_first")
CONDITION_NAMES = {"control": "Control", "primed": "Primed for emotion", "may_abstain": "May abstain"}
SUBSET_NAMES = {ALL: "All", "emotion": "Emotion or style", "other": "Other evidence", "none": "None"}


def list_table1(report: Report) -> Iterator[list[object]]:
    """A row for each model, condition and subset, in the order of ``TABLE1_COLUMNS``. What is not counted stands in the rows of
    all answers alone."""
    for model in report["models"]:
        for condition, rows in report["by_model"][model]["table1"].items():
            if condition == "paired":
                continue
            for subset in (ALL, *SUBSETS):
                row = rows[subset]
                beside = (
                    [rows["not_counted"][status] for status in NOT_COUNTED]
                    if subset == ALL
                    else [None] * len(NOT_COUNTED)
                )
                yield [
                    *(model, condition, subset, row["n_woman"], row["n_man"], *row["predicted_woman"]),
                    *(row["rate_woman"], *_ends(row["rate_woman_ci"]), row["rate_man"], *_ends(row["rate_man_ci"])),
                    *(row["difference"], *_ends(row["difference_ci"]), row["chi2"], row["p_chi2"], row["p_fisher"]),
                    *(row["accuracy"], *_ends(row["accuracy_ci"]), row["balanced_accuracy"], row["degenerate"]),
                    *beside,
                    rows["not_scored"] if subset == ALL else None,
                    *(row["p_chi2_holm"], row["p_fisher_holm"]),
                    " ".join(filter(None, ["" if subset == ALL else CHOSEN_BY_ANSWERS, describe_abstentions(rows)])),
                ]


def list_table2(report: Report) -> Iterator[list[object]]:
    """A row for each model and theme, in the order of ``TABLE2_COLUMNS``."""
    for model in report["models"]:
        table = report["by_model"][model]["table2"]
        if table is None:
            continue
        for name, row in table["themes"].items():
            counts = [row["w"], row["m"], table["n_woman"], table["n_man"]]
            yield [model, table["axis"], name, *counts, row["bias"], row["bias_rate"], row["bias_half"]]


def list_funnel_rows(funnel: Sequence[Mapping[str, Any]]) -> Iterator[list[object]]:
    """A row for each step, in the order of ``FUNNEL_COLUMNS``."""
    for row in funnel:
        yield [row[name] for name in FUNNEL_COLUMNS]


def write_latex(report: Report, which: str) -> str:
    """``table1`` or ``table2`` as a LaTeX table with its caption, and what it needs as a comment above."""
    return _write_table1(report) if which == "table1" else _write_table2(report)


def _write_table1(report: Report) -> str:
    lines = []
    for model in report["models"]:
        for condition, rows in report["by_model"][model]["table1"].items():
            if condition == "paired":
                continue
            for subset in (ALL, *SUBSETS):
                row = rows[subset]
                cells = [
                    *(model, CONDITION_NAMES[condition], SUBSET_NAMES[subset], f"{row['n_woman']}/{row['n_man']}"),
                    *(write_number(row["rate_woman"], 3), write_number(row["rate_man"], 3)),
                    write_estimate(row["difference"], row["difference_ci"]),
                    *(write_p(row[key]) for key in ("p_chi2", "p_fisher", "p_chi2_holm", "p_fisher_holm")),
                    write_estimate(row["accuracy"], row["accuracy_ci"]),
                    write_number(row["balanced_accuracy"], 3) + (" (d)" if row["degenerate"] else ""),
                ]
                lines.append(cells)
    heads = [
        "Model",
        "Condition",
        "Subset",
        "N (W/M)",
        "Women",
        "Men",
        "Difference",
        "P (Pearson)",
        "P (Fisher)",
        "Pearson (Holm)",
        "Fisher (Holm)",
        "Accuracy",
    ]
    caption = (
        "Rates at which texts are predicted to be by a woman, of women's and of men's texts. "
        f"(d): degenerate. {DEGENERATE} {report['tests']}"
    )
    said = " ".join([caption, *report["notes"], *report["caveats"]])
    return write_plain_table([*heads, "Balanced"], lines, caption=said, label="probe-table1", columns="lllrrrrrrrrrr")


def _write_table2(report: Report) -> str:
    lines, axis = [], ""
    for model in report["models"]:
        table = report["by_model"][model]["table2"]
        if table is None:
            continue
        axis = table["axis"]
        for name, row in table["themes"].items():
            counts = [str(row["w"]), str(row["m"])]
            lines.append([model, name, *counts, *(write_ratio(row[key]) for key in ("bias", "bias_rate", "bias_half"))])
    by = "the model's prediction" if axis == "prediction" else "the name-inferred category"
    caption = (
        f"Themes of the rationales of Emotion and Textual Style, women's (W) and men's (M) by {by}: distinct rationales, ln(W/M) "
        f"unsmoothed, of shares, and with 0.5 added to both counts. {INFINITIES}"
    )
    heads = ["Model", "Theme", "W", "M", "ln(W/M)", "of shares", "+0.5"]
    said = " ".join([caption, *report["caveats"]])
    return write_plain_table(heads, lines, caption=said, label="probe-table2", columns="llrrrrr")


def _ends(interval: Sequence[float] | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval[0], interval[1])
