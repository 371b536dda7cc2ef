"""What the sessions of a suite show: how much of what a prompt brings is there without it, and whether groups fare alike.

Paper 001, Table 4B: internalisation, and static outcomes. The unit of evidence is the case: repeats of a case are averaged before
anything is tested, so that asking ten times is no more evidence than asking once. Sessions without an outcome are counted and left
out.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

from transcripts.formats.comparisons import Share, Sides, compare_sides, take_share
from transcripts.statistics.figures import (
    FEW,
    MIN_CLUSTERS,
    TOO_FEW,
    Calibration,
    Interval,
    Stated,
    mark_clusters,
    measure_calibration,
    paired_difference_interval,
    paired_ratio_interval,
    wilson_interval,
)
from transcripts.statistics.significance import adjust_holm, measure_mcnemar, toss_signs

PROMPTED, UNPROMPTED = "prompted", "unprompted"
MODELS, CONDITIONS, REASONING = "models", "conditions", "reasoning"
"""What two sides of a comparison differ in."""
MIN_SHARED = 10
"""Two groups that share fewer cases are not compared: what differs may be the cases."""
CONFIDENCE = 0.95
Arm = tuple[str, str, bool | None]
"""The model, under what condition, and whether it reasons: what figures are never pooled over."""


class SessionOutcome(NamedTuple):
    """What one session came to. ``outcome`` is None where it could not be read; ``group`` is "" where the case names none; ``pair``
    names what is one case told of several groups, and is "" where a case has no twin of that kind; ``base`` names the model
    whatever its reasoning, "" where ``model`` does."""

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
    """``right`` of ``n`` sessions over ``cases``; ``rate`` is the mean over cases of the share that is right of a case's
    sessions."""
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

    A mean of shares varies at most as much as a share of that many sessions, so with repeats the interval is as wide as it can have
    to be, and without it is Wilson's own. Below three cases there is none."""
    if not means:
        return {"rate": None, "ci": None}
    interval = wilson_interval(math.fsum(means), len(means)) if len(means) >= MIN_CLUSTERS else None
    return {"rate": fmean(means), "ci": _list(interval)}


def _list(interval: Interval | None) -> list[float] | None:
    return list(interval) if interval else None


def measure_retention(sessions: Iterable[SessionOutcome]) -> dict[str, dict[str, Any]]:
    """By model, and apart where its reasoning was on and off: the unprompted rate over the prompted one, on pairs of one case
    and repeat. A condition of another name than ``prompted`` is compared in the same way, under "model, condition".

    Repeats are averaged within their case. The interval is ``paired_ratio_interval``; below three cases there is none. Where every
    case was played once, ``p_mcnemar`` is McNemar's exact P, and with repeats that of tossing the sign of every case's difference,
    which is the same where there are none; below ten cases there is none, for nothing is concluded from so few. ``p_holm`` is
    adjusted over the ``family`` of all models and conditions that have a P (Holm 1979).
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
    """Of pairs as case, repeat, and the outcome with the prompt and without."""
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
    """The mean of ``upper`` over that of ``lower``, by case."""
    under = math.fsum(lower)
    interval = paired_ratio_interval(upper, lower, confidence) if len(upper) >= MIN_CLUSTERS else None
    return {"value": math.fsum(upper) / under if under else None, "ci": _list(interval)}


def measure_comparisons(sessions: Iterable[SessionOutcome]) -> list[dict[str, Any]]:
    """All pairs of models under one condition, of conditions of one model, and of one model's reasoning on and off under one
    condition, each with its ``kind``: the first rate less the second, on the cases that both met.

    A case's value is the share right of its sessions with an outcome. Rows are those of ``compare_sides``; the comparisons of a
    kind are one family. Pairs without a common case are left out.
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
    """Unprompted after other conditions, and reasoning on before off."""
    model, condition, reasoning = arm
    return model, condition == UNPROMPTED, condition, reasoning is not True


def _find_kind(one: Arm, other: Arm, bases: Mapping[Arm, str]) -> str:
    """What differs between two arms; "" where it is more than one thing. Of models, one may leave its reasoning to the provider."""
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
    """How groups fare, of cases that name one: rates with Wilson's intervals over cases; and ``gap``, the largest difference
    between two groups that share ``MIN_SHARED`` cases or more, on those cases alone. ``no_gap`` says why there is none.

    Groups share a case where sessions of both have its ``pair``. As the largest of ``compared`` differences is chosen after
    looking, its intervals are those of 1 - .05 / compared (Bonferroni): ``paired_difference_interval``, and for ``ratio``, the
    lower rate over the higher, ``paired_ratio_interval``. Brier score and calibration error are those of ``measure_calibration``.
    """
    by_group: dict[str, list[SessionOutcome]] = defaultdict(list)
    for session in sessions:
        if session.group:
            by_group[session.group].append(session)
    groups = {group: _measure_group(own) for group, own in sorted(by_group.items())}
    return {
        "groups": groups,
        **_find_gap(by_group),
        "left_out": sum(each["left_out"] for each in groups.values()),
    }


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
    """Of the ``n`` sessions with an outcome that state a probability; ``without`` have an outcome and state none from 0 to 1."""
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
            for key, value in (
                ("n", sum(len(shared[group][case]) for case in common)),
                ("rate", fmean(means[group])),
            )
        },
        "difference": fmean(means[highest]) - fmean(means[lowest]),
        "ci": _list(paired_difference_interval(means[highest], means[lowest], confidence)),
        "ratio": ratio["value"],
        "ratio_ci": ratio["ci"],
        "compared": compared,
        "confidence": confidence,
    }
