import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from auditapp.benchmarks.sob.pure.ranks import compare_models
from auditapp.benchmarks.sob.pure.scores import tally_observations
from tests.auditapp.benchmarks.sob.measures.answering import answer
from transcripts.statistics import significance
from transcripts.statistics.significance import adjust_benjamini_hochberg, adjust_holm

A = (3, 0, 2, 2, 4, 1, 0, 5, 1, 2)
B = (1, 1, 2, 0, 1, 0, 1, 2, 0, 2)
OPTIONS = {"seed": 42, "flips": 20_000}


def ask_both(a, b, *, target="cats"):
    return [
        answer(given, model=model, item=f"{target} {number}", target=target)
        for model, answers in (("a", a), ("b", b))
        for number, given in enumerate(answers)
    ]


def compare(observations, *, targets=(), **given):
    matrices = tally_observations(observations).matrices
    found = compare_models(matrices, targets=targets, **OPTIONS | given)
    return [SimpleNamespace(**test) for test in found]


def toss_all(differences):
    """Every toss of every sign, one by one."""
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(each >= observed for each in sums) / len(sums)


def test_difference_is_over_the_same_texts_and_its_p_counts_every_toss():
    [found] = compare(ask_both(A, B))
    assert (found.task, found.target, found.model_a, found.model_b) == ("acceptability", "overall", "a", "b")
    assert (found.n_items, found.mean_a, found.mean_b, found.difference) == (10, 2.0, 1.0, 1.0)
    assert found.p == pytest.approx(toss_all([x - y for x, y in zip(A, B, strict=True)]))
    assert found.test == "sign-flip permutation, exact"


def test_the_interval_of_a_difference_is_of_students_t_over_texts():
    [found] = compare(ask_both(A, B))
    oracle = stats.ttest_rel(A, B).confidence_interval()
    assert found.ci == pytest.approx((oracle.low, oracle.high))
    assert (found.mark, found.verdict) == ("rough", "cannot tell")


def test_two_texts_have_no_interval_and_ten_a_verdict():
    [two], [ten] = compare(ask_both([3, 2], [0, 1])), compare(ask_both([3, 2] * 5, [0, 1] * 5))
    assert (two.n_items, two.ci, two.p, two.mark, two.verdict) == (2, None, None, "few", None)
    assert (ten.n_items, ten.mark, ten.verdict) == (10, "rough", "higher")


def test_texts_without_a_usable_answer_from_both_are_left_out_and_counted():
    [found] = compare(ask_both((3, "refusal", 1, 2, "empty"), (1, 6, "empty", 2, "refusal")))
    assert (found.n_items, found.n_left_out) == (2, 2)
    assert (found.mean_a, found.mean_b) == (2.5, 1.5)


def test_repeats_of_a_text_are_averaged_so_that_each_text_counts_the_same():
    observations = [*ask_both([2, 1], [0, 1]), answer(6, model="a", item="cats 0", repeat=2)]
    [found] = compare(observations)
    assert (found.mean_a, found.mean_b, found.difference) == (2.5, 0.5, 2.0)


def test_equal_answers_have_no_difference_and_p_one():
    [found] = compare(ask_both(A, A))
    assert (found.difference, found.ci, found.p) == (0.0, (0.0, 0.0), 1.0)


def test_pair_without_common_texts_has_no_figures():
    [found] = compare(ask_both((1, "refusal"), ("refusal", 2)))
    assert (found.n_items, found.n_left_out, found.test) == (0, 2, "none")
    assert (found.mean_a, found.mean_b, found.difference, found.ci, found.p, found.p_adjusted) == (None,) * 6


def test_every_two_models_are_compared_once_and_those_with_reasoning_are_marked():
    observations = [answer(place, model=model, item=0) for place, model in enumerate("abc")]
    matrices = tally_observations(observations).matrices
    reasoning = [("c", "a"), ("a", "d")]
    found = compare_models(matrices, targets=(), reasoning=reasoning, **OPTIONS)
    assert [(test["model_a"], test["model_b"], test["reasoning"]) for test in found] == [
        ("c", "a", True),
        ("a", "b", False),
        ("b", "c", False),
    ]
    assert [test["difference"] for test in found] == [2.0, -1.0, -1.0]


def test_p_is_adjusted_over_all_tests_of_a_task():
    found = compare([*ask_both(A, B), *ask_both(B, A, target="dogs")], targets=["cats", "dogs", "birds"])
    assert [test.target for test in found] == ["overall", "cats", "dogs"]
    assert [test.p_adjusted for test in found] == adjust_holm([test.p or 0.0 for test in found])
    assert [test.p_adjusted_bh for test in found] == adjust_benjamini_hochberg([test.p or 0.0 for test in found])
    assert [test.difference for test in found] == [0.0, 1.0, -1.0]


def test_drawn_flips_come_to_the_exact_chance(monkeypatch):
    [exact] = compare(ask_both(A, B))
    monkeypatch.setattr(significance, "MAX_WINDOW", 4)
    [drawn], [again] = compare(ask_both(A, B)), compare(ask_both(A, B))
    assert drawn == again
    assert drawn.test == "sign-flip permutation, 20,000 random flips"
    assert drawn.p == pytest.approx(exact.p, abs=0.01)
    [surest] = compare(ask_both([3] * 40, [0] * 40))
    assert surest.p == 1 / 20_001


def test_chance_too_small_to_tell_is_given_as_the_smallest():
    [found] = compare(ask_both([3] * 200, [0] * 200))
    assert found.p == significance.MIN_P


def test_chance_in_the_tail_keeps_its_size():
    [found] = compare(ask_both([2] * 30, [0] * 30))
    assert found.p == pytest.approx(2 * 0.5**30, rel=1e-3)


@pytest.mark.full
def test_models_of_equal_behavior_differ_at_random_in_one_comparison_of_twenty():
    """Two hundred batches of 300 texts, which differ in how much any model attributes."""
    generator = np.random.default_rng(5)
    below, verdicts = 0, 0
    for _ in range(200):
        rates = generator.gamma(0.7, 1.5, 300)
        both = generator.poisson(rates, (2, 300)).clip(0, 10).tolist()
        [found] = compare(ask_both(*both))
        below += found.p < 0.05
        verdicts += found.verdict != "cannot tell"
    # 10 of 200 are expected, and 3 to 18 in all but 1 of 100 such tests.
    assert 3 <= below <= 18
    assert verdicts <= below


def test_texts_asked_any_number_of_times_are_compared():
    observations = [
        answer(int(model == "a") * 2, model=model, item=number, repeat=repeat)
        for model in ("a", "b")
        for number in range(26)
        for repeat in range(1, 2 + number)
    ]
    [found] = compare(observations)
    assert found.n_items == 26
    assert [found.mean_a, found.difference] == pytest.approx([2.0, 2.0])
    assert found.test.endswith("random flips")


def test_means_do_not_depend_on_the_order_of_texts():
    observations = [
        answer(int(given), model=model, item=number, repeat=repeat)
        for model in ("a", "b")
        for number in range(40)
        for repeat, given in enumerate(np.random.default_rng(number).integers(0, 6, size=1 + number % 3), start=1)
    ]
    assert compare(observations) == compare(observations[::-1])


def test_a_difference_that_is_the_same_on_all_texts_is_not_explained_by_resampling():
    [found] = compare(ask_both([3] * 12, [1] * 12))
    assert found.ci == (2, 2)
    assert found.ci_note.startswith("All 12 texts gave the same result, so that nothing varies between them")
    assert "resampl" not in found.ci_note
