from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from auditapp.sob.pure.measures.score_intervals import (
    Sample,
    draw_scores,
    draw_sums,
    find_percentiles,
    open_stream,
    resample_scores,
    sum_all_resamples,
)
from tests.auditapp.sob.measures.answering import answer, answer_in_turn, score


def test_interval_over_all_resamples_is_that_of_every_possible_draw() -> None:
    values = [0, 1, 1, 4, -2]
    sums = sorted(sum(drawn) for drawn in itertools.product(values, repeat=len(values)))
    low, high = (sums[int(np.ceil(share * len(sums))) - 1] for share in (0.025, 0.975))
    assert sum_all_resamples(np.array(values)) == (low, high)


@pytest.mark.parametrize("values", [[5, 5, 5], [0, 0]])
def test_interval_of_equal_texts_has_no_width(values: list[int]) -> None:
    assert sum_all_resamples(np.array(values)) == (sum(values), sum(values))


def test_drawn_interval_comes_to_that_over_all_resamples() -> None:
    values = np.array([0, 0, 0, 1, 2, 3, 10] * 60)
    drawn = draw_sums(values[None, :], resamples=50_000, generator=open_stream(1, "any"))[0]
    exact = sum_all_resamples(values)
    assert exact is not None
    assert find_percentiles(drawn) == pytest.approx(exact, abs=4)
    assert drawn.mean() == pytest.approx(values.sum(), abs=3)


def test_sums_far_from_nothing_keep_their_place() -> None:
    near = sum_all_resamples(np.array([0, 1, 2] * 100))
    shifted = sum_all_resamples(np.array([7, 8, 9] * 100))
    assert near is not None
    assert shifted == (near.low + 2100, near.high + 2100)
    many = np.array([0] * 10 + [1] * 900)
    drawn = draw_sums(many[None, :], resamples=20_000, generator=open_stream(1, "any"))[0]
    assert sum_all_resamples(many) == pytest.approx(find_percentiles(drawn), abs=1)


def test_drawn_score_is_the_attributes_of_drawn_texts_over_their_own_answers() -> None:
    sample = Sample(("m",), np.array([1, 2]), np.array([[0, 6]]))
    draws = draw_scores(sample, seed=1, resamples=100)
    assert draws is not None
    assert set(draws[0].tolist()) == {0.0, 2.0, 3.0}


def test_draws_keep_what_belongs_to_one_text_together() -> None:
    values = np.array([[1, 2, 2, 3], [10, 20, 20, 30], [-1, -2, -2, -3]])
    drawn = draw_sums(values, resamples=200, generator=open_stream(3, "any"))
    assert (drawn[1] == 10 * drawn[0]).all()
    assert (drawn[2] == -drawn[0]).all()


def test_percentiles_agree_with_numpy() -> None:
    draws = np.random.default_rng(1).normal(size=777)
    assert find_percentiles(draws) == pytest.approx(tuple(np.percentile(draws, [2.5, 97.5])))


def test_repeats_of_a_text_are_drawn_together_and_make_the_interval_wider() -> None:
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


def make_uneven(names: tuple[str, ...] = ("m", "t", "cats")) -> Sample:
    return Sample(names, np.array([1, 2, 1, 3, 0]), np.array([[0, 4, 1, 9, 0]]))


def test_seed_and_names_alone_decide_the_draws() -> None:
    [first], [same] = (resample_scores([make_uneven()], seed=1, resamples=200) for _ in range(2))
    assert first == same
    for changed in (
        resample_scores([make_uneven()], seed=2, resamples=200),
        resample_scores([make_uneven(("n", "t", "cats"))], seed=1, resamples=200),
    ):
        assert changed[0] != first


def test_stream_is_the_same_on_every_machine() -> None:
    assert open_stream(42, "m", "t").integers(0, 10**6, 3).tolist() == [735829, 744440, 521677]


def test_intervals_do_not_depend_on_the_order_of_answers() -> None:
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


def test_without_resamples_there_are_no_intervals() -> None:
    assert score(answer_in_turn([0, 1, 2]), resamples=0)[1].ci is None
    assert draw_scores(make_uneven(), seed=1, resamples=0) is None
