"""A report on plays as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of what ``measures.report_plays`` returns."""
    yield f"{report['plays']:,} plays, {report['left_out']:,} of them without an outcome."
    yield from _list_run(report)
    for model, figures in report["retention"].items():
        ratio = figures["retention"]
        yield f"{model}: {figures['pairs']:,} pairs of prompted and unprompted, {figures['left_out']:,} left out"
        yield f"  prompted {_rate(figures['prompted'])}, unprompted {_rate(figures['unprompted'])}"
        p = _number(figures["p_mcnemar"], 6)
        yield f"  retention {_number(ratio['value'])} {_interval(ratio['ci'])}, P {p} (McNemar, exact)"
        if ratio["ci_cases"]:
            yield f"  drawing cases {_interval(ratio['ci_cases'])}"
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
    if report["coder"]:
        yield f"Outcomes of cases that name a code are by the codings of {report['coder']}."
    for play in report["failed"]:
        yield f"  failed: {play['case']}, {play['model']}, {play['condition']}, repeat {play['repeat']}"


def _list_groups(figures: Mapping[str, Any]) -> Iterator[str]:
    for group, own in figures["groups"].items():
        stated = (
            f", Brier {_number(own['brier'])}, calibration error {_number(own['ece'])}" if own["n_probability"] else ""
        )
        yield f"  {group}: {own['right']} of {own['n']}, {_rate(own)}{stated}"
    gap = figures["gap"]
    if gap:
        yield (
            f"  {gap['highest']} over {gap['lowest']}: difference {_number(gap['difference'])} {_interval(gap['ci'])}, "
            f"ratio {_number(gap['ratio'])} {_interval(gap['ratio_ci'])}"
        )


def _rate(figures: Mapping[str, Any]) -> str:
    return f"{_number(figures['rate'])} {_interval(figures['ci'])}"


def _number(value: float | None, places: int = 3) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def _interval(ends: list[float] | None) -> str:
    return f"[{_number(ends[0])}, {_number(ends[1])}]" if ends else "(no interval)"
