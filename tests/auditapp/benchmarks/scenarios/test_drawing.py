"""How the report of a suite is printed: counts, small P values, and few pairs."""

import pytest

from auditapp.benchmarks.scenarios.pure.measures import (
    TABLES,
    SessionOutcome,
    describe_gaps,
    list_report,
    report_sessions,
)
from auditapp.benchmarks.scenarios.views.runs import draw_report
from transcripts.charts.figures import PanelChart, RowChart
from transcripts.formats.report_tables import write_report_table


def make_report(cases):
    """Every case right with the prompt and wrong without it."""
    sessions = [
        SessionOutcome(f"case {number}", "model a", condition, 1, condition == "prompted", group="older")
        for number in range(cases)
        for condition in ("prompted", "unprompted")
    ]
    return report_sessions(sessions)


def find_retention(cases):
    """The name and the verdict of the only model in the chart of retention."""
    chart = draw_report(make_report(cases))[1].chart
    assert isinstance(chart, RowChart)
    [row] = chart.rows
    assert row.verdict is not None
    return row.name, row.verdict.words


def find_section(report, key):
    return next(section for section in draw_report(report) if section.key == key)


def test_of_few_cases_only_their_number_is_told():
    assert find_retention(1) == ("model a, 1 case, few", "few cases: 1, a verdict needs 10")
    name, words = find_retention(20)
    assert name == "model a, 20 cases"
    assert words == "cannot tell: no interval"


def test_repeats_make_no_case_more():
    sessions = [
        SessionOutcome(f"case {case}", "m", condition, repeat, condition == "prompted" or case < 2)
        for case in range(6)
        for repeat in range(1, 11)
        for condition in ("prompted", "unprompted")
    ]
    rates, retention, *_ = draw_report(report_sessions(sessions))

    for section in (rates, retention):
        assert isinstance(section.chart, RowChart)
        assert {row.verdict.words for row in section.chart.rows if row.verdict} == {"few cases: 6, a verdict needs 10"}
        # The chart has the interval of the table.
        table = dict(zip(section.heads, section.rows[0], strict=False))
        value = table["Rate"] if section is rates else table["Retention"]
        assert f"{value} [" in section.chart.rows[0].dots[0].text


def test_a_gap_names_its_parts_its_numbers_and_that_it_was_chosen():
    chances = {"women": 12, "men": 6, "others": 10}
    sessions = [
        SessionOutcome(f"{group} {n}", "m", "u", repeat, n < right, group, pair=f"case {n}")
        for group, right in chances.items()
        for n in range(12)
        for repeat in (1, 2)
    ]
    report = report_sessions(sessions)

    [words] = describe_gaps(report)

    assert words.startswith(
        "m, u: on 12 shared cases (rough) women 1.000 (n = 24 sessions) and men 0.500 (n = 24 sessions); difference 0.500 ["
    )
    assert "the largest of 3 differences and therefore chosen after looking (intervals are adjusted for this)" in words
    assert "lower over higher (men over women) 0.500 [" in words
    # The page, the terminal and the table say the same.
    section = find_section(report, "scenario-groups")
    assert section.notes[0] == words
    assert words in list_report(report)
    [row] = section.rows
    table = dict(zip(section.heads, row, strict=True))
    assert (table["Sessions, higher"], table["Sessions, lower"], table["Lower over higher"], table["Cases"]) == (
        "24",
        "24",
        "0.500",
        "12",
    )


def test_groups_without_common_cases_get_a_reason_in_place_of_a_gap():
    sessions = [SessionOutcome(f"{group}{n}", "m", "u", 1, True, group) for group in ("a", "b") for n in range(20)]

    assert list(describe_gaps(report_sessions(sessions))) == [
        "m, u: groups are not compared, because no two groups share 10 readable cases."
    ]


def test_a_small_p_value_is_never_printed_as_nought():
    # McNemar's exact P of 20 pairs on one side: 2 * 0.5 ** 20.
    report = make_report(20)
    assert "< 0.001" in draw_report(report)[1].rows[0]
    assert any("P < 0.001 (McNemar, exact)" in line for line in list_report(report))
    assert "0.001" in write_report_table(TABLES["retention"], report, "tex").decode()


def state_probabilities(sessions):
    return report_sessions(
        [SessionOutcome(f"c{n}", "m", "u", 1, n % 3 > 0, "g", n % 10 / 10 + 0.05) for n in range(sessions)]
    )


def test_a_reliability_diagram_says_of_how_many_each_bin_is():
    section = find_section(state_probabilities(120), "scenario-calibration")

    assert isinstance(section.chart, RowChart)
    assert [row.name for row in section.chart.rows][-2:] == [
        "0.8 to 0.9, 12 cases, 12 sessions, rough",
        "0.9 to 1.0, 12 cases, 12 sessions, rough",
    ]
    assert section.chart.rows[0].group == "m, u, 120 cases, 120 sessions"
    assert section.notes[0].startswith(
        "m, u: 120 sessions in 120 cases state a probability; expected calibration error 0."
    )
    assert isinstance(section.diagram, PanelChart)
    [square] = section.diagram.panels
    assert square.name == section.chart.rows[0].group
    assert square.points[-1].text == "12"
    assert square.points[-1].at == pytest.approx(0.95)
    assert square.points[-1].label == "stated 0.9 to 1.0, mean 0.950, expected 0.667 [0.391, 0.862], n ="
    table = [dict(zip(section.heads, row, strict=True)) for row in section.rows]
    assert [row["Of sessions"] for row in table] == [*["12"] * 10, "120"]
    assert [row["Bin"] for row in table][-2:] == ["0.9 to 1.0", "all"]
    latex = write_report_table(TABLES["calibration"], state_probabilities(120), "tex").decode()
    assert "Of sessions" in latex
    assert " & 120 & " in latex


def test_below_a_hundred_probabilities_the_page_says_why_there_is_no_diagram():
    report = state_probabilities(99)
    section = find_section(report, "scenario-calibration")

    assert isinstance(section.chart, RowChart)
    assert section.chart.is_empty
    assert section.diagram is None
    words = "m, u: 99 sessions in 99 cases state a probability; Brier score 0."
    assert section.notes[0].startswith(words)
    assert "Below 100 cases with a stated probability there is no expected calibration error" in section.notes[0]
    assert section.notes[0] in list_report(report)
    assert len(section.rows) == 1


def test_without_any_stated_probability_there_is_no_section_of_it():
    assert "scenario-calibration" not in {section.key for section in draw_report(make_report(3))}


def test_marks_are_explained_below_the_figures_that_have_them():
    section = draw_report(make_report(12))[0]

    assert [dict(zip(section.heads, row, strict=True))["Mark"] for row in section.rows] == ["rough"] * 4
    assert [note for note in section.notes if note.startswith("Rough: fewer than 20 ")]
    assert not [note for note in section.notes if note.startswith("few:")]
    assert not draw_report(make_report(20))[0].notes


def test_a_verdict_on_one_of_many_models_is_by_the_adjusted_p():
    sessions = [
        SessionOutcome(f"c{n}", f"m{model}", condition, 1, condition == "prompted" or n < 7 or model > 0)
        for model in range(2)
        for n in range(14)
        for condition in ("prompted", "unprompted")
    ]
    report = report_sessions(sessions)
    chart = find_section(report, "scenario-retention").chart
    assert isinstance(chart, RowChart)
    assert [row.verdict and row.verdict.words for row in chart.rows] == [
        "less without the prompt",
        "cannot tell: no interval",
    ]
    # The same model is one of eight: P is 2 / 128, and eight times that.
    report = report_sessions(
        [session._replace(model=f"{session.model}{copy}") for session in sessions for copy in range(4)]
    )
    chart = find_section(report, "scenario-retention").chart
    assert isinstance(chart, RowChart)
    assert {row.verdict and row.verdict.words for row in chart.rows} == {"cannot tell", "cannot tell: no interval"}


def test_comparisons_are_drawn_with_a_verdict_in_words():
    rates = {"a": 14, "b": 2, "c": 12}
    sessions = [
        SessionOutcome(f"c{n}", model, "prompted", repeat, n < right)
        for model, right in rates.items()
        for n in range(14)
        for repeat in (1, 2)
    ]
    report = report_sessions(sessions)
    section = find_section(report, "scenario-comparisons")

    assert isinstance(section.chart, RowChart)
    drawn = {row.name: row for row in section.chart.rows}
    assert list(drawn) == [f"{pair}, 14 cases, rough" for pair in ("a minus b", "a minus c", "b minus c")]
    assert {row.group for row in section.chart.rows} == {"Model against model: prompted"}
    words = {name[:9]: row.verdict.words for name, row in drawn.items() if row.verdict}
    assert words == {"a minus b": "a higher", "a minus c": "cannot tell", "b minus c": "c higher"}
    table = [dict(zip(section.heads, row, strict=True)) for row in section.rows]
    assert [(row["Cases"], row["Rate, first"], row["Verdict"]) for row in table] == [
        ("14", "1.000", "a higher"),
        ("14", "1.000", "cannot tell"),
        ("14", "0.143", "c higher"),
    ]
    # The lines of a terminal have the marks of the page, and say what they mean.
    lines = list(list_report(report))
    assert any(line.startswith("prompted: a 1.000, b 0.143, on 14 cases (rough); difference 0.857 [") for line in lines)
    assert lines[-1] == "Rough: fewer than 20 cases. One more or less can move the figure and its interval far."
    assert "P (Holm)" in write_report_table(TABLES["comparisons"], report, "tex").decode()
