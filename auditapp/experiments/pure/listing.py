"""The report of an experiment in words: as lines for a terminal, and its figures for a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from transcripts.formats.numbers import write_interval, write_number, write_p, write_signed


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of what ``effects.report_experiment`` returns."""
    yield f"Outcome: {report['outcome']}"
    for arm, own in report["arms"].items():
        left_out = own["assigned"] - own["with_outcome"]
        yield f"{arm}: {own['yes']:,} of {own['with_outcome']:,} ({left_out:,} of {own['assigned']:,} without an outcome)"
    if words := write_srm(report["srm"]):
        alarm = ". ALARM: the assignment is not as planned; find out why before reading on"
        yield f"Assignment against the plan: {words}{alarm if report['srm']['alarm'] else ''}"
    yield f"{report['variant']} minus {report['baseline']}: {write_effect(report['effect'])}"
    for heading in ("groups", "others"):
        for name, effect in report[heading].items():
            yield f"  {name}: {write_effect(effect)}"
    if report["moves"] is not None:
        yield from _list_moves(report["moves"])


def _list_moves(moves: Mapping[str, Any]) -> Iterator[str]:
    yield f"Sample: {moves['drawn']:,} units drawn, threads of {moves['found']:,} in the study, {moves['masked']:,} of them masked"
    if not moves["effects"]:
        return
    read = ", ".join(f"{number:,} of {arm}" for arm, number in moves["read"].items())
    yield f"Threads with the move, as {moves['coder']} read them ({read}):"
    for effect in moves["effects"].values():
        yield f"  {effect['name']}: {write_effect(effect)}"


def write_srm(srm: Mapping[str, Any]) -> str:
    """How units are assigned against the planned shares; empty where there is nothing to hold against."""
    return "" if srm["p"] is None else f"chi-square {write_number(srm['chi2'], 3)}, P {write_p(srm['p'])}"


def write_effect(effect: Mapping[str, Any]) -> str:
    """A difference with its counts, its interval and its P."""
    if effect["difference"] is None:
        return "nothing to compare on one side"
    counts = " against ".join(f"{part:,} of {n:,}" for part, n in (effect["variant"], effect["baseline"]))
    between = f"{write_signed(effect['difference'])} ({write_interval(effect['ci'])})"
    holm = f", by Holm {write_p(effect['p_holm'])}" if effect.get("p_holm") is not None else ""
    return f"{counts}, difference {between}, P {write_p(effect['p_fisher'])} (Fisher){holm}"
