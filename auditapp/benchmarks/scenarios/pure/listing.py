"""A report on plays as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from auditapp.benchmarks.scenarios.pure.outputs import describe_calibration, describe_gaps, name_arm, write_mark
from auditapp.benchmarks.scenarios.pure.readings import describe_readings
from transcripts.formats.comparisons import describe_comparisons, write_holm
from transcripts.formats.numbers import write_estimate, write_number, write_p
from transcripts.formats.problems import show_count
from transcripts.statistics.figures import explain_marks_in


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of what ``measures.report_plays`` returns, and what the marks in them say."""
    lines = list(_list_lines(report))
    yield from lines
    yield from explain_marks_in(lines, "cases")


def _list_lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['plays']:,} plays, {report['left_out']:,} of them without an outcome."
    yield from _list_run(report)
    for model, figures in report["retention"].items():
        ratio = figures["retention"]
        cases = show_count(figures["cases"], "case")
        yield f"{model}: {figures['pairs']:,} pairs of prompted and unprompted, of {cases}, {figures['left_out']:,} left out"
        yield f"  prompted {_estimate(figures['prompted'])}, unprompted {_estimate(figures['unprompted'])}"
        p = write_p(figures["p_mcnemar"])
        estimate = write_estimate(ratio["value"], ratio["ci"])
        test = "McNemar, exact" if figures["pairs"] == figures["cases"] else "tossed signs of cases"
        tested = f", P {p} ({test}), {write_holm(figures)}" if figures["family"] else ""
        yield f"  retention {estimate}{write_mark(figures)}{tested}"
    for arm in report["arms"]:
        yield f"{name_arm(arm)}: {_rate(arm)}"
        yield from _list_groups(arm["groups"]["groups"])
    yield from describe_comparisons(report["comparisons"], "cases", lambda each: str(each["under"]))
    yield from describe_gaps(report)
    yield from describe_calibration(report)


def _list_run(report: Mapping[str, Any]) -> Iterator[str]:
    """What is known of a batch alone."""
    if "states" not in report:
        return
    states = report["states"]
    yield f"Plays of the batch: {states['stored']:,} stored, {states['open']:,} open, {states['failed']:,} failed."
    if report["without_answer"]:
        yield f"{report['without_answer']:,} are of cases that expect no answer; they have no outcome here."
    if sentence := describe_readings(report):
        yield sentence
    for code in report["unknown_codes"]:
        yield f"The codebook has no code {code}, so cases that name it have no outcome."
    for play in report["failed"]:
        yield f"  failed: {play['case']}, {play['model']}, {play['condition']}, repeat {play['repeat']}"


def _list_groups(groups: Mapping[str, Any]) -> Iterator[str]:
    for group, own in groups.items():
        error = "" if own["ece"] is None else f", calibration error {write_number(own['ece'], 3)}"
        stated = (
            f", of {own['n_probability']} with a stated probability Brier {write_number(own['brier'], 3)}{error}"
            if own["n_probability"]
            else ""
        )
        yield f"  {group}: {_rate(own)}{stated}"


def _rate(figures: Mapping[str, Any]) -> str:
    cases = show_count(figures["cases"], "case")
    return f"{figures['right']} of {figures['n']} in {cases}, {_estimate(figures)}{write_mark(figures)}"


def _estimate(figures: Mapping[str, Any]) -> str:
    return write_estimate(figures["rate"], figures["ci"])
