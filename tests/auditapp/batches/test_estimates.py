import math
import random
import statistics

import pytest

from auditapp.batches.pure.estimates import ArmFigures, Basis, estimate, estimate_time, find_t


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (5, 2.571),
        (10, 2.228),
        (29, 2.045),
        (30, 2.042),
        (120, 1.980),
        (100_000, 1.960),
    ],
)
def test_the_quantiles_are_those_of_the_printed_table(freedom, quantile):
    assert find_t(freedom) == pytest.approx(quantile, abs=0.0005)


def test_other_confidences_are_those_of_the_printed_table():
    assert find_t(10, 0.99) == pytest.approx(3.169, abs=0.0005)
    assert find_t(10, 0.90) == pytest.approx(1.812, abs=0.0005)


def measure(costs, left, arm_id=1, **more):
    deviation = statistics.stdev(costs) if len(costs) > 1 else None
    mean = statistics.fmean(costs) if costs else None
    return ArmFigures(arm_id, f"arm {arm_id}", left, len(costs), mean, deviation, **more)


def test_the_interval_is_that_of_the_formula_worked_by_hand():
    # Four calls of 10, 12, 14, 16: mean 13, s = sqrt(20/3). Six are left: 78 ± 3.18245 · s · sqrt(6 + 36/4).
    margin = 3.182446 * math.sqrt(20 / 3) * math.sqrt(15)
    [arm] = estimate([measure([10, 12, 14, 16], 6)])["arms"]
    assert (arm["mid"], arm["basis"]) == (78, Basis.MEASURED)
    assert arm["low"] == math.floor(78 - margin) == 46
    assert arm["high"] == math.ceil(78 + margin) == 110


def test_what_is_spent_is_part_of_the_whole_and_lost_calls_are_part_of_its_upper_end():
    found = estimate([measure([10, 12, 14, 16], 6)], spent=52, lost=7)
    assert (found["low"], found["mid"], found["high"]) == (52 + 46, 52 + 78, 52 + 110 + 7)
    assert found["sentence"] == "Based on 4 calls of this batch, with a 95 % prediction interval."


@pytest.mark.full
def test_the_interval_holds_the_true_sum_in_nineteen_of_twenty_batches():
    draw = random.Random(20261121)
    held = 0
    for _ in range(1000):
        pilots = [[draw.gauss(mean, spread) for _ in range(12)] for mean, spread in ((500, 60), (900, 200))]
        rest = sum(draw.gauss(500, 60) for _ in range(30)) + sum(draw.gauss(900, 200) for _ in range(30))
        found = estimate([measure(pilots[0], 30, 1), measure(pilots[1], 30, 2)])
        assert found["low"] is not None
        assert found["high"] is not None
        held += found["low"] <= rest <= found["high"]
    assert 0.93 <= held / 1000 <= 0.97


def test_two_arms_are_surer_together_than_the_sum_of_their_margins():
    arms = [measure([90, 100, 110, 95, 105], 50, 1), measure([200, 210, 190, 205, 195], 50, 2)]
    found = estimate(arms)
    assert found["mid"] == sum(row["mid"] or 0 for row in found["arms"])
    assert found["high"] is not None
    assert found["high"] < sum(row["high"] or 0 for row in found["arms"])


def test_without_a_call_only_the_most_is_known():
    found = estimate([measure([], 10, highest=1000)], spent=5)
    assert (found["low"], found["mid"], found["high"]) == (None, None, 1005)
    assert found["arms"][0]["basis"] is Basis.BOUND
    assert "no call yet" in found["sentence"]


def test_one_call_gives_a_middle_and_no_interval():
    found = estimate([measure([20], 10, highest=1000)])
    assert (found["low"], found["mid"], found["high"]) == (None, 200, 1000)
    assert "a single call" in found["sentence"]


def test_earlier_batches_give_a_guess_that_says_so():
    found = estimate([measure([20, 22, 24], 10, highest=1000, is_earlier=True)])
    assert (found["low"], found["mid"], found["high"]) == (None, 220, 1000)
    assert "a guess" in found["sentence"]


def test_calls_that_all_cost_the_same_give_a_point():
    found = estimate([measure([7, 7, 7], 10)])
    assert (found["low"], found["mid"], found["high"]) == (70, 70, 70)
    assert "all cost the same" in found["sentence"]


def test_an_unknown_price_gives_no_estimate_and_names_the_model():
    found = estimate([measure([7, 7, 7], 10), ArmFigures(2, "dear", 5, is_priced=False)], spent=3)
    assert (found["low"], found["mid"], found["high"]) == (None, None, None)
    assert "no price is known for dear" in found["sentence"]
    assert found["arms"][0]["mid"] == 70


def test_an_upper_end_without_a_bound_is_not_known():
    assert estimate([measure([], 10)])["high"] is None


def test_the_interval_ends_at_nothing_and_at_the_most_that_all_calls_can_cost():
    [arm] = estimate([measure([1, 100], 4, highest=300)])["arms"]
    assert (arm["low"], arm["high"]) == (0, 300)


def test_a_model_without_a_longest_answer_is_named():
    found = estimate([measure([], 6, highest=60, is_open_ended=True)])
    assert found["sentence"].endswith(
        "The length of answers has no known limit for arm 1, so a long answer may cost more."
    )
    assert "No limit" not in str(estimate([measure([], 0, is_open_ended=True)])["sentence"])


def test_with_nothing_left_everything_is_known():
    found = estimate([measure([], 0)], spent=9)
    assert (found["low"], found["mid"], found["high"]) == (9, 9, 9)
    assert "The amount spent is the final cost" in found["sentence"]


def test_with_nothing_left_a_cost_that_is_not_known_stays_unknown():
    found = estimate([measure([], 0)], spent=9, lost=5)
    assert (found["low"], found["mid"], found["high"]) == (9, 9, 14)
    assert "may add to the amount spent" in found["sentence"]
    found = estimate([measure([], 0), ArmFigures(2, "unpriced", 0, is_priced=False)], spent=9)
    assert (found["low"], found["mid"], found["high"]) == (None, None, None)


def test_an_arm_without_calls_widens_the_whole_to_its_most_and_is_named():
    found = estimate([measure([7, 7, 7], 10, 1), measure([], 10, 2, highest=500)])
    assert (found["low"], found["mid"], found["high"]) == (None, None, 570)
    assert found["sentence"].endswith("for arm 2.")


def test_the_time_left_rests_on_a_named_window():
    found = estimate_time(300, answers=60, seconds=30.0, window="the last 30 seconds")
    assert found == (150.0, "60 answers in the last 30 seconds")


def test_without_an_answer_the_time_left_is_not_known():
    found = estimate_time(300, answers=0, seconds=600.0, window="the last 10 minutes")
    assert found == (None, "no answer in the last 10 minutes")
    assert estimate_time(0, answers=0, seconds=0, window="")[0] == 0.0
