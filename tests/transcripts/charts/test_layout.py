"""Marks stand where their numbers say, and charts of odd input are still charts."""

import dataclasses

import pytest

from tests.transcripts.charts.samples import BARS, CHARTS, CIRCLES, COLUMNS, DOTS, HEAT, LONG, PANELS, SQUARES
from transcripts.charts.figures import (
    Cell,
    Dot,
    GridChart,
    GridRow,
    Panel,
    PanelChart,
    Part,
    Point,
    Row,
    RowChart,
    Tone,
    Verdict,
    tabulate,
)
from transcripts.charts.layout import MAX_ROWS, PLOT, SQUARE, find_scale, lay_out, lay_out_narrow, stack
from transcripts.charts.svg import fit, fit_names, measure


def find_marks(chart):
    """The marks that say something, by the first words of their label."""
    return {mark.label.split(":")[0]: mark for mark in lay_out(chart).marks if mark.label}


def find_shapes(mark, tag, style=""):
    return [shape for shape in mark.shapes if shape.tag == tag and shape.style.startswith(style)]


@pytest.mark.parametrize(
    ("low", "high", "values", "expected"),
    [
        (0.0, 1.0, [], (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1])),
        (0.0, 1.0, [0.3, None, float("nan")], (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1])),
        (0.0, 1.0, [-0.31], (-0.5, 1.0, [-0.5, 0, 0.5, 1])),
        (0.0, 1.0, [1.2], (0.0, 1.5, [0, 0.5, 1, 1.5])),
        (0.0, None, [], (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1])),
        (0.0, None, [0, 0], (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1])),
        (0.0, None, [42], (0.0, 50.0, [0, 10, 20, 30, 40, 50])),
        (0.0, None, [0.000123], (0.0, 0.00015, [0, 0.00005, 0.0001, 0.00015])),
        (0.0, None, [2_457_000], (0.0, 2_500_000, [0, 500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000])),
    ],
)
def test_a_scale_holds_every_number_and_has_round_ticks(low, high, values, expected):
    start, end, ticks = find_scale(low, high, values)
    assert (start, end) == pytest.approx(expected[:2])
    assert ticks == pytest.approx(expected[2])


def test_a_dot_stands_at_its_number_between_the_ends_of_its_interval():
    mark = find_marks(DOTS)["Care"]
    [circle] = find_shapes(mark, "circle")
    line, *ends = find_shapes(mark, "line", "whisker0")
    left = float(circle.at["cx"]) - PLOT * 0.5
    assert (line.at["x1"], line.at["x2"]) == (left + PLOT * 0.25, left + PLOT * 0.75)
    assert len(ends) == 2
    assert not find_shapes(mark, "line", "whisker1")  # a dot without an interval has no line
    [diamond] = find_shapes(mark, "polygon")
    assert str(diamond.at["points"]).startswith(f"{left + PLOT:.1f},")


def test_a_number_there_is_not_is_said_and_not_drawn():
    mark = find_marks(DOTS)[LONG.split(":")[0]]
    assert not find_shapes(mark, "circle") + find_shapes(mark, "polygon") + find_shapes(mark, "line")
    assert "nobody used the code" in [shape.words for shape in mark.shapes]
    half = find_marks(DOTS)["Without an end"]
    assert find_shapes(half, "circle")
    assert not find_shapes(half, "line")


def test_the_parts_of_a_bar_follow_one_another_and_are_as_long_as_their_numbers():
    done, started = find_shapes(find_marks(BARS)["anna"], "rect", "part")
    assert (done.style, started.style) == ("part0", "part1")
    assert float(done.at["x"]) + float(done.at["width"]) == pytest.approx(float(started.at["x"]))
    assert float(done.at["width"]) / float(started.at["width"]) == pytest.approx(30 / 12)
    assert not find_shapes(find_marks(BARS)["bo"], "rect", "part")


def test_a_panel_draws_what_it_has():
    marks = find_marks(PANELS)
    assert [len(find_shapes(mark, "circle")) for mark in marks.values()] == [0, 1, 2, 2, 1]
    [line] = find_shapes(marks["Two"], "polyline")
    (low, high) = [float(point.split(",")[1]) for point in str(line.at["points"]).split()]
    assert low - high == 62
    assert [len(find_shapes(mark, "polyline")) for mark in marks.values()] == [0, 0, 1, 1, 0]
    tall, flat = find_shapes(find_marks(COLUMNS)["arm"], "rect", "part0")
    assert float(tall.at["height"]) > 10 * float(flat.at["height"])


def test_a_cell_is_as_dark_and_a_circle_as_large_as_its_number():
    marks = find_marks(HEAT)
    assert [find_shapes(mark, "rect")[0].style for mark in marks.values() if find_shapes(mark, "rect")] == ["h0", "h20"]
    circles = [find_shapes(mark, "circle")[0].at["r"] for mark in find_marks(CIRCLES).values()]
    assert circles == [12.0, 6.0]  # a quarter of the area


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_everything_lies_within_the_drawing(chart):
    drawing = lay_out(chart)
    for mark in drawing.marks:
        for shape in mark.shapes:
            for name in ("x", "x1", "x2", "cx"):
                assert -0.5 <= float(shape.at.get(name, 0)) <= drawing.width
            for name in ("y", "y1", "y2", "cy"):
                assert -0.5 <= float(shape.at.get(name, 0)) <= drawing.height


def test_drawings_below_one_another_stay_as_they_are_and_within_the_whole():
    one, other = lay_out(HEAT), lay_out(DOTS)
    both = stack([("First", one), ("", other)])
    assert both.width == max(one.width, other.width)
    heading, *marks = both.marks
    assert heading.shapes[0].words == "First"
    assert [mark.label for mark in marks] == [mark.label for mark in (*one.marks, *other.marks)]
    below = {
        moved - float(shape.at["cy"])
        for mark, lowered in zip(other.marks, marks[len(one.marks) :], strict=True)
        for shape, found in zip(mark.shapes, lowered.shapes, strict=True)
        if (moved := float(found.at.get("cy", 0)))
    }
    assert len(below) == 1
    assert one.height < below.pop() < both.height - other.height
    [polygon] = find_shapes(find_marks(DOTS)["Care"], "polygon")
    [lowered] = [shape for mark in marks for shape in find_shapes(mark, "polygon") if mark.label.startswith("Care:")]
    assert str(polygon.at["points"]).split(",")[0] == str(lowered.at["points"]).split(",")[0]
    assert polygon.at["points"] != lowered.at["points"]
    turned = [shape.at for mark in marks for shape in mark.shapes if "transform" in shape.at]
    assert all(str(at["transform"]).endswith(f"{float(at['y']):g})") for at in turned)
    assert stack([]).marks == []


@pytest.mark.parametrize(
    ("chart", "empty"),
    [
        (RowChart("a", "A", []), True),
        (RowChart("a", "A", [Row("x", [Dot(None, text="never")]), Row("y", parts=[Part(0)])]), True),
        (RowChart("a", "A", [Row("x", [Dot(0.0)])]), False),
        (PanelChart("a", "A", []), True),
        (PanelChart("a", "A", [dataclasses.replace(PANELS.panels[0], points=[Point("v1", None)])]), True),
        (GridChart("a", "A", ["m"], [GridRow("x", [Cell(0)]), GridRow("y", [Cell(None)])]), True),
        (HEAT, False),
    ],
)
def test_a_chart_of_nothing_knows_that_it_is_one(chart, empty):
    assert chart.is_empty is empty
    lay_out(chart)


def test_rows_beyond_the_most_that_are_drawn_are_counted():
    chart = RowChart("many", "Many", [Row(f"row {n}", parts=[Part(n)]) for n in range(MAX_ROWS + 7)], high=None)
    words = [shape.words for mark in lay_out(chart).marks for shape in mark.shapes]
    assert "7 more rows: see the table." in words


@pytest.mark.parametrize("words", ["", "short", "exactly as it is", LONG, "和中文字符一样宽的名字" * 5])
def test_words_fit_their_place_or_are_cut_with_a_sign(words):
    fitted = fit(words, 100)
    assert measure(fitted) <= 100
    assert fitted == words or fitted.endswith("…")


THREAD = "benefits-nights-2/1, prompted, fake adviser (invented), "


@pytest.mark.parametrize(
    "names",
    [
        [f"{THREAD}{number}" for number in range(1, 5)],
        [f"{THREAD}{number}, of the second batch that was run in the same week" for number in range(1, 5)],
        [f"{number}, {THREAD * 2}" for number in range(1, 5)],
        ["short", THREAD * 2, "short"],
    ],
)
def test_names_that_are_cut_look_as_different_as_they_are(names):
    fitted = fit_names(names, 320)
    assert len(set(fitted)) == len(set(names))
    assert all(measure(each) <= 320 for each in fitted)
    assert all(cut == whole for cut, whole in zip(fitted, names, strict=True) if measure(whole) <= 320)


def test_no_number_or_verdict_of_a_row_is_cut_and_the_drawing_is_wide_enough_for_them():
    text = "$1.43, and at most $0.1234 that may have been spent by lost calls"
    verdict = Verdict("near the cap: at least nine tenths of it, which is $1.20 of $1.33", Tone.WARN)
    rows = [Row("all arms", parts=[Part(1.43)], text=text, verdict=verdict), Row("m", [Dot(0.5, text=text)])]
    drawing = lay_out(RowChart("spend", "Spend", rows, high=None))
    shown = [shape for mark in drawing.marks for shape in mark.shapes if shape.words in (text, verdict.words)]
    assert len(shown) == 3
    assert all(float(shape.at["x"]) + measure(shape.words) <= drawing.width for shape in shown)


def test_no_number_of_a_grid_is_cut():
    columns = [f"column {number}" for number in range(9)]
    cells = [Cell(0.5, text="12,345.6 %") for _ in columns]
    drawing = lay_out(GridChart("grid", "Grid", columns, [GridRow("row", cells)], high=1.0))
    places = [float(shape.at["x"]) for mark in drawing.marks for shape in mark.shapes if shape.words == "12,345.6 %"]
    assert len(places) == 9
    assert places[1] - places[0] >= measure("12,345.6 %")


def test_on_a_narrow_screen_names_and_verdicts_have_lines_of_their_own_and_all_is_within_its_width():
    name = "a model of a very long name with reasoning – another model of a long name"
    rows = [Row(name, [Dot(0.5, (-0.2, 0.9), text="−0.50, −0.20 to 0.90, rough")], verdict=Verdict("cannot tell"))]
    drawing = lay_out_narrow(RowChart("k", "t", rows))
    assert drawing.width <= 340
    [mark] = [mark for mark in drawing.marks if mark.label]
    heights = {shape.words: float(shape.at["y"]) for shape in mark.shapes if shape.words}
    lines = [words for words in heights if words in name]
    assert " ".join(lines) == name
    assert max(heights[line] for line in lines) < heights["−0.50, −0.20 to 0.90, rough"] < heights["cannot tell"]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_on_a_narrow_screen_every_kind_of_chart_has_every_number_and_name_uncut(chart):
    drawing = lay_out_narrow(chart)
    assert drawing.width <= 340
    shapes = [shape for mark in drawing.marks for shape in mark.shapes if shape.words]
    assert all(float(shape.at["x"]) + measure(shape.words) <= 340 for shape in shapes if "text-anchor" not in shape.at)
    shown = "".join("".join(shape.words.split()) for shape in shapes)
    assert "…" not in shown
    _, rows = tabulate(chart)
    for words in (words for row in rows for words in row[1:] if words):
        assert "".join(words.split()) in shown
    for row in rows[1:]:
        assert chart is SQUARES or "".join(row[0].split(": ")[-1].split()) in shown


def test_on_a_narrow_screen_a_grid_names_the_columns_of_each_row_and_puts_noughts_together():
    cells = [Cell(3.0, "3", href="/x"), Cell(0.0, "0/9"), Cell(None), Cell(0.0, "0/9"), Cell(0.0, "0", href="/y")]
    row = GridRow("row", cells, Verdict("in 1 of 5"))
    marks = lay_out_narrow(GridChart("grid", "Grid", list("abcde"), [row])).marks
    assert [" ".join(shape.words for shape in mark.shapes if shape.words) for mark in marks] == [
        "row in 1 of 5",
        "a 3",
        "e 0",
        "0/9: b, d",
        "–: c",
    ]
    assert [mark.href for mark in marks] == ["", "/x", "/y", "", ""]
    assert [mark.label for mark in marks][-2:] == ["row, 0/9: b, d", "row, –: c"]


def test_on_a_narrow_screen_panels_are_rows_that_name_their_panel():
    labels = [mark.label for mark in lay_out_narrow(PANELS).marks if mark.label]
    assert labels[:3] == ["One: v1: 5 of 10", "Two: v1: 0 of 10", "Two: v2: 10 of 10; moved"]


def test_a_square_has_a_diagonal_and_each_point_where_its_numbers_are_equal_or_not():
    [diagonal] = [shape for mark in lay_out(SQUARES).marks for shape in find_shapes(mark, "line", "reference")]
    at = {name: float(value) for name, value in diagonal.at.items()}
    assert at["x2"] - at["x1"] == at["y1"] - at["y2"] == SQUARE
    [point] = find_shapes(find_marks(SQUARES)["model, condition"], "circle")
    assert float(point.at["cx"]) == at["x1"] + SQUARE / 2
    assert float(point.at["cy"]) == at["y1"] - SQUARE / 4
    assert [shape.words for shape in find_shapes(find_marks(SQUARES)["model, condition"], "text")][-2:] == [
        "1,234",
        "0",
    ]


def test_a_scale_that_begins_above_0_does_so_for_dots():
    chart = RowChart("ranks", "Ranks", [Row("a", [Dot(2.5, text="2.50")])], low=1.0, high=4.0)
    ticks = [shape.words for mark in lay_out(chart).marks for shape in find_shapes(mark, "text", "tick")]
    assert ticks == ["1", "2", "3", "4"]


def test_circles_have_the_number_of_their_column_above_them_and_its_name_on_a_narrow_screen():
    chart = dataclasses.replace(CIRCLES, columns=["1 code", "2 other"])
    heads, *_ = lay_out(chart).marks
    assert [shape.words for shape in heads.shapes] == ["1", "2"]
    assert "2 other" in {shape.words for mark in lay_out_narrow(chart).marks for shape in mark.shapes}


def test_small_charts_with_many_points_have_them_all_on_a_narrow_screen():
    panels = [Panel(f"code {number}", [Point(f"v{version}", 0.5) for version in range(5)]) for number in range(80)]
    drawing = lay_out_narrow(PanelChart("drift", "Drift", panels))
    assert {f"code {number}" for number in range(80)} <= {
        shape.words for mark in drawing.marks for shape in mark.shapes
    }
