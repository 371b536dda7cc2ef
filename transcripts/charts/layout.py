"""Where every mark of a chart is drawn. Lengths are in pixels at the usual size of a page."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from transcripts.charts.figures import (
    Cell,
    Chart,
    Dot,
    GridChart,
    Panel,
    PanelChart,
    Point,
    Row,
    RowChart,
    Tone,
    Verdict,
    describe_cell,
    describe_panel,
    describe_row,
    is_number,
)
from transcripts.charts.svg import (
    SHADES,
    SIZE,
    SMALL,
    Drawing,
    Mark,
    Shape,
    fit,
    fit_names,
    measure,
    write_file_svg,
    write_page_svg,
)

NAME, PLOT, VERDICT, GAP = 420, 440, 280, 12
"""Columns of a row chart: names at most so wide, and the scale; verdicts of a grid, at most; and the distance between two.
Numbers and verdicts of a row chart are as wide as they are: a number that is cut is another number."""
BOLD = SIZE * 1.18
"""Bold words are as wide as others of this size."""
NARROW_PLOT, NARROW = 116, 38
"""The scale of a row chart on a narrow screen, where names and verdicts have lines of their own, and how
many letters a line of a name has there."""
LINE, ROW_PAD = 16, 8
MAX_ROWS = 300
"""More than so many rows are not drawn; the table has them all."""

PANEL_WIDTH, PANEL_HEIGHT, PANEL_COLUMNS = 208, 128, 4
PANEL_TOP, PANEL_BOTTOM = 42, 104

CELL_WIDTH, CELL_HEIGHT, HEAD_HEIGHT = 52, 26, 96
WIDE_COLUMNS, WIDE_CELL, WIDE_HEAD, WIDE_LETTERS = 6, 108, 60, 14
"""A grid of so few columns has wider ones, with their names upright."""
MAX_RADIUS, CIRCLE_CELL, CIRCLE_HEAD = 12.0, 30, 22
"""Circles stand close; their columns have short names, such as numbers."""


Place = Callable[[float], float]
"""Where on the drawing a number stands."""


def lay_out_narrow(chart: Chart) -> Drawing | None:
    """The drawing for a narrow screen; None for a kind of chart that has but one."""
    return _lay_out_rows(chart, is_narrow=True) if isinstance(chart, RowChart) else None


def lay_out(chart: Chart) -> Drawing:
    """The drawing of a chart of any kind."""
    if isinstance(chart, RowChart):
        return _lay_out_rows(chart)
    return _lay_out_panels(chart) if isinstance(chart, PanelChart) else _lay_out_grid(chart)


@dataclass(frozen=True)
class ChartFile:
    """Charts below one another in one file, each under its heading, with what is said above and below them."""

    key: str
    title: str
    charts: Sequence[tuple[str, Chart]]
    summary: str = ""
    notes: Sequence[str] = ()

    def write(self) -> str:
        """The file as SVG."""
        drawing = stack([(head, lay_out(chart)) for head, chart in self.charts])
        svg = write_page_svg(drawing, key=self.key, title=self.title, description=self.summary or self.title)
        return write_file_svg(svg, summary=self.summary, notes=self.notes)


def stack(drawings: Sequence[tuple[str, Drawing]]) -> Drawing:
    """Drawings below one another, each under its heading; "" is none."""
    marks: list[Mark] = []
    y = 0.0
    for head, drawing in drawings:
        if head:
            marks.append(Mark([_text(0, y + 17, "head", head)]))
            y += LINE + ROW_PAD
        marks += [replace(mark, shapes=[_lower(shape, y) for shape in mark.shapes]) for mark in drawing.marks]
        y += drawing.height + GAP
    return Drawing(max((drawing.width for _, drawing in drawings), default=0.0), y, marks)


def _lower(shape: Shape, by: float) -> Shape:
    """The shape further down. Points and turns are words of SVG."""
    moved: dict[str, float | str] = {}
    for name, value in shape.at.items():
        if name in {"y", "y1", "y2", "cy"} and not isinstance(value, str):
            moved[name] = value + by
        elif name == "points":
            pairs = (point.split(",") for point in str(value).split())
            moved[name] = " ".join(f"{x},{float(y) + by:.1f}" for x, y in pairs)
        elif name == "transform":
            turn, x, y = str(value).removeprefix("rotate(").removesuffix(")").split()
            moved[name] = f"rotate({turn} {x} {float(y) + by:g})"
        else:
            moved[name] = value
    return replace(shape, at=moved)


def find_scale(low: float, high: float | None, values: Iterable[float | None]) -> tuple[float, float, list[float]]:
    """The ends of a scale that holds all values, and its ticks: five or so, at round numbers.

    An end that was given stays where it is unless a value lies beyond it; then it moves to the next tick.
    """
    found = [float(value) for value in values if is_number(value)]  # type: ignore[arg-type]
    lowest, highest = min([low, *found]), max([low if high is None else high, *found])
    if highest <= lowest:
        highest = lowest + 1.0
    step = _round_step((highest - lowest) / 5)
    start = low if lowest >= low else math.floor(lowest / step + 1e-9) * step
    given = high is not None and highest <= high
    end = highest if given else math.ceil(highest / step - 1e-9) * step
    first = math.ceil(start / step - 1e-9)
    ticks = [round(n * step, 10) for n in range(first, math.floor(end / step + 1e-9) + 1)]
    return start, end, ticks


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= rough * (1 - 1e-9))


def write_tick(value: float, unit: str) -> str:
    """A number at a scale."""
    figure = f"{value:,.10f}".rstrip("0").rstrip(".").replace("-", "−")
    if unit == "$":
        return f"${figure}"
    return f"{figure} {unit}" if unit else figure


def _lay_out_rows(chart: RowChart, *, is_narrow: bool = False) -> Drawing:
    rows = chart.rows[:MAX_ROWS]
    numbers: list[float | None] = [reference.at for reference in chart.references]
    for row in rows:
        numbers += [end for dot in row.dots if is_number(dot.value) for end in (dot.value, dot.low, dot.high)]
        if row.parts:
            numbers.append(sum(part.amount for part in row.parts if part.amount is not None and is_number(part.amount)))
    low, high, ticks = find_scale(chart.low, chart.high, numbers)
    on_lines = _lay_out_names([row.name for row in rows], is_narrow=is_narrow)
    named = _find_width([line for lines in on_lines for line in lines])
    left, plot = (6.0, NARROW_PLOT) if is_narrow else (named + GAP, PLOT)
    right = left + plot

    def place(value: float) -> float:
        return left + plot * (value - low) / (high - low)

    figures = _find_width([words for row in rows for words in (row.text, *(dot.text for dot in row.dots))])
    verdicts = _find_verdict_width([row.verdict for row in rows], math.inf)
    figures_at = right + GAP
    verdicts_at = 0 if is_narrow else figures_at + (figures + GAP if figures else 0)
    width = max(verdicts_at + verdicts, named, figures_at + figures)
    marks, y = _explain(chart, has_bars=any(row.parts for row in rows), width=width)
    scale = Mark()
    marks.append(scale)
    y += LINE + 4
    if is_narrow:
        ticks = ticks[:: max(1, len(ticks) - 1)]
    scale.shapes += [_text(place(tick), y - 6, "tick", write_tick(tick, chart.unit), "middle") for tick in ticks]
    top, group = y, ""
    spans: list[tuple[float, float]] = []
    """From where to where the lines of the scale go: past all rows, or, below names, past the scale of each."""
    for row, name in zip(rows, on_lines, strict=True):
        if row.group != group:
            group = row.group
            marks.append(Mark([_text(0, y + 17, "head", fit(group, width, BOLD))]))
            y += LINE + ROW_PAD
        height = ROW_PAD + LINE * max(1, len(row.dots))
        first = y + ROW_PAD / 2 + LINE * len(name) if is_narrow else y
        end = first + height + (LINE if is_narrow and row.verdict else 0)
        lines = (y, first, height, end)
        marks.append(
            _lay_out_row(chart, row, name=name, lines=lines, place=place, columns=(figures_at, verdicts_at, width))
        )
        if is_narrow:
            spans.append((first, first + height))
        y = end
        scale.shapes.append(_line(0, y, width, y, "hair"))
    if not is_narrow:
        spans.append((top, y))
    scale.shapes += [
        shape for span in spans for shape in _draw_lines(chart, ticks, max(low, min(0.0, high)), span, place)
    ]
    if len(rows) > 12:
        y += LINE
        scale.shapes += [_text(place(tick), y, "tick", write_tick(tick, chart.unit), "middle") for tick in ticks]
    if len(chart.rows) > len(rows):
        y += LINE + 4
        marks.append(Mark([_text(0, y, "soft", f"{len(chart.rows) - len(rows)} more rows: see the table.")]))
    return Drawing(width, y + 6, marks)


def _lay_out_names(names: Sequence[str], *, is_narrow: bool) -> list[list[str]]:
    """The lines of each name: as many as it takes on a narrow screen, else one, cut where it is too wide."""
    if is_narrow:
        return [textwrap.wrap(name, NARROW) or [""] for name in names]
    return [[name] for name in fit_names(names, NAME)]


def _draw_lines(
    chart: RowChart, ticks: Sequence[float], zero: float, span: tuple[float, float], place: Place
) -> Iterator[Shape]:
    """The lines of a scale from one height to another: at its ticks, at 0, and at the references."""
    start, end = span
    yield from (_line(place(tick), start, place(tick), end, "hair") for tick in ticks)
    yield _line(place(zero), start, place(zero), end, "axis")
    yield from (_line(place(each.at), start - 2, place(each.at), end, "reference") for each in chart.references)


def _lay_out_row(
    chart: RowChart,
    row: Row,
    *,
    name: Sequence[str],
    lines: tuple[float, float, float, float],
    place: Place,
    columns: tuple[float, float, float],
) -> Mark:
    """``lines``: where the row begins, where its scale begins and how high that is, and where the row ends. Where the scale is not
    at the top, the name is above it and the verdict below."""
    (top, y, height, bottom), (figures_at, verdicts_at, width) = lines, columns
    mark = Mark(label=describe_row(chart, row), href=row.href)
    shapes = mark.shapes
    # The whole row answers to the pointer, and shows where the keyboard is.
    shapes.append(_rect(0, top, width, bottom - top, "row"))
    base = y + height / 2 + 4.5
    if top == y:
        shapes.append(_text(0, base, "name", name[0]))
    else:
        shapes += [_text(0, y - 2 - LINE * place, "name", line) for place, line in enumerate(reversed(name))]
    start = place(max(chart.low, 0.0))
    for part in row.parts:
        if part.amount is not None and is_number(part.amount) and part.amount > 0:
            end = start + place(part.amount) - place(0.0)
            shapes.append(_rect(start, y + height / 2 - 6.5, max(end - start, 1.0), 13, f"part{part.series}"))
            start = end
    for number, dot in enumerate(row.dots):
        middle = y + ROW_PAD / 2 + LINE * number + LINE / 2
        shapes += _draw_dot(dot, middle, place)
        if dot.text:
            shapes.append(_text(figures_at, middle + 4.5, "text" if is_number(dot.value) else "soft", dot.text))
    if row.text:
        shapes.append(_text(figures_at, base, "text", row.text))
    shapes += _write_verdict(row.verdict, verdicts_at, base if top == y else bottom - 5, math.inf)
    return mark


def _draw_dot(dot: Dot, y: float, place: Place) -> list[Shape]:
    if dot.value is None or not is_number(dot.value):
        return []
    shapes = []
    if dot.low is not None and dot.high is not None and is_number(dot.low) and is_number(dot.high):
        low, high = place(dot.low), place(dot.high)
        style = f"whisker{dot.series}"
        shapes += [_line(low, y, high, y, style), *(_line(end, y - 3, end, y + 3, style) for end in (low, high))]
    return [*shapes, _draw_sign(dot.series, place(dot.value), y)]


def _draw_sign(series: int, x: float, y: float) -> Shape:
    """The shape of a series: circle, diamond, square, triangle."""
    style = f"dot{series}"
    if series == 0:
        return Shape("circle", style, {"cx": _round(x), "cy": _round(y), "r": 4.5})
    if series == 2:
        return _rect(x - 4, y - 4, 8, 8, style)
    corners = [(0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)] if series == 1 else [(0, -5), (5, 4), (-5, 4)]
    points = " ".join(f"{x + across:.1f},{y + down:.1f}" for across, down in corners)
    return Shape("polygon", style, {"points": points})


def _explain(chart: RowChart, *, has_bars: bool, width: float) -> tuple[list[Mark], float]:
    """The key above a chart: the sign of each series and reference with its words. And where the next line begins."""
    entries: list[tuple[Callable[[float, float], Shape], str]] = []
    for number, name in enumerate(chart.series):
        entries.append((partial(_draw_key, number, has_bars), name))
    entries += [(lambda x, y: _line(x + 7, y - 8, x + 7, y + 8, "reference"), each.words) for each in chart.references]
    mark, x, y = Mark(), 0.0, 9.0
    for draw, words in entries:
        length = 20 + measure(words) + 22
        if x and x + length > width:
            x, y = 0.0, y + LINE + 4
        mark.shapes += [draw(x, y), _text(x + 20, y + 4, "text", words)]
        x += length
    return ([mark], y + 13) if entries else ([], 0.0)


def _draw_key(series: int, has_bars: bool, x: float, y: float) -> Shape:
    return _rect(x, y - 6, 14, 11, f"part{series}") if has_bars else _draw_sign(series, x + 7, y)


def _find_width(words: Sequence[str], most: float = math.inf, size: float = SIZE + 0.5) -> float:
    """How wide a column of such words is; 0 for a column without any."""
    return min(most, max((math.ceil(measure(each, size)) for each in words), default=0))


def _find_verdict_width(verdicts: Sequence[Verdict | None], most: float = VERDICT) -> float:
    found = [_find_width([each.words], most, _find_size(each)) for each in verdicts if each]
    return max(found, default=0)


def _write_verdict(verdict: Verdict | None, x: float, y: float, width: float) -> list[Shape]:
    return [_text(x, y, f"tone-{verdict.tone}", fit(verdict.words, width, _find_size(verdict)))] if verdict else []


def _find_size(verdict: Verdict) -> float:
    return SIZE if verdict.tone is Tone.NONE else BOLD


def _lay_out_panels(chart: PanelChart) -> Drawing:
    points = [point for panel in chart.panels for point in panel.points]
    low, high, ticks = find_scale(chart.low, chart.high, [end for p in points for end in (p.value, p.low, p.high)])
    columns = max(1, min(PANEL_COLUMNS, len(chart.panels)))
    marks = []
    panels = chart.panels[:MAX_ROWS]
    names = fit_names([panel.name for panel in panels], PANEL_WIDTH - 14, BOLD)
    for number, panel in enumerate(panels):
        x, y = PANEL_WIDTH * (number % columns), PANEL_HEIGHT * (number // columns)
        marks += _lay_out_panel(chart, panel, x, y, (low, high, (ticks[0], ticks[-1])), name=names[number])
    lines = math.ceil(min(len(chart.panels), MAX_ROWS) / columns)
    return Drawing(PANEL_WIDTH * columns, PANEL_HEIGHT * lines, marks)


def _lay_out_panel(
    chart: PanelChart,
    panel: Panel,
    left: float,
    top: float,
    scale: tuple[float, float, tuple[float, float]],
    *,
    name: str,
) -> list[Mark]:
    low, high, ends = scale
    inner, right = left + 38, left + PANEL_WIDTH - 24
    step = (right - inner) / max(1, len(panel.points) - (0 if chart.has_columns else 1))

    def height(value: float) -> float:
        return top + PANEL_BOTTOM - (PANEL_BOTTOM - PANEL_TOP) * (value - low) / (high - low)

    frame = Mark()
    for tick in ends:
        frame.shapes += [
            _line(inner, height(tick), right, height(tick), "hair"),
            _text(inner - 5, height(tick) + 4, "tick", write_tick(tick, chart.unit), "end"),
        ]
    frame.shapes.append(_line(inner, height(low), right, height(low), "axis"))
    mark = Mark(label=describe_panel(panel), href=panel.href)
    mark.shapes.append(_rect(left, top, PANEL_WIDTH - 8, PANEL_HEIGHT - 6, "row"))
    mark.shapes.append(_text(left, top + 13, "head", name))
    mark.shapes += _write_verdict(panel.verdict, left, top + 29, PANEL_WIDTH - 14)
    drawn: list[tuple[float, float]] = []
    signs: list[Shape] = []
    last = len(panel.points) - 1
    for number, point in enumerate(panel.points):
        x = inner + step * (number + (0.5 if chart.has_columns else 0))
        if point.value is not None and is_number(point.value):
            y = height(point.value)
            drawn.append((x, y))
            signs += _draw_column(x, y, step, height(low)) if chart.has_columns else _draw_point(point, x, y, height)
        if number in {0, last}:
            anchor = "middle" if chart.has_columns or last == 0 else "start" if number == 0 else "end"
            signs.append(_text(x, top + PANEL_BOTTOM + 15, "tick", fit(point.label, 80, SMALL), anchor))
    if len(drawn) > 1 and not chart.has_columns:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        mark.shapes.append(Shape("polyline", "line", {"points": path}))
    mark.shapes += signs
    return [frame, mark]


def _draw_column(x: float, y: float, step: float, base: float) -> list[Shape]:
    width = max(1.0, min(step * 0.7, 28))
    return [_rect(x - width / 2, y, width, max(base - y, 0.5), "part0")]


def _draw_point(point: Point, x: float, y: float, height: Place) -> list[Shape]:
    shapes = []
    if point.low is not None and point.high is not None and is_number(point.low) and is_number(point.high):
        shapes.append(_line(x, height(point.low), x, height(point.high), "whisker0"))
    return [*shapes, _draw_sign(0, x, y)]


def _lay_out_grid(chart: GridChart) -> Drawing:
    rows = chart.rows[:MAX_ROWS]
    highest = chart.high or max(
        (cell.value for row in rows for cell in row.cells if cell.value is not None and is_number(cell.value)),
        default=0.0,
    )
    left = _find_width([row.name for row in rows], NAME) + GAP
    is_wide = chart.has_circles or len(chart.columns) <= WIDE_COLUMNS
    cell_width, head_height = (WIDE_CELL, WIDE_HEAD) if is_wide else (CELL_WIDTH, HEAD_HEIGHT)
    if chart.has_circles:
        cell_width, head_height = CIRCLE_CELL, CIRCLE_HEAD
    if not chart.has_circles:
        # No number is cut.
        numbers = (cell.text for row in rows for cell in row.cells)
        cell_width = max(cell_width, max((math.ceil(measure(each)) + 6 for each in numbers), default=0))
    heads = Mark()
    shown = chart.columns if is_wide else fit_names(chart.columns, 116)
    for number, name in enumerate(shown):
        heads.shapes += _write_head(name, left + cell_width * (number + 0.5), head_height, is_wide=is_wide)
    marks = [heads]
    end = left + cell_width * len(chart.columns)
    verdicts = _find_verdict_width([row.verdict for row in rows])
    names = fit_names([row.name for row in rows], NAME)
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = head_height + CELL_HEIGHT * place
        said = f"{row.name}: {row.verdict.words}" if row.verdict else ""
        words = _write_verdict(row.verdict, end + GAP, y + 17, verdicts)
        marks.append(Mark([_text(0, y + 17, "name", name), *words], label=said))
        for number, (column, cell) in enumerate(zip(chart.columns, row.cells, strict=True)):
            if chart.has_circles and not is_number(cell.value):
                continue
            at = (left + cell_width * number, y, cell_width)
            marks.append(_lay_out_cell(chart, cell, describe_cell(row, column, cell), at, highest))
    width = end + (GAP + verdicts if verdicts else 0 if is_wide else 80)
    return Drawing(width, head_height + CELL_HEIGHT * len(rows) + 4, marks)


def _write_head(name: str, middle: float, height: float, *, is_wide: bool) -> list[Shape]:
    """The name of a column: on up to three lines, or slanted where there are many columns."""
    if not is_wide:
        turned: dict[str, float | str] = {
            "x": middle,
            "y": height - 8,
            "transform": f"rotate(-40 {middle:g} {height - 8:g})",
        }
        return [Shape("text", "text", turned, name)]
    lines = textwrap.wrap(" ".join(name.split()), WIDE_LETTERS, max_lines=3, placeholder=" …") or [""]
    first = height - 8 - LINE * (len(lines) - 1)
    return [
        _text(middle - 1, first + LINE * number, "text", fit(line, WIDE_CELL), "middle")
        for number, line in enumerate(lines)
    ]


def _lay_out_cell(chart: GridChart, cell: Cell, label: str, at: tuple[float, float, float], highest: float) -> Mark:
    x, y, width = at
    mark = Mark(label=label, href=cell.href)
    middle = x + width / 2 - 1
    if cell.value is None or not is_number(cell.value):
        mark.shapes = [_text(middle, y + 17, "soft", cell.text or "–", "middle")]
        return mark
    share = min(max(cell.value / highest, 0.0), 1.0) if highest else 0.0
    if chart.has_circles:
        mark.shapes.append(_rect(x, y, width - 2, CELL_HEIGHT - 2, "row"))
        if share:
            radius = _round(MAX_RADIUS * math.sqrt(share))
            circle = {"cx": middle, "cy": y + CELL_HEIGHT / 2 - 1, "r": radius}
            mark.shapes.append(Shape("circle", "circle", circle))
        mark.shapes.append(_text(middle, y + 16.5, "text" if share else "soft", cell.text, "middle"))
        return mark
    step = round(share * SHADES)
    mark.shapes = [
        _rect(x, y, width - 2, CELL_HEIGHT - 2, f"h{step}"),
        _text(middle, y + 17, f"on h{step}", cell.text, "middle"),
    ]
    return mark


def _round(length: float) -> float:
    return round(length, 1)


def _text(x: float, y: float, style: str, words: str, anchor: str = "") -> Shape:
    at: dict[str, float | str] = {"x": _round(x), "y": _round(y)}
    return Shape("text", style, {**at, "text-anchor": anchor} if anchor else at, words)


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> Shape:
    return Shape("line", style, {"x1": _round(x1), "y1": _round(y1), "x2": _round(x2), "y2": _round(y2)})


def _rect(x: float, y: float, width: float, height: float, style: str) -> Shape:
    at = {"x": _round(x), "y": _round(y), "width": _round(width), "height": _round(height)}
    return Shape("rect", style, at)
