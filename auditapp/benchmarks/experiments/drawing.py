"""The figures of an experiment as charts and tables: for its page, and for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from auditapp.benchmarks.experiments.models import SampledUnit
from auditapp.benchmarks.experiments.pure.effects import (
    BOUNDS_EXPLAINED,
    list_marks,
    write_bounds,
    write_interaction,
    write_loads,
    write_missing,
    write_side,
)
from transcripts.charts.figures import Dot, Missing, Reference, Row, RowChart, Verdict
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, declare, name_ends
from transcripts.statistics.figures import NONE, write_interval, write_number, write_out_of, write_p, write_signed

SIDES = ("variant", "baseline")


class Figures(NamedTuple):
    """What the file of figures is made of: the report, and the SHA-256 of the plan that it follows."""

    report: Mapping[str, Any]
    plan_sha256: str


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


def _read_figures(figures: Figures) -> Iterator[TableRow]:
    """What is missing, and whether groups differ, is in rows of all units."""
    report = figures.report
    for outcome, group, effect in list_everything(report):
        missing = None if group else report["missing"].get(outcome)
        sides = {side: missing["arms"][report[side]][0] for side in SIDES} if missing else {}
        yield {
            **effect,
            **{f"{side}_{name}": value for side in SIDES for name, value in _name_side(effect[side])},
            **{f"{side}_missing": count for side, count in sides.items()},
            "outcome": outcome,
            "group": group,
            "effect": effect,
            **name_ends(effect["ci"]),
            **name_ends(missing and missing["bounds"], "bounds_"),
            **name_ends(missing and missing["bounds_ci"], "bounds_ci_"),
            "p_groups_differ": (report["interaction"] or {}).get("p")
            if missing and outcome == report["outcome"]
            else None,
            "plan_sha256": figures.plan_sha256,
        }


def _name_side(side: Sequence[int] | Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    """How many units of how many, or the mean of how many."""
    return side.items() if isinstance(side, Mapping) else zip(("yes", "n"), side, strict=True)


FIGURES = ReportTable(
    "figures",
    "Differences of shares with Newcombe's interval, of means with Welch's; Fisher's exact test or Welch's t from ten units in "
    "each arm on, Holm over groups, over other outcomes and over moves, which count threads of the sample.",
    (
        *declare(str, "outcome group"),
        *declare(int, "variant_yes variant_n baseline_yes baseline_n"),
        *(
            *declare(float, "difference low high"),
            *declare(str, "test"),
            *declare(float, "p p_holm"),
            *declare(int, "family"),
        ),
        *declare(float, "variant_mean variant_sd baseline_mean baseline_sd t df"),
        *declare(str, "mark"),
        *declare(int, "variant_missing baseline_missing"),
        *declare(float, "bounds_low bounds_high bounds_ci_low bounds_ci_high p_groups_differ"),
        *declare(str, "plan_sha256"),
    ),
    _read_figures,
    printed=[
        Printed("Outcome", lambda row: str(row["outcome"])),
        Printed("Group", lambda row: row["group"] or "all"),
        Printed("Variant", lambda row: write_side(row["effect"], "variant")),
        Printed("Baseline", lambda row: write_side(row["effect"], "baseline")),
        Printed("Difference", lambda row: write_signed(row["effect"]["difference"])),
        Printed("95 % interval", lambda row: write_interval(row["effect"]["ci"])),
        Printed("P (Fisher or Welch)", lambda row: write_p(row["effect"]["p"])),
        Printed("P (Holm)", lambda row: write_p(row["effect"].get("p_holm"))),
        Printed("P adjusted over", lambda row: str(row["effect"].get("family") or NONE)),
        Printed("", lambda row: row["effect"]["mark"] or ""),
    ],
)
SAMPLE: ReportTable[Sequence[SampledUnit]] = ReportTable(
    "sample",
    "The units whose threads are to be read, in the order in which they were drawn.",
    (*declare(int, "place"), *declare(str, "unit")),
    lambda units: [{"place": each.place, "unit": each.unit} for each in units],
)


def list_cells(effects: Iterable[tuple[str, str, Mapping[str, Any]]]) -> Iterator[list[str]]:
    """The printed rows of effects, or of moves, for the page."""
    for outcome, group, effect in effects:
        row = {"outcome": outcome, "group": group, "effect": effect}
        yield [write(row) for _, write in FIGURES.printed]


def list_arms(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """By arm, the units assigned and those with the primary outcome, then how many have it and their share, or mean and spread."""
    for arm, own in report["arms"].items():
        is_share = "yes" in own
        value = write_number(own["rate" if is_share else "mean"], 3)
        estimate = f"{value} ({write_interval(own['ci'])})" if own["ci"] else value
        found = [f"{own['yes']:,}", estimate] if is_share else [estimate, write_number(own["sd"], 3)]
        yield [arm, f"{own['assigned']:,}", f"{own['with_outcome']:,}", *found]


def list_missing(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """By outcome, how many units of each arm are without it, and the bounds of the difference: cells of a table with a column for
    each arm."""
    for name, found in report["missing"].items():
        yield [name, *(write_out_of(*counts) for counts in found["arms"].values()), write_bounds(found)]


def list_remarks(report: Mapping[str, Any]) -> list[str]:
    """What a file says of the differences: whether groups differ, what is missing, how often units were loaded, and marks."""
    missing = [f"Missing, {name}: {write_missing(found)}." for name, found in report["missing"].items()]
    if any(found["bounds"] for found in report["missing"].values()):
        missing.append(BOUNDS_EXPLAINED)
    said = [write_interaction(report["interaction"]), *missing, write_loads(report["loads"])]
    return [words for words in (*said, *list_marks(report)) if words]


def draw_effects(report: Mapping[str, Any], plan_sha256: str) -> list[RowChart]:
    """Every difference with its interval, and a line at 0: those of shares in one chart, and each outcome that
    is a number in one of its own, for numbers have scales of their own."""
    by_outcome: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for outcome, group, effect in list_effects(report):
        of = outcome if effect["kind"] == "mean" else ""
        by_outcome.setdefault(of, []).append((f"group {group}" if group else outcome, effect))
    missing = "No unit with an outcome is loaded on both sides yet."
    return [
        _draw(
            named,
            key=f"effects-{place}" if outcome else "effects",
            title=_name_chart(report, f"differences of “{outcome}”, a number," if outcome else "differences"),
            sha256=plan_sha256,
            missing=missing,
        )
        for place, (outcome, named) in enumerate(by_outcome.items())
    ]


def draw_moves(report: Mapping[str, Any], plan_sha256: str) -> RowChart:
    """The same of the moves of the sample's threads."""
    named = [(effect["name"], effect) for _, _, effect in list_moves(report)]
    title = _name_chart(report, "differences in threads with each move,")
    missing = "No move is enacted in the threads read, or threads of only one arm are read to the end."
    return _draw(named, key="moves", title=title, sha256=plan_sha256, missing=missing)


def _name_chart(report: Mapping[str, Any], what: str) -> str:
    return f"{report['variant']} minus {report['baseline']}: {what} with 95 % intervals"


def _draw(
    named: Iterable[tuple[str, Mapping[str, Any]]], *, key: str, title: str, sha256: str, missing: str
) -> RowChart:
    shown = [(name, effect) for name, effect in named if effect["difference"] is not None]
    rows = [
        Row(
            f"{name} ({', '.join(_count(effect[side]) for side in ('variant', 'baseline'))})",
            [_dot(effect)],
            verdict=Verdict(effect["mark"]) if effect["mark"] else None,
        )
        for name, effect in shown
    ]
    # The scale of a number is that of its differences; shares are drawn on one that is not stretched.
    reach = max((abs(end) for _, effect in shown for end in effect["ci"] or [effect["difference"]]), default=0.2)
    reach = reach if key.startswith("effects-") and reach else 0.2
    return RowChart(
        key,
        title,
        rows,
        low=-reach,
        high=reach,
        references=[Reference(0.0, "no difference")],
        note=f"Plan: SHA-256 {sha256[:16]}…",
        missing=Missing(missing),
    )


def _count(side: Sequence[int] | Mapping[str, Any]) -> str:
    return f"n {side['n']}" if isinstance(side, Mapping) else f"{side[0]} of {side[1]}"


def _dot(effect: Mapping[str, Any]) -> Dot:
    return Dot(effect["difference"], effect["ci"], text=write_signed(effect["difference"]))
