"""Both tables as charts with their tables. Every text is the one that the table prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from auditapp.benchmarks.gender_cues.pure.comparing import (
    COMPARED_WORDS,
    COMPARISONS,
    judge_compared,
    name_measure,
    name_sides,
)
from auditapp.benchmarks.gender_cues.pure.limits import CONDITION_NAMES
from auditapp.benchmarks.gender_cues.pure.outputs import (
    RATIONALES,
    SUBSET_NAMES,
    TABLE1,
    TABLE2,
    TEXTS,
    judge,
    list_table1,
    list_table2,
    write_ratio,
)
from auditapp.benchmarks.gender_cues.pure.tables import (
    CHOSEN_BY_ANSWERS,
    DEGENERATE,
    INFINITIES,
    describe_abstentions,
    mark_theme,
)
from transcripts.charts.figures import Chart, Dot, Missing, Reference, Row, RowChart
from transcripts.charts.verdicts import judge_cases, summarise
from transcripts.formats.comparisons import draw_comparisons
from transcripts.formats.numbers import write_estimate
from transcripts.statistics.figures import explain_marks

# Of the columns of Table 1, those that are unfolded below its chart.
TEST_HEADS = ("Subset", "N (W/M)", "Difference", "P", "Test", "P (Holm)")


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
    listed = list(list_table1(model, table))
    for row in listed:
        name = CONDITION_NAMES[row["condition"]]
        rows.append(
            Row(
                f"{SUBSET_NAMES[row['subset']]}: {row['n_woman']} and {row['n_man']} texts",
                [_dot(row["rate_woman"], row["rate_woman_ci"], 0), _dot(row["rate_man"], row["rate_man_ci"], 1)],
                verdict=judge(row),
                group=name,
            )
        )
        cells = [(head, write(row)) for head, write in TABLE1.printed[1:]]
        lines.append([Figure(cell) for _, cell in cells])
        tests.setdefault(name, []).append([cell for head, cell in cells if head in TEST_HEADS])
    for condition, found in table.items():
        if condition == "paired":
            continue
        name = CONDITION_NAMES[condition]
        counts = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in found["not_counted"].items())
        apart = "; ".join(f"{category}: {sum(of.values())}" for category, of in found["not_counted_of"].items())
        notes.append(
            f"{name}, counted beside: {counts} (by category {apart}); androgynous or unknown, not scored: {found['not_scored']}."
        )
        if abstentions := describe_abstentions(found):
            notes.append(f"{name}: {abstentions}")
    notes += [CHOSEN_BY_ANSWERS, *explain_marks((row["mark"] for row in listed), TEXTS)]
    chart = RowChart(
        f"table1-{place}",
        f"Predicted to be a woman’s, {model}: shares with 95 % intervals",
        rows,
        series=["women’s texts", "men’s texts"],
        missing=Missing("No answer has been read yet."),
    )
    return Section(
        chart.key,
        f"Table 1, {model}",
        "How often a text is predicted to be by a woman, of texts by women and by men. Emotion: the answer applied Emotion or "
        f"Textual Style. None: it applied no category. {DEGENERATE}",
        chart,
        TABLE1.list_heads()[1:],
        lines,
        notes,
        tests,
    )


def draw_table2(model: str, table: Mapping[str, Any], links: Mapping[str, str], *, place: int) -> Section:
    """Table 2 of a model: ln(W/M) of counts and of shares by theme; a theme leads to its rationales."""
    rows, lines = [], []
    for row in list_table2(model, table):
        href = links.get(row["theme"], "")
        rows.append(
            Row(
                f"{row['theme']}: W {row['w']}, M {row['m']}",
                [_ratio(row["bias"], 0), _ratio(row["bias_rate"], 1)],
                verdict=judge_cases(row["w"] + row["m"], things="rationales"),
                href=href,
            )
        )
        theme, *cells = (write(row) for _, write in TABLE2.printed[2:])
        lines.append([Figure(theme, href), *map(Figure, cells)])
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
        TABLE2.list_heads()[2:],
        lines,
        _explain_table2(table),
    )


def draw_compared(report: Mapping[str, Any]) -> Section:
    """Models, and conditions, against each other on the same texts."""
    rows = [name_sides(row) for row in report["comparisons"]]
    chart = draw_comparisons(
        rows,
        "texts",
        name_measure,
        key="compared",
        title="Differences between two shares of the same texts, with 95 % intervals",
        missing="No two models or conditions were asked about the same text.",
        by_pair=True,
    )
    lines = [replace(line, verdict=judge_compared(row)) for line, row in zip(chart.rows, rows, strict=False)]
    chart = replace(chart, rows=lines, summary=summarise((line.verdict for line in lines), "comparisons"))
    return Section(
        chart.key,
        "Compared on the same texts",
        COMPARED_WORDS,
        chart,
        COMPARISONS.list_heads(),
        [[Figure(cell) for cell in row] for row in COMPARISONS.print_rows({"comparisons": rows})],
        [
            *explain_marks((row["mark"] for row in rows), "texts"),
            *([DEGENERATE] if any(row["degenerate"] for row in rows) else []),
        ],
    )


def _explain_table2(table: Mapping[str, Any]) -> list[str]:
    """What themes with few rationales, and those that one side alone cites, are to be read with."""
    themes = table["themes"].values()
    said = explain_marks(map(mark_theme, themes), RATIONALES)
    if any(isinstance(row["bias"], str) for row in themes):
        said.append(
            f"{INFINITIES} Such logarithms are infinite, so no dot is drawn; the column with 0.5 added has a number."
        )
    return said


def _dot(value: float | None, interval: Sequence[float] | None, series: int) -> Dot:
    return Dot(value, interval, series, text=write_estimate(value, interval))


def _ratio(value: float | str | None, series: int) -> Dot:
    return Dot(value if isinstance(value, float) else None, series=series, text=write_ratio(value))
