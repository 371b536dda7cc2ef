"""What the plays of a suite show: how much of what a prompt brings is there without it, and whether groups fare alike.

Paper 001, Table 4B: internalisation, and static outcomes. The units are plays; those without an outcome are counted and left out.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from transcripts.agreement.pure.shares import Interval, Share, newcombe_interval
from transcripts.negotiation.pure.exact_tests import measure_mcnemar

PROMPTED, UNPROMPTED = "prompted", "unprompted"
BINS = 10
DRAWS = 2_000
SEED = 20_241
_Z = 1.959963984540054


class PlayOutcome(NamedTuple):
    """What one play came to. ``outcome`` is None where it could not be read; ``group`` is "" where the case names none."""

    case: str
    model: str
    condition: str
    repeat: int
    outcome: bool | None
    group: str = ""
    probability: float | None = None
    reasoning: bool | None = None

    @property
    def arm(self) -> tuple[str, str, bool | None]:
        """The model, under what condition, and whether it reasons: what figures are never pooled over."""
        return self.model, self.condition, self.reasoning


def report_plays(plays: Sequence[PlayOutcome]) -> dict[str, Any]:
    """The report on plays: ``retention`` by model, ``arms`` each with its rate and its groups, ``groups`` where there is just
    one arm (otherwise None: groups are never pooled over arms), and ``left_out``, the plays without an outcome."""
    by_arm: dict[tuple[str, str, bool | None], list[PlayOutcome]] = defaultdict(list)
    for play in plays:
        by_arm[play.arm].append(play)
    arms = []
    for model, condition, reasoning in sorted(by_arm, key=str):
        own = by_arm[model, condition, reasoning]
        named = {"model": model, "condition": condition, "reasoning": reasoning}
        arms.append({**named, **_measure_rate(own), "groups": measure_groups(own)})
    return {
        "plays": len(plays),
        "left_out": sum(play.outcome is None for play in plays),
        "retention": measure_retention(plays),
        "arms": arms,
        "groups": arms[0]["groups"] if len(arms) == 1 else None,
    }


def _measure_rate(plays: Iterable[PlayOutcome]) -> dict[str, Any]:
    outcomes = [play.outcome for play in plays]
    share = Share(outcomes.count(True), len(outcomes) - outcomes.count(None))
    return {"right": share.part, "n": share.n, "left_out": outcomes.count(None), **_describe(share)}


def _describe(share: Share) -> dict[str, Any]:
    return {"rate": share.value, "ci": _list(share.interval)}


def _list(interval: Interval | None) -> list[float] | None:
    return list(interval) if interval else None


def measure_retention(plays: Iterable[PlayOutcome]) -> dict[str, dict[str, Any]]:
    """By model, and apart where its reasoning was on and off: the unprompted rate over the prompted one, on pairs of one case
    and repeat. A condition of another name than ``prompted`` is compared in the same way, under "model, condition".

    With a pairs right in both, b prompted only, c unprompted only: (a + c) / (a + b), with the interval
    exp(ln R ± 1.96 sqrt((b + c) / ((a + b)(a + c)))) of a ratio of paired shares (Nam and Blackwelder 2002, Statistics in
    Medicine 21:689, with the variance of its logarithm); McNemar's exact test. Where a case was repeated, its pairs are not
    independent: ``ci_cases`` draws cases.
    """
    by_arm: dict[tuple[str, str], dict[tuple[str, int], PlayOutcome]] = defaultdict(dict)
    for play in plays:
        by_arm[_name_model(play), play.condition][play.case, play.repeat] = play
    figures = {}
    for (model, condition), prompted in sorted(by_arm.items()):
        unprompted = by_arm.get((model, UNPROMPTED), {})
        pairs = [(*each, prompted[each].outcome, unprompted[each].outcome) for each in prompted if each in unprompted]
        if condition != UNPROMPTED and pairs:
            name = model if condition == PROMPTED else f"{model}, {condition}"
            unpaired = len(prompted) + len(unprompted) - 2 * len(pairs)
            figures[name] = {**_measure_pairs(pairs), "unpaired": unpaired}
    return figures


def _name_model(play: PlayOutcome) -> str:
    if play.reasoning is None:
        return play.model
    return f"{play.model}, reasoning {'on' if play.reasoning else 'off'}"


def _measure_pairs(pairs: Sequence[tuple[str, int, bool | None, bool | None]]) -> dict[str, Any]:
    """Of pairs as case, repeat, and the outcome with the prompt and without."""
    cells: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    left_out = 0
    for case, _, with_prompt, without in pairs:
        if with_prompt is None or without is None:
            left_out += 1
        else:
            cells[case][with_prompt, without] += 1
    total = sum(cells.values(), Counter[tuple[bool, bool]]())
    both, prompted_only, unprompted_only = total[True, True], total[True, False], total[False, True]
    n = total.total()
    return {
        "pairs": n,
        "both": both,
        "prompted_only": prompted_only,
        "unprompted_only": unprompted_only,
        "neither": total[False, False],
        "prompted": _describe(Share(both + prompted_only, n)),
        "unprompted": _describe(Share(both + unprompted_only, n)),
        "p_mcnemar": measure_mcnemar(prompted_only, unprompted_only) if n else None,
        "retention": _measure_ratio(both, prompted_only, unprompted_only, cells),
        "cases": len(cells),
        "left_out": left_out,
    }


def _measure_ratio(
    both: int, prompted_only: int, unprompted_only: int, cells: Mapping[str, Counter[tuple[bool, bool]]]
) -> dict[str, Any]:
    prompted, unprompted = both + prompted_only, both + unprompted_only
    if not prompted:
        return {"value": None, "ci": None, "ci_cases": None}
    value = unprompted / prompted
    ci = None
    if unprompted:
        spread = _Z * math.sqrt((prompted_only + unprompted_only) / (prompted * unprompted))
        ci = [value * math.exp(-spread), value * math.exp(spread)]
    repeated = any(counts.total() > 1 for counts in cells.values())
    return {"value": value, "ci": ci, "ci_cases": _draw_cases(cells) if repeated else None}


def _draw_cases(cells: Mapping[str, Counter[tuple[bool, bool]]]) -> list[float] | None:
    """The 95 % percentile interval of the ratio over draws of as many cases with replacement; draws in which nothing is right
    with the prompt have no ratio. None with fewer than two cases."""
    import numpy  # loads slowly, and most reports have no repeats

    from transcripts.agreement.pure.resampling import draw_sums

    if len(cells) < 2:
        return None
    right = [
        (each[True, True] + each[False, True], each[True, True] + each[True, False])
        for _, each in sorted(cells.items())
    ]
    unprompted, prompted = draw_sums(numpy.array(right).T, resamples=DRAWS, seed=SEED)
    ratios = unprompted[prompted > 0] / prompted[prompted > 0]
    return [float(end) for end in numpy.percentile(ratios, [2.5, 97.5])] if len(ratios) else None


def measure_groups(plays: Iterable[PlayOutcome]) -> dict[str, Any]:
    """How groups fare, of cases that name one: rates with Wilson's intervals, and the group with the highest rate against the one
    with the lowest: the difference (Newcombe), and the lower rate over the higher with the interval of independent shares,
    exp(ln r ± 1.96 sqrt(1/x1 - 1/n1 + 1/x2 - 1/n2)) (Katz et al. 1978, Biometrics 34:469).

    Where probabilities are stated: the Brier score (1950), and the calibration error over ten bins of equal width, each from its
    lower end up to its upper one, the last with 1: the mean of |stated - right| weighted by plays (Naeini et al. 2015).
    """
    by_group: dict[str, list[PlayOutcome]] = defaultdict(list)
    for play in plays:
        if play.group:
            by_group[play.group].append(play)
    groups = {group: _measure_group(own) for group, own in sorted(by_group.items())}
    return {
        "groups": groups,
        "gap": _measure_gap({group: Share(each["right"], each["n"]) for group, each in groups.items()}),
        "left_out": sum(each["left_out"] for each in groups.values()),
    }


def _measure_group(plays: Sequence[PlayOutcome]) -> dict[str, Any]:
    stated = [
        (play.probability, play.outcome) for play in plays if play.outcome is not None and play.probability is not None
    ]
    brier = sum((probability - right) ** 2 for probability, right in stated) / len(stated) if stated else None
    figures = {"n_probability": len(stated), "brier": brier, "ece": _measure_calibration(stated)}
    return {**_measure_rate(plays), **figures}


def _measure_calibration(stated: Sequence[tuple[float, bool]]) -> float | None:
    if not stated:
        return None
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for probability, right in stated:
        bins[min(int(probability * BINS), BINS - 1)].append((probability, right))
    # Of each bin the sums suffice: its weight cancels its mean's denominator.
    off = sum(abs(sum(probability - right for probability, right in own)) for own in bins.values())
    return off / len(stated)


def _measure_gap(groups: Mapping[str, Share]) -> dict[str, Any] | None:
    rates = {group: share.value for group, share in groups.items() if share.value is not None}
    if len(rates) < 2:
        return None
    highest, lowest = max(rates, key=lambda group: rates[group]), min(rates, key=lambda group: rates[group])
    top, bottom = groups[highest], groups[lowest]
    ratio = rates[lowest] / rates[highest] if rates[highest] else None
    ratio_ci = None
    if ratio:
        spread = _Z * math.sqrt(1 / bottom.part - 1 / bottom.n + 1 / top.part - 1 / top.n)
        ratio_ci = [ratio * math.exp(-spread), ratio * math.exp(spread)]
    return {
        "highest": highest,
        "lowest": lowest,
        "difference": rates[highest] - rates[lowest],
        "ci": _list(newcombe_interval(top.part, top.n, bottom.part, bottom.n)),
        "ratio": ratio,
        "ratio_ci": ratio_ci,
    }
