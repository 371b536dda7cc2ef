"""The figures of an experiment as charts and tables: for its page, and for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transcripts.charts.figures import Dot, Missing, Reference, Row, RowChart
from transcripts.formats.numbers import write_p

HEADS = (
    "Outcome",
    "Group",
    "Variant",
    "Baseline",
    "Difference",
    "95 % interval",
    "P (Fisher)",
    "P (Pearson)",
    "P (Holm)",
)
COLUMNS = (
    *("outcome", "group", "variant_yes", "variant_n", "baseline_yes", "baseline_n", "difference", "low", "high"),
    *("chi2", "p_chi2", "p_fisher", "p_holm", "plan_sha256"),
)


def list_effects(report: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Each effect with its outcome and its group, "" for all units: the primary one, its groups, the others."""
    yield report["outcome"], "", report["effect"]
    for group, effect in report["groups"].items():
        yield report["outcome"], group, effect
    for name, effect in report["others"].items():
        yield name, "", effect


def list_rows(report: Mapping[str, Any], plan_sha256: str) -> Iterator[list[object]]:
    """The rows of a CSV in the order of ``COLUMNS``."""
    for outcome, group, effect in list_effects(report):
        low, high = effect["ci"] or (None, None)
        shares = [*effect["variant"], *effect["baseline"]]
        tests = [effect["chi2"], effect["p_chi2"], effect["p_fisher"], effect.get("p_holm")]
        yield [outcome, group, *shares, effect["difference"], low, high, *tests, plan_sha256]


def list_cells(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """The rows of the printed table, under ``HEADS``."""
    for outcome, group, effect in list_effects(report):
        shares = [_count(effect[side]) for side in ("variant", "baseline")]
        interval = "{:.3f} to {:.3f}".format(*effect["ci"]) if effect["ci"] else "–"
        tests = [write_p(effect[key]) for key in ("p_fisher", "p_chi2")]
        yield [
            outcome,
            group or "all",
            *shares,
            "–" if effect["difference"] is None else f"{effect['difference']:+.3f}",
            interval,
            *tests,
            write_p(effect.get("p_holm")),
        ]


def draw_effects(report: Mapping[str, Any], plan_sha256: str) -> RowChart:
    """Every difference with its interval, beside a line where there is none."""
    rows = [
        Row(
            f"{f'group {group}' if group else outcome} ({_count(effect['variant'])}, {_count(effect['baseline'])})",
            [_dot(effect)],
        )
        for outcome, group, effect in list_effects(report)
        if effect["difference"] is not None
    ]
    return RowChart(
        "effects",
        f"{report['variant']} minus {report['baseline']}: differences with 95 % intervals",
        rows,
        low=-0.2,
        high=0.2,
        references=[Reference(0.0, "no difference")],
        note=f"Plan: SHA-256 {plan_sha256[:16]}…",
        missing=Missing("No unit with an outcome is loaded on both sides yet."),
    )


def _count(share: Sequence[int]) -> str:
    part, n = share
    return f"{part} of {n}"


def _dot(effect: Mapping[str, Any]) -> Dot:
    low, high = effect["ci"]
    return Dot(effect["difference"], low, high, text=f"{effect['difference']:+.3f}")
