"""What the sessions of a suite show: how much of the effect of a prompt remains without it, and whether results differ between
groups. And the tables of the report on sessions, each declared once for its page, CSV and LaTeX, with its sentences.

Paper 001, Table 4B: internalisation, and static outcomes. The unit of evidence is the case: repeats of a case are averaged before
anything is tested, so that asking ten times counts no more than asking once. Sessions without an outcome are counted and left out.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

from auditapp.benchmarks.scenarios.pure.outcomes import describe_readings
from transcripts.formats.comparisons import (
    Share,
    Sides,
    compare_sides,
    declare_comparisons,
    describe_comparisons,
    print_mark,
    take_share,
    write_holm,
)
from transcripts.formats.json_lines import Row, read_each, read_lines, refuse_field, take_text, take_truth, take_whole
from transcripts.formats.problems import ReadError, show_count
from transcripts.formats.report_tables import ReportTable, declare_each, name_ends
from transcripts.statistics.figures import (
    FEW,
    MIN_CLUSTERS,
    NONE,
    TOO_FEW,
    Calibration,
    Interval,
    Stated,
    explain_marks_in,
    mark_clusters,
    measure_calibration,
    paired_difference_interval,
    paired_ratio_interval,
    wilson_interval,
    write_estimate,
    write_number,
    write_p,
)
from transcripts.statistics.significance import adjust_holm, measure_mcnemar, toss_signs

PROMPTED, UNPROMPTED = "prompted", "unprompted"
MODELS, CONDITIONS, REASONING = "models", "conditions", "reasoning"
"""What two sides of a comparison differ in."""
MIN_SHARED = 10
"""Two groups that share fewer cases are not compared, because the cases could cause a difference."""
CONFIDENCE = 0.95
Arm = tuple[str, str, bool | None]
"""The model, the condition, and whether the model reasons. Figures are never pooled over these."""


class SessionOutcome(NamedTuple):
    """The result of one session. ``outcome`` is None if it could not be read; ``group`` is "" if the case names none; ``pair``
    names the case if it is presented for several groups, otherwise it is ""; ``base`` names the model regardless of its reasoning,
    and is "" if ``model`` already does so."""

    case: str
    model: str
    condition: str
    repeat: int
    outcome: bool | None
    group: str = ""
    probability: float | None = None
    reasoning: bool | None = None
    pair: str = ""
    base: str = ""

    @property
    def arm(self) -> Arm:
        return self.model, self.condition, self.reasoning


def report_sessions(sessions: Sequence[SessionOutcome]) -> dict[str, Any]:
    """The report on sessions: ``retention`` by model, ``arms`` each with its rate, calibration and groups,
    ``comparisons`` of any two of them, ``groups`` where there is just one arm (otherwise None: groups are never pooled over
    arms), and ``left_out``, the sessions without an outcome."""
    by_arm: dict[Arm, list[SessionOutcome]] = defaultdict(list)
    for session in sessions:
        by_arm[session.arm].append(session)
    arms = []
    for model, condition, reasoning in sorted(by_arm, key=str):
        own = by_arm[model, condition, reasoning]
        named = {"model": model, "condition": condition, "reasoning": reasoning}
        calibration = _describe_calibration(own)
        arms.append({**named, **_measure_rate(own), "calibration": calibration, "groups": measure_groups(own)})
    return {
        "sessions": len(sessions),
        "left_out": sum(session.outcome is None for session in sessions),
        "retention": measure_retention(sessions),
        "comparisons": measure_comparisons(sessions),
        "arms": arms,
        "groups": arms[0]["groups"] if len(arms) == 1 else None,
    }


def _measure_rate(sessions: Iterable[SessionOutcome]) -> dict[str, Any]:
    """``right`` of ``n`` sessions have the expected outcome, over ``cases`` cases; ``rate`` is the mean of the cases' shares of
    right sessions."""
    outcomes: dict[str, list[bool]] = defaultdict(list)
    right, left_out = 0, 0
    for session in sessions:
        if session.outcome is None:
            left_out += 1
        else:
            outcomes[session.case].append(session.outcome)
            right += session.outcome
    n = sum(map(len, outcomes.values()))
    cases = len(outcomes)
    counts = {"right": right, "n": n, "cases": cases, "mark": mark_clusters(cases), "left_out": left_out}
    return {**counts, **_describe([fmean(each) for each in outcomes.values()])}


def _describe(means: Sequence[float]) -> dict[str, Any]:
    """The mean over cases, each a share from 0 to 1, with Wilson's interval as if every case were one session.

    A mean of shares varies at most as much as a share of that number of sessions, so with repeats the interval is conservative, and
    without repeats it is exactly Wilson's. With fewer than three cases there is no interval."""
    if not means:
        return {"rate": None, "ci": None}
    interval = wilson_interval(math.fsum(means), len(means)) if len(means) >= MIN_CLUSTERS else None
    return {"rate": fmean(means), "ci": _list(interval)}


def _list(interval: Interval | None) -> list[float] | None:
    return list(interval) if interval else None


def measure_retention(sessions: Iterable[SessionOutcome]) -> dict[str, dict[str, Any]]:
    """By model, and separately for reasoning on and off: the unprompted rate divided by the prompted rate, on pairs with the same
    case and repeat. A condition with another name than ``prompted`` is compared in the same way, under "model, condition".

    Repeats are averaged within their case. The interval is ``paired_ratio_interval``; with fewer than three cases there is none. If
    every case was played once, ``p_mcnemar`` is McNemar's exact P. With repeats, it is the P of the test that flips the sign of
    every case's difference at random; without repeats, the two are the same. With fewer than ten cases there is no P, because
    nothing is concluded from so few. ``p_holm`` is adjusted over the ``family`` of all models and conditions with a P (Holm 1979).
    """
    by_arm: dict[tuple[str, str], dict[tuple[str, int], SessionOutcome]] = defaultdict(dict)
    for session in sessions:
        by_arm[_name_model(session.model, session.reasoning), session.condition][session.case, session.repeat] = session
    figures = {}
    for (model, condition), prompted in sorted(by_arm.items()):
        unprompted = by_arm.get((model, UNPROMPTED), {})
        pairs = [(*each, prompted[each].outcome, unprompted[each].outcome) for each in prompted if each in unprompted]
        if condition != UNPROMPTED and pairs:
            name = model if condition == PROMPTED else f"{model}, {condition}"
            unpaired = len(prompted) + len(unprompted) - 2 * len(pairs)
            figures[name] = {**_measure_pairs(pairs), "unpaired": unpaired}
    tested = [each for each in figures.values() if each["p_mcnemar"] is not None]
    for each, p in zip(tested, adjust_holm([each["p_mcnemar"] for each in tested]), strict=True):
        each |= {"p_holm": p, "family": len(tested)}
    return figures


def _name_model(model: str, reasoning: bool | None) -> str:
    return model if reasoning is None else f"{model}, reasoning {'on' if reasoning else 'off'}"


def _measure_pairs(pairs: Sequence[tuple[str, int, bool | None, bool | None]]) -> dict[str, Any]:
    """The figures for pairs of sessions, which are given as case, repeat, and the outcomes with and without the prompt."""
    by_case: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    left_out = 0
    for case, _, with_prompt, without in pairs:
        if with_prompt is None or without is None:
            left_out += 1
        else:
            by_case[case].append((with_prompt, without))
    cells = Counter(pair for each in by_case.values() for pair in each)
    means = [(fmean(p for p, _ in each), fmean(u for _, u in each)) for _, each in sorted(by_case.items())]
    prompted, unprompted = [p for p, _ in means], [u for _, u in means]
    return {
        "pairs": cells.total(),
        "both": cells[True, True],
        "prompted_only": cells[True, False],
        "unprompted_only": cells[False, True],
        "neither": cells[False, False],
        "prompted": _describe(prompted),
        "unprompted": _describe(unprompted),
        "p_mcnemar": _test_pairs(list(by_case.values())) if len(by_case) >= FEW else None,
        "p_holm": None,
        "family": 0,
        "retention": _measure_ratio(unprompted, prompted),
        "cases": len(by_case),
        "mark": mark_clusters(len(by_case)),
        "left_out": left_out,
    }


def _test_pairs(cases: Sequence[Sequence[tuple[bool, bool]]]) -> float:
    if all(len(each) == 1 for each in cases):
        changed = Counter(each[0] for each in cases)
        return measure_mcnemar(changed[True, False], changed[False, True])
    denominator = math.lcm(*(len(each) for each in cases))
    return toss_signs([sum(p - u for p, u in each) * (denominator // len(each)) for each in cases])[0]


def _measure_ratio(upper: Sequence[float], lower: Sequence[float], confidence: float = CONFIDENCE) -> dict[str, Any]:
    """The mean of ``upper`` divided by that of ``lower``, with the values by case."""
    under = math.fsum(lower)
    interval = paired_ratio_interval(upper, lower, confidence) if len(upper) >= MIN_CLUSTERS else None
    return {"value": math.fsum(upper) / under if under else None, "ci": _list(interval)}


def measure_comparisons(sessions: Iterable[SessionOutcome]) -> list[dict[str, Any]]:
    """All pairs of models under one condition, of conditions of one model, and of one model's reasoning on and off under one
    condition, each with its ``kind``: the first rate minus the second, on the cases that both have in common.

    A case's value is the share of its sessions with an outcome that are right. Rows are those of ``compare_sides``; all comparisons
    of a kind are one family. Pairs without a common case are left out.
    """
    played: dict[Arm, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    bases = {}
    for session in sessions:
        bases[session.arm] = session.base or session.model
        if session.outcome is not None:
            played[session.arm][session.case].append(session.outcome)
    means = {arm: {case: take_share(each) for case, each in cases.items()} for arm, cases in played.items()}
    families: dict[str, list[Sides]] = {kind: [] for kind in (MODELS, CONDITIONS, REASONING)}
    for one, other in combinations(sorted(means, key=_place_arm), 2):
        if kind := _find_kind(one, other, bases):
            arms = (other, one) if kind == REASONING and one[2] is False else (one, other)
            families[kind].append(_name_sides(kind, *arms, means))
    return [row for family in families.values() for row in compare_sides(family, "cases")]


def _place_arm(arm: Arm) -> tuple[str, bool, str, bool]:
    """The sort key of an arm: unprompted after other conditions, and reasoning on before off."""
    model, condition, reasoning = arm
    return model, condition == UNPROMPTED, condition, reasoning is not True


def _find_kind(one: Arm, other: Arm, bases: Mapping[Arm, str]) -> str:
    """What differs between two arms; "" if more than one thing differs. When models are compared, one may leave its reasoning
    to the provider."""
    (model, condition, reasoning), (other_model, other_condition, other_reasoning) = one, other
    if condition != other_condition:
        return CONDITIONS if (model, reasoning) == (other_model, other_reasoning) else ""
    if bases[one] == bases[other] and {reasoning, other_reasoning} == {True, False}:
        return REASONING
    is_opposite = {reasoning, other_reasoning} == {True, False}
    return MODELS if bases[one] != bases[other] and not is_opposite else ""


def _name_sides(kind: str, first: Arm, second: Arm, means: Mapping[Arm, Mapping[str, Share]]) -> Sides:
    under = _name_model(first[0], first[2]) if kind == CONDITIONS else first[1]
    names = [arm[1] if kind == CONDITIONS else _name_model(arm[0], arm[2]) for arm in (first, second)]
    return Sides({"kind": kind, "under": under}, names[0], names[1], means[first], means[second])


def measure_groups(sessions: Iterable[SessionOutcome]) -> dict[str, Any]:
    """The results by group, for cases that name one: rates with Wilson's intervals over cases; and ``gap``, the largest difference
    between two groups that share ``MIN_SHARED`` cases or more, on those cases only. ``no_gap`` says why there is none.

    Groups share a case if both have sessions with its ``pair``. Because the largest of ``compared`` differences is chosen after
    looking at them, its intervals have the level 1 - .05 / compared (Bonferroni): ``paired_difference_interval`` and, for ``ratio``
    (the lower rate over the higher), ``paired_ratio_interval``. Brier score and calibration error: see ``measure_calibration``.
    """
    by_group: dict[str, list[SessionOutcome]] = defaultdict(list)
    for session in sessions:
        if session.group:
            by_group[session.group].append(session)
    groups = {group: _measure_group(own) for group, own in sorted(by_group.items())}
    return {"groups": groups, **_find_gap(by_group), "left_out": sum(each["left_out"] for each in groups.values())}


def _measure_group(sessions: Sequence[SessionOutcome]) -> dict[str, Any]:
    found = _measure_stated(sessions)
    return {**_measure_rate(sessions), "n_probability": found.n, "brier": found.brier, "ece": found.error}


def _measure_stated(sessions: Iterable[SessionOutcome]) -> Calibration:
    return measure_calibration(
        Stated(session.case, session.probability, session.outcome)
        for session in sessions
        if session.outcome is not None and session.probability is not None and 0 <= session.probability <= 1
    )


def _describe_calibration(sessions: Sequence[SessionOutcome]) -> dict[str, Any]:
    """The calibration of the ``n`` sessions with an outcome that state a probability; ``without`` state none from 0 to 1."""
    found = _measure_stated(sessions)
    return {
        "n": found.n,
        "cases": found.clusters,
        "mark": mark_clusters(found.clusters),
        "without": sum(session.outcome is not None for session in sessions) - found.n,
        "brier": found.brier,
        "ece": found.error,
        "no_ece": "" if found.bins or not found.n else TOO_FEW,
        "bins": [
            {
                "low": each.low,
                "high": each.high,
                "n": each.n,
                "cases": each.clusters,
                "mark": mark_clusters(each.clusters),
                "stated": each.stated,
                "rate": each.share,
                "ci": _list(each.interval),
            }
            for each in found.bins
        ],
    }


def _find_gap(by_group: Mapping[str, Sequence[SessionOutcome]]) -> dict[str, Any]:
    if len(by_group) < 2:
        return {"gap": None, "no_gap": ""}
    shared = {group: _average_shared(sessions) for group, sessions in sorted(by_group.items())}
    compared = [
        (first, second, common)
        for first, second in combinations(shared, 2)
        if len(common := sorted(shared[first].keys() & shared[second].keys())) >= MIN_SHARED
    ]
    if not compared:
        return {"gap": None, "no_gap": f"no two groups share {MIN_SHARED} readable cases"}
    gaps = [_measure_gap(first, second, shared, common, len(compared)) for first, second, common in compared]
    return {"gap": max(gaps, key=lambda gap: gap["difference"]), "no_gap": ""}


def _average_shared(sessions: Iterable[SessionOutcome]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = defaultdict(list)
    for session in sessions:
        if session.pair and session.outcome is not None:
            found[session.pair].append(session.outcome)
    return found


def _measure_gap(
    first: str, second: str, shared: Mapping[str, Mapping[str, Sequence[bool]]], common: Sequence[str], compared: int
) -> dict[str, Any]:
    """The two groups on their common cases, the one with the higher rate first."""
    confidence = 1 - (1 - CONFIDENCE) / compared
    means = {group: [fmean(shared[group][case]) for case in common] for group in (first, second)}
    highest, lowest = sorted(means, key=lambda group: -fmean(means[group]))
    ratio = _measure_ratio(means[lowest], means[highest], confidence)
    return {
        "highest": highest,
        "lowest": lowest,
        "cases": len(common),
        "mark": mark_clusters(len(common)),
        **{
            f"{name}_{key}": value
            for name, group in (("highest", highest), ("lowest", lowest))
            for key, value in (("n", sum(len(shared[group][case]) for case in common)), ("rate", fmean(means[group])))
        },
        "difference": fmean(means[highest]) - fmean(means[lowest]),
        "ci": _list(paired_difference_interval(means[highest], means[lowest], confidence)),
        "ratio": ratio["value"],
        "ratio_ci": ratio["ci"],
        "compared": compared,
        "confidence": confidence,
    }


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
"""The headings on pages and in LaTeX for columns of the CSV; other columns get their name with a capital."""


WRITERS: Mapping[str, Callable[[Any], str]] = {
    "mark": print_mark,
    "reasoning": {True: "on", False: "off", None: NONE}.__getitem__,
    "p_mcnemar": write_p,
    "p_holm": write_p,
}
"""How columns that are not plain numbers are printed."""

# The type of each column, which is the same in every table.
_KINDS = {
    str: "model condition group mark highest lowest no_gap bin no_ece",
    int: "cases pairs both prompted_only unprompted_only neither left_out right n n_probability highest_n lowest_n compared "
    "without family",
    bool: "reasoning",
    float: "prompted unprompted retention retention_low retention_high p_mcnemar p_holm rate low high brier ece highest_rate "
    "lowest_rate difference difference_low difference_high ratio ratio_low ratio_high stated",
}


def _declare(name: str, caption: str, names: str, read_rows: Callable[[Report], Rows]) -> ReportTable[Report]:
    """A table of the report; ``names`` are the names of its columns, separated by spaces."""
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
    """A row for each arm with two or more groups: its largest gap, or why there is none."""
    for arm in report["arms"]:
        gap, why = arm["groups"]["gap"], arm["groups"]["no_gap"]
        if gap:
            ends = name_ends(gap["ci"], "difference_") | name_ends(gap["ratio_ci"], "ratio_")
            yield {**_name(arm), **gap, **ends, "no_gap": ""}
        elif why:
            yield {**_name(arm), "no_gap": why}


def _list_calibration(report: Report) -> Rows:
    """For each arm whose sessions state a probability: a row for each bin, if there are any, and one for all sessions."""
    for arm in report["arms"]:
        found = arm["calibration"]
        for each in found["bins"]:
            yield {**_name(arm), **each, "bin": name_bin(each), **name_ends(each["ci"])}
        if found["n"]:
            yield {**_name(arm), **found, "bin": "all"}


def name_bin(each: Mapping[str, Any]) -> str:
    """The name of a bin: its two ends."""
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
    """A sentence for each arm with two or more groups: its largest gap, or why there is none."""
    for arm in report["arms"]:
        gap, why = arm["groups"]["gap"], arm["groups"]["no_gap"]
        name = name_arm(arm)
        if why:
            yield f"{name}: groups are not compared, because {why}."
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
    """The mark of figures in brackets, for use in a sentence; "" if there is none."""
    return f" ({figures['mark']})" if figures["mark"] else ""


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The report of ``measures.report_sessions`` as lines of text, with the meaning of the marks in it."""
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
    """The lines that only the report on a batch has."""
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
    """The sessions of a file; ``name`` is the file's, for errors. Raises ``ReadError``, which names the line, for a line that
    is not such an object, and for a session that occurs twice."""
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
