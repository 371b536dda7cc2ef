"""The figures of an experiment as charts and tables: for its page, and for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from transcripts.charts.figures import Dot, Missing, Reference, Row, RowChart
from transcripts.formats.numbers import write_interval, write_p, write_signed

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


def list_moves(report: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The same of each move of the sample's threads that can be told, its name in the place of the outcome."""
    for effect in (report["moves"] or {"effects": {}})["effects"].values():
        yield f"move: {effect['name']}", "", effect


def list_everything(report: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Effects, then the moves of the sample, which count threads: what files of figures hold."""
    yield from list_effects(report)
    yield from list_moves(report)


def list_rows(report: Mapping[str, Any], plan_sha256: str) -> Iterator[list[object]]:
    """The rows of a CSV in the order of ``COLUMNS``."""
    for outcome, group, effect in list_everything(report):
        low, high = effect["ci"] or (None, None)
        shares = [*effect["variant"], *effect["baseline"]]
        tests = [effect["chi2"], effect["p_chi2"], effect["p_fisher"], effect.get("p_holm")]
        yield [outcome, group, *shares, effect["difference"], low, high, *tests, plan_sha256]


def list_cells(effects: Iterable[tuple[str, str, Mapping[str, Any]]]) -> Iterator[list[str]]:
    """The rows of the printed table, under ``HEADS``, of effects or of moves."""
    for outcome, group, effect in effects:
        shares = [_count(effect[side]) for side in ("variant", "baseline")]
        tests = [write_p(effect[key]) for key in ("p_fisher", "p_chi2")]
        yield [
            outcome,
            group or "all",
            *shares,
            write_signed(effect["difference"]),
            write_interval(effect["ci"]),
            *tests,
            write_p(effect.get("p_holm")),
        ]


def draw_effects(report: Mapping[str, Any], plan_sha256: str) -> RowChart:
    """Every difference with its interval, beside a line where there is none."""
    named = [(f"group {group}" if group else outcome, effect) for outcome, group, effect in list_effects(report)]
    missing = "No unit with an outcome is loaded on both sides yet."
    return _draw(named, key="effects", title=_name_chart(report, "differences"), sha256=plan_sha256, missing=missing)


def draw_moves(report: Mapping[str, Any], plan_sha256: str) -> RowChart:
    """The same of the moves of the sample's threads."""
    named = [(effect["name"], effect) for _, _, effect in list_moves(report)]
    title = _name_chart(report, "differences in threads with each move,")
    missing = "Nobody has read threads of both arms to the end yet."
    return _draw(named, key="moves", title=title, sha256=plan_sha256, missing=missing)


def _name_chart(report: Mapping[str, Any], what: str) -> str:
    return f"{report['variant']} minus {report['baseline']}: {what} with 95 % intervals"


def _draw(
    named: Iterable[tuple[str, Mapping[str, Any]]], *, key: str, title: str, sha256: str, missing: str
) -> RowChart:
    rows = [
        Row(f"{name} ({_count(effect['variant'])}, {_count(effect['baseline'])})", [_dot(effect)])
        for name, effect in named
        if effect["difference"] is not None
    ]
    return RowChart(
        key,
        title,
        rows,
        low=-0.2,
        high=0.2,
        references=[Reference(0.0, "no difference")],
        note=f"Plan: SHA-256 {sha256[:16]}…",
        missing=Missing(missing),
    )


def _count(share: Sequence[int]) -> str:
    part, n = share
    return f"{part} of {n}"


def _dot(effect: Mapping[str, Any]) -> Dot:
    low, high = effect["ci"]
    return Dot(effect["difference"], low, high, text=write_signed(effect["difference"]))
