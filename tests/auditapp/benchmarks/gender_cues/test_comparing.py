"""Models and conditions of a probe on the same texts, against scipy and statsmodels."""

import json
from random import Random

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from auditapp.benchmarks.gender_cues.actions import launch_probe
from auditapp.benchmarks.gender_cues.pure.outputs import list_report, make_report
from auditapp.benchmarks.gender_cues.pure.tables import COMPARISONS, compare_trials
from auditapp.benchmarks.gender_cues.queries import read_report
from auditapp.benchmarks.gender_cues.views import draw_compared
from tests.auditapp.benchmarks.gender_cues.conftest import answer_cells
from tests.auditapp.benchmarks.gender_cues.making import make_trial, write_answer
from transcripts.charts.figures import RowChart


def answer(model, condition, predict, texts=60):
    """Of texts by women and men in turn; no prediction where ``predict`` says so."""
    trials = []
    for number in range(texts):
        truth = ("woman", "man")[number % 2]
        said = predict(number, truth)
        status = said if said in {"refused", "abstained"} else "ok"
        named = ("Emotion",) if number % 3 else ()
        trials.append(
            make_trial(
                f"{model}{condition}{number}",
                truth,
                said,
                status=status,
                condition=condition,
                codes=named,
                model=model,
                review=str(number),
            )
        )
    return trials


def find(rows, **asked):
    [found] = [row for row in rows if asked.items() <= row.items()]
    return found


def test_two_models_on_the_same_texts_are_compared_as_scipy_and_statsmodels_do():
    draw = Random(3)
    good = {number: draw.random() < 0.9 for number in range(60)}
    fair = {number: draw.random() < 0.5 for number in range(60)}
    other = {"woman": "man", "man": "woman"}
    trials = [
        *answer("a", "primed", lambda n, truth: truth if good[n] else other[truth]),
        *answer("b", "primed", lambda n, truth: "refused" if n < 6 else truth if fair[n] else other[truth]),
    ]

    rows, apart = compare_trials(trials)

    assert apart == []
    found = find(rows, measure="right")
    a, b = (np.array([float(right[n]) for n in range(6, 60)]) for right in (good, fair))
    oracle = stats.ttest_rel(a, b).confidence_interval()
    table = [[0, int((a > b).sum())], [int((a < b).sum()), 0]]
    assert (found["kind"], found["under"], found["first"], found["second"]) == ("models", "primed", "a", "b")
    assert (found["texts"], found["left_out"], found["mark"]) == (54, 6, None)
    assert [found["first_rate"], found["second_rate"]] == pytest.approx([a.mean(), b.mean()])
    assert found["difference"] == pytest.approx(a.mean() - b.mean())
    assert found["ci"] == pytest.approx([oracle.low, oracle.high])
    assert found["p"] == pytest.approx(mcnemar(table, exact=True).pvalue)
    assert found["verdict"] == "higher"
    assert [row["p_holm"] for row in rows] == pytest.approx(multipletests([row["p"] for row in rows], method="holm")[1])
    assert {row["family"] for row in rows} == {len(rows)} == {6}
    answered = find(rows, measure="answered")
    assert (answered["texts"], answered["first_rate"], answered["second_rate"]) == (60, 1.0, 0.9)


def test_a_model_that_says_woman_more_often_is_compared_by_category_of_the_text():
    trials = [*answer("a", "primed", lambda n, truth: "woman"), *answer("b", "primed", lambda n, truth: truth)]
    rows, _ = compare_trials(trials)
    found = {row["group"]: row for row in rows if row["measure"] == "woman"}
    assert {group: row["difference"] for group, row in found.items()} == {"all": 0.5, "woman": 0.0, "man": 1.0}
    assert found["man"]["ci"] is None
    assert {row["measure"]: row["degenerate"] for row in rows} == {
        "answered": "",
        "woman": "first",
        "right": "first",
        "emotion": "",
    }
    report = make_report(trials)
    section = draw_compared(report)
    assert any(note.startswith("Degenerate") for note in section.notes)
    assert {row["measure"] for row in rows if row["verdict"] == "degenerate"} == {"woman", "right"}
    # Only what does not read the prediction has another verdict, on page, in file and in a terminal.
    place, heads = section.heads.index("Verdict"), section.heads
    said = {(line[heads.index("Measure")].text, line[place].text) for line in section.rows}
    assert said == {
        ("makes a prediction", "cannot tell"),
        ("predicts a woman", "degenerate"),
        ("is right", "degenerate"),
        ("names Emotion or Textual Style", "cannot tell"),
    }
    assert isinstance(section.chart, RowChart)
    verdicts = [line.verdict.words for line in section.chart.rows if line.verdict]
    assert (verdicts.count("degenerate"), verdicts.count("cannot tell")) == (4, 2)
    assert section.chart.summary == "Of 6 comparisons: 4 degenerate, 2 cannot tell."
    verdict = COMPARISONS.names.index("verdict")
    assert [row[verdict] for row in COMPARISONS.list_rows(report)].count("degenerate") == 4
    lines = [line for line in list_report(report) if line.startswith("primed, predicts a woman")]
    assert len(lines) == 3
    assert all(line.endswith(": degenerate") for line in lines)


def test_the_page_names_kind_measure_group_and_conditions_in_words():
    trials = [
        *answer("a", "control", lambda n, truth: truth),
        *answer("a", "may_abstain", lambda n, truth: truth if n % 4 else "woman"),
    ]
    report = make_report(trials)
    section = draw_compared(report)
    cells = [dict(zip(section.heads, (cell.text for cell in line), strict=True)) for line in section.rows]
    assert {(row["Kind"], row["Under"], row["First"], row["Second"]) for row in cells} == {
        ("Conditions", "a", "Control", "May abstain")
    }
    assert {row["Group"] for row in cells} == {"all texts", "women’s texts", "men’s texts"}
    assert isinstance(section.chart, RowChart)
    assert {line.group for line in section.chart.rows} == {"a: Control minus May abstain"}
    # Files keep the keys of the report, LaTeX prints the words.
    assert COMPARISONS.list_rows(report)[0][:6] == ["conditions", "a", "answered", "all", "control", "may_abstain"]
    assert COMPARISONS.print_rows(report)[0][:6] == [
        "Conditions",
        "a",
        "makes a prediction",
        "all texts",
        "Control",
        "May abstain",
    ]
    assert "Which texts have no prediction is the model’s doing" in section.words


def test_conditions_of_one_model_are_a_family_of_their_own_and_cues_are_not_compared_with_the_control():
    trials = [
        *answer("a", "control", lambda n, truth: "woman"),
        *answer("a", "primed", lambda n, truth: truth),
        *answer("b", "control", lambda n, truth: truth),
    ]
    rows, _ = compare_trials(trials)
    assert {(row["kind"], row["under"], row["first"], row["second"], row["family"]) for row in rows} == {
        ("models", "control", "a", "b", 5),
        ("conditions", "a", "control", "primed", 5),
    }
    assert "emotion" not in {row["measure"] for row in rows}


def test_nothing_in_common_one_text_and_equal_answers_give_sentences_and_no_figure_that_looks_like_one():
    apart = make_report([make_trial("x", model="a"), make_trial("y", model="b")])
    assert apart["comparisons"] == []
    assert apart["warnings"][-1] == "primed: a and b have no text in common and are not compared."
    assert draw_compared(apart).chart.is_empty

    one = make_report([make_trial("x", model="a", review="1"), make_trial("y", predicted="man", model="b", review="1")])
    row = find(one["comparisons"], measure="right")
    assert (row["texts"], row["ci"], row["p"], row["mark"], row["verdict"]) == (1, None, None, "few", None)
    assert "few texts: 1, a verdict needs 10" in "\n".join(list_report(one))

    equal = make_report(
        [*answer("a", "primed", lambda n, truth: truth), *answer("b", "primed", lambda n, truth: truth)]
    )
    assert {(row["difference"], row["ci"], row["p_holm"], row["verdict"]) for row in equal["comparisons"]} == {
        (0.0, None, 1.0, "cannot tell")
    }
    assert compare_trials([]) == ([], [])


@pytest.mark.django_db
def test_two_probes_of_one_set_are_compared_on_page_in_file_api_and_command(
    probe, reviews, variant, owner, study, client, capsys
):
    def predict(task, review):
        return write_answer("Female" if review.category == "woman" else "Male", "Emotion")

    later = launch_probe(reviews=reviews, variants=[variant], texts={"control": 30}, by=owner)
    answer_cells(probe, predict)
    answer_cells(later, lambda task, review: write_answer("Female"))

    report, _ = read_report(probe, user=owner, other=later)
    row = find(report["comparisons"], kind="models", measure="right")
    assert (row["first"], row["second"], row["texts"], row["difference"]) == (
        "model a",
        f"model a (batch {later.pk})",
        60,
        0.5,
    )

    client.force_login(owner)
    address = f"/studies/{study.slug}/gender-cues/batches/{probe.pk}/"
    page = client.get(address, {"with": later.pk}).content.decode()
    assert f"Control: model a minus model a (batch {later.pk})" in page
    assert "is right, all texts, 60 texts" in page
    assert ">degenerate<" in page
    assert client.get(address, {"with": "99999999999999999999"}).status_code == 200
    alone = client.get(address).content.decode()
    assert f"(batch {later.pk})" not in alone
    sent = client.post(f"{address}files/comparisons.csv", {"with": later.pk})
    assert f"models,control,right,all,model a,model a (batch {later.pk}),60" in b"".join(sent).decode()

    call_command("probe", "report", "--batch", str(probe.pk), "--with", str(later.pk), "--json")
    assert json.loads(capsys.readouterr().out)["comparisons"] == json.loads(json.dumps(report["comparisons"]))
    with pytest.raises(CommandError, match="no probe of the study"):
        call_command("probe", "report", "--batch", str(probe.pk), "--with", "987")
