"""Drift on the anchors, counted by hand."""

from __future__ import annotations

from django.template.loader import render_to_string

from transcripts.revision.pure.drift import Point, Reading, lay_out_rates, measure_drift


def reading(version: int, sentence: int, coder: int, *codes: str) -> Reading:
    return version, sentence, coder, frozenset(codes)


def test_rate_counts_readings_and_sameness_compares_the_same_coder_and_sentence() -> None:
    readings = [
        reading(1, 1, 7, "balance"),
        reading(1, 2, 7, "balance"),
        reading(1, 3, 7),
        reading(3, 1, 7, "balance"),
        reading(3, 2, 7),
        reading(3, 4, 7, "balance"),
        reading(3, 1, 8),
    ]
    first, second = measure_drift(readings, ["balance"])["balance"]
    assert first == Point(1, read=3, applied=2, compared=0, same=0)
    # Sentences 1 and 2 were read before by coder 7: 1 the same way, 2 not. Nobody else and nothing else was read twice.
    assert second == Point(3, read=4, applied=2, compared=2, same=1)
    assert first.rate == 2 / 3
    assert first.agreement is None
    assert second.agreement == 0.5


def test_nothing_read_makes_no_points() -> None:
    assert measure_drift([], ["balance"]) == {"balance": []}
    assert Point(1, 0, 0, 0, 0).rate is None


def test_chart_tells_its_figures_and_passes_over_versions_nobody_read_under() -> None:
    points = [Point(1, 3, 3, 0, 0), Point(2, 0, 0, 0, 0), Point(3, 4, 0, 2, 1)]
    chart = lay_out_rates(points)
    assert chart["figures"] == "v1: 3 of 3; v3: 0 of 4"
    # All readings with the code lie at the top, none of them at the axis.
    assert chart["line"] == "10,10.0 122,34.0"
    assert chart["axis"] == 34
    assert lay_out_rates([])["figures"] == "not coded yet"


def test_chart_keeps_markup_out_of_names() -> None:
    chart = lay_out_rates([Point(1, 3, 2, 0, 0)])
    drawn = render_to_string("revision/_drift_chart.html", {"chart": chart, "name": "<b>Balance</b>"})
    assert "&lt;b&gt;Balance&lt;/b&gt;: v1: 2 of 3" in drawn
