"""What a chart shows: names, numbers and words. Nothing here knows where a mark is drawn, or in which colour.

Every number comes with its ``text``, which is what the table of the page prints: a chart never rounds by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """How a verdict is coloured. Its words say the same, so that nobody depends on the colour."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    NONE = "none"


@dataclass(frozen=True)
class Verdict:
    """What a figure means for its reader, in a few words."""

    words: str
    tone: Tone = Tone.NONE


@dataclass(frozen=True)
class Missing:
    """Why there is nothing to draw, and where to get it."""

    words: str
    href: str = ""
    link: str = ""


@dataclass(frozen=True)
class Dot:
    """An estimate with its ``interval``, both of its ends. ``series`` decides shape and colour.

    Where ``value`` is not a number, nothing is drawn and ``text`` says why.
    """

    value: float | None
    interval: Sequence[float] | None = None
    series: int = 0
    text: str = ""


@dataclass(frozen=True)
class Part:
    """One part of a bar; the parts of a row follow one another."""

    amount: float | None
    series: int = 0


@dataclass(frozen=True)
class Row:
    """One line of a row chart: dots, or a bar made of parts. ``text`` is printed beside a bar."""

    name: str
    dots: Sequence[Dot] = ()
    parts: Sequence[Part] = ()
    text: str = ""
    verdict: Verdict | None = None
    href: str = ""
    group: str = ""


@dataclass(frozen=True)
class Reference:
    """A value that the rows are compared with, drawn as a line."""

    at: float
    words: str


@dataclass(frozen=True)
class RowChart:
    """Names below one another, with dots or bars on one scale.

    ``key`` names the chart on its page and in files. The scale begins at ``low`` and ends at ``high``; it grows where a
    number lies outside, and without ``high`` it ends at the largest. ``unit`` is written behind its numbers.
    """

    key: str
    title: str
    rows: Sequence[Row]
    series: Sequence[str] = ()
    low: float = 0.0
    high: float | None = 1.0
    unit: str = ""
    references: Sequence[Reference] = ()
    summary: str = ""
    note: str = ""
    missing: Missing | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a number to draw nor a verdict to say."""
        return not any(
            row.verdict
            or any(is_number(dot.value) for dot in row.dots)
            or any(is_number(part.amount) and part.amount for part in row.parts)
            for row in self.rows
        )


@dataclass(frozen=True)
class Point:
    """One number of a panel, under its label, with its ``interval``. ``at`` is its place across where a panel is a
    square; ``text`` says there of how many cases it is, and is printed below it."""

    label: str
    value: float | None
    text: str = ""
    interval: Sequence[float] | None = None
    at: float | None = None


@dataclass(frozen=True)
class Panel:
    """One of several small charts of the same form."""

    name: str
    points: Sequence[Point]
    verdict: Verdict | None = None
    href: str = ""


@dataclass(frozen=True)
class PanelChart:
    """Small charts side by side on one scale: lines through points, or columns where ``has_columns``.

    ``sides`` names two numbers, across and upward, of the same scale: panels are then squares, with a diagonal where both
    numbers are equal.
    """

    key: str
    title: str
    panels: Sequence[Panel]
    low: float = 0.0
    high: float | None = 1.0
    unit: str = ""
    has_columns: bool = False
    sides: tuple[str, str] | None = None
    summary: str = ""
    note: str = ""
    missing: Missing | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no panel has a number."""
        return not any(is_number(point.value) for panel in self.panels for point in panel.points)


@dataclass(frozen=True)
class Cell:
    """One place of a grid. ``label`` says in words what is there; without a number a dash is printed."""

    value: float | None
    text: str = ""
    label: str = ""
    href: str = ""


@dataclass(frozen=True)
class GridRow:
    """One line of a grid, with a cell for each column."""

    name: str
    cells: Sequence[Cell]
    verdict: Verdict | None = None


@dataclass(frozen=True)
class GridChart:
    """Rows by columns: cells shaded by their number, or circles of that area where ``has_circles``.

    The scale ends at ``high``, or at the largest number. ``rows_are`` names what the rows list. Circles stand close: of the name
    of a column only the first word is above them, such as a number.
    """

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[GridRow]
    high: float | None = None
    has_circles: bool = False
    rows_are: str = "Row"
    summary: str = ""
    note: str = ""
    missing: Missing | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every cell is 0 or holds no number: a grid of noughts shows nothing."""
        return not any(is_number(cell.value) and cell.value for row in self.rows for cell in row.cells)


Chart = RowChart | PanelChart | GridChart


def is_number(value: float | None) -> bool:
    """Whether there is something to draw: neither None nor NaN nor infinite."""
    return value is not None and math.isfinite(value)


def describe_row(chart: RowChart, row: Row) -> str:
    """A row in words, as a screen reader says it and a tooltip shows it."""
    said = []
    for dot in row.dots:
        name = f"{chart.series[dot.series]} " if dot.series < len(chart.series) > 1 else ""
        said.append(f"{name}{dot.text}")
    if row.text:
        said.append(row.text)
    return _sentence(name_row(row), said, row.verdict)


def name_row(row: Row) -> str:
    """The name of a row with that of its group."""
    return f"{row.group}: {row.name}" if row.group else row.name


def describe_panel(panel: Panel) -> str:
    """A panel in words."""
    return _sentence(panel.name, [f"{point.label} {point.text}" for point in panel.points], panel.verdict)


def describe_cell(row: GridRow, column: str, cell: Cell) -> str:
    """A cell of a grid in words."""
    return cell.label or f"{row.name}, {column}: {cell.text or 'nothing'}"


def _sentence(name: str, said: Sequence[str], verdict: Verdict | None) -> str:
    words = "; ".join([*said, *([verdict.words] if verdict else [])])
    return f"{name}: {words}" if words else name


def tabulate(chart: Chart) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table behind a chart; the first column names the row."""
    if isinstance(chart, RowChart):
        series = list(chart.series) or ["Figure"]
        has_dots = any(row.dots for row in chart.rows)
        heads = ["", *(series if has_dots else ["Figure"]), "Verdict"]
        body = []
        for row in chart.rows:
            printed = {dot.series: dot.text for dot in row.dots}
            figures = [printed.get(place, "") for place in range(len(series))] if has_dots else [row.text]
            body.append([name_row(row), *figures, row.verdict.words if row.verdict else ""])
    elif isinstance(chart, PanelChart):
        labels = list(dict.fromkeys(point.label for panel in chart.panels for point in panel.points))
        heads = ["", *labels, "Verdict"]
        body = []
        for panel in chart.panels:
            texts = {point.label: point.text for point in panel.points}
            verdict = panel.verdict.words if panel.verdict else ""
            body.append([panel.name, *(texts.get(label, "") for label in labels), verdict])
    else:
        heads = [chart.rows_are, *chart.columns, "Verdict"]
        body = [
            [row.name, *(cell.text or "–" for cell in row.cells), row.verdict.words if row.verdict else ""]
            for row in chart.rows
        ]
    if not any(line[-1] for line in body):
        return heads[:-1], [line[:-1] for line in body]
    return heads, body
