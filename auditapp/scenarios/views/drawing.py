"""The figures of a report on plays as charts with their tables. Every text is the one that the table prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from auditapp.scenarios.pure.measures import MIN_SHARED
from auditapp.scenarios.pure.outputs import (
    ARM_COLUMNS,
    GAP_COLUMNS,
    RETENTION_COLUMNS,
    describe_gaps,
    list_arms,
    list_gaps,
    list_retention,
    print_rows,
)
from transcripts.charts.figures import Chart, Dot, Missing, Reference, Row, RowChart
from transcripts.charts.verdicts import judge_cases, judge_ratio
from transcripts.formats.numbers import write_estimate
from transcripts.formats.problems import show_count

Report = Mapping[str, Any]
HEADS = {
    "prompted_only": "Prompted only",
    "unprompted_only": "Unprompted only",
    "prompted": "Prompted rate",
    "unprompted": "Unprompted rate",
    "retention_low": "from",
    "retention_high": "to",
    "p_mcnemar": "P (exact)",
    "left_out": "Left out",
    "n": "Of plays",
    "n_probability": "Probability stated",
    "highest": "Higher",
    "lowest": "Lower",
    "cases": "Cases",
    "highest_n": "Plays, higher",
    "highest_rate": "Rate, higher",
    "lowest_n": "Plays, lower",
    "lowest_rate": "Rate, lower",
    "ratio": "Lower over higher",
    "compared": "Largest of",
    "no_gap": "Why none",
    "low": "from",
    "high": "to",
    "brier": "Brier score",
    "ece": "Calibration error",
    "difference_low": "from",
    "difference_high": "to",
    "ratio_low": "from",
    "ratio_high": "to",
}


@dataclass
class Section:
    """One figure of the page: its chart, and the table behind it."""

    key: str
    title: str
    words: str
    chart: Chart
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def draw_report(report: Report) -> list[Section]:
    """The figures of a report: rates by condition, retention, groups."""
    return [_draw_rates(report), _draw_retention(report), _draw_groups(report)]


def _draw_rates(report: Report) -> Section:
    rows = [
        Row(
            f"{_name_condition(arm)}, {_count(arm)}",
            [_dot(arm["rate"], arm["ci"])],
            group=arm["model"],
            verdict=judge_cases(arm["cases"]),
        )
        for arm in report["arms"]
    ]
    chart = RowChart(
        "scenario-rates",
        "Answers that are the expected ones: shares with 95 % intervals",
        rows,
        missing=Missing("No play has an outcome yet."),
    )
    return Section(
        chart.key,
        "Outcomes by condition",
        "Of the plays whose last answer could be read, how many gave the expected one. Plays that failed and answers that the "
        "rules cannot read are left out and counted. Repeats of a case are averaged, and the interval counts cases.",
        chart,
        _name(ARM_COLUMNS),
        print_rows(ARM_COLUMNS, list_arms(report)),
    )


def _draw_retention(report: Report) -> Section:
    rows = []
    for model, figures in report["retention"].items():
        ratio = figures["retention"]
        rows.append(
            Row(
                f"{model}, {show_count(figures['cases'], 'case')}, {show_count(figures['pairs'], 'pair')}",
                [_dot(ratio["value"], ratio["ci"])],
                verdict=judge_cases(figures["cases"])
                or judge_ratio(
                    ratio["value"], ratio["ci"], more="more without the prompt", less="less without the prompt"
                ),
            )
        )
    chart = RowChart(
        "scenario-retention",
        "What stays without a prompt: unprompted over prompted rate, with 95 % intervals",
        rows,
        high=None,
        references=[Reference(1.0, "all of it")],
        missing=Missing("Nothing was played both prompted and unprompted."),
    )
    return Section(
        chart.key,
        "Retention",
        "On the same cases and repeats, the share of expected answers without a prompt over that with it. Repeats of a case are "
        "averaged, and the interval counts cases.",
        chart,
        _name(RETENTION_COLUMNS),
        print_rows(RETENTION_COLUMNS, list_retention(report)),
    )


def _draw_groups(report: Report) -> Section:
    rows = [
        Row(
            f"{group}, {_count(own)}",
            [_dot(own["rate"], own["ci"])],
            group=f"{arm['model']}, {_name_condition(arm)}",
            verdict=judge_cases(own["cases"]),
        )
        for arm in report["arms"]
        for group, own in arm["groups"]["groups"].items()
    ]
    chart = RowChart(
        "scenario-groups",
        "Expected answers by group of the case: shares with 95 % intervals",
        rows,
        missing=Missing("No case names a group, or no play has an outcome yet."),
    )
    return Section(
        chart.key,
        "Groups",
        "Cases name the group that they are about. Groups are compared within one model and condition, and never pooled over them. "
        f"They are compared only on the cases that they share, and only if these are at least {MIN_SHARED}: otherwise the "
        "difference could come from the cases.",
        chart,
        _name(GAP_COLUMNS),
        print_rows(GAP_COLUMNS, list_gaps(report)),
        list(describe_gaps(report)),
    )


def _count(figures: Mapping[str, Any]) -> str:
    return f"{show_count(figures['cases'], 'case')}, {show_count(figures['n'], 'play')}"


def _name_condition(arm: Mapping[str, Any]) -> str:
    reasoning = {True: ", reasoning on", False: ", reasoning off", None: ""}[arm["reasoning"]]
    return f"{arm['condition']}{reasoning}"


def _name(columns: Iterable[str]) -> list[str]:
    return [HEADS.get(name, name.capitalize()) for name in columns]


def _dot(value: float | None, interval: Sequence[float] | None) -> Dot:
    low, high = interval or (None, None)
    return Dot(value, low, high, text=write_estimate(value, interval))
