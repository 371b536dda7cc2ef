"""The report of an experiment in words: as lines for a terminal, and its figures for a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from transcripts.formats.comparisons import write_holm
from transcripts.formats.numbers import NONE, write_interval, write_number, write_out_of, write_p, write_signed
from transcripts.formats.problems import show_count
from transcripts.statistics.figures import FEW, explain_marks

ARMITAGE = (
    "P and intervals are those of a single look. With each further look a P below 0.05 comes up by chance more often: without an "
    "effect in 8 % of experiments with 2 looks, 14 % with 5 and 19 % with 10 (Armitage, McPherson and Rowe 1969)."
)
BOUNDS_EXPLAINED = (
    "Bounds: the difference of all assigned units if every missing outcome were no (of a number, the lowest) in the variant and "
    "yes (the highest) in the baseline, and the reverse (Manski 1990). Their interval has sampling error in it: it goes from the "
    "lower end of the 95 % interval of the first to the upper end of that of the second (Horowitz and Manski 2000). A number has "
    "bounds where the plan gives its scale."
)


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of what ``effects.report_experiment`` returns."""
    yield f"Outcome: {report['outcome']}"
    for arm, own in report["arms"].items():
        left_out = own["assigned"] - own["with_outcome"]
        found = f"{own['yes']:,} of {own['with_outcome']:,}" if "yes" in own else write_mean(own)
        yield f"{arm}: {found} ({left_out:,} of {own['assigned']:,} without an outcome)"
    if words := write_srm(report["srm"]):
        alarm = ". ALARM: the assignment is not as planned; find out why before reading on"
        yield f"Assignment against the plan: {words}{alarm if report['srm']['alarm'] else ''}"
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
    """How many moves of the codebook nobody found in the threads; empty where all were found."""
    if not moves["unused"]:
        return ""
    return f"{show_count(moves['unused'], 'move')} of the codebook in no thread of these arms, left out and not tested."


def write_srm(srm: Mapping[str, Any]) -> str:
    """How units are assigned against the planned shares; empty where there is nothing to hold against."""
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
    """Of one arm, how many of how many, or a mean."""
    found = effect[side]
    return write_mean(found) if effect["kind"] == "mean" else f"{found[0]:,} of {found[1]:,}"


def write_mean(mean: Mapping[str, Any]) -> str:
    """A mean with its number and standard deviation."""
    return f"mean {write_number(mean['mean'], 3)} (SD {write_number(mean['sd'], 3)}, n {mean['n']:,})"


def write_interaction(found: Mapping[str, Any] | None) -> str:
    """Whether groups differ from one another; empty where there are not two groups."""
    if found is None:
        return ""
    few = ", ".join(found["few"])
    few = f" Left out, with fewer than {FEW} units or without any spread on one side: {few}." if few else ""
    if found["p"] is None:
        return f"Groups are each tested against 0. Whether they differ from one another cannot be tested.{few}"
    freedom = f"{found['df']}" + ("" if found["df_error"] is None else f" and {write_number(found['df_error'], 1)}")
    return (
        f"Groups are each tested against 0. Whether the differences of the {len(found['groups'])} groups differ from one another: "
        f"P {write_p(found['p'])} (Cochran’s Q {write_number(found['q'], 3)}, degrees of freedom {freedom}).{few}"
    )


def write_missing(found: Mapping[str, Any]) -> str:
    """How many outcomes are missing in each arm, and the bounds of the difference."""
    shares = ", ".join(f"{arm} {write_out_of(*counts)}" for arm, counts in found["arms"].items())
    return f"{shares}; difference {write_bounds(found)}" if found["bounds"] else shares


def write_bounds(found: Mapping[str, Any]) -> str:
    """Two bounds with their signs and their interval; a dash where there are none."""
    if not found["bounds"]:
        return NONE
    bounds, interval = (" to ".join(map(write_signed, found[name] or ())) for name in ("bounds", "bounds_ci"))
    return f"{bounds} (95 % interval {interval or NONE})"


def write_loads(loads: int | None) -> str:
    """That the differences could be read after more than one load of units; empty where there was but one."""
    if loads is None or loads < 2:
        return ""
    return f"The units came in {loads:,} loads, and the differences could be read after each. {ARMITAGE}"


def list_marks(report: Mapping[str, Any]) -> list[str]:
    """What the marks of the effects and moves mean, each once."""
    effects = [report["effect"], *report["groups"].values(), *report["others"].values()]
    effects += (report["moves"] or {"effects": {}})["effects"].values()
    return explain_marks((effect["mark"] for effect in effects), "units, or of moves threads, in an arm")
