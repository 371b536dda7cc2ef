"""What a chart shows (names, numbers and words), and what its figures mean, in words.

Nothing here decides where a mark is drawn, or in which colour. Every number comes with its ``text``, which is what the table of
the page prints: a chart never rounds by itself.

There is one plain rule for each kind of figure, and the page states it next to the chart. docs/reference/charts.md lists the
rules with their reasons. Where a room already has thresholds, it passes them in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """How a verdict is coloured. Its words say the same, so that no reader depends on the colour."""

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
    """One line of a row chart: dots, or a bar made of parts. ``text`` is printed next to a bar."""

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
    number lies outside, and without ``high`` it ends at the largest. ``unit`` is written after its numbers.
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
        """Whether there is neither a number to draw nor a verdict to state."""
        return not any(
            row.verdict
            or any(is_number(dot.value) for dot in row.dots)
            or any(is_number(part.amount) and part.amount for part in row.parts)
            for row in self.rows
        )


@dataclass(frozen=True)
class Point:
    """One number of a panel, with its label and ``interval``. In a square panel ``at`` is its horizontal place, and ``text``,
    printed below it, says how many cases it summarises."""

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
    """One cell of a grid. ``label`` describes it in words; without a number a dash is printed."""

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

    The scale ends at ``high``, or at the largest number. ``rows_are`` names what the rows list. Circles are close together, so
    only the first word of a column's name is printed above them, such as a number.
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
        """Whether every cell is 0 or has no number: a grid of zeros shows nothing."""
        return not any(is_number(cell.value) and cell.value for row in self.rows for cell in row.cells)


Chart = RowChart | PanelChart | GridChart


def is_number(value: float | None) -> bool:
    """Whether a value can be drawn: it is neither None nor NaN nor infinite."""
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
    """The headings and rows of the table of a chart; the first column names the row."""
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


ENOUGH_CASES = 10
"""With fewer cases, nothing is said but how many there are."""
CANNOT_TELL = "cannot tell"
"""The verdict of an interval that contains both answers, never that there is no difference: no interval shows that."""
RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff's customary limits for alpha (Content Analysis, 2004, p. 241)."""
STEADY = 0.9
"""Of readings of the same sentences, the share as before from which a code counts as steady."""
LEADING = 0.5
"""Of answers, the share with one value from which that value leads."""

NEAR = 0.8
"""Of a cap, the share from which spending is near it."""

RELIABILITY_RULE = (
    f"Usable: alpha is at least {RELIABLE} and its interval does not go below {TENTATIVE}. Tentative: alpha is lower, and its "
    f"interval does not go below {TENTATIVE}. Cannot tell: alpha is at least {TENTATIVE}, and its interval goes below it or is "
    f"missing. Not usable: alpha is below {TENTATIVE}. Few turns or threads: it was applied in fewer than {ENOUGH_CASES}."
)
STEADY_RULE = (
    f"Steady: at least {STEADY:.0%} of the readings are as under the version before. Moved: fewer are. Few cases: "
    f"fewer than {ENOUGH_CASES} readings can be compared."
).replace("%", " %")
LEADING_RULE = (
    f"One value leads: at least {LEADING:.0%} of the answers that attribute anything name it. Few answers: fewer "
    f"than {ENOUGH_CASES}."
).replace("%", " %")
CAP_RULE = f"Near the cap: at least {NEAR:.0%} of it may be spent. Cap reached: all of it.".replace("%", " %")


def judge_cases(cases: int, enough: int = ENOUGH_CASES, things: str = "cases") -> Verdict | None:
    """The verdict "few cases", or None where there are enough. The mark uses the same word (transcripts.statistics.figures)."""
    return Verdict(f"few {things}: {cases}, a verdict needs {enough}") if cases < enough else None


def judge_reliability(value: float | None, low: float | None, cases: int, things: str = "turns") -> Verdict:
    """The verdict on an alpha over ``cases`` independent cases (``things``); its interval begins at ``low``."""
    if few := judge_cases(cases, things=things):
        return few
    if value is None or not is_number(value):
        return Verdict("not defined")
    if value < TENTATIVE:
        return Verdict("not usable", Tone.BAD)
    if low is None or low < TENTATIVE:
        return Verdict(CANNOT_TELL if low is not None else f"{CANNOT_TELL}: no interval", Tone.WARN)
    return Verdict("usable", Tone.GOOD) if value >= RELIABLE else Verdict("tentative", Tone.WARN)


def judge_against(named: dict[str, float | None], threshold: float, cases: int, *, things: str = "cases") -> Verdict:
    """The verdict on figures that must all reach one threshold; it names those that do not. Undefined ones are ignored."""
    if few := judge_cases(cases, things=things):
        return few
    defined = {name: value for name, value in named.items() if is_number(value)}
    if not defined:
        return Verdict("not defined")
    below = [name for name, value in defined.items() if value is not None and value < threshold]
    return Verdict(f"not usable: {' and '.join(below)}", Tone.BAD) if below else Verdict("usable", Tone.GOOD)


def judge_difference(interval: Sequence[float] | None, *, more: str, less: str) -> Verdict:
    """The verdict on a difference, by its interval: above 0, below 0, or neither, which does not show that there is none."""
    if interval is None or not all(map(is_number, interval)):
        return Verdict("not defined")
    low, high = interval
    if low > 0:
        return Verdict(more, Tone.WARN)
    return Verdict(less, Tone.WARN) if high < 0 else Verdict(CANNOT_TELL)


def judge_ratio(value: float | None, interval: Sequence[float] | None, *, more: str, less: str) -> Verdict:
    """The verdict on a ratio, by its interval: wholly above 1, wholly below 1, or neither. There is none without an interval."""
    if value is None or interval is None:
        return Verdict("not defined" if value is None else f"{CANNOT_TELL}: no interval")
    return judge_difference([end - 1 for end in interval], more=more, less=less)


def judge_within(value: float | None, interval: Sequence[float] | None) -> Verdict:
    """The verdict on a score under another rule, compared with the interval of the score under the usual rule."""
    if value is None or interval is None:
        return Verdict("not defined")
    inside = interval[0] <= value <= interval[1]
    return Verdict("within the interval", Tone.GOOD) if inside else Verdict("outside the interval", Tone.WARN)


def judge_steadiness(same: int, compared: int) -> Verdict:
    """The verdict on a code of which this many readings are the ``same`` as before, out of those ``compared``."""
    if few := judge_cases(compared):
        return few
    return Verdict("steady", Tone.GOOD) if same / compared >= STEADY else Verdict("moved", Tone.WARN)


def judge_lead(first: int, answers: int) -> Verdict:
    """The verdict on the most common value, which ``first`` of the answers name."""
    if few := judge_cases(answers, things="answers"):
        return few
    return Verdict("one value leads", Tone.WARN) if first / answers >= LEADING else Verdict("mixed")


def judge_cap(spent: int, cap: int, *, percent: int) -> Verdict:
    """The verdict on what was or may have been spent of a cap; ``percent`` is the share as pages write it."""
    if spent >= cap:
        return Verdict("cap reached", Tone.BAD)
    words = f"{percent} % of the cap"
    return Verdict(f"near the cap: {words}", Tone.WARN) if spent >= NEAR * cap else Verdict(words, Tone.GOOD)


def summarise(verdicts: Iterable[Verdict | None], things: str) -> str:
    """How many of the things got each verdict, the most common first: "Of 9 codes: 5 with few cases, 4 usable."."""
    counted = Counter(verdict.words.partition(":")[0] for verdict in verdicts if verdict)
    named = (
        (number, f"with {words}" if words.startswith("few ") else words) for words, number in counted.most_common()
    )
    said = ", ".join(f"{number} {words}" for number, words in named)
    return f"Of {counted.total()} {things}: {said}." if counted.total() > 1 else ""
