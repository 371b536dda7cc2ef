import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

from auditapp.benchmarks.gender_cues.pure.outputs import TABLE1, TABLE2, caption_table, judge, list_report, make_report
from auditapp.benchmarks.gender_cues.pure.tables import (
    CHOSEN_BY_ANSWERS,
    make_table1,
    make_table2,
    measure_counts,
    pair_conditions,
)
from auditapp.benchmarks.gender_cues.views import draw_table1
from tests.auditapp.benchmarks.gender_cues.making import make_trial
from transcripts.formats.report_tables import write_report_table

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts)
def test_tests_and_intervals_are_those_of_scipy_and_statsmodels(women, men):
    found = measure_counts(*women, *men)
    table = [[women[0], women[1] - women[0]], [men[0], men[1] - men[0]]]
    assert found["p_fisher"] == pytest.approx(stats.fisher_exact(table).pvalue, abs=1e-6)
    if all(map(sum, zip(*table, strict=True))):
        pearson = stats.chi2_contingency(table, correction=False)
        z, _ = proportions_ztest([women[0], men[0]], [women[1], men[1]])
        assert [found["chi2"], found["p_chi2"]] == pytest.approx([pearson.statistic, pearson.pvalue], abs=1e-9)
        assert found["chi2"] == pytest.approx(z * z, abs=1e-9)
    else:
        assert found["chi2"] is None
    right, n = women[0] + men[1] - men[0], women[1] + men[1]
    wilson = proportion_confint(right, n, method="wilson") if n > 2 else None
    assert found["accuracy_ci"] == (wilson and pytest.approx(wilson, abs=1e-9))
    newcombe = confint_proportions_2indep(*women, *men, method="newcomb", compare="diff")
    assert found["difference_ci"] == (pytest.approx(newcombe, abs=1e-6) if min(women[1], men[1]) > 2 else None)


def test_of_fewer_than_three_texts_table_1_has_no_interval():
    found = measure_counts(1, 2, 1, 3)
    assert (found["rate_woman"], found["rate_woman_ci"], found["difference_ci"]) == (0.5, None, None)
    assert None not in (found["rate_man_ci"], found["accuracy_ci"])
    assert measure_counts(1, 1, 0, 1)["accuracy_ci"] is None


@given(st.integers(0, 30), st.integers(0, 30))
def test_pairs_are_compared_by_mcnemars_exact_test(control_only, primed_only):
    trials = []
    for number in range(control_only + primed_only + 1):
        right = {"control": number <= control_only, "primed": number == 0 or number > control_only}
        for condition, is_right in right.items():
            predicted = "woman" if is_right else "man"
            trials.append(
                make_trial(f"{condition}{number}", "woman", predicted, condition=condition, review=str(number))
            )
    paired = pair_conditions(trials)
    assert paired is not None
    assert (paired["reviews"], paired["control_only"], paired["primed_only"]) == (
        control_only + primed_only + 1,
        control_only,
        primed_only,
    )
    expected = mcnemar([[1, control_only], [primed_only, 0]], exact=True).pvalue
    assert paired["p_mcnemar"] == pytest.approx(expected, abs=1e-9)


def test_conditions_on_different_texts_are_not_paired():
    trials = [make_trial("a", condition="control"), make_trial("b")]
    assert make_table1(trials)["paired"] is None
    assert make_report(trials)["warnings"][-1] == "control and primed have no text in common and are not compared."


def test_what_is_no_prediction_is_counted_beside_and_by_category():
    trials = [
        make_trial("a"),
        make_trial("b", status="invalid"),
        make_trial("c", "man", status="refused"),
        make_trial("d", "man", status="no_answer"),
        make_trial("e", "androgynous"),
        make_trial("f", "unknown", status="invalid"),
    ]
    rows = make_table1(trials)["primed"]
    assert rows["all"]["n_woman"] == 1
    assert rows["all"]["n_man"] == 0
    assert rows["not_counted"] == {"invalid": 1, "refused": 1, "no_answer": 1, "abstained": 0}
    assert rows["not_counted_of"]["man"] == {"invalid": 0, "refused": 1, "no_answer": 1, "abstained": 0}
    assert rows["not_scored"] == 2


def test_nothing_is_computed_from_nothing():
    found = measure_counts(0, 0, 0, 0)
    assert {name for name, value in found.items() if value is not None} == {"n_woman", "n_man", "predicted_woman"}


def test_one_label_above_nine_in_ten_is_a_default_and_exactly_nine_in_ten_is_not():
    assert measure_counts(10, 10, 8, 10)["degenerate"] is False
    assert measure_counts(10, 10, 9, 10)["degenerate"] is True
    assert measure_counts(0, 10, 1, 10)["degenerate"] is True


def test_models_are_never_pooled():
    report = make_report([make_trial("a", model="one"), make_trial("b", model="two")], {})
    assert "table1" not in report
    assert {model: each["table1"]["primed"]["all"]["n_woman"] for model, each in report["by_model"].items()} == {
        "one": 1,
        "two": 1,
    }


def test_a_model_may_be_called_anything_and_the_latex_table_holds():
    label = r"[beta] x_1 & <b> 50 % \input"
    report = make_report(
        [make_trial("a", model=label), make_trial("b", "man", "man", model=label)], {"a": ["[Direct]"]}
    )
    for table in (TABLE1, TABLE2):
        text = write_report_table(table, report, "tex").decode()
        body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
        assert body
        for line in body:
            # Behind the end of a row a bracket would be its argument.
            assert line.startswith(r"{[}beta{]} x\_1 \& \textless{}b\textgreater{} 50 \% \textbackslash{}input & ")
            assert line.endswith(r" \\")


def test_a_theme_counts_once_for_a_rationale_and_only_in_the_emotion_subset():
    trials = [
        make_trial("a", "woman"),
        make_trial("b", "man", "woman"),
        make_trial("c", "man", codes=()),
        make_trial("d", "androgynous"),
        make_trial("e", condition="control"),
    ]
    themes = {key: ["Direct", "Direct"] for key in "abcde"}
    by_truth, by_prediction = (make_table2(trials, themes, axis=axis) for axis in ("truth", "prediction"))
    assert (by_truth["themes"]["Direct"]["w"], by_truth["themes"]["Direct"]["m"]) == (1, 1)
    assert (by_prediction["themes"]["Direct"]["w"], by_prediction["themes"]["Direct"]["m"]) == (2, 0)
    assert by_prediction["themes"]["Direct"]["bias"] == "+INF"
    assert by_prediction["themes"]["Direct"]["bias_rate"] is None
    assert by_prediction["themes"]["Direct"]["bias_half"] == pytest.approx(math.log(5))
    assert any("3 answers outside" in sentence for sentence in make_report(trials, themes)["warnings"])


def make_conditions(*models):
    """Under control and primed, of each model, with all three subsets."""
    draw = random.Random(5)
    return [
        make_trial(
            f"{model}{condition}{number}",
            ("woman", "man")[number % 2],
            draw.choice(["woman", "man", ("woman", "man")[number % 2]]),
            condition=condition,
            codes=draw.choice([["Emotion"], ["Politeness"], []]),
            model=model,
            review=str(number),
        )
        for model in models
        for condition in ("control", "primed")
        for number in range(80)
    ]


def test_every_p_of_table_1_is_adjusted_over_all_of_them():
    """Two models, two conditions and four subsets are 16 tests; those of fewer than ten texts are none."""
    report = make_report(make_conditions("a", "b"))

    tables = [report["by_model"][model]["table1"] for model in ("a", "b")]
    rows = [
        table[condition][subset]
        for table in tables
        for condition in ("control", "primed")
        for subset in ("all", "emotion", "other", "none")
    ]
    tested = [row for row in rows if min(row["n_woman"], row["n_man"]) >= 10]
    plain, found = ([row[key] for row in tested] for key in ("p", "p_holm"))

    assert 4 < len(tested) < len(rows)
    assert report["family"] == len(tested)
    assert found == pytest.approx(multipletests(plain, method="holm")[1])
    assert {(row["test"], row["p"], row["p_holm"]) for row in rows if row not in tested} == {(None, None, None)}
    assert report["tests"].endswith(f"Table 1 has {len(tested)} tests.")
    lines = "\n".join(list_report(report))
    assert lines.count("by Holm") == len(tested)
    assert "P (Holm)" in write_report_table(TABLE1, report, "tex").decode()
    first = next(iter(TABLE1.read_rows(report)))
    assert (first["p"], first["p_holm"], first["family"]) == (plain[0], found[0], len(tested))
    assert [name for name in TABLE1.names if name.startswith("p_")] == ["p_holm"]
    assert {"p", "test", "family"} <= set(TABLE1.names)
    assert {row["family"] for row in rows if row not in tested} == {None}


def test_one_test_of_a_table_counts_and_only_its_margins_choose_it():
    large, few_expected = measure_counts(20, 30, 11, 30), measure_counts(9, 30, 0, 30)
    assert (large["test"], large["p"]) == ("Pearson", large["p_chi2"])
    # 4.5 of each side are expected to be called a woman's.
    assert (few_expected["test"], few_expected["p"]) == ("Fisher", few_expected["p_fisher"])
    assert few_expected["p"] > few_expected["p_chi2"]
    assert measure_counts(9, 9, 0, 30)["test"] is None


def test_rows_that_the_models_own_answer_chose_and_abstentions_are_said_to_be_so():
    """14 of 60 answers abstain."""
    trials = [
        make_trial(
            f"t{number}",
            ("woman", "man")[number % 2],
            status="abstained" if number < 14 else "ok",
            condition="may_abstain",
        )
        for number in range(60)
    ]
    report = make_report(trials)

    said = "14 of 60 answers are abstentions and are left out of rates and accuracy, which are of the other 46."
    assert report["notes"] == [CHOSEN_BY_ANSWERS, f"may_abstain: {said}"]
    assert "does not show an effect of a cue" in CHOSEN_BY_ANSWERS
    assert "does not show an effect of a cue" in caption_table(TABLE1, report)
    assert f"may_abstain: {said}" in list(list_report(report))
    notes = {row["subset"]: row["note"] for row in TABLE1.read_rows(report)}
    assert notes["all"] == said
    assert notes["emotion"] == f"{CHOSEN_BY_ANSWERS} {said}"
    section = draw_table1("model a", report["table1"], place=1)
    assert f"May abstain: {said}" in section.notes
    assert CHOSEN_BY_ANSWERS in section.notes


def test_a_verdict_needs_ten_texts_of_each_category_and_a_p_that_holds_in_the_family():
    few = [make_trial(f"w{number}") for number in range(9)] + [make_trial(f"m{n}", "man", "man") for n in range(20)]
    row = make_report(few)["table1"]["primed"]["all"]
    assert judge(row).words == "few texts: 9, a verdict needs 10"

    # By itself the interval leaves 0 out; among the others it may be chance.
    alone = measure_counts(20, 30, 11, 30)
    assert judge(alone).words == "more often of women’s texts"
    assert judge({**alone, "p_holm": 0.3}).words == "cannot tell"


def test_each_line_of_table_1_in_a_terminal_ends_with_its_verdict_and_has_its_mark():
    few = [make_trial(f"w{number}") for number in range(9)] + [make_trial(f"m{n}", "man", "man") for n in range(20)]
    first, *_ = [line for line in list_report(make_report(few)) if line.startswith("  primed, ")]
    assert first.startswith("  primed, all: N 9/20 (few), said woman 1.000 of women's")
    assert first.endswith(": few texts: 9, a verdict needs 10")
    one_sided = [make_trial(f"{truth}{n}", truth, "man") for truth in ("woman", "man") for n in range(15)]
    [line] = [line for line in list_report(make_report(one_sided)) if line.startswith("  primed, all: ")]
    assert "N 15/15 (rough)" in line
    assert line.endswith(": degenerate")
