"""How the report of a suite is printed: counts, small P values, and few pairs."""

from __future__ import annotations

from auditapp.scenarios.pure.listing import list_report
from auditapp.scenarios.pure.measures import PlayOutcome, report_plays
from auditapp.scenarios.pure.outputs import write_latex
from auditapp.scenarios.views.drawing import draw_report
from transcripts.charts.figures import RowChart


def make_report(cases: int) -> dict[str, object]:
    """Every case right with the prompt and wrong without it."""
    plays = [
        PlayOutcome(f"case {number}", "model a", condition, 1, condition == "prompted", group="older")
        for number in range(cases)
        for condition in ("prompted", "unprompted")
    ]
    return report_plays(plays)


def find_retention(cases: int) -> tuple[str, str]:
    """The name and the verdict of the only model in the chart of retention."""
    chart = draw_report(make_report(cases))[1].chart
    assert isinstance(chart, RowChart)
    [row] = chart.rows
    assert row.verdict is not None
    return row.name, row.verdict.words


def test_of_few_pairs_only_their_number_is_told() -> None:
    assert find_retention(1) == ("model a, 1 pair", "too few pairs: 1 of 10")
    name, words = find_retention(20)
    assert name == "model a, 20 pairs"
    assert "too few" not in words


def test_a_small_p_value_is_never_printed_as_nought() -> None:
    # McNemar's exact P of 20 pairs on one side: 2 * 0.5 ** 20.
    report = make_report(20)
    assert "< 0.001" in draw_report(report)[1].rows[0]
    assert any("P < 0.001 (McNemar, exact)" in line for line in list_report(report))
    assert "0.001" in write_latex(report, "retention")
