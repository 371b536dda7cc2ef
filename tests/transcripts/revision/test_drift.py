"""Drift on the anchors, counted by hand."""

from transcripts.revision.pure import Point, draw_drift, measure_drift


def reading(version, sentence, coder, *codes):
    return version, sentence, coder, frozenset(codes)


def test_rate_counts_readings_and_sameness_compares_the_same_coder_and_sentence():
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


def test_nothing_read_makes_no_points():
    assert measure_drift([], ["balance"]) == {"balance": []}
    assert Point(1, 0, 0, 0, 0).rate is None


def test_the_chart_has_a_panel_for_each_code_and_judges_the_last_version():
    moved = [Point(1, 20, 5, 0, 0), Point(2, 0, 0, 0, 0), Point(3, 20, 15, 20, 10)]
    steady = [Point(1, 20, 5, 0, 0), Point(3, 20, 5, 20, 20)]
    new = [Point(3, 4, 0, 2, 1)]
    chart = draw_drift([("Balance", moved), ("Care", steady), ("New", new), ("Unread", [])])
    assert [(panel.name, panel.verdict and panel.verdict.words) for panel in chart.panels] == [
        ("Balance", "moved"),
        ("Care", "steady"),
        ("New", "few cases: 2, a verdict needs 10"),
    ]
    assert [(point.label, point.value, point.text) for point in chart.panels[0].points] == [
        ("v1", 0.25, "5 of 20"),
        ("v2", None, "0 of 0"),
        ("v3", 0.75, "15 of 20"),
    ]
    assert draw_drift([]).is_empty
