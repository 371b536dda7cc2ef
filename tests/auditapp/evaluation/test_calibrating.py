"""The arithmetic of calibration: against worked numbers, other people's programs, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from auditapp.annotators.pure.figures import CrossTable
from auditapp.evaluation.pure.calibration import CodeLabels, calibrate, list_warnings
from transcripts.statistics.figures import Mark, wilson_interval

counts = st.integers(0, 60)
tables = st.builds(CrossTable, counts, counts, counts, counts)


def measure_table(table):
    """The figures of one table, with intervals by formula alone."""
    machine, person = (np.repeat(np.array(cells, dtype=bool), table) for cells in ([1, 1, 0, 0], [1, 0, 1, 0]))
    labels = CodeLabels("c", machine, person[np.newaxis], np.ones((1, table.n), dtype=bool))
    [found], _ = calibrate([labels], np.arange(table.n), seed=1, resamples=0)
    return dict(found["figures"])


def test_the_worked_table_gives_its_published_figures():
    figures = measure_table(CrossTable(tp=18, fp=6, fn=4, tn=72))
    values = {"precision": 0.75, "recall": 0.818182, "specificity": 0.923077, "f1": 0.782609, "kappa": 0.717833}
    assert {name: figures[name].value for name in values} == pytest.approx(values, abs=5e-7)
    assert figures["precision"].interval == pytest.approx((0.551006, 0.880006), abs=5e-7)
    assert figures["recall"].interval == pytest.approx((0.614834, 0.926931), abs=5e-7)
    assert figures["kappa"].interval == pytest.approx((0.554254, 0.881412), abs=5e-7)
    denominators = {"precision": 24, "recall": 22, "specificity": 78, "f1": 28, "kappa": 100}
    assert {name: figures[name].n for name in denominators} == denominators


def test_the_interval_of_f1_is_that_of_j_turned():
    found, ends = measure_table(CrossTable(18, 6, 4, 72))["f1"].interval, wilson_interval(18, 28)
    assert found is not None
    assert ends is not None
    assert found == pytest.approx([2 / (1 + 1 / end) for end in ends])


def test_a_label_that_does_not_count_is_in_no_cell_and_no_pair():
    yes = np.ones((2, 4), dtype=bool)
    counts = np.array([[1, 1, 0, 1], [1, 0, 1, 1]], dtype=bool)
    labels = CodeLabels("c", np.array([1, 1, 0, 0], dtype=bool), yes, counts)
    [found], _ = calibrate([labels], np.arange(4), seed=1, resamples=0)
    assert found["table"] == CrossTable(tp=3, fp=0, fn=3, tn=0)
    assert found["people"] is not None
    assert (found["people"]["n_units"], found["people"]["pairs"]) == (2, 1)


def test_nine_tenths_are_not_yet_nearly_always():
    assert not [line for line in list_warnings(CrossTable(45, 45, 5, 5), n_units=100) if "nearly all" in line]
    assert [line for line in list_warnings(CrossTable(45, 46, 5, 4), n_units=100) if "nearly all" in line]


@given(tables.filter(lambda table: min(table) > 0))
def test_kappa_and_its_interval_agree_with_statsmodels(table):
    expected = cohens_kappa([[table.tp, table.fp], [table.fn, table.tn]])
    found = measure_table(table)["kappa"]
    assert found.value == pytest.approx(expected.kappa, abs=1e-9)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(max(-1, expected.kappa_low), abs=1e-6)
    assert found.interval.high == pytest.approx(min(1, expected.kappa_upp), abs=1e-6)


@given(tables)
def test_every_figure_stands_within_its_interval_or_says_why_there_is_none(table):
    for name, figure in measure_table(table).items():
        if figure.value is None:
            assert figure.figure.reason, name
            continue
        assert -1 <= figure.value <= 1
        if figure.interval is not None:
            assert figure.interval.low - 1e-9 <= figure.value <= figure.interval.high + 1e-9, name


@given(tables)
def test_f1_is_the_harmonic_mean_and_coverage_and_failure_are_what_evalgen_says(table):
    figures = measure_table(table)
    precision, recall, f1 = (figures[name].value for name in ("precision", "recall", "f1"))
    if precision and recall:
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    specificity, failure = figures["specificity"].value, figures["false_failure_rate"].value
    if specificity is not None and failure is not None:
        assert failure == pytest.approx(1 - specificity)


def one_code(machine, *people):
    """``people``: for each coder 1, 0 or None, not decided."""
    return CodeLabels(
        "a",
        np.array(machine, dtype=bool),
        np.array([[label == 1 for label in coder] for coder in people]),
        np.array([[label is not None for label in coder] for coder in people]),
    )


def test_labels_of_several_people_are_pooled_and_units_counted_once():
    labels = one_code([1, 1, 0, 0], [1, 0, 1, None], [1, 1, None, 0])
    [found], _ = calibrate([labels], np.array([1, 1, 2, 2]), seed=1, resamples=50)
    assert found["table"] == CrossTable(tp=3, fp=1, fn=1, tn=1)
    assert (found["n_units"], found["n_turns"], found["n_coders"]) == (4, 2, 2)
    assert found["people"] is not None
    assert (found["people"]["n_units"], found["people"]["pairs"]) == (2, 1)
    assert found["people"]["positive_agreement"].value == pytest.approx(2 / 3)
    # First coder with the machine on the two shared units: 1 of 1.5; second: both alike.
    assert found["people"]["machine_positive_agreement"].value == pytest.approx((2 / 3 + 1) / 2)


def test_turns_are_drawn_whole_so_dependent_sentences_widen_the_interval():
    generator = np.random.default_rng(7)
    machine = np.repeat(generator.random(60) < 0.5, 10)
    person = np.repeat(generator.random(60) < 0.5, 10)
    labels = CodeLabels("a", machine, person[None, :], np.ones((1, 600), dtype=bool))
    alone, together = (
        calibrate([labels], clusters, seed=3)[0][0]["figures"]["precision"].figure.interval
        for clusters in (np.arange(600), np.repeat(np.arange(60), 10))
    )
    assert alone is not None
    assert together is not None
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_the_same_seed_gives_the_same_intervals_and_units_nobody_labelled_change_nothing():
    labels = one_code([1, 0, 1, 0, 1, 0] * 5, [1, 0, 0, 0, 1, 1] * 5)
    padded = one_code([1, 0, 1, 0, 1, 0] * 5 + [1] * 9, [1, 0, 0, 0, 1, 1] * 5 + [None] * 9)
    first = calibrate([labels], np.arange(30) // 3, seed=5)
    assert calibrate([labels], np.arange(30) // 3, seed=5) == first
    assert calibrate([padded], np.arange(39) // 3, seed=5) == first


def test_nothing_to_compare_is_no_figure_and_no_error():
    [found], _ = calibrate([one_code([1, 0], [None, None])], np.array([1, 2]), seed=1)
    assert found["table"].n == 0
    assert found["people"] is None
    assert all(figure.value is None for figure in found["figures"].values())


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (CrossTable(9, 1, 0, 90), "fewer than 10 positives"),
        (CrossTable(12, 1, 1, 6), "few units"),
        (CrossTable(60, 35, 0, 5), "nearly all sentences (95 %)"),
        (CrossTable(0, 0, 12, 988), "hardly any sentence (0.0 %)"),
        (CrossTable(50, 0, 45, 5), "people apply it to nearly all sentences"),
    ],
)
def test_what_a_figure_cannot_bear_is_said(table, word):
    assert any(word in warning for warning in list_warnings(table, n_units=table.n))


def test_a_sound_table_has_no_warning():
    assert list_warnings(CrossTable(18, 6, 4, 72), n_units=100) == ()


def test_a_code_whose_labels_are_in_few_of_the_turns_has_no_interval_over_turns():
    """Twenty turns of five sentences; one code is labelled in all of them, the other in six, and applied by people in four."""
    turns = np.repeat(np.arange(20), 5)
    generator = np.random.default_rng(5)
    everywhere = generator.random(100) < 0.5
    in_six, in_four = turns < 6, everywhere & (turns < 4)
    both = np.ones((2, 100), dtype=bool)
    often = CodeLabels("often", everywhere, np.array([everywhere, generator.random(100) < 0.5]), both)
    seldom = CodeLabels("seldom", ~everywhere, np.array([in_four, in_four]), both & in_six)
    (of_all, of_six), number = calibrate([often, seldom], turns, seed=1)
    assert number == 20
    assert of_all["figures"]["precision"].figure.interval is not None
    assert (of_all["positive_turns"], of_six["positive_turns"], of_six["n_turns"]) == (20, 4, 6)
    figure = of_six["figures"]["raw"].figure
    assert (figure.interval, figure.mark) == (None, Mark.FEW)
    assert of_six["people"]["kappa"].interval is None
    assert "people applied it in fewer than 10 turns (4)" in of_six["warnings"]
    assert not any("turns" in words for words in of_all["warnings"])
