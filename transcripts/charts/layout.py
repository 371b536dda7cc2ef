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
    Part,
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

NAME, PLOT, GAP = 420, 440, 12
"""Columns of a row chart: names at most so wide, and the scale; and the distance between two. Numbers and verdicts are as wide as
they are: a number that is cut is another number."""
BOLD = SIZE * 1.18
"""Bold words are as wide as others of this size."""
NARROW_PLOT, NARROW, NARROW_TEXT = 116, 232, 206
"""The scale of a row chart on a narrow screen, and how wide the words of a line are: names and verdicts have lines of
their own there, and so have figures that are wider than the last of the three."""
LINE, ROW_PAD = 16, 8
MAX_ROWS = 300
"""Further rows are not drawn; the table has them all."""
MAX_POINTS = 1_500
"""The same limit for the points of small charts, which become rows on a narrow screen."""

PANEL_WIDTH, PANEL_HEIGHT, PANEL_COLUMNS = 208, 128, 4
PANEL_TOP, PANEL_BOTTOM = 42, 104
SQUARE, SQUARE_WIDTH, SQUARE_HEIGHT, SQUARE_COLUMNS = 270, 316, 376, 2
"""A panel with a diagonal is a square; below it are its scale, and the number of cases of each point."""

CELL_WIDTH, CELL_HEIGHT, HEAD_HEIGHT = 52, 26, 96
WIDE_COLUMNS, WIDE_CELL, WIDE_HEAD, WIDE_LETTERS = 6, 108, 60, 14
"""A grid with this few columns has wider ones, with upright names."""
MAX_RADIUS, CIRCLE_CELL, CIRCLE_HEAD = 12.0, 30, 22
"""Circles stand close; their columns have short names, such as numbers."""

Place = Callable[[float], float]
"""Where a number lies on the drawing."""


def lay_out_narrow(chart: Chart) -> Drawing:
    """The drawing for a narrow screen: rows with their names above them, a grid as a list of the columns of each row, and
    panels as rows, or, with a diagonal, below one another."""
    if isinstance(chart, GridChart):
        return _list_grid(chart)
    if isinstance(chart, PanelChart):
        if chart.sides:
            return _lay_out_panels(chart, most=1)
        return _lay_out_rows(_list_panels(chart), is_narrow=True, limit=MAX_POINTS)
    return _lay_out_rows(chart, is_narrow=True)


def _list_panels(chart: PanelChart) -> RowChart:
    """Every point of every panel in a row, the verdict of a panel at its last one."""
    rows = [
        Row(
            point.label,
            () if chart.has_columns else [Dot(point.value, point.interval, text=point.text)],
            [Part(point.value)] if chart.has_columns else (),
            point.text if chart.has_columns else "",
            panel.verdict if place == len(panel.points) else None,
            panel.href,
            panel.name,
        )
        for panel in chart.panels
        for place, point in enumerate(panel.points, start=1)
    ]
    return RowChart(chart.key, chart.title, rows, low=chart.low, high=chart.high, unit=chart.unit)


def lay_out(chart: Chart) -> Drawing:
    """The drawing of a chart of any kind."""
    if isinstance(chart, RowChart):
        return _lay_out_rows(chart)
    return _lay_out_panels(chart) if isinstance(chart, PanelChart) else _lay_out_grid(chart)


@dataclass(frozen=True)
class ChartFile:
    """Charts below one another in one file, each under its heading, with the words above and below them."""

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
    """Drawings below one another, each under its heading; "" for no heading."""
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
    """The shape, moved down. Points and rotations are SVG text."""
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
    """A number as a scale shows it."""
    figure = f"{value:,.10f}".rstrip("0").rstrip(".").replace("-", "−")
    if unit == "$":
        return f"${figure}"
    return f"{figure} {unit}" if unit else figure


def _lay_out_rows(chart: RowChart, *, is_narrow: bool = False, limit: int = MAX_ROWS) -> Drawing:
    rows = chart.rows[:limit]
    low, high, ticks = find_scale(chart.low, chart.high, _list_numbers(chart, rows))
    on_lines = _lay_out_names([row.name for row in rows], is_narrow=is_narrow)
    named = _find_width([line for lines in on_lines for line in lines])
    left, plot = (6.0, NARROW_PLOT) if is_narrow else (named + GAP, PLOT)
    right = left + plot

    def place(value: float) -> float:
        return left + plot * (value - low) / (high - low)

    below = [_list_below(row) if is_narrow else [] for row in rows]
    most = NARROW_TEXT if is_narrow else math.inf
    figures = _find_width([words for row in rows for words in _list_figures(row)], most)
    verdicts = 0.0 if is_narrow else _find_verdict_width([row.verdict for row in rows])
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
    """The start and end of the lines of the scale: past all rows or, where names are above the rows, past the scale of each."""
    for row, name, words in zip(rows, on_lines, below, strict=True):
        if row.group != group:
            group = row.group
            heads = break_words(group, width, BOLD) if is_narrow else [fit(group, width, BOLD)]
            marks.append(Mark(_write_lines([("head", line) for line in heads], 0, y + 17)))
            y += LINE * len(heads) + ROW_PAD
        height = ROW_PAD + LINE * max(1, len(row.dots))
        first = y + ROW_PAD / 2 + LINE * len(name) if is_narrow else y
        end = first + height + LINE * len(words)
        lines = (y, first, height, end)
        columns = (figures_at, verdicts_at, width)
        marks.append(_lay_out_row(chart, row, name=name, below=words, lines=lines, place=place, columns=columns))
        if is_narrow:
            spans.append((first, first + height - 3))
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


def _list_numbers(chart: RowChart, rows: Sequence[Row]) -> Iterator[float | None]:
    """The numbers that the scale has to contain."""
    yield from (reference.at for reference in chart.references)
    for row in rows:
        yield from (end for dot in row.dots if is_number(dot.value) for end in (dot.value, *(dot.interval or ())))
        if row.parts:
            yield sum(part.amount for part in row.parts if part.amount is not None and is_number(part.amount))


def _lay_out_names(names: Sequence[str], *, is_narrow: bool) -> list[list[str]]:
    """The lines of each name: as many as it takes on a narrow screen, else one, cut where it is too wide."""
    if is_narrow:
        return [break_words(name, NARROW) for name in names]
    return [[name] for name in fit_names(names, NAME)]


def _list_figures(row: Row) -> list[str]:
    return [row.text, *(dot.text for dot in row.dots)]


def _list_below(row: Row) -> list[tuple[str, str]]:
    """The text that gets its own lines on a narrow screen, with its style: figures too wide for their place, and the verdict."""
    wide = [words for words in _list_figures(row) if _find_width([words]) > NARROW_TEXT]
    return [("text", line) for words in wide for line in break_words(words, NARROW)] + _break_verdict(
        row.verdict, NARROW
    )


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
    below: Sequence[tuple[str, str]],
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
    base, most = y + height / 2 + 4.5, math.inf if top == y else NARROW_TEXT
    if top == y:
        shapes.append(_text(0, base, "name", name[0]))
    else:
        shapes += _write_lines([("name", line) for line in name], 0, y - 5 - LINE * (len(name) - 1))
    start = place(max(chart.low, 0.0))
    for part in row.parts:
        if part.amount is not None and is_number(part.amount) and part.amount > 0:
            end = start + place(part.amount) - place(0.0)
            shapes.append(_rect(start, y + height / 2 - 6.5, max(end - start, 1.0), 13, f"part{part.series}"))
            start = end
    for number, dot in enumerate(row.dots):
        middle = y + ROW_PAD / 2 + LINE * number + LINE / 2
        shapes += _draw_dot(dot, middle, place)
        if dot.text and _find_width([dot.text]) <= most:
            shapes.append(_text(figures_at, middle + 4.5, "text" if is_number(dot.value) else "soft", dot.text))
    if row.text and _find_width([row.text]) <= most:
        shapes.append(_text(figures_at, base, "text", row.text))
    if top == y:
        shapes += _write_verdict(row.verdict, verdicts_at, base)
    shapes += _write_lines(below, 0, bottom - 5 - LINE * (len(below) - 1))
    return mark


def _draw_dot(dot: Dot, y: float, place: Place) -> list[Shape]:
    if dot.value is None or not is_number(dot.value):
        return []
    shapes = []
    if dot.interval and all(map(is_number, dot.interval)):
        low, high = map(place, dot.interval)
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
    """The key above a chart (the sign of each series and reference with its words), and where the next line begins."""
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
    """The width of a column of these words; 0 for a column without any."""
    return min(most, max((math.ceil(measure(each, size)) for each in words), default=0))


def _find_verdict_width(verdicts: Sequence[Verdict | None]) -> float:
    found = [_find_width([each.words], size=_find_size(each)) for each in verdicts if each]
    return max(found, default=0)


def break_words(words: str, width: float, size: float = SIZE) -> list[str]:
    """Words on as many lines of that width as they need; text without spaces, such as Chinese, is broken anywhere."""
    line = " ".join(words.split())
    if measure(line, size) <= width:
        return [line]
    return textwrap.wrap(line, max(1, int(len(line) * width / measure(line, size))))


def _break_verdict(verdict: Verdict | None, width: float) -> list[tuple[str, str]]:
    if verdict is None:
        return []
    return [(f"tone-{verdict.tone}", line) for line in break_words(verdict.words, width, _find_size(verdict))]


def _write_verdict(verdict: Verdict | None, x: float, y: float, width: float = math.inf) -> list[Shape]:
    return _write_lines(_break_verdict(verdict, width), x, y)


def _write_lines(lines: Sequence[tuple[str, str]], x: float, y: float) -> list[Shape]:
    """Lines below one another, each in its style."""
    return [_text(x, y + LINE * number, style, line) for number, (style, line) in enumerate(lines)]


def _find_size(verdict: Verdict) -> float:
    return SIZE if verdict.tone is Tone.NONE else BOLD


def _lay_out_panels(chart: PanelChart, *, most: int = 0) -> Drawing:
    """Panels in lines of at most ``most``; 0 for the usual number of their kind."""
    points = [point for panel in chart.panels for point in panel.points]
    scale = find_scale(chart.low, chart.high, [end for p in points for end in (p.value, *(p.interval or ()))])
    wide, high, usual = (PANEL_WIDTH, PANEL_HEIGHT, PANEL_COLUMNS)
    if chart.sides:
        wide, high, usual = (SQUARE_WIDTH, SQUARE_HEIGHT, SQUARE_COLUMNS)
    panels = chart.panels[:MAX_ROWS]
    columns = max(1, min(most or usual, len(panels)))
    names = [
        break_words(name, wide - 14, BOLD)
        for name in fit_names([panel.name for panel in panels], 3 * (wide - 14), BOLD)
    ]
    verdicts = [_break_verdict(panel.verdict, wide - 14) for panel in panels]
    # What the longest words need beyond one line each.
    more = LINE * max(
        (len(name) + max(1, len(words)) - 2 for name, words in zip(names, verdicts, strict=True)), default=0
    )
    marks = []
    for number, (panel, name, words) in enumerate(zip(panels, names, verdicts, strict=True)):
        x, y = float(wide * (number % columns)), (high + more) * (number // columns)
        lines = _write_lines([*(("head", line) for line in name), *words], x, y + 13)
        draw = _lay_out_square if chart.sides else _lay_out_panel
        frame, shapes = draw(chart, panel, x, y + more, scale)
        ground = _rect(x, y, wide - 8, high + more - 6, "row")
        marks += [frame, Mark([ground, *lines, *shapes], label=describe_panel(panel), href=panel.href)]
    return Drawing(wide * columns, (high + more) * math.ceil(len(panels) / columns), marks)


def _lay_out_panel(
    chart: PanelChart, panel: Panel, left: float, top: float, scale: tuple[float, float, list[float]]
) -> tuple[Mark, list[Shape]]:
    low, high, ticks = scale
    inner, right = left + 38, left + PANEL_WIDTH - 24
    step = (right - inner) / max(1, len(panel.points) - (0 if chart.has_columns else 1))

    def height(value: float) -> float:
        return top + PANEL_BOTTOM - (PANEL_BOTTOM - PANEL_TOP) * (value - low) / (high - low)

    frame = Mark()
    for tick in (ticks[0], ticks[-1]):
        frame.shapes += [
            _line(inner, height(tick), right, height(tick), "hair"),
            _text(inner - 5, height(tick) + 4, "tick", write_tick(tick, chart.unit), "end"),
        ]
    frame.shapes.append(_line(inner, height(low), right, height(low), "axis"))
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
        signs.insert(0, Shape("polyline", "line", {"points": path}))
    return frame, signs


def _lay_out_square(
    chart: PanelChart, panel: Panel, left: float, top: float, scale: tuple[float, float, list[float]]
) -> tuple[Mark, list[Shape]]:
    """Points placed by both their numbers, with the diagonal. Below them, in columns of equal width, are their numbers of
    cases."""
    low, high, ticks = scale
    across, upward = chart.sides or ("", "")
    inner, bottom = left + 34, top + PANEL_TOP + SQUARE

    def width(value: float) -> float:
        return inner + SQUARE * (value - low) / (high - low)

    def height(value: float) -> float:
        return bottom - SQUARE * (value - low) / (high - low)

    frame = Mark([_text(left, top + PANEL_TOP - 10, "soft", upward)])
    for tick in ticks:
        frame.shapes += [
            _line(inner, height(tick), inner + SQUARE, height(tick), "hair"),
            _line(width(tick), bottom, width(tick), bottom - SQUARE, "hair"),
            _text(inner - 5, height(tick) + 4, "tick", write_tick(tick, chart.unit), "end"),
            _text(width(tick), bottom + 15, "tick", write_tick(tick, chart.unit), "middle"),
        ]
    frame.shapes += [
        _line(width(low), height(low), width(high), height(high), "reference"),
        _text(inner + SQUARE / 2, bottom + 32, "soft", across, "middle"),
        _text(inner - 5, bottom + 50, "tick", "n", "end"),
    ]
    shapes = []
    step = SQUARE / max(1, len(panel.points))
    # Numbers too wide for their column alternate between two lines.
    lower = LINE if _find_width([point.text for point in panel.points], size=SIZE) > step else 0
    for number, point in enumerate(panel.points):
        if point.value is not None and is_number(point.value) and point.at is not None:
            shapes += _draw_point(point, width(point.at), height(point.value), height)
        y = bottom + 50 + lower * (number % 2)
        shapes.append(_text(inner + step * (number + 0.5), y, "tick", point.text, "middle"))
    return frame, shapes


def _draw_column(x: float, y: float, step: float, base: float) -> list[Shape]:
    width = max(1.0, min(step * 0.7, 28))
    return [_rect(x - width / 2, y, width, max(base - y, 0.5), "part0")]


def _draw_point(point: Point, x: float, y: float, height: Place) -> list[Shape]:
    shapes = []
    if point.interval and all(map(is_number, point.interval)):
        low, high = map(height, point.interval)
        shapes.append(_line(x, low, x, high, "whisker0"))
    return [*shapes, _draw_sign(0, x, y)]


def _lay_out_grid(chart: GridChart) -> Drawing:
    rows = chart.rows[:MAX_ROWS]
    highest = _find_highest(chart)
    left = _find_width([row.name for row in rows], NAME) + GAP
    is_wide = chart.has_circles or len(chart.columns) <= WIDE_COLUMNS
    cell_width, head_height = (float(WIDE_CELL), WIDE_HEAD) if is_wide else (CELL_WIDTH, HEAD_HEIGHT)
    if chart.has_circles:
        cell_width, head_height = CIRCLE_CELL, CIRCLE_HEAD
    else:
        cell_width = max(cell_width, _find_cell_width(chart))
    heads = Mark()
    shown = chart.columns if is_wide else fit_names(chart.columns, 116)
    if chart.has_circles:
        shown = [name.partition(" ")[0] for name in shown]
    for number, name in enumerate(shown):
        heads.shapes += _write_head(name, left + cell_width * (number + 0.5), head_height, is_wide=is_wide)
    marks = [heads]
    end = left + cell_width * len(chart.columns)
    verdicts = _find_verdict_width([row.verdict for row in rows])
    names = fit_names([row.name for row in rows], NAME)
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = head_height + CELL_HEIGHT * place
        said = f"{row.name}: {row.verdict.words}" if row.verdict else ""
        words = _write_verdict(row.verdict, end + GAP, y + 17)
        marks.append(Mark([_text(0, y + 17, "name", name), *words], label=said))
        for number, (column, cell) in enumerate(zip(chart.columns, row.cells, strict=True)):
            if chart.has_circles and not is_number(cell.value):
                continue
            at = (left + cell_width * number, y, cell_width)
            marks.append(_lay_out_cell(chart, cell, describe_cell(row, column, cell), at, highest))
    width = end + (GAP + verdicts if verdicts else 0 if is_wide else 80)
    return Drawing(width, head_height + CELL_HEIGHT * len(rows) + 4, marks)


def _find_highest(chart: GridChart) -> float:
    cells = (cell.value for row in chart.rows[:MAX_ROWS] for cell in row.cells)
    return chart.high or max((value for value in cells if value is not None and is_number(value)), default=0.0)


def _find_cell_width(chart: GridChart) -> float:
    """The width of cells at which no number is cut."""
    return _find_width([cell.text for row in chart.rows[:MAX_ROWS] for cell in row.cells], size=SIZE) + 6


def _list_grid(chart: GridChart) -> Drawing:
    """The columns of each row below its name, each with its cell. To keep the lists short, cells that are 0 or have no number are
    listed together, unless they are links."""
    highest, wide = _find_highest(chart), max(CELL_WIDTH, _find_cell_width(chart))
    named = min(max(NARROW - wide - GAP, CELL_WIDTH), _find_width(chart.columns))
    marks: list[Mark] = []
    y = 0.0
    for row in chart.rows[:MAX_ROWS]:
        shown, rest = [], dict[str, list[str]]()
        for column, cell in zip(chart.columns, row.cells, strict=True):
            if cell.href or (is_number(cell.value) and cell.value):
                shown.append((column, cell))
            elif not chart.has_circles:
                rest.setdefault(cell.text or ("0" if is_number(cell.value) else "–"), []).append(column)
        if not shown and not rest:
            continue
        said = f"{row.name}: {row.verdict.words}" if row.verdict else ""
        head = [*(("head", line) for line in break_words(row.name, NARROW, BOLD)), *_break_verdict(row.verdict, NARROW)]
        marks.append(Mark(_write_lines(head, 0, y + 17), label=said))
        y += LINE * len(head) + ROW_PAD
        for column, cell in shown:
            lines = [("name", line) for line in break_words(column, named)]
            mark = _lay_out_cell(chart, cell, describe_cell(row, column, cell), (named + GAP, y, wide), highest)
            height = max(CELL_HEIGHT, LINE * len(lines) + ROW_PAD)
            mark.shapes[:0] = [_rect(0, y, named + GAP, height, "row"), *_write_lines(lines, 0, y + 17)]
            marks.append(mark)
            y += height
        for text, columns in rest.items():
            lines = [("soft", line) for line in break_words(f"{text}: {', '.join(columns)}", NARROW)]
            marks.append(Mark(_write_lines(lines, 0, y + 17), label=f"{row.name}, {text}: {', '.join(columns)}"))
            y += LINE * len(lines) + ROW_PAD
        y += ROW_PAD
    return Drawing(max(named + GAP + wide, NARROW), y, marks)


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
