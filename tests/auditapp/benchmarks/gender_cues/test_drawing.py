"""What stands beside the figures of the report: tests unfolded, few rationales marked, infinite logarithms explained."""

from auditapp.benchmarks.gender_cues.pure.outputs import TABLE1, TABLE2, caption_table, list_report, make_report
from auditapp.benchmarks.gender_cues.pure.tables import DEGENERATE, INFINITIES, make_table1, make_table2
from auditapp.benchmarks.gender_cues.views import draw_table1, draw_table2
from tests.auditapp.benchmarks.gender_cues.making import make_trial
from transcripts.formats.report_tables import write_report_table


def make_trials(women, men):
    """Right of every women's text, and of every second men's one."""
    return [
        *(make_trial(f"w{number}", "woman", "woman") for number in range(women)),
        *(make_trial(f"m{number}", "man", ("man", "woman")[number % 2]) for number in range(men)),
    ]


def test_differences_and_p_values_stand_unfolded_beside_table_1():
    section = draw_table1("model a", make_table1(make_trials(40, 40)), place=1)
    assert section.tests["Primed for emotion"][0] == [
        "All",
        "40/40",
        "0.500 [0.328, 0.648]",
        "< 0.001",
        "Pearson",
        "–",
    ]
    assert DEGENERATE in section.words


def test_table_1_prints_verdict_and_mark_on_page_and_paper():
    """Of 8 texts of a category nothing is concluded; of 15 an interval is rough."""
    for women, verdict, words in (
        (8, "few texts: 8, a verdict needs 10", "Few: fewer than 10 texts of one category."),
        (15, "cannot tell (rough)", "Rough: fewer than 20 texts of one category."),
    ):
        trials = [
            make_trial(f"{side}{n}", side, ("man", "woman")[n % 2]) for side in ("woman", "man") for n in range(women)
        ]
        report = make_report(trials)
        section = draw_table1("model a", report["table1"], place=1)
        assert (section.heads[-1], section.rows[0][-1].text) == ("Verdict", verdict)
        assert any(note.startswith(words) for note in section.notes)
        latex = write_report_table(TABLE1, report, "tex", caption=caption_table(TABLE1, report)).decode()
        assert verdict.partition(",")[0] in latex
        assert words in latex
        first = TABLE1.list_rows(report)[0]
        assert first[TABLE1.names.index("mark")] == ("few" if women == 8 else "rough")


def test_themes_that_few_rationales_cite_are_marked():
    trials = make_trials(20, 20)
    themes = {trial.key: ["Often"] for trial in trials[8:30]} | {"w0": ["Seldom"], "m0": ["Often", "Seldom"]}
    section = draw_table2("model a", make_table2(trials, themes, axis="truth"), {}, place=1)
    verdicts = {row.name.partition(":")[0]: row.verdict and row.verdict.words for row in section.chart.rows}
    assert verdicts == {"Often": None, "Seldom": "few rationales: 2, a verdict needs 10"}
    assert [row[-1].text for row in section.rows] == ["", "few"]
    assert section.notes == ["Few: fewer than 10 rationales. Nothing is concluded from it."]
    assert [row[-1] for row in TABLE2.print_rows(make_report(trials, themes))] == ["", "few"]


def test_an_infinite_logarithm_is_explained_wherever_it_stands():
    trials = make_trials(20, 20)
    themes = {f"m{number}": ["Direct"] for number in range(20)}
    section = draw_table2("model a", make_table2(trials, themes, axis="truth"), {}, place=1)
    assert [cell.text for cell in section.rows[0]] == ["Direct", "0", "20", "-INF", "-INF", "−3.714", ""]
    [note] = section.notes
    assert note.startswith(INFINITIES)
    assert "no dot is drawn" in note
    report = make_report(trials, themes)
    assert f"  {INFINITIES}" in list(list_report(report))
    assert "no rationale on the men" in write_report_table(TABLE2, report, "tex").decode()
    assert "no rationale on the women's side" not in "\n".join(
        list_report(make_report(trials, {"w0": ["A"], "m0": ["A"]}))
    )
