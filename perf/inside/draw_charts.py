"""What a chart adds to its page: laid out, written for the page and for its files, signed. As large as pages have them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from types import SimpleNamespace

from django.template import Context, Template
from django.test import RequestFactory

from perf.inside.times import Times
from transcripts.charts.figures import (
    Cell,
    Chart,
    Dot,
    GridChart,
    GridRow,
    Panel,
    PanelChart,
    Part,
    Point,
    Row,
    RowChart,
)
from transcripts.charts.verdicts import judge_reliability, judge_steadiness

CODES, TARGETS, MODELS, VERSIONS = 34, 12, 12, 5


def make_charts() -> dict[str, Chart]:
    """By the page that has such a chart: every code of the papers' codebook, twelve targets, twelve models."""
    names = [f"Code with a name of some length, number {n}" for n in range(CODES)]
    estimates = [Dot(0.5, (0.3, 0.7), 0, "0.50, 0.30 to 0.70"), Dot(0.4, (0.2, 0.6), 1, "0.40, 0.20 to 0.60")]
    verdict = judge_reliability(0.8, 0.7, 20)
    cells = [Cell(n / MODELS, f"{n}/{MODELS}", href=f"/p/study/themes/evidence/?model={n}") for n in range(MODELS)]
    points = [Point(f"v{n}", n / VERSIONS, f"{n} of {VERSIONS}") for n in range(VERSIONS)]
    values = [
        Row(
            f"value {n}",
            parts=[Part(50.0)],
            text="50.0 % (5 of 10)",
            href=f"/answers/?value={n}",
            group=f"target {n // 3}",
        )
        for n in range(3 * TARGETS)
    ]
    return {
        "calibration": RowChart(
            "a", "Kappa", [Row(name, estimates, verdict=verdict, href="/units/") for name in names]
        ),
        "values": RowChart("b", "Values", values, high=100.0),
        "presence": GridChart(
            "c", "Presence", [f"model {n}" for n in range(MODELS)], [GridRow(name, cells, verdict) for name in names]
        ),
        "drift": PanelChart("d", "Drift", [Panel(name, points, judge_steadiness(9, 10)) for name in names]),
    }


def make_drawing(chart: Chart) -> Callable[[], object]:
    """What a page does with a chart."""
    request = RequestFactory().get("/")
    request.user = SimpleNamespace(is_authenticated=True, pk=1)  # type: ignore[assignment]
    template = Template('{% load charts %}{% chart figure table="own" %}')
    context = {"figure": chart, "request": request, "project": SimpleNamespace(slug="study"), "csrf_token": "x"}
    return lambda: template.render(Context(context))


def main() -> None:
    """Print the times of each round, by page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, required=True)
    given, found = parser.parse_args(), {}
    for name, chart in make_charts().items():
        draw, times = make_drawing(chart), Times()
        draw()
        for _ in range(given.rounds):
            with times.measure():
                draw()
        found[name] = asdict(times)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
