"""The figures of a report on sessions as charts with their tables. Every text is the one that the table prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from auditapp.benchmarks.scenarios.pure.measures import CONDITIONS, MIN_SHARED, MODELS, REASONING
from auditapp.benchmarks.scenarios.pure.outputs import (
    ARMS,
    CALIBRATION,
    COMPARISONS,
    GAPS,
    RETENTION,
    describe_calibration,
    describe_gaps,
    name_arm,
    name_bin,
    name_condition,
)
from transcripts.charts.figures import (
    CANNOT_TELL,
    Chart,
    Dot,
    Missing,
    Panel,
    PanelChart,
    Point,
    Reference,
    Row,
    RowChart,
    Tone,
    Verdict,
    judge_cases,
    judge_ratio,
)
from transcripts.formats.comparisons import draw_comparisons
from transcripts.formats.problems import show_count
from transcripts.formats.report_tables import ReportTable
from transcripts.statistics.differences import LEVEL
from transcripts.statistics.figures import MIN_STATED, explain_marks, write_estimate

Report = Mapping[str, Any]
KINDS = {
    MODELS: "Model against model",
    CONDITIONS: "Condition against condition",
    REASONING: "Reasoning on against off",
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
    diagram: Chart | None = None


def draw_report(report: Report) -> list[Section]:
    """The figures of a report: rates by condition, retention, comparisons, groups, and calibration where a session states a
    probability."""
    sections = [_draw_rates(report), _draw_retention(report), _draw_comparisons(report), _draw_groups(report)]
    if any(arm["calibration"]["n"] for arm in report["arms"]):
        sections.append(_draw_calibration(report))
    return sections


def _make_section(
    chart: Chart, title: str, words: str, *, table: ReportTable[Report], report: Report, notes: Sequence[str] = ()
) -> Section:
    rows = table.print_rows(report)
    place = table.names.index("mark")
    marks = explain_marks((row[place] for row in rows), "cases")
    return Section(chart.key, title, words, chart, table.list_heads(), rows, [*notes, *marks])


def _draw_rates(report: Report) -> Section:
    rows = [
        Row(
            f"{name_condition(arm)}, {_count(arm)}",
            [_dot(arm["rate"], arm["ci"])],
            group=arm["model"],
            verdict=judge_cases(arm["cases"]),
        )
        for arm in report["arms"]
    ]
    chart = RowChart(
        "scenario-rates",
        "Expected answers: shares with 95 % intervals",
        rows,
        missing=Missing("No session has an outcome yet."),
    )
    return _make_section(
        chart,
        "Outcomes by condition",
        "The share of sessions with a readable last answer that gave the expected one. Sessions that failed and answers that the "
        "rules cannot read are left out and counted. Repeats of a case are averaged, and the interval counts cases.",
        table=ARMS,
        report=report,
    )


def _draw_retention(report: Report) -> Section:
    rows = []
    for model, figures in report["retention"].items():
        ratio = figures["retention"]
        rows.append(
            Row(
                f"{model}, {_count(figures)}",
                [_dot(ratio["value"], ratio["ci"])],
                verdict=judge_cases(figures["cases"]) or _judge_retention(figures),
            )
        )
    chart = RowChart(
        "scenario-retention",
        "Retention without a prompt: unprompted rate over prompted rate, with 95 % intervals",
        rows,
        high=None,
        references=[Reference(1.0, "all of it")],
        missing=Missing("No case was run both prompted and unprompted."),
    )
    return _make_section(
        chart,
        "Retention",
        "The share of expected answers without a prompt divided by the share with it, on the same cases and repeats. Repeats of "
        "a case are averaged, and the interval counts cases.",
        table=RETENTION,
        report=report,
    )


def _judge_retention(figures: Mapping[str, Any]) -> Verdict:
    ratio = figures["retention"]
    verdict = judge_ratio(ratio["value"], ratio["ci"], more="more without the prompt", less="less without the prompt")
    is_shown = verdict.tone is Tone.NONE or figures["p_holm"] < LEVEL
    return verdict if is_shown else Verdict(CANNOT_TELL)


def _draw_comparisons(report: Report) -> Section:
    chart = draw_comparisons(
        report["comparisons"],
        "cases",
        lambda each: f"{KINDS[each['kind']]}: {each['under']}",
        key="scenario-comparisons",
        title="Differences between two rates of expected answers on the same cases, with 95 % intervals",
        missing="No two models or conditions have run the same case yet.",
    )
    return _make_section(
        chart,
        "Comparisons",
        "Two models under one condition, two conditions of one model, or one model with reasoning and without, on the cases that "
        "both ran. Repeats of a case are averaged, and the interval counts cases. P values are adjusted for all comparisons of "
        "their kind.",
        table=COMPARISONS,
        report=report,
    )


def _draw_groups(report: Report) -> Section:
    rows = [
        Row(
            f"{group}, {_count(own)}",
            [_dot(own["rate"], own["ci"])],
            group=name_arm(arm),
            verdict=judge_cases(own["cases"]),
        )
        for arm in report["arms"]
        for group, own in arm["groups"]["groups"].items()
    ]
    chart = RowChart(
        "scenario-groups",
        "Expected answers by group of the case: shares with 95 % intervals",
        rows,
        missing=Missing("No case names a group, or no session has an outcome yet."),
    )
    return _make_section(
        chart,
        "Groups",
        "Each case names the group that it is about. Groups are compared within one model and condition, and never pooled over "
        f"them. They are compared only on the cases that they share, and only if they share at least {MIN_SHARED}. Otherwise the "
        "cases could cause the difference.",
        table=GAPS,
        report=report,
        notes=list(describe_gaps(report)),
    )


def _draw_calibration(report: Report) -> Section:
    rows = [
        Row(
            f"{name_bin(each)}, {_count(each)}",
            [
                _dot(each["stated"]),
                _dot(each["rate"], each["ci"], series=1),
            ],
            group=f"{name_arm(arm)}, {_count(arm['calibration'])}",
            verdict=judge_cases(each["cases"]) if each["n"] else None,
        )
        for arm in report["arms"]
        for each in arm["calibration"]["bins"]
    ]
    chart = RowChart(
        "scenario-calibration",
        "Expected answers by stated probability, with 95 % intervals",
        rows,
        series=["mean probability stated", "share of expected answers"],
        missing=Missing(f"No model has stated probabilities for {MIN_STATED} cases under one condition."),
    )
    section = _make_section(
        chart,
        "Calibration",
        "Sessions that state a probability, in ten bins of equal width: the mean stated probability, and how often the answer is "
        "the expected one. For a well calibrated model the two are equal. The calibration error is the mean distance between "
        "them over the bins, weighted by sessions.",
        table=CALIBRATION,
        report=report,
        notes=list(describe_calibration(report)),
    )
    return section if chart.is_empty else replace(section, diagram=_draw_diagram(report))


def _draw_diagram(report: Report) -> PanelChart:
    """The same bins in squares, a square for each model and condition of which there are enough cases."""
    panels = [
        Panel(
            f"{name_arm(arm)}, {_count(arm['calibration'])}",
            [_draw_bin(each) for each in arm["calibration"]["bins"]],
        )
        for arm in report["arms"]
        if arm["calibration"]["bins"]
    ]
    return PanelChart(
        "scenario-reliability",
        "Reliability diagram",
        panels,
        sides=("mean probability stated", "share of expected answers"),
        note="On the line, the two are equal. n: cases in each bin. Vertical lines: 95 % intervals.",
    )


def _draw_bin(found: Mapping[str, Any]) -> Point:
    stated, share = write_estimate(found["stated"], None), write_estimate(found["rate"], found["ci"])
    words = f"stated {name_bin(found)}, mean {stated}, expected {share}, n ="
    return Point(words, found["rate"], f"{found['cases']:,}", found["ci"], found["stated"])


def _count(figures: Mapping[str, Any]) -> str:
    """How many cases, of how many sessions where these are known, and their mark: "12 cases, 24 sessions, rough"."""
    sessions = [show_count(figures["n"], "session")] if "n" in figures else []
    return ", ".join([show_count(figures["cases"], "case"), *sessions, *([figures["mark"]] if figures["mark"] else [])])


def _dot(value: float | None, interval: Sequence[float] | None = None, *, series: int = 0) -> Dot:
    return Dot(value, interval, series, write_estimate(value, interval))
