"""Comparisons of two models or conditions on the same texts, cases or questions: their rows, table, chart and sentences, the same
on every page. transcripts.statistics.differences has the arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from transcripts.charts.figures import (
    CANNOT_TELL,
    Dot,
    Missing,
    Reference,
    Row,
    RowChart,
    Tone,
    Verdict,
    judge_cases,
    summarise,
)
from transcripts.formats.problems import show_count
from transcripts.formats.report_tables import ReportTable, declare, name_ends
from transcripts.statistics.differences import LEVEL, Comparison, Direction, compare_family, pair_units
from transcripts.statistics.figures import FEW, write_estimate, write_number, write_p

Compared = Mapping[str, Any]
"""A row of ``compare_sides``."""
Share = int | Fraction
Shares = Mapping[Any, Share]
"""By unit (a text, a case, a question), the share of its repeats that have what is compared."""
CHARTED = 100
RULE = (
    f"With {FEW} or more: one is higher where P, adjusted (Holm), is below {LEVEL} and the 95 % interval is on one side of 0; "
    "where all differ alike there is no interval, and P decides. Otherwise cannot tell, which does not show that the two are "
    "alike. Intervals are not adjusted for the number of comparisons."
)
HEADS = {
    "left_out": "Left out",
    "first_rate": "Rate, first",
    "second_rate": "Rate, second",
    "low": "from",
    "high": "to",
    "p": "P (tossed signs)",
    "p_holm": "P (Holm)",
    "family": "P adjusted over",
}


def take_share(repeats: Sequence[bool]) -> Share:
    """The share of the repeats of a unit that has what is compared: exact, and a whole number where there is one repeat, which is
    many times faster to compare."""
    return int(repeats[0]) if len(repeats) == 1 else Fraction(sum(repeats), len(repeats))


class Sides(NamedTuple):
    """The two sides of a comparison: ``about`` has the columns that describe it, by name."""

    about: Mapping[str, Any]
    first: str
    second: str
    first_shares: Shares
    second_shares: Shares

    @property
    def common(self) -> list[Hashable]:
        """The units for which both sides have a share."""
        return [unit for unit in self.first_shares if unit in self.second_shares]


def compare_sides(
    family: Iterable[Sides], things: str, *, units: str = "", clusters: Mapping[Any, Hashable] | None = None
) -> list[dict[str, Any]]:
    """A family of comparisons of two sides: a row for each comparison that has a common unit.

    ``things`` is the plural noun for the independent units, such as texts, and the name of the column that counts them. If they
    contain several units each, ``clusters`` says which contains each unit, and ``units`` is the noun for these. ``left_out``:
    units with a share on one side only. ``difference`` is the first rate minus the second, both means over the common units;
    ``ci``, ``p``, ``p_holm`` (over the ``family``: the number of comparisons with a P), ``mark`` and ``verdict`` are those of
    ``compare_family``.
    """
    compared = [(each, common) for each in family if (common := each.common)]
    found = compare_family([pair_units(each.first_shares, each.second_shares, clusters) for each, _ in compared])
    return [
        {
            **sides.about,
            "first": sides.first,
            "second": sides.second,
            **({units: each.units} if units else {}),
            things: each.clusters,
            "mark": each.mark,
            "left_out": each.left_out,
            "first_rate": _average(sides.first_shares, common),
            "second_rate": _average(sides.second_shares, common),
            "difference": each.value,
            "ci": bound_rates(each),
            "p": each.p,
            "p_holm": each.p_adjusted,
            "family": each.family,
            "method": each.method,
            "verdict": each.verdict,
        }
        for (sides, common), each in zip(compared, found, strict=True)
    ]


def _average(shares: Shares, units: Sequence[Hashable]) -> float:
    return float(sum(shares[unit] for unit in units) / len(units))


def bound_rates(found: Comparison) -> list[float] | None:
    """The interval of a difference of rates, within -1 and 1; None if all units have the same difference, because the error cannot
    be estimated then."""
    if found.interval is None or found.is_uniform:
        return None
    return [max(-1.0, found.interval.low), min(1.0, found.interval.high)]


def name_apart(family: Sequence[Sides], nothing: str) -> list[str]:
    """A sentence for each two sides without a common unit; ``nothing`` names what they lack, such as "no text in common"."""
    places = [((each.about.get("under", ""), each.first, each.second), bool(each.common)) for each in family]
    joined = {place for place, is_joined in places if is_joined}
    return [
        f"{under}: {first} and {second} have {nothing} and are not compared.".removeprefix(": ")
        for under, first, second in dict.fromkeys(place for place, _ in places if place not in joined)
    ]


def declare_comparisons(
    caption: str, about: str, things: str, *, units: str = "", after: str = "", heads: Mapping[str, str] = {}
) -> ReportTable[Mapping[str, Any]]:
    """The table of a report's ``comparisons``; ``about`` and ``after`` name its first and last columns, separated by blanks."""
    columns = (
        *declare(str, about, "first second"),
        *(*declare(int, units, things), *declare(str, "mark"), *declare(int, "left_out")),
        *(*declare(float, "first_rate second_rate difference low high p p_holm"), *declare(int, "family")),
        *declare(str, "verdict", after),
    )

    def read_rows(report: Mapping[str, Any]) -> Iterator[Compared]:
        for each in report["comparisons"]:
            yield {**each, **name_ends(each["ci"]), "verdict": judge_comparison(each, things).words}

    writers: dict[str, Callable[[Any], str]] = {"p": write_p, "p_holm": write_p, "mark": print_mark}
    return ReportTable("comparisons", caption, columns, read_rows, {**HEADS, **heads}, writers)


def print_mark(mark: str | None) -> str:
    """A mark in print: empty if there is none."""
    return mark or ""


def judge_comparison(each: Compared, things: str) -> Verdict:
    """The verdict of a comparison in a few words."""
    return judge_sides(each[things], things, each["verdict"], each["first"], each["second"])


def judge_sides(count: int, things: str, verdict: str | None, first: str = "first", second: str = "second") -> Verdict:
    """The same, from the ``verdict`` of a comparison over ``count`` independent units."""
    if few := judge_cases(count, FEW, things):
        return few
    sides = {Direction.HIGHER.value: first, Direction.LOWER.value: second}
    return Verdict(f"{sides[verdict]} higher", Tone.WARN) if verdict in sides else Verdict(CANNOT_TELL)


def describe_comparisons(rows: Iterable[Compared], things: str, name: Callable[[Compared], str]) -> Iterator[str]:
    """A sentence for each comparison; ``name`` describes what is compared."""
    for each in rows:
        mark = f" ({each['mark']})" if each["mark"] else ""
        tested = f", P {write_holm(each)}" if each["p_holm"] is not None else ""
        yield (
            f"{name(each)}: {each['first']} {write_number(each['first_rate'], 3)}, {each['second']} "
            f"{write_number(each['second_rate'], 3)}, on {show_count(each[things], things.removesuffix('s'))}{mark}; difference "
            f"{write_estimate(each['difference'], each['ci'])}{tested}: {judge_comparison(each, things).words}"
        )


def write_holm(figures: Mapping[str, Any]) -> str:
    """An adjusted P, and the number of tests."""
    return f"{write_p(figures['p_holm'])} (Holm over {show_count(figures['family'], 'test')})"


def draw_comparisons(
    rows: Sequence[Compared],
    things: str,
    name: Callable[[Compared], str],
    *,
    key: str,
    title: str,
    missing: str,
    by_pair: bool = False,
) -> RowChart:
    """Comparisons as a chart: pairs grouped by the description ``name`` or, with ``by_pair``, descriptions grouped by pair;
    ``missing`` says why there is no chart."""
    drawn = []
    for each in rows:
        pair = f"{each['first']} minus {each['second']}"
        under = f"{each['under']}: " if each.get("under") else ""
        group, line = (f"{under}{pair}", name(each)) if by_pair else (name(each), pair)
        dot = Dot(each["difference"], each["ci"], text=write_estimate(each["difference"], each["ci"]))
        verdict = judge_comparison(each, things)
        drawn.append(Row(f"{line}, {_count(each, things)}", [dot], group=group, verdict=verdict))
    return chart_differences(drawn, key=key, title=title, missing=Missing(missing))


def _count(each: Compared, things: str) -> str:
    return ", ".join([show_count(each[things], things.removesuffix("s")), *filter(None, [each["mark"]])])


def chart_differences(
    rows: Sequence[Row],
    *,
    key: str,
    title: str,
    things: str = "comparisons",
    note: str = "",
    missing: Missing | None = None,
) -> RowChart:
    """A chart of the first ``CHARTED`` differences, around 0; ``things`` are the units that the verdicts are about."""
    left_out = f"{len(rows) - CHARTED:,} more are in the table." if len(rows) > CHARTED else ""
    return RowChart(
        key,
        title,
        rows[:CHARTED],
        high=None,
        references=[Reference(0.0, "0")],
        summary=summarise((row.verdict for row in rows[:CHARTED]), things),
        note=" ".join(filter(None, [note or RULE, left_out])),
        missing=missing,
    )
