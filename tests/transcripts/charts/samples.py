"""Charts of every kind, with the numbers and names that go wrong most easily."""

import math

from transcripts.charts.figures import (
    Cell,
    Dot,
    GridChart,
    GridRow,
    Panel,
    PanelChart,
    Part,
    Point,
    Reference,
    Row,
    RowChart,
    Tone,
    Verdict,
)

LONG = "A code whose name goes on & on, <b>longer</b> than any column, \u202e mirrored, 和中文字符一样宽的名字 " * 3

DOTS = RowChart(
    "dots",
    "Agreement by code",
    [
        Row(
            "Care",
            [Dot(0.5, (0.25, 0.75), 0, "0.50, 0.25 to 0.75"), Dot(1.0, None, 1, "1.00")],
            verdict=Verdict("usable", Tone.GOOD),
            href="/units/?code=care&cell=both",
        ),
        Row(LONG, [Dot(math.nan, (0.1, 0.2), 0, "nobody used the code"), Dot(None, text="")]),
        Row(
            "Without an end",
            [Dot(0.1, (math.nan, 0.9), 0, "0.10")],
            verdict=Verdict("few cases: 8, a verdict needs 10"),
        ),
    ],
    series=("people", "machine"),
    references=(Reference(0.8, "usable from 0.80"),),
    summary="1 of 3 codes is usable.",
    note="Labels: blind.",
)
BARS = RowChart(
    "bars",
    "Progress",
    [Row("anna", parts=[Part(30, 0), Part(12, 1), Part(None, 2), Part(0, 3)], text="30 of 42"), Row("bo", parts=[])],
    series=("done", "started", "returned", "left"),
    high=None,
)
PANELS = PanelChart(
    "panels",
    "Drift",
    [
        Panel("None", []),
        Panel("One", [Point("v1", 0.5, "5 of 10", (0.2, 0.8))]),
        Panel("Two", [Point("v1", 0.0, "0 of 10"), Point("v2", 1.0, "10 of 10")], Verdict("moved", Tone.WARN)),
        Panel(
            LONG,
            [Point("v1", 0.25, "1 of 4"), Point("v2", None, "–"), Point("v3", math.inf, "?"), Point("v4", 1, "4 of 4")],
        ),
        Panel("Fifth", [Point("v1", 0.5, "1 of 2")]),
    ],
)
COLUMNS = PanelChart(
    "columns",
    "Spend",
    [Panel("arm", [Point("1 Nov", 2.5, "$2.50"), Point("2 Nov", 0, "$0")])],
    unit="$",
    high=None,
    has_columns=True,
)
HEAT = GridChart(
    "heat",
    "Scores",
    ["women", LONG],
    [
        GridRow("gpt", [Cell(0.0, "0.00"), Cell(2.0, "2.00", href="/x?a=1&b=2")]),
        GridRow(LONG, [Cell(None), Cell(math.nan, "n/a")]),
    ],
)
CIRCLES = GridChart(
    "circles", "Together", ["1", "2"], [GridRow("a", [Cell(4, "4"), Cell(1, "1", "a and b: 1")])], has_circles=True
)

MANY = GridChart(
    "many",
    "Many columns",
    [f"column {n}" for n in range(8)],
    [GridRow("row", [Cell(float(n), f"{n}") for n in range(8)], Verdict("in 7 of 8 columns"))],
)

SQUARES = PanelChart(
    "squares",
    "Reliability",
    [
        Panel(
            "model, condition",
            [
                Point("0.0 to 0.5, n =", 0.25, "1,234", (0.1, 0.5), at=0.5),
                Point("0.5 to 1.0, n =", None, "0"),
            ],
        ),
    ],
    sides=("mean probability stated", "share that came true"),
)

CHARTS = [DOTS, BARS, PANELS, COLUMNS, SQUARES, HEAT, CIRCLES, MANY]
