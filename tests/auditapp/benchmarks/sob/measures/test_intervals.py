import random

import numpy as np
import pytest

from auditapp.benchmarks.sob.pure.scores import Sample, draw_scores, resample_scores
from tests.auditapp.benchmarks.sob.measures.answering import answer, answer_in_turn, score


def test_drawn_score_is_the_attributes_of_drawn_texts_over_their_own_answers():
    sample = Sample(("m",), np.array([1, 2, 1] * 4), np.array([[0, 6, 0] * 4]))
    draws = draw_scores(sample, seed=1, resamples=100)
    assert draws is not None
    # Of twelve texts, k of which are those of two answers: 6 k attributes in 12 + k answers.
    assert set(draws[0].tolist()) <= {6 * k / (12 + k) for k in range(13)}


def test_repeats_of_a_text_are_drawn_together_and_make_the_interval_wider():
    alike = [answer(given, item=number, repeat=repeat) for number, given in enumerate((0, 6) * 10) for repeat in (1, 2)]
    mixed = [answer(given, item=number, repeat=repeat) for number in range(20) for repeat, given in ((1, 0), (2, 6))]
    # One refusal leaves the texts with unequal numbers of answers, so both are drawn.
    wide, narrow = (
        score([*each, answer("refusal", item=0, repeat=3), answer(0, item=0, repeat=4)], resamples=500)[1]
        for each in (alike, mixed)
    )
    assert wide.sob == pytest.approx(narrow.sob)
    assert wide.ci is not None
    assert narrow.ci is not None
    assert wide.ci.high - wide.ci.low > 5 * (narrow.ci.high - narrow.ci.low)


def make_uneven(names=("m", "t", "cats")):
    return Sample(names, np.array([1, 2, 1, 3, 0] * 3), np.array([[0, 4, 1, 9, 0] * 3]))


def test_seed_and_names_alone_decide_the_draws():
    [first], [same] = (resample_scores([make_uneven()], seed=1, resamples=200) for _ in range(2))
    assert first == same
    for changed in (
        resample_scores([make_uneven()], seed=2, resamples=200),
        resample_scores([make_uneven(("n", "t", "cats"))], seed=1, resamples=200),
    ):
        assert changed[0] != first


def test_intervals_do_not_depend_on_the_order_of_answers():
    observations = [
        answer((number * 7 + repeat) % 4, model=model, item=number, target=target, repeat=repeat)
        for number in range(30)
        for model in ("a", "b")
        for target in ("cats", "dogs")
        for repeat in range(1, 1 + number % 3)
    ]
    straight = {(cell.model, cell.target): (cell.ci, cell.ci_strict) for cell in score(observations, resamples=200)}
    random.Random(5).shuffle(observations)
    shuffled = {(cell.model, cell.target): (cell.ci, cell.ci_strict) for cell in score(observations, resamples=200)}
    assert straight == shuffled
    assert None not in straight["a", "cats"]


def test_without_resamples_there_are_no_intervals():
    assert score(answer_in_turn([0, 1, 2]), resamples=0)[1].ci is None
    assert draw_scores(make_uneven(), seed=1, resamples=0) is None


@pytest.mark.parametrize("counts", [[1, 2], [2]])
def test_a_score_of_nine_texts_has_no_interval_and_one_of_ten_has(counts):
    def measure(texts):
        usable = np.array([counts[place % len(counts)] for place in range(texts)])
        [found] = resample_scores([Sample(("m",), usable, np.array([range(texts)]))], seed=1, resamples=200)
        return found

    assert measure(9) is None
    assert measure(10) is not None
