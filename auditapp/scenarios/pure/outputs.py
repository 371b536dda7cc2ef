"""The report on plays as rows for CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from transcripts.formats.latex import write_plain_table
from transcripts.formats.numbers import write_estimate, write_number, write_p
from transcripts.formats.problems import show_count

Report = Mapping[str, Any]
RETENTION_COLUMNS = (
    *("model", "cases", "pairs", "both", "prompted_only", "unprompted_only", "neither", "prompted", "unprompted"),
    *("retention", "retention_low", "retention_high", "p_mcnemar", "left_out"),
)
ARM_COLUMNS = (
    "model",
    "condition",
    "reasoning",
    "group",
    "right",
    "n",
    "cases",
    "rate",
    "low",
    "high",
    "n_probability",
    "brier",
    "ece",
    "left_out",
)
GAP_COLUMNS = (
    *(
        "model",
        "condition",
        "reasoning",
        "highest",
        "lowest",
        "cases",
        "highest_n",
        "highest_rate",
        "lowest_n",
        "lowest_rate",
    ),
    *("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high", "compared", "no_gap"),
)
GAP_KEYS = ("highest", "lowest", "cases", "highest_n", "highest_rate", "lowest_n", "lowest_rate")

TESTS = (
    "Repeats are averaged within their case, and cases are counted. Rates with Wilson's intervals (95 %). Retention is the "
    "unprompted rate over the prompted one on pairs of one case and repeat, with the interval of its logarithm and McNemar's exact "
    "test, or that of tossed signs where cases were repeated. Groups are compared within one model and condition, on the cases "
    "that they share; of all pairs of groups the largest difference is given, with intervals adjusted for that choice (Bonferroni)."
)


def list_retention(report: Report) -> Iterator[list[object]]:
    """A row for each model, in the order of ``RETENTION_COLUMNS``."""
    for model, figures in report["retention"].items():
        ratio = figures["retention"]
        yield [
            *(model, *(figures[key] for key in RETENTION_COLUMNS[1:7])),
            *(figures["prompted"]["rate"], figures["unprompted"]["rate"], ratio["value"], *_ends(ratio["ci"])),
            *(figures["p_mcnemar"], figures["left_out"]),
        ]


def list_arms(report: Report) -> Iterator[list[object]]:
    """A row for each arm, and for each group in it, in the order of ``ARM_COLUMNS``."""
    for arm in report["arms"]:
        named = [arm["model"], arm["condition"], arm["reasoning"]]
        yield [*named, "", *_list_rate(arm), None, None, None, arm["left_out"]]
        for group, own in arm["groups"]["groups"].items():
            yield [
                *(*named, group, *_list_rate(own)),
                *(own["n_probability"], own["brier"], own["ece"], own["left_out"]),
            ]


def _list_rate(figures: Mapping[str, Any]) -> list[object]:
    return [*(figures[key] for key in ("right", "n", "cases", "rate")), *_ends(figures["ci"])]


def list_gaps(report: Report) -> Iterator[list[object]]:
    """A row for each arm with two groups or more, in the order of ``GAP_COLUMNS``: its largest gap, or why there is none."""
    for arm in report["arms"]:
        named = [arm["model"], arm["condition"], arm["reasoning"]]
        if why := arm["groups"]["no_gap"]:
            yield [*named, *[None] * (len(GAP_COLUMNS) - len(named) - 1), why]
        elif gap := arm["groups"]["gap"]:
            yield [
                *(*named, *(gap[key] for key in GAP_KEYS), gap["difference"], *_ends(gap["ci"])),
                *(gap["ratio"], *_ends(gap["ratio_ci"]), gap["compared"], ""),
            ]


def describe_gaps(report: Report) -> Iterator[str]:
    """A sentence for each arm with two groups or more: its largest gap, or why there is none."""
    for arm in report["arms"]:
        gap, why = arm["groups"]["gap"], arm["groups"]["no_gap"]
        reasoning = {True: ", reasoning on", False: ", reasoning off", None: ""}[arm["reasoning"]]
        name = f"{arm['model']}, {arm['condition']}{reasoning}"
        if why:
            yield f"{name}: groups are not compared, for {why}."
        if not gap:
            continue
        among = (
            f", the largest of {show_count(gap['compared'], 'difference')} and so chosen after looking (intervals are adjusted for "
            "it)"
            if gap["compared"] > 1
            else ""
        )
        sides = " and ".join(
            f"{gap[side]} {write_number(gap[f'{side}_rate'], 3)} (n = {show_count(gap[f'{side}_n'], 'play')})"
            for side in ("highest", "lowest")
        )
        yield (
            f"{name}: on {show_count(gap['cases'], 'shared case')} {sides}; difference "
            f"{write_estimate(gap['difference'], gap['ci'])}{among}; lower over higher ({gap['lowest']} over {gap['highest']}) "
            f"{write_estimate(gap['ratio'], gap['ratio_ci'])}."
        )


TABLES = {
    "retention": (RETENTION_COLUMNS, list_retention, "What stays without a prompt."),
    "arms": (ARM_COLUMNS, list_arms, "How often the answer is the expected one, by condition and group."),
    "gaps": (
        GAP_COLUMNS,
        list_gaps,
        "Of all pairs of groups that share cases, the one that differs most: lower rate over higher.",
    ),
}


def write_latex(report: Report, what: str) -> str:
    """One of ``TABLES`` as a LaTeX table with its caption."""
    columns, list_rows, caption = TABLES[what]
    rows = print_rows(columns, list_rows(report))
    heads = [name.replace("_", " ") for name in columns]
    return write_plain_table(heads, rows, caption=f"{caption} {TESTS}", label=f"scenarios-{what}")


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[list[str]]:
    """Rows as tables print them: figures with three decimals, P values as such, reasoning on or off."""
    return [[_write(name, cell) for name, cell in zip(columns, row, strict=True)] for row in rows]


def _write(name: str, cell: object) -> str:
    if isinstance(cell, bool):
        return "on" if cell else "off"
    if cell is None or isinstance(cell, float):
        return write_p(cell) if name.startswith("p_") else write_number(cell, 3)
    return str(cell)


def _ends(interval: Sequence[float] | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval[0], interval[1])
