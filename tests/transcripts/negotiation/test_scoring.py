"""Figures of scores: worked examples, and the same by krippendorff and scipy."""

import json

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, mannwhitneyu

from tests.support.worked_examples import read_example
from transcripts.negotiation.pure.records import CRITERIA, Pair, Records, Score, Thread
from transcripts.negotiation.pure.scoring import (
    Counts,
    SignTest,
    choose_conditions,
    compare_conditions,
    describe_stances,
    measure_scores,
)
from transcripts.statistics.resampling import find_levels


def build_records(rows, conditions=None):
    """Rows of (thread, coder, criterion, value), all under one stance."""
    threads = dict.fromkeys(thread for thread, *_ in rows)
    return Records(
        threads=[Thread(thread, condition=(conditions or {}).get(thread, "")) for thread in threads],
        scores=[Score(thread, "care/1", criterion, coder, value) for thread, coder, criterion, value in rows],
    )


SMALL = build_records(
    [
        *((f"t{place}", "ana", "moves", value) for place, value in enumerate([0, 1, 1, 3, 2, None])),
        *((f"t{place}", "ben", "moves", value) for place, value in enumerate([0, 1, 2, 3, 2, 1])),
    ],
    {"t0": "unprompted", "t1": "unprompted", "t2": "prompted", "t3": "prompted", "t4": "prompted", "t5": "prompted"},
)


def test_counts_and_median_leave_out_what_is_not_applicable():
    counts = measure_scores(SMALL)["care/1"]["moves"].by_coder
    assert counts["ana"] == Counts((1, 2, 1, 1), 1)
    assert (counts["ana"].n, counts["ana"].median) == (5, 1.0)
    assert (counts["ben"].n, counts["ben"].median) == (6, 1.5)
    assert Counts((0, 0, 0, 0), 2).median is None


def test_alpha_is_ordinal_and_takes_not_applicable_for_missing():
    figures = measure_scores(SMALL)["care/1"]["moves"]
    data = np.array([[0, 1, 1, 3, 2, np.nan], [0, 1, 2, 3, 2, 1]])
    assert figures.alpha.value == pytest.approx(krippendorff.alpha(data, level_of_measurement="ordinal"))
    assert figures.n_shared == 5


def test_superiority_is_that_of_the_first_coder_by_name_and_of_prompted_threads():
    found = measure_scores(SMALL)["care/1"]["moves"].superiority
    assert found is not None
    # Ana: prompted 1, 3, 2 (one is not applicable), unprompted 0, 1: five wins and a tie of six.
    assert (found.conditions, found.n) == (("prompted", "unprompted"), (3, 2))
    assert found.value == pytest.approx(5.5 / 6)
    # Two threads on one side bound nothing.
    assert found.interval is None


def test_other_conditions_are_compared_in_the_order_of_their_names_if_there_are_two():
    assert choose_conditions(["warm", "cold", ""]) == ("cold", "warm")
    assert choose_conditions(["unprompted", "other", "prompted"]) == ("prompted", "unprompted")
    assert choose_conditions(["a", "b", "c"]) is None
    assert choose_conditions(["a", "a"]) is None


def test_pairs_are_compared_by_a_sign_test():
    pairs = [
        Pair("x", "t3", "t0", "change"),
        Pair("y", "t1", "t2", "change"),
        Pair("z", "t5", "t0", "no_change"),
    ]
    records = Records(threads=SMALL.threads, scores=SMALL.scores, pairs=pairs)
    # The third has a thread without a value.
    assert measure_scores(records)["care/1"]["moves"].signs == SignTest(higher=1, lower=0, same=1)
    assert measure_scores(SMALL)["care/1"]["moves"].signs is None


def test_determinations_are_counted_by_place_and_never_joined_with_criteria():
    rows = [
        Score("t", "care/1", "warranted", coder, value, turn=turn, feature=feature)
        for coder, turn, feature, value in [
            ("ana", 2, "feature.power", 1),
            ("ben", 2, "feature.power", 1),
            ("ana", 2, "feature.task", 0),
            ("ben", 2, "feature.task", 0),
            ("ana", 4, "feature.power", None),
            ("ben", 4, "feature.power", 1),
        ]
    ]
    described = describe_stances(Records(scores=rows))["care/1"]
    assert described["warranted"]["by_coder"] == {
        "ana": {"0": 1, "1": 1, "unclear": 1, "n": 2},
        "ben": {"0": 1, "1": 2, "unclear": 0, "n": 3},
    }
    assert (described["warranted"]["alpha_nominal"], described["warranted"]["n_shared"]) == (1.0, 2)
    assert described["superiority"] is None


def test_two_stances_stand_side_by_side_and_nothing_is_pooled():
    other = [score._replace(stance="autonomy/2", value=3) for score in SMALL.scores]
    figures = measure_scores(Records(threads=SMALL.threads, scores=[*SMALL.scores, *other]))
    assert set(figures) == {"autonomy/2", "care/1"}
    assert figures["care/1"] == measure_scores(SMALL)["care/1"]
    assert figures["autonomy/2"]["moves"].alpha.reason == "all values are the same"


def test_a_report_of_a_stance_begins_with_what_is_known_of_it():
    records = Records(threads=SMALL.threads, scores=SMALL.scores, stances={"care/1": {"author": "Ana"}})
    described = describe_stances(records)["care/1"]
    assert next(iter(described)) == "stance"
    assert described["stance"] == {"author": "Ana"}
    json.dumps(described)


any_score = st.one_of(st.none(), st.integers(0, 3))
scores_of_a_condition = st.lists(st.integers(0, 3), min_size=1, max_size=30)


@given(scores_of_a_condition, scores_of_a_condition)
def test_superiority_is_u_over_the_product_as_scipy_has_it(first, second):
    a, b = (Counts(tuple(values.count(value) for value in range(4))) for values in (first, second))
    found = compare_conditions(a, b, ("a", "b"), seed=1, resamples=0)
    expected = mannwhitneyu(first, second).statistic / (len(first) * len(second))
    assert found.value == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5))
def test_the_sign_test_is_exact_as_scipy_has_it(higher, lower, same):
    test = SignTest(higher, lower, same)
    if higher + lower:
        assert test.p == pytest.approx(binomtest(higher, higher + lower).pvalue, abs=1e-12)
    else:
        assert test.p is None


@given(st.lists(st.tuples(*[any_score] * 3), min_size=2, max_size=25))
def test_alpha_of_any_scores_is_that_of_krippendorff(rows):
    scores = [
        Score(f"t{place:02}", "care/1", "moves", coder, value)
        for place, row in enumerate(rows)
        for coder, value in zip(("ana", "ben", "eve"), row, strict=True)
    ]
    value = measure_scores(Records(scores=scores), resamples=0)["care/1"]["moves"].alpha.value
    data = np.array([[np.nan if each is None else each for each in row] for row in rows]).T
    paired = data[:, (~np.isnan(data)).sum(axis=0) > 1]
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        assert value is None
    else:
        assert value == pytest.approx(krippendorff.alpha(data, level_of_measurement="ordinal"), abs=1e-9)


def test_the_worked_example_of_two_stances_comes_out():
    """Worked out apart from the code: two people, 24 threads, two stances."""
    check = read_example("NC09")
    records = Records()
    for line in check["files"]["scores.jsonl"].splitlines():
        row = json.loads(line)
        if row["record"] == "thread":
            records.threads.append(Thread(row["thread"], condition=row["condition"]))
        else:
            records.scores.append(Score(row["thread"], row["stance"], row["criterion"], row["coder"], row["value"]))
    printed = {"stances": describe_stances(records)}
    for expected in check["expected"]:
        found = printed
        for key in expected["path"]:
            found = found[key]
        assert found == pytest.approx(expected["value"], abs=check["tolerance"]), expected["path"]


def test_each_person_has_a_comparison_of_her_own():
    figures = measure_scores(SMALL, resamples=0)["care/1"]["moves"]
    assert list(figures.comparisons) == list(figures.by_coder)
    others = Records(threads=SMALL.threads, scores=[each for each in SMALL.scores if each.coder != figures.first])
    second = list(figures.by_coder)[1]
    assert figures.comparisons[second] == measure_scores(others, resamples=0)["care/1"]["moves"].comparisons[second]
    described = describe_stances(SMALL, resamples=0)["care/1"]
    assert described["moves"]["comparisons"][figures.first]["superiority"] == described["superiority"]


def test_every_comparison_of_conditions_names_its_criterion():
    described = describe_stances(SMALL, resamples=0)["care/1"]
    assert described["superiority"]["criterion"] == "moves"
    for criterion in CRITERIA:
        if criterion in described and described[criterion]["superiority"]:
            assert described[criterion]["superiority"]["criterion"] == criterion


@pytest.mark.parametrize(
    ("first", "second"), [((2, 5, 9, 4), (6, 6, 5, 3)), ((0, 1, 8, 3), (1, 4, 5, 2)), ((4, 3, 3, 2), (20, 19, 19, 22))]
)
def test_the_interval_of_superiority_is_that_of_drawing_threads(first, second):
    found = compare_conditions(Counts(first, 0), Counts(second, 0), ("a", "b"), seed=1, resamples=20_000)
    draws = np.random.default_rng(8)
    a, b = (np.repeat(np.arange(4), counts) for counts in (first, second))
    shares = []
    for _ in range(20_000):
        one, other = draws.choice(a, len(a)), draws.choice(b, len(b))
        shares.append((np.sign(one[:, None] - other[None, :]).mean() + 1) / 2)
    assert found.interval == pytest.approx(tuple(np.quantile(shares, find_levels(min(len(a), len(b))))), abs=0.012)


@pytest.mark.parametrize("first", [(0, 1, 0, 0), (0, 9, 0, 0)])
def test_fewer_than_ten_threads_in_either_condition_have_a_value_and_no_interval(first):
    many = Counts((8, 4, 4, 4), 0)
    found = compare_conditions(Counts(first, 0), many, ("a", "b"), seed=1, resamples=500)
    assert found.value == pytest.approx((8 + 2) / 20)
    assert found.interval is None
    assert compare_conditions(many, Counts(first, 0), ("b", "a"), seed=1, resamples=500).interval is None
