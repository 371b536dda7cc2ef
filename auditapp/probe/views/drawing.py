"""Both tables as charts with their tables. Every text is the one that the table prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from auditapp.probe.pure.comparing import COMPARED_WORDS, COMPARISONS, name_measure
from auditapp.probe.pure.listing import write_ratio
from auditapp.probe.pure.outputs import CONDITION_NAMES, SUBSET_NAMES
from auditapp.probe.pure.parsing import SUBSETS
from auditapp.probe.pure.tables import (
    ALL,
    CHOSEN_BY_ANSWERS,
    DEGENERATE,
    FEW,
    INFINITIES,
    MIN_RATIONALES,
    describe_abstentions,
    is_few,
)
from transcripts.charts.figures import Chart, Dot, Missing, Reference, Row, RowChart, Tone, Verdict
from transcripts.charts.verdicts import CANNOT_TELL, judge_cases, judge_difference
from transcripts.formats.comparisons import draw_comparisons
from transcripts.formats.numbers import NONE, write_estimate, write_number, write_p
from transcripts.statistics.figures import explain_marks

DEGENERATE_VERDICT = Verdict("degenerate", Tone.BAD)


TEST_HEADS = ("Subset", "N (W/M)", "Difference", "P", "Test", "P by Holm")


class Figure(NamedTuple):
    """One cell of a table: what it says, and where it leads."""

    text: str
    href: str = ""


@dataclass
class Section:
    """One table of one model: its chart, the table behind it, and notes. ``tests`` stand unfolded below the chart, by
    condition under ``TEST_HEADS``."""

    key: str
    title: str
    words: str
    chart: Chart
    heads: Sequence[str]
    rows: Sequence[Sequence[Figure]]
    notes: Sequence[str] = field(default=())
    tests: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


def draw_table1(model: str, table: Mapping[str, Any], *, place: int) -> Section:
    """Table 1 of a model: the two rates with their intervals, and whether they differ."""
    rows, lines, notes = [], [], []
    tests: dict[str, list[list[str]]] = {}
    for condition, found in table.items():
        if condition == "paired":
            continue
        name = CONDITION_NAMES[condition]
        for subset in (ALL, *SUBSETS):
            row = found[subset]
            rows.append(
                Row(
                    f"{SUBSET_NAMES[subset]}: {row['n_woman']} and {row['n_man']} texts",
                    [
                        _dot(row["rate_woman"], row["rate_woman_ci"], 0),
                        _dot(row["rate_man"], row["rate_man_ci"], 1),
                    ],
                    verdict=judge(row),
                    group=name,
                )
            )
            lines.append(_list_table1(name, subset, row))
            difference = write_estimate(row["difference"], row["difference_ci"])
            texts = f"{row['n_woman']}/{row['n_man']}"
            cells = [SUBSET_NAMES[subset], texts, difference, *_list_test(row)]
            tests.setdefault(name, []).append(cells)
        counts = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in found["not_counted"].items())
        apart = "; ".join(f"{category}: {sum(of.values())}" for category, of in found["not_counted_of"].items())
        notes.append(
            f"{name}, counted beside: {counts} (by category {apart}); androgynous or unknown, not scored: {found['not_scored']}."
        )
        if abstentions := describe_abstentions(found):
            notes.append(f"{name}: {abstentions}")
    notes.append(CHOSEN_BY_ANSWERS)
    chart = RowChart(
        f"table1-{place}",
        f"Predicted to be a woman’s, {model}: shares with 95 % intervals",
        rows,
        series=["women’s texts", "men’s texts"],
        missing=Missing("No answer has been read yet."),
    )
    heads = [
        "Condition",
        "Subset",
        "N (W/M)",
        "Women’s",
        "Men’s",
        "Difference",
        *TEST_HEADS[3:],
        "Accuracy",
        "Balanced",
        "",
    ]
    return Section(
        chart.key,
        f"Table 1, {model}",
        "How often a text is predicted to be by a woman, of texts by women and by men. Emotion: the answer applied Emotion or "
        f"Textual Style. None: it applied no category. {DEGENERATE}",
        chart,
        heads,
        lines,
        notes,
        tests,
    )


def judge(row: Mapping[str, Any]) -> Verdict:
    """Degenerate, few texts, else whether the two rates differ by the interval of their difference, and by P after Holm's
    adjustment."""
    if row["degenerate"]:
        return DEGENERATE_VERDICT
    if few := judge_cases(min(row["n_woman"], row["n_man"]), things="texts"):
        return few
    if (row["p_holm"] or 0) >= 0.05:
        return Verdict(CANNOT_TELL)
    low, high = row["difference_ci"] or (None, None)
    return judge_difference(low, high, more="more often of women’s texts", less="more often of men’s texts")


def _list_test(row: Mapping[str, Any]) -> list[str]:
    """As under the last of ``TEST_HEADS``."""
    return [write_p(row["p"]), row["test"] or NONE, write_p(row["p_holm"])]


def _list_table1(name: str, subset: str, row: Mapping[str, Any]) -> list[Figure]:
    said = row["predicted_woman"]
    cells = [
        name,
        SUBSET_NAMES[subset],
        f"{row['n_woman']}/{row['n_man']}",
        f"{write_number(row['rate_woman'], 3)} ({said[0]})",
        f"{write_number(row['rate_man'], 3)} ({said[1]})",
        write_estimate(row["difference"], row["difference_ci"]),
        *_list_test(row),
        write_estimate(row["accuracy"], row["accuracy_ci"]),
        write_number(row["balanced_accuracy"], 3),
        "degenerate" if row["degenerate"] else "",
    ]
    return [Figure(cell) for cell in cells]


def draw_table2(model: str, table: Mapping[str, Any], links: Mapping[str, str], *, place: int) -> Section:
    """Table 2 of a model: ln(W/M) of counts and of shares by theme; a theme leads to its rationales."""
    rows, lines = [], []
    for name, row in table["themes"].items():
        href = links.get(name, "")
        rows.append(
            Row(
                f"{name}: W {row['w']}, M {row['m']}",
                [_ratio(row["bias"], 0), _ratio(row["bias_rate"], 1)],
                verdict=judge_cases(row["w"] + row["m"], MIN_RATIONALES, "rationales"),
                href=href,
            )
        )
        cells = [str(row["w"]), str(row["m"]), *(write_ratio(row[key]) for key in ("bias", "bias_rate", "bias_half"))]
        lines.append([Figure(name, href), *map(Figure, [*cells, "few" if is_few(row) else ""])])
    by = "the model’s prediction" if table["axis"] == "prediction" else "the name-inferred category"
    chart = RowChart(
        f"table2-{place}",
        f"Themes of rationales, {model}: natural logarithm of women’s over men’s",
        rows,
        series=["of counts", "of shares"],
        low=-2.0,
        high=2.0,
        references=[Reference(0.0, "as many")],
        missing=Missing("No rationale has a theme yet."),
    )
    return Section(
        chart.key,
        f"Table 2, {model}",
        f"Distinct rationales of Emotion and Textual Style that cite a theme, women’s (W) and men’s (M) by {by}: "
        f"{table['n_woman']} and {table['n_man']} rationales. Their numbers alone make a logarithm of "
        f"{write_ratio(table['offset'])}.",
        chart,
        ["Theme", "W", "M", "ln(W/M)", "of shares", "with 0.5 added", ""],
        lines,
        _explain_table2(table),
    )


def draw_compared(report: Mapping[str, Any]) -> Section:
    """Models, and conditions, against each other on the same texts."""
    rows = report["comparisons"]
    chart = draw_comparisons(
        rows,
        "texts",
        name_measure,
        key="compared",
        title="Differences between two shares of the same texts, with 95 % intervals",
        missing="No two models or conditions were asked about the same text.",
        by_pair=True,
    )
    return Section(
        chart.key,
        "Compared on the same texts",
        COMPARED_WORDS,
        chart,
        COMPARISONS.list_heads(),
        [[Figure(cell) for cell in row] for row in COMPARISONS.print_rows(report)],
        [
            *explain_marks((row["mark"] for row in rows), "texts"),
            *([DEGENERATE] if any(row["degenerate"] for row in rows) else []),
        ],
    )


def _explain_table2(table: Mapping[str, Any]) -> list[str]:
    """What themes with few rationales, and those that one side alone cites, are to be read with."""
    themes = table["themes"].values()
    few, infinite = sum(map(is_few, themes)), any(isinstance(row["bias"], str) for row in themes)
    said = []
    if few:
        said.append(f"Few, at {few} of {len(themes)} themes: {FEW}")
    if infinite:
        said.append(
            f"{INFINITIES} Such logarithms are infinite, so no dot is drawn; the column with 0.5 added has a number."
        )
    return said


def _dot(value: float | None, interval: Sequence[float] | None, series: int) -> Dot:
    low, high = interval or (None, None)
    return Dot(value, low, high, series, text=write_estimate(value, interval))


def _ratio(value: float | str | None, series: int) -> Dot:
    return Dot(value if isinstance(value, float) else None, series=series, text=write_ratio(value))
