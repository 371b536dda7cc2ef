"""The report of an experiment as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of what ``effects.report_experiment`` returns."""
    yield f"Outcome: {report['outcome']}"
    for arm, own in report["arms"].items():
        left_out = own["assigned"] - own["with_outcome"]
        yield f"{arm}: {own['yes']:,} of {own['with_outcome']:,} ({left_out:,} of {own['assigned']:,} without an outcome)"
    srm = report["srm"]
    if srm["p"] is not None:
        alarm = ". ALARM: the assignment is not as planned; find out why before reading on" if srm["alarm"] else ""
        yield f"Assignment against the plan: chi-square {srm['chi2']:.3f}, P {srm['p']:.4g}{alarm}"
    yield f"{report['variant']} minus {report['baseline']}: {_describe(report['effect'])}"
    for heading in ("groups", "others"):
        for name, effect in report[heading].items():
            yield f"  {name}: {_describe(effect)}"


def _describe(effect: Mapping[str, Any]) -> str:
    if effect["difference"] is None:
        return "no units with an outcome on both sides"
    low, high = effect["ci"]
    holm = f", by Holm {effect['p_holm']:.4g}" if effect.get("p_holm") is not None else ""
    return f"{effect['difference']:+.3f} [{low:.3f}, {high:.3f}], P {effect['p_fisher']:.4g} (Fisher){holm}"
