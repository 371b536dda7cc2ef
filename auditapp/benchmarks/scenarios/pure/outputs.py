"""The tables of the report on sessions: each declared once, for its page, CSV and LaTeX; and its sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from auditapp.benchmarks.scenarios.pure.measures import SessionOutcome
from auditapp.benchmarks.scenarios.pure.outcomes import describe_readings
from transcripts.formats.comparisons import declare_comparisons, describe_comparisons, print_mark, write_holm
from transcripts.formats.json_lines import Row, read_each, read_lines, refuse_field, take_text, take_truth, take_whole
from transcripts.formats.problems import ReadError, show_count
from transcripts.formats.report_tables import ReportTable, declare_each, name_ends
from transcripts.statistics.figures import NONE, explain_marks_in, write_estimate, write_number, write_p

Report = Mapping[str, Any]
Rows = Iterator[Mapping[str, object]]
HEADS = {
    "prompted_only": "Prompted only",
    "unprompted_only": "Unprompted only",
    "prompted": "Prompted rate",
    "unprompted": "Unprompted rate",
    "low": "from",
    "high": "to",
    "p_mcnemar": "P (not adjusted)",
    "p_holm": "P (Holm)",
    "family": "P adjusted over",
    "left_out": "Left out",
    "n": "Of sessions",
    "n_probability": "Probability stated",
    "highest": "Higher",
    "lowest": "Lower",
    "highest_n": "Sessions, higher",
    "highest_rate": "Rate, higher",
    "lowest_n": "Sessions, lower",
    "lowest_rate": "Rate, lower",
    "ratio": "Lower over higher",
    "retention_low": "from",
    "retention_high": "to",
    "difference_low": "from",
    "difference_high": "to",
    "ratio_low": "from",
    "ratio_high": "to",
    "compared": "Largest of",
    "no_gap": "Why none",
    "brier": "Brier score",
    "ece": "Calibration error",
    "without": "None stated",
    "no_ece": "Why no error",
}
"""How pages and LaTeX head a column that CSV names; others with a capital."""


def _write_reasoning(is_on: bool | None) -> str:
    return {True: "on", False: "off", None: NONE}[is_on]


WRITERS: Mapping[str, Callable[[Any], str]] = {
    "mark": print_mark,
    "reasoning": _write_reasoning,
    "p_mcnemar": write_p,
    "p_holm": write_p,
}
"""How columns that are no plain figures are printed."""

# What a column has in every table.
_KINDS = {
    str: "model condition group mark highest lowest no_gap bin no_ece",
    int: "cases pairs both prompted_only unprompted_only neither left_out right n n_probability highest_n lowest_n compared "
    "without family",
    bool: "reasoning",
    float: "prompted unprompted retention retention_low retention_high p_mcnemar p_holm rate low high brier ece highest_rate "
    "lowest_rate difference difference_low difference_high ratio ratio_low ratio_high stated",
}


def _declare(name: str, caption: str, names: str, read_rows: Callable[[Report], Rows]) -> ReportTable[Report]:
    """A table of the report; ``names`` are those of its columns, with blanks between."""
    return ReportTable(name, caption, declare_each(names.split(), _KINDS), read_rows, HEADS, WRITERS)


def name_arm(arm: Mapping[str, Any]) -> str:
    """The model, its condition, and whether it was set to reason."""
    return f"{arm['model']}, {name_condition(arm)}"


def name_condition(arm: Mapping[str, Any]) -> str:
    """The condition, and whether the model was set to reason."""
    reasoning = {True: ", reasoning on", False: ", reasoning off", None: ""}[arm["reasoning"]]
    return f"{arm['condition']}{reasoning}"


def _list_retention(report: Report) -> Rows:
    for model, figures in report["retention"].items():
        rates = {side: figures[side]["rate"] for side in ("prompted", "unprompted")}
        ratio = figures["retention"]
        yield {**figures, **rates, "model": model, "retention": ratio["value"], **name_ends(ratio["ci"], "retention_")}


def _list_arms(report: Report) -> Rows:
    """A row for each arm, and for each group in it."""
    for arm in report["arms"]:
        stated = arm["calibration"]
        figures = {"group": "", "n_probability": stated["n"], "brier": stated["brier"], "ece": stated["ece"]}
        yield {**arm, **figures, **name_ends(arm["ci"])}
        for group, own in arm["groups"]["groups"].items():
            yield {**_name(arm), **own, "group": group, **name_ends(own["ci"])}


def _list_gaps(report: Report) -> Rows:
    """A row for each arm with two groups or more: its largest gap, or why there is none."""
    for arm in report["arms"]:
        gap, why = arm["groups"]["gap"], arm["groups"]["no_gap"]
        if gap:
            yield {
                **_name(arm),
                **gap,
                **name_ends(gap["ci"], "difference_"),
                **name_ends(gap["ratio_ci"], "ratio_"),
                "no_gap": "",
            }
        elif why:
            yield {**_name(arm), "no_gap": why}


def _list_calibration(report: Report) -> Rows:
    """For each arm whose sessions state a probability a row of each bin, if there are any, and one of all."""
    for arm in report["arms"]:
        found = arm["calibration"]
        for each in found["bins"]:
            yield {**_name(arm), **each, "bin": name_bin(each), **name_ends(each["ci"])}
        if found["n"]:
            yield {**_name(arm), **found, "bin": "all"}


def name_bin(each: Mapping[str, Any]) -> str:
    """What a bin is called: its two ends."""
    return f"{each['low']:.1f} to {each['high']:.1f}"


def _name(arm: Mapping[str, Any]) -> Mapping[str, object]:
    return {name: arm[name] for name in ("model", "condition", "reasoning")}


RETENTION = _declare(
    "retention",
    "Retention without a prompt.",
    "model cases mark pairs both prompted_only unprompted_only neither prompted unprompted retention retention_low "
    "retention_high p_mcnemar p_holm family left_out",
    _list_retention,
)
ARMS = _declare(
    "arms",
    "Rate of expected answers, by condition and group.",
    "model condition reasoning group right n cases mark rate low high n_probability brier ece left_out",
    _list_arms,
)
COMPARISONS = declare_comparisons(
    "Two models, two conditions of one model, or one model with reasoning and without, on the cases that both met: first minus "
    "second.",
    "kind under",
    "cases",
)
GAPS = _declare(
    "gaps",
    "The pair of groups with shared cases that differs most: lower rate over higher.",
    "model condition reasoning highest lowest cases mark highest_n highest_rate lowest_n lowest_rate difference difference_low "
    "difference_high ratio ratio_low ratio_high compared no_gap",
    _list_gaps,
)
CALIBRATION = _declare(
    "calibration",
    "Calibration: stated probabilities compared with the rate of expected answers.",
    "model condition reasoning bin n cases mark stated rate low high brier ece without no_ece",
    _list_calibration,
)
TABLES = {table.name: table for table in (RETENTION, ARMS, COMPARISONS, GAPS, CALIBRATION)}

TESTS = (
    "Repeats are averaged within their case, and cases are counted: below three there is no interval, below ten no verdict (few), "
    "and below 20 intervals are rough. Rates with Wilson's intervals (95 %). Retention is the unprompted rate over the prompted "
    "one on pairs of one case and repeat, with an interval from its logarithm and McNemar's exact test, or that of tossed signs "
    "if cases were repeated; P is adjusted over all models and conditions (Holm). Models, conditions, and reasoning on and off "
    "are compared on the cases that both ran: the mean difference with Student's interval over cases, and P of tossed signs, "
    "adjusted over all comparisons of the kind (Holm). What has fewer than ten cases is not tested. Groups are compared within "
    "one model and condition, on the cases that they share; of all pairs of groups the largest difference is given, with "
    "intervals adjusted for that choice (Bonferroni). Calibration has ten bins of equal width, and no error below 100 cases with "
    "a stated probability."
)


def describe_gaps(report: Report) -> Iterator[str]:
    """A sentence for each arm with two groups or more: its largest gap, or why there is none."""
    for arm in report["arms"]:
        gap, why = arm["groups"]["gap"], arm["groups"]["no_gap"]
        name = name_arm(arm)
        if why:
            yield f"{name}: groups are not compared, for {why}."
        if not gap:
            continue
        among = (
            f", the largest of {show_count(gap['compared'], 'difference')} and therefore chosen after looking (intervals are "
            "adjusted for this)"
            if gap["compared"] > 1
            else ""
        )
        sides = " and ".join(
            f"{gap[side]} {write_number(gap[f'{side}_rate'], 3)} (n = {show_count(gap[f'{side}_n'], 'session')})"
            for side in ("highest", "lowest")
        )
        yield (
            f"{name}: on {show_count(gap['cases'], 'shared case')}{write_mark(gap)} {sides}; difference "
            f"{write_estimate(gap['difference'], gap['ci'])}{among}; lower over higher ({gap['lowest']} over {gap['highest']}) "
            f"{write_estimate(gap['ratio'], gap['ratio_ci'])}."
        )


def describe_calibration(report: Report) -> Iterator[str]:
    """A sentence or two for each arm whose sessions state a probability: its calibration error, or why there is none."""
    for arm in report["arms"]:
        found = arm["calibration"]
        if not found["n"]:
            continue
        stated = f"{name_arm(arm)}: {show_count(found['n'], 'session')} in {show_count(found['cases'], 'case')} state a probability"
        without = f"; {found['without']:,} with an outcome state none from 0 to 1" if found["without"] else ""
        error = f"expected calibration error {write_number(found['ece'], 3)}, " if not found["no_ece"] else ""
        yield f"{stated}{without}; {error}Brier score {write_number(found['brier'], 3)}. {found['no_ece']}".rstrip()


def write_mark(figures: Mapping[str, Any]) -> str:
    """The mark of figures in brackets, as sentences have it; "" without one."""
    return f" ({figures['mark']})" if figures["mark"] else ""


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of what ``measures.report_sessions`` returns, and what the marks in them say."""
    lines = list(_list_lines(report))
    yield from lines
    yield from explain_marks_in(lines, "cases")


def _list_lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['sessions']:,} sessions, {report['left_out']:,} of them without an outcome."
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
    yield f"Sessions of the batch: {states['stored']:,} stored, {states['open']:,} open, {states['failed']:,} failed."
    if report["without_answer"]:
        yield f"{report['without_answer']:,} belong to cases that expect no answer and have no outcome here."
    if sentence := describe_readings(report):
        yield sentence
    for code in report["unknown_codes"]:
        yield f"The codebook has no code {code}, so cases that name it have no outcome."
    for session in report["failed"]:
        yield f"  failed: {session['case']}, {session['model']}, {session['condition']}, repeat {session['repeat']}"


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


def read_sessions(lines: Iterable[bytes], *, name: str) -> list[SessionOutcome]:
    """The sessions of a file; ``name`` is the file's, for errors. Raises ``ReadError``, which names the line, for what is no such
    object, and for a session that is there twice."""
    sessions: list[SessionOutcome] = []
    seen: dict[tuple[object, ...], int] = {}
    for number, session in read_each(read_lines(lines, name), name, _read_session):
        key = (*session.arm, session.case, session.repeat)
        if key in seen:
            raise ReadError(
                name, number, f"the session of line {seen[key]} again", "each case once under a condition and repeat"
            )
        seen[key] = number
        sessions.append(session)
    if not sessions:
        raise ReadError(name, None, "no session", "a JSON object on each line")
    return sessions


def _read_session(row: Row) -> SessionOutcome:
    if "outcome" not in row:
        raise refuse_field(row, ["outcome"], "true, false or null")
    probability = row.get("probability")
    if probability is not None and (type(probability) not in (int, float) or not 0 <= probability <= 1):
        raise refuse_field(row, ["probability"], "a number from 0 to 1, or null")
    return SessionOutcome(
        case=take_text(row, "case"),
        model=take_text(row, "model"),
        condition=take_text(row, "condition"),
        repeat=take_whole(row, "repeat", lowest=1, default=1),
        outcome=take_truth(row, "outcome"),
        group=take_text(row, "group", default=""),
        probability=probability,
        reasoning=take_truth(row, "reasoning"),
        pair=take_text(row, "pair", default=""),
        base=take_text(row, "base", default=""),
    )
