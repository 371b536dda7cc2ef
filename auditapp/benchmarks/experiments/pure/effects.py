"""The results of an experiment: whether units were assigned as planned, the difference of the outcome, overall and by group,
and the moves in the threads of a sample by arm (paper 001, Table 4B).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from auditapp.benchmarks.experiments.pure.plans import Plan, Scale, Unit
from transcripts.formats.comparisons import write_holm
from transcripts.formats.problems import show_count
from transcripts.negotiation.pure.records import CONDUCT, MOVES, RecordIndex, Records, Work
from transcripts.negotiation.pure.sequences import list_positions
from transcripts.statistics.differences import (
    Estimate,
    Heterogeneity,
    Moments,
    estimate_difference_of_means,
    estimate_difference_of_shares,
    measure_heterogeneity,
    measure_welch,
)
from transcripts.statistics.figures import (
    FEW,
    MIN_CLUSTERS,
    NONE,
    Interval,
    Share,
    explain_marks,
    mark_clusters,
    newcombe_interval,
    write_interval,
    write_number,
    write_out_of,
    write_p,
    write_signed,
)
from transcripts.statistics.significance import adjust_holm, measure_chi_square, measure_fisher

ALARM_BELOW = 0.001


@dataclass
class Tally:
    """Everything that the report needs: the number of units by arm, and for each group the outcomes by name and arm. A numeric
    outcome has the number of values, their mean and their spread."""

    assigned: Counter[str] = field(default_factory=Counter)
    known: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    yes: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    moments: dict[tuple[str, str], dict[str, Moments]] = field(default_factory=dict)

    def add(self, unit: Unit) -> None:
        """Count one unit."""
        self.assigned[unit.arm] += 1
        for name, value in unit.outcomes.items():
            if value is None:
                continue
            self.known[name, unit.arm][unit.group] += 1
            if isinstance(value, bool):
                self.yes[name, unit.arm][unit.group] += value
            else:
                groups = self.moments.setdefault((name, unit.arm), {})
                groups.setdefault(unit.group, Moments()).add(value)

    def find_share(self, outcome: str, arm: str, group: str | None = None) -> Share:
        """The share of units with the outcome among the units of an arm (of one group or of all) whose outcome is known."""
        groups = self.known[outcome, arm] if group is None else [group]
        return Share(*(sum(counts[outcome, arm][each] for each in groups) for counts in (self.yes, self.known)))

    def find_moments(self, outcome: str, arm: str, group: str | None = None) -> Moments:
        """The same for a numeric outcome: the number of known values, their mean and their standard deviation."""
        groups = self.moments.get((outcome, arm), {})
        return sum(groups.values(), Moments()) if group is None else groups.get(group, Moments())

    def list_groups(self, outcome: str) -> list[str]:
        """The groups that have a unit for which this outcome is known, sorted."""
        return sorted(
            {group for (name, _), groups in self.known.items() for group in groups if name == outcome and group}
        )


def tally_units(units: Iterable[Unit]) -> Tally:
    """Count units."""
    tally = Tally()
    for unit in units:
        tally.add(unit)
    return tally


def report_experiment(tally: Tally, plan: Plan) -> dict[str, Any]:
    """The report of an experiment.

    ``arms``: how many units were assigned, have a known primary outcome, and have the outcome. ``srm``: whether the assignment
    keeps the planned shares. ``effect``: variant minus baseline on the primary outcome. ``groups``: the same by group, with P
    Holm-adjusted over the groups. ``interaction``: whether the differences of the groups differ from one another, see
    ``compare_groups``. ``others``: the other outcomes by name, each an effect, with P Holm-adjusted over them. Units without an
    outcome are counted and left out; ``missing`` says how many there are in each arm, and how they could change each difference.
    ``moves`` and ``loads`` are None here, because codings of a sample's threads and the number of loads exist only in a study.
    """
    outcome = plan.outcome
    groups = {group: _compare(tally, plan, outcome, group) for group in tally.list_groups(outcome)}
    others = {name: _compare(tally, plan, name) for name in plan.others}
    adjust_by_holm(list(groups.values()))
    adjust_by_holm(list(others.values()))
    return {
        "outcome": outcome,
        "baseline": plan.baseline,
        "variant": plan.variant,
        "arms": {arm: _describe_arm(tally, plan, arm) for arm in plan.allocation},
        "srm": measure_allocation(tally.assigned, plan.allocation),
        "effect": _compare(tally, plan, outcome),
        "interaction": compare_groups(tally, plan, list(groups)),
        "groups": groups,
        "others": others,
        "missing": {name: _describe_missing(tally, plan, name) for name in plan.outcomes},
        "loads": None,
        "moves": None,
    }


def measure_allocation(assigned: Mapping[str, int], planned: Mapping[str, float]) -> dict[str, Any]:
    """Pearson's chi-square test of the assigned units against the planned shares, with one degree of freedom fewer than arms.

    An ``alarm`` (P below .001) means that something went wrong between assigning and counting, and that no effect can be trusted
    until the cause is found (Fabijan et al. 2019, sample ratio mismatch).
    """
    total, parts = sum(assigned.values()), sum(planned.values())
    if not total or len(planned) < 2:
        return {"chi2": None, "p": None, "alarm": False}
    expected = {arm: total * part / parts for arm, part in planned.items()}
    chi2 = sum((assigned.get(arm, 0) - count) ** 2 / count for arm, count in expected.items())
    from scipy.stats import chi2 as distribution  # loads slowly, and only here

    p = float(distribution.sf(chi2, len(planned) - 1))
    return {"chi2": chi2, "p": p, "alarm": p < ALARM_BELOW}


def _describe_arm(tally: Tally, plan: Plan, arm: str) -> dict[str, Any]:
    assigned = {"assigned": tally.assigned[arm]}
    if plan.outcome in plan.numbers:
        moments = tally.find_moments(plan.outcome, arm)
        return {
            **assigned,
            "with_outcome": moments.n,
            **_describe_mean(moments),
            "ci": _end(moments.interval, moments.n),
        }
    share = tally.find_share(plan.outcome, arm)
    interval = _end(share.interval, share.n)
    return {**assigned, "with_outcome": share.n, "yes": share.part, "rate": share.value, "ci": interval}


def _describe_mean(moments: Moments) -> dict[str, Any]:
    return {"n": moments.n, "mean": moments.mean if moments.n else None, "sd": moments.sd}


def _end(interval: Interval | None, units: int) -> list[float] | None:
    """The ends of an interval; None if the smaller side has fewer than ``MIN_CLUSTERS`` units."""
    return list(interval) if interval and units >= MIN_CLUSTERS else None


def _describe_missing(tally: Tally, plan: Plan, outcome: str) -> dict[str, Any]:
    """For each arm, how many of its units lack the outcome; and the bounds of the difference between variant and baseline, None for
    a number without a scale.

    ``bounds`` are two differences over all assigned units: with every missing outcome the lowest in the variant and the highest in
    the baseline, and the reverse (Manski 1990, American Economic Review 80:319). ``bounds_ci`` goes from the lower end of the 95 %
    interval of the first difference to the upper end of that of the second (Horowitz and Manski 2000, JASA 95:77; for the
    difference alone, a somewhat narrower interval would do, Imbens and Manski 2004, Econometrica 72:1845). It contains the true
    difference in about 95 % of samples or more, and both true bounds in 84 to 96 % of simulated samples (docs/reference/method.md).
    It is None if either difference has no interval.
    """
    missing = {arm: tally.assigned[arm] - tally.find_share(outcome, arm).n for arm in plan.allocation}
    scale = plan.numbers.get(outcome, Scale(0, 1))
    extremes = [_fill(tally, plan, outcome, missing, ends) for ends in (scale, scale[::-1])] if scale else []
    bounds = [each["difference"] for each in extremes if each["difference"] is not None]
    ends = [each["ci"][place] for place, each in enumerate(extremes) if each["ci"]]
    return {
        "arms": {arm: [number, tally.assigned[arm]] for arm, number in missing.items()},
        "bounds": bounds or None,
        "bounds_ci": ends if len(ends) > 1 else None,
    }


def _fill(
    tally: Tally, plan: Plan, outcome: str, missing: Mapping[str, int], values: Sequence[float]
) -> dict[str, Any]:
    """The difference between variant and baseline if their missing outcomes had these two values."""
    arms = list(zip((plan.variant, plan.baseline), values, strict=True))
    if outcome in plan.numbers:
        return compare_means(*(tally.find_moments(outcome, arm) + Moments(missing[arm], value) for arm, value in arms))
    known = [(tally.find_share(outcome, arm), missing[arm], int(value)) for arm, value in arms]
    return compare_shares(*(Share(share.part + lost * value, share.n + lost) for share, lost, value in known))


def compare_groups(tally: Tally, plan: Plan, groups: Sequence[str]) -> dict[str, Any] | None:
    """Whether the effect on the primary outcome differs between groups: Cochran's Q over the differences of the groups, see
    ``measure_heterogeneity``; None with fewer than two groups.

    Groups with fewer than 10 units or without any spread on one side are left out and named in ``few``, because the variance of
    their difference is not known well enough. ``groups``: those that are compared. ``q``, ``df``, ``df_error`` (for a numeric
    outcome) and ``p`` are None if fewer than two are left.
    """
    if len(groups) < 2:
        return None
    found: dict[str, Estimate] = {}
    for group in groups:
        estimate = _estimate(tally, plan, group)
        if estimate is not None:
            found[group] = estimate
    tested = measure_heterogeneity(list(found.values()))
    return {
        "groups": list(found),
        "few": [group for group in groups if group not in found],
        **(tested._asdict() if tested else dict.fromkeys(Heterogeneity._fields)),
    }


def _estimate(tally: Tally, plan: Plan, group: str) -> Estimate | None:
    shares = [tally.find_share(plan.outcome, arm, group) for arm in (plan.variant, plan.baseline)]
    if min(share.n for share in shares) < FEW:
        return None
    if plan.outcome not in plan.numbers:
        return estimate_difference_of_shares(*shares[0], *shares[1])
    return estimate_difference_of_means(
        *(tally.find_moments(plan.outcome, arm, group) for arm in (plan.variant, plan.baseline))
    )


def _compare(tally: Tally, plan: Plan, outcome: str, group: str | None = None) -> dict[str, Any]:
    arms = (plan.variant, plan.baseline)
    if outcome in plan.numbers:
        return compare_means(*(tally.find_moments(outcome, arm, group) for arm in arms))
    return compare_shares(*(tally.find_share(outcome, arm, group) for arm in arms))


def compare_means(variant: Moments, baseline: Moments) -> dict[str, Any]:
    """The difference of two independent means with Welch's t and its interval, which are None if a side has fewer than three units
    or if neither side has two different values; see ``_conclude``."""
    tested = measure_welch(variant, baseline)
    units = min(variant.n, baseline.n)
    return {
        "kind": "mean",
        "variant": _describe_mean(variant),
        "baseline": _describe_mean(baseline),
        "difference": variant.mean - baseline.mean if units else None,
        "ci": _end(tested.interval, units) if tested else None,
        "t": tested.t if tested else None,
        "df": tested.df if tested else None,
        **_conclude("Welch", tested.p if tested else None, units),
    }


def compare_shares(variant: Share, baseline: Share) -> dict[str, Any]:
    """The difference of two independent shares with Newcombe's interval, None if a side has fewer than three units, and Fisher's
    exact test; see ``_conclude``. Pearson's uncorrected chi-square and both P values are for checks of the arithmetic."""
    tested, p = measure_chi_square(*variant, *baseline), measure_fisher(*variant, *baseline)
    units = min(variant.n, baseline.n)
    return {
        "kind": "share",
        "variant": list(variant),
        "baseline": list(baseline),
        "difference": (variant.value or 0.0) - (baseline.value or 0.0) if units else None,
        "ci": _end(newcombe_interval(*variant, *baseline), units),
        "chi2": tested.statistic if tested else None,
        "p_chi2": tested.p if tested else None,
        "p_fisher": p,
        **_conclude("Fisher", p, units),
    }


def _conclude(test: str, p: float | None, units: int) -> dict[str, Any]:
    """The name and P of the test of an effect, and the mark for the number of units. Name and P are None with fewer than ten units
    in an arm, because nothing is concluded from so few."""
    is_tested = p is not None and units >= FEW
    return {
        "test": test if is_tested else None,
        "p": p if is_tested else None,
        "mark": mark_clusters(units) if units else None,
    }


def find_p(effect: Mapping[str, Any]) -> float | None:
    """The P by which an effect is judged and which Holm's method adjusts; None if nothing is concluded."""
    p: float | None = effect["p"]
    return p


def adjust_by_holm(compared: Sequence[dict[str, Any]]) -> None:
    """Add to each effect ``p_holm``, adjusted over the effects that have a P, None for the others; and ``family``, their number."""
    tested = [p for each in compared if (p := find_p(each)) is not None]
    adjusted = iter(adjust_holm(tested))
    for each in compared:
        each |= {"p_holm": None if find_p(each) is None else next(adjusted), "family": len(tested)}


class NoSuchCoder(ValueError):
    """The requested coder has read none of the threads; the message is a sentence."""


def compare_moves(
    records: Records, plan: Plan, *, arms: Mapping[str, str], names: Mapping[str, str], coder: str = ""
) -> dict[str, Any]:
    """How many threads of each arm show each move, according to one coder.

    ``records`` are those of the sample's threads, ``arms`` gives the arm of each thread by its id, and ``names`` the moves in the
    order of the codebook. A thread shows a move if it is enacted at least once in what the model says or does with tools. Only
    threads that the coder read to the end count, because in others a missing code says nothing. Without ``coder``, it is the one
    who has read most of the threads, and among equals the first by name.

    Returns ``readers``, how many threads each coder has read; ``coder``; ``read``, how many threads of each arm the coder read; and
    ``effects`` by move: variant minus baseline, with Holm-adjusted P. A move in no thread of the two arms is left out, also from
    the family, because its P is always 1; ``unused`` counts these moves of the codebook. The shares need no weights, because units
    of an arm were drawn with equal probability, and arms are compared, never pooled. Raises ``NoSuchCoder``.
    """
    index = RecordIndex(records)
    read = {each: index.list_threads_read(work, MOVES) for each, work in index.work.items()}
    readers = {each: len(found) for each, found in sorted(read.items()) if found}
    chosen = _choose(readers, coder)
    threads = read.get(chosen, [])
    totals = Counter(arms[thread] for thread in threads)
    found = _count(index, index.work[chosen], threads, arms) if chosen else {}
    effects: dict[str, dict[str, Any]] = {}
    for move in [*names, *sorted(found.keys() - names.keys())] if threads else []:
        variant, baseline = (
            Share(found.get(move, Counter())[arm], totals[arm]) for arm in (plan.variant, plan.baseline)
        )
        if variant.part + baseline.part:
            effects[move] = {"name": names.get(move, move), **compare_shares(variant, baseline)}
    adjust_by_holm(list(effects.values()))
    return {
        "readers": readers,
        "coder": chosen,
        "read": {arm: totals[arm] for arm in plan.allocation},
        "effects": effects,
        "unused": len(names.keys() - effects.keys()) if threads else 0,
    }


def _choose(readers: Mapping[str, int], coder: str) -> str:
    if coder and coder not in readers:
        raise NoSuchCoder(
            f"{coder} has read none of the sample's threads to the end. Who has: {', '.join(readers) or 'nobody'}."
        )
    return coder or min(readers, key=lambda each: (-readers[each], each), default="")


def _count(index: RecordIndex, work: Work, threads: Sequence[str], arms: Mapping[str, str]) -> dict[str, Counter[str]]:
    """In how many of the threads each move is enacted, by move and arm."""
    found: dict[str, Counter[str]] = {}
    for thread in threads:
        for move in set().union(*list_positions(index, work, thread, CONDUCT)):
            found.setdefault(move, Counter())[arms[thread]] += 1
    return found


ARMITAGE = (
    "P and intervals are those of a single look. With each further look, a P below 0.05 occurs more often by chance: without an "
    "effect in 8 % of experiments with 2 looks, 14 % with 5 and 19 % with 10 (Armitage, McPherson and Rowe 1969)."
)
BOUNDS_EXPLAINED = (
    "Bounds: the difference of all assigned units if every missing outcome were no (of a number, the lowest) in the variant and "
    "yes (the highest) in the baseline, and the reverse (Manski 1990). Their interval has sampling error in it: it goes from the "
    "lower end of the 95 % interval of the first to the upper end of that of the second (Horowitz and Manski 2000). A number has "
    "bounds where the plan gives its scale."
)


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The report of ``effects.report_experiment`` as lines of text."""
    yield f"Outcome: {report['outcome']}"
    for arm, own in report["arms"].items():
        left_out = own["assigned"] - own["with_outcome"]
        found = f"{own['yes']:,} of {own['with_outcome']:,}" if "yes" in own else write_mean(own)
        yield f"{arm}: {found} ({left_out:,} of {own['assigned']:,} without an outcome)"
    if words := write_srm(report["srm"]):
        alarm = ". ALARM: the assignment differs from the plan; find out why before reading on"
        yield f"Assignment compared with the plan: {words}{alarm if report['srm']['alarm'] else ''}"
    yield f"{report['variant']} minus {report['baseline']}: {write_effect(report['effect'])}"
    if words := write_interaction(report["interaction"]):
        yield words
    for heading in ("groups", "others"):
        for name, effect in report[heading].items():
            yield f"  {name}: {write_effect(effect)}"
    for name, found in report["missing"].items():
        yield f"Missing, {name}: {write_missing(found)}"
    if any(missing["bounds"] for missing in report["missing"].values()):
        yield BOUNDS_EXPLAINED
    if words := write_loads(report["loads"]):
        yield words
    yield from list_marks(report)
    if report["moves"] is not None:
        yield from _list_moves(report["moves"])


def _list_moves(moves: Mapping[str, Any]) -> Iterator[str]:
    yield f"Sample: {moves['drawn']:,} units drawn, threads of {moves['found']:,} in the study, {moves['masked']:,} of them masked"
    if not moves["coder"]:
        return
    read = ", ".join(f"{number:,} of {arm}" for arm, number in moves["read"].items())
    yield f"Threads with the move, as {moves['coder']} read them ({read}):"
    for effect in moves["effects"].values():
        yield f"  {effect['name']}: {write_effect(effect)}"
    if words := write_unused(moves):
        yield words


def write_unused(moves: Mapping[str, Any]) -> str:
    """How many moves of the codebook were not found in the threads; empty if all were found."""
    if not moves["unused"]:
        return ""
    return f"{show_count(moves['unused'], 'move')} of the codebook in no thread of these arms, left out and not tested."


def write_srm(srm: Mapping[str, Any]) -> str:
    """The test of the assigned units against the planned shares; empty if there was nothing to test."""
    return "" if srm["p"] is None else f"chi-square {write_number(srm['chi2'], 3)}, P {write_p(srm['p'])}"


def write_effect(effect: Mapping[str, Any]) -> str:
    """A difference with its counts, its interval and its P."""
    if effect["difference"] is None:
        return "nothing to compare on one side"
    sides = " against ".join(write_side(effect, side) for side in ("variant", "baseline"))
    between = f"{write_signed(effect['difference'])} ({write_interval(effect['ci'])})"
    tested = f", P {write_p(effect['p'])} ({effect['test']})" if effect["test"] else ""
    holm = f", adjusted {write_holm(effect)}" if effect.get("p_holm") is not None else ""
    mark = f", {effect['mark']}" if effect["mark"] else ""
    return f"{sides}, difference {between}{tested}{holm}{mark}"


def write_side(effect: Mapping[str, Any], side: str) -> str:
    """The outcome of one arm: how many of how many units, or a mean."""
    found = effect[side]
    return write_mean(found) if effect["kind"] == "mean" else f"{found[0]:,} of {found[1]:,}"


def write_mean(mean: Mapping[str, Any]) -> str:
    """A mean with its standard deviation and the number of values."""
    return f"mean {write_number(mean['mean'], 3)} (SD {write_number(mean['sd'], 3)}, n {mean['n']:,})"


def write_interaction(found: Mapping[str, Any] | None) -> str:
    """Whether groups differ from one another; empty with fewer than two groups."""
    if found is None:
        return ""
    few = ", ".join(found["few"])
    few = f" Left out, with fewer than {FEW} units or without any spread on one side: {few}." if few else ""
    if found["p"] is None:
        return f"Each group is tested against 0. Whether the groups differ from one another cannot be tested.{few}"
    freedom = f"{found['df']}" + ("" if found["df_error"] is None else f" and {write_number(found['df_error'], 1)}")
    return (
        f"Each group is tested against 0. Whether the effects in the {len(found['groups'])} groups differ from one another: "
        f"P {write_p(found['p'])} (Cochran’s Q {write_number(found['q'], 3)}, degrees of freedom {freedom}).{few}"
    )


def write_missing(found: Mapping[str, Any]) -> str:
    """How many outcomes are missing in each arm, and the bounds of the difference."""
    shares = ", ".join(f"{arm} {write_out_of(*counts)}" for arm, counts in found["arms"].items())
    return f"{shares}; difference {write_bounds(found)}" if found["bounds"] else shares


def write_bounds(found: Mapping[str, Any]) -> str:
    """Two bounds with their signs and their interval; a dash if there are none."""
    if not found["bounds"]:
        return NONE
    bounds, interval = (" to ".join(map(write_signed, found[name] or ())) for name in ("bounds", "bounds_ci"))
    return f"{bounds} (95 % interval {interval or NONE})"


def write_loads(loads: int | None) -> str:
    """A warning if the differences could be read after more than one load of units; empty if there was only one."""
    if loads is None or loads < 2:
        return ""
    return f"The units came in {loads:,} loads, and the differences could be read after each. {ARMITAGE}"


def list_marks(report: Mapping[str, Any]) -> list[str]:
    """What the marks of the effects and moves mean, with each mark once."""
    effects = [report["effect"], *report["groups"].values(), *report["others"].values()]
    effects += (report["moves"] or {"effects": {}})["effects"].values()
    return explain_marks((effect["mark"] for effect in effects), "units, or of moves threads, in an arm")
