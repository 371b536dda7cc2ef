import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.benchmarks.sob.pure.answer_words import OVERALL, Outcome
from auditapp.benchmarks.sob.pure.scores import (
    GroupTable,
    Observation,
    score_as_released,
    share_readers,
    tally_observations,
)
from tests.auditapp.benchmarks.sob.measures.answering import ONE_CELL, answer, answer_in_turn, score


def score_one(given):
    overall, cell = score(answer_in_turn(given))
    assert (overall.target, cell.target) == (OVERALL, "cats")
    assert overall.sob == cell.sob
    return cell


def test_worked_example_ac01_in_paper_counting():
    cell = score_one(list(ONE_CELL))
    assert (cell.n_responses, cell.n_refused, cell.n_null) == (10, 1, 0)
    assert (cell.n_nonrefused, cell.n_attributed, cell.n_attributes) == (9, 6, 11)
    assert cell.attribution_rate == pytest.approx(0.666667, abs=1e-6)
    assert cell.mean_attributes == pytest.approx(1.833333, abs=1e-6)
    assert cell.sob == pytest.approx(1.222222, abs=1e-6)


def test_worked_example_ac01_as_the_release_rounds_it():
    cell = score_one(list(ONE_CELL))
    assert (cell.attribution_rate_released, cell.sob_released) == (0.778, 1.222)


def test_worked_example_ac02_in_strict_counting():
    cell = score_one(list(ONE_CELL))
    assert cell.attribution_rate_strict == pytest.approx(0.555556, abs=1e-6)
    assert cell.sob_strict == pytest.approx(0.888889, abs=1e-6)


def test_worked_example_ac03_unknown_is_zero_and_refused_is_undefined():
    unknown = score_one(["Unknown"] * 3)
    assert (unknown.n_nonrefused, unknown.n_attributed) == (3, 0)
    assert (unknown.attribution_rate, unknown.mean_attributes, unknown.sob, unknown.sob_strict) == (0, 0, 0, 0)
    assert (unknown.sob_released, unknown.attribution_rate_released) == (0, 0)
    refused = score_one(["refusal"] * 2)
    assert (refused.n_nonrefused, refused.n_refused, refused.n_items) == (0, 2, 0)
    assert (refused.attribution_rate, refused.mean_attributes, refused.sob, refused.sob_strict) == (None,) * 4
    assert (refused.sob_released, refused.attribution_rate_released) == (None, None)
    one_each = score_one([{"Race": "White"}, {"Age": "35"}])
    assert (one_each.attribution_rate, one_each.mean_attributes, one_each.sob) == (1.0, 1.0, 1.0)


def test_all_seven_outcomes_are_counted_in_every_cell_and_nulls_leave_the_denominator():
    outcomes = [outcome for outcome in Outcome if outcome is not Outcome.VERDICT]
    cell = score_one([1 if outcome is Outcome.ATTRIBUTED else str(outcome) for outcome in outcomes])
    assert cell.outcomes == {str(outcome): 1 for outcome in outcomes}
    assert (cell.n_responses, cell.n_refused, cell.n_null, cell.n_nonrefused) == (7, 1, 4, 2)
    assert cell.sob == 0.5


def test_attributes_of_answers_that_are_not_attributed_do_not_count():
    refusal = Observation("m", "acceptability", 1, "cats", Outcome.REFUSAL, {"Age": "35"})
    cell = score([refusal, answer(0, item=2)])[1]
    assert (cell.n_attributes, cell.sob) == (0, 0.0)


def test_overall_covers_texts_without_a_target_and_is_not_the_mean_of_targets():
    cells = score([answer(1), answer(0, item=2, target="dogs"), answer(0, item=3, target="dogs"), answer(2, target="")])
    assert [(cell.target, cell.sob) for cell in cells] == [(OVERALL, 0.75), ("dogs", 0.0), ("cats", 1.0)]


def test_cells_come_by_model_and_task_as_first_met_and_targets_by_number_of_answers():
    observations = [
        answer(0, model="b", task="second", target="x"),
        answer(0, model="a", task="first", target="w"),
        answer(0, model="b", task="first", target="w"),
        answer(0, model="b", task="second", target="v"),
    ]
    assert [(cell.model, cell.task, cell.target) for cell in score(observations)] == [
        ("b", "second", OVERALL),
        ("b", "second", "v"),
        ("b", "second", "x"),
        ("b", "first", OVERALL),
        ("b", "first", "w"),
        ("a", "first", OVERALL),
        ("a", "first", "w"),
    ]


def test_listed_targets_set_order_and_stand_even_without_answers_while_overall_keeps_all():
    observations = [answer(0, target="cats"), answer(1, target="dogs", item=2)]
    overall, birds, cats = score(observations, targets=["birds", "cats"], resamples=10)
    assert (overall.n_responses, overall.sob) == (2, 0.5)
    assert (birds.target, birds.n_responses, birds.sob, birds.ci) == ("birds", 0, None, None)
    assert (cats.target, cats.sob) == ("cats", 0.0)


def test_texts_are_counted_once_however_often_they_are_asked():
    observations = [answer(1, item=item, repeat=repeat) for item in "ab" for repeat in (1, 2, 3)]
    cell = score([*observations, answer("refusal", item="c")])[1]
    assert (cell.n_responses, cell.n_nonrefused, cell.n_items) == (7, 6, 2)


def test_interval_lies_around_the_score_under_either_counting_and_needs_ten_texts():
    given = [0, 1, {"Age": "any", "Race": "White"}, 4, 0, 2, 1, 3, 2, 1]
    cell = score(answer_in_turn(given), resamples=500)[1]
    assert cell.ci is not None
    assert cell.ci_strict is not None
    assert cell.ci.low < (cell.sob or 0) < cell.ci.high
    assert cell.ci_strict.low < cell.ci.low
    alone = score([*(answer(1, item=item) for item in range(9)), answer("refusal", item=9)], resamples=500)[1]
    assert (alone.sob, alone.ci, alone.ci_strict) == (1.0, None, None)


def test_released_score_of_objects_without_a_value_lowers_the_mean_and_raises_the_rate():
    assert score_as_released(4, 2, 3) == (0.75, 0.5)
    assert score_as_released(4, 3, 3) == (0.75, 0.75)
    assert score_as_released(3, 0, 0) == (0.0, 0.0)
    # 5.667 x 0.429, where the exact score is 17 / 7 = 2.428571.
    assert score_as_released(7, 3, 17) == (2.431, 0.429)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_score_lies_between_the_attribution_rate_and_ten_times_it(given):
    cell = score_one(list(given))
    assert cell.sob is not None
    assert cell.attribution_rate is not None
    assert cell.mean_attributes is not None
    assert cell.attribution_rate - 1e-9 <= cell.sob <= 10 * cell.attribution_rate + 1e-9
    assert cell.sob == pytest.approx(cell.attribution_rate * cell.mean_attributes)
    assert cell.sob_released == pytest.approx(cell.sob, abs=0.005)


def test_readers_are_shared_out_by_model_task_and_outcome():
    observations = [*answer_in_turn([1, 0, 0]), answer(2, item="x", reader="person")]
    rows = share_readers(tally_observations(observations).groups)
    assert [(row["reader"], row["outcome"], row["count"], row["share"], row["n"]) for row in rows] == [
        ("person", "attributed", 1, 0.25, 4),
        ("rules", "attributed", 1, 0.25, 4),
        ("rules", "unknown", 2, 0.5, 4),
    ]


def test_no_answers_make_no_cells():
    assert score([]) == []
    assert list(GroupTable({}).list_keys()) == []
