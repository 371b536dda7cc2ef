"""A report on plays as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from auditapp.scenarios.pure.readings import describe_readings
from transcripts.formats.numbers import write_estimate, write_interval, write_number, write_p


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of what ``measures.report_plays`` returns."""
    yield f"{report['plays']:,} plays, {report['left_out']:,} of them without an outcome."
    yield from _list_run(report)
    for model, figures in report["retention"].items():
        ratio = figures["retention"]
        yield f"{model}: {figures['pairs']:,} pairs of prompted and unprompted, {figures['left_out']:,} left out"
        yield f"  prompted {_rate(figures['prompted'])}, unprompted {_rate(figures['unprompted'])}"
        p = write_p(figures["p_mcnemar"])
        yield f"  retention {write_estimate(ratio['value'], ratio['ci'])}, P {p} (McNemar, exact)"
        if ratio["ci_cases"]:
            yield f"  drawing cases {write_interval(ratio['ci_cases'])}"
    for arm in report["arms"]:
        reasoning = {True: ", reasoning on", False: ", reasoning off", None: ""}[arm["reasoning"]]
        yield f"{arm['model']}, {arm['condition']}{reasoning}: {arm['right']} of {arm['n']}, {_rate(arm)}"
        yield from _list_groups(arm["groups"])


def _list_run(report: Mapping[str, Any]) -> Iterator[str]:
    """What is known of a batch alone."""
    if "states" not in report:
        return
    states = report["states"]
    yield f"Of the batch {states['stored']:,} are stored, {states['open']:,} open, {states['failed']:,} failed."
    if report["without_answer"]:
        yield f"{report['without_answer']:,} are of cases that expect no answer; they have no outcome here."
    if sentence := describe_readings(report):
        yield sentence
    for code in report["unknown_codes"]:
        yield f"The codebook has no code {code}, so cases that name it have no outcome."
    for play in report["failed"]:
        yield f"  failed: {play['case']}, {play['model']}, {play['condition']}, repeat {play['repeat']}"


def _list_groups(figures: Mapping[str, Any]) -> Iterator[str]:
    for group, own in figures["groups"].items():
        stated = (
            f", Brier {write_number(own['brier'], 3)}, calibration error {write_number(own['ece'], 3)}"
            if own["n_probability"]
            else ""
        )
        yield f"  {group}: {own['right']} of {own['n']}, {_rate(own)}{stated}"
    gap = figures["gap"]
    if gap:
        yield (
            f"  {gap['highest']} over {gap['lowest']}: difference {write_estimate(gap['difference'], gap['ci'])}, "
            f"ratio {write_estimate(gap['ratio'], gap['ratio_ci'])}"
        )


def _rate(figures: Mapping[str, Any]) -> str:
    return write_estimate(figures["rate"], figures["ci"])
