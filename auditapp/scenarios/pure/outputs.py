"""The report on plays as rows for CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from transcripts.formats.latex import write_plain_table
from transcripts.formats.numbers import write_number, write_p

Report = Mapping[str, Any]
RETENTION_COLUMNS = (
    *("model", "pairs", "both", "prompted_only", "unprompted_only", "neither", "prompted", "unprompted"),
    *("retention", "retention_low", "retention_high", "cases_low", "cases_high", "p_mcnemar", "left_out"),
)
ARM_COLUMNS = (
    "model",
    "condition",
    "reasoning",
    "group",
    "right",
    "n",
    "rate",
    "low",
    "high",
    "brier",
    "ece",
    "left_out",
)
GAP_COLUMNS = (
    *("model", "condition", "reasoning", "highest", "lowest", "difference", "difference_low", "difference_high"),
    *("ratio", "ratio_low", "ratio_high"),
)
TESTS = (
    "Rates with Wilson's intervals (95 %). Retention is the unprompted rate over the prompted one on pairs of one case and repeat, "
    "with the interval of its logarithm and McNemar's exact test. Groups are compared within one model and condition: the "
    "difference with Newcombe's interval, the ratio with the interval of its logarithm."
)


def list_retention(report: Report) -> Iterator[list[object]]:
    """A row for each model, in the order of ``RETENTION_COLUMNS``."""
    for model, figures in report["retention"].items():
        ratio = figures["retention"]
        yield [
            *(model, *(figures[key] for key in ("pairs", "both", "prompted_only", "unprompted_only", "neither"))),
            *(figures["prompted"]["rate"], figures["unprompted"]["rate"], ratio["value"], *_ends(ratio["ci"])),
            *(*_ends(ratio["ci_cases"]), figures["p_mcnemar"], figures["left_out"]),
        ]


def list_arms(report: Report) -> Iterator[list[object]]:
    """A row for each arm, and for each group in it, in the order of ``ARM_COLUMNS``."""
    for arm in report["arms"]:
        named = [arm["model"], arm["condition"], arm["reasoning"]]
        yield [*named, "", arm["right"], arm["n"], arm["rate"], *_ends(arm["ci"]), None, None, arm["left_out"]]
        for group, own in arm["groups"]["groups"].items():
            yield [
                *(*named, group, own["right"], own["n"], own["rate"], *_ends(own["ci"])),
                *(own["brier"], own["ece"], own["left_out"]),
            ]


def list_gaps(report: Report) -> Iterator[list[object]]:
    """A row for each arm with two groups or more, in the order of ``GAP_COLUMNS``."""
    for arm in report["arms"]:
        if gap := arm["groups"]["gap"]:
            yield [
                *(arm["model"], arm["condition"], arm["reasoning"], gap["highest"], gap["lowest"]),
                *(gap["difference"], *_ends(gap["ci"]), gap["ratio"], *_ends(gap["ratio_ci"])),
            ]


TABLES = {
    "retention": (RETENTION_COLUMNS, list_retention, "What stays without a prompt."),
    "arms": (ARM_COLUMNS, list_arms, "How often the answer is the expected one, by condition and group."),
    "gaps": (GAP_COLUMNS, list_gaps, "The group with the highest rate against the one with the lowest."),
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
