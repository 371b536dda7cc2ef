"""CorrectedRate rates: against worked numbers and other people's programs."""

import numpy as np
import pytest
import statsmodels.api as sm

from auditapp.evaluation.pure.corrected_rates import (
    Found,
    Sample,
    check_conditions,
    correct_prevalence,
    correct_rate,
    correct_rate_by_turn,
    is_outside,
    refuse,
    weigh_accuracy,
)

# Human and machine, and how often: 24 both, 8 machine alone, 6 human alone, 62 neither.
PEOPLE = [1] * 24 + [0] * 8 + [1] * 6 + [0] * 62
MACHINE = [1] * 32 + [0] * 68
UNLABELLED = [1] * 300 + [0] * 700


def test_the_worked_sample_gives_its_published_rate():
    found = correct_rate(PEOPLE, MACHINE, UNLABELLED)
    assert (found.naive, found.rectifier, found.rate) == pytest.approx((0.3, -0.02, 0.28))
    assert found.error == pytest.approx(0.04025, abs=5e-6)
    assert found.interval == pytest.approx((0.201111, 0.358889), abs=5e-6)


def test_rogan_and_gladen_gives_its_published_rate_and_is_not_cut_off():
    assert correct_prevalence(0.3, 0.8, 0.885714) == pytest.approx(0.270833, abs=5e-6)
    below = correct_prevalence(0.02, 0.8, 0.9)
    assert below is not None
    assert below < 0
    assert is_outside(below)
    assert correct_prevalence(0.3, 0.4, 0.6) is None
    assert correct_prevalence(0.3, None, 0.6) is None


def test_equal_weights_give_the_accuracy_of_the_published_sample():
    for weights in (None, np.full(100, 5.0)):
        accuracy = weigh_accuracy(make_sample(np.arange(100), np.arange(1000), weights))
        assert accuracy == pytest.approx((0.8, 0.885714), abs=5e-7)
        assert correct_prevalence(0.3, *accuracy) == pytest.approx(0.270833, abs=5e-6)


def test_weights_count_in_sensitivity_and_specificity_and_shares_of_readers_too():
    sample = make_sample(np.arange(100), np.arange(1000))._replace(
        people=np.array([1.0, 1.0, 0.5, 0.0]), machine=np.array([1.0, 0.0, 1.0, 1.0]), weights=np.array([4.0, 1, 2, 2])
    )
    assert weigh_accuracy(sample) == pytest.approx((5 / 6, 0.0))
    nobody = weigh_accuracy(sample._replace(people=np.zeros(4)))
    everybody = weigh_accuracy(sample._replace(people=np.ones(4)))
    assert (nobody[0], everybody[1]) == (None, None)
    assert (nobody[1], everybody[0]) == pytest.approx((1 / 9, 8 / 9))


def test_turns_of_one_sentence_give_the_same_rate_and_nearly_the_same_error():
    plain = correct_rate(PEOPLE, MACHINE, UNLABELLED)
    found = correct_rate_by_turn(make_sample(np.arange(100), np.arange(1000)))
    assert (found.rate, found.naive, found.rectifier) == pytest.approx((plain.rate, plain.naive, plain.rectifier))
    assert plain.error is not None
    assert found.error == pytest.approx(plain.error, rel=1e-4)


def make_sample(turns, others, weights=None):
    return Sample(
        np.array(PEOPLE, dtype=float),
        np.array(MACHINE, dtype=float),
        turns,
        np.ones(100) if weights is None else weights,
        np.array(UNLABELLED, dtype=float),
        others,
        np.ones(1000),
    )


def test_the_variance_over_weighted_turns_is_that_of_statsmodels():
    generator = np.random.default_rng(11)
    turns, others = generator.integers(0, 20, 100), generator.integers(0, 150, 1000)
    weights = np.where(turns < 8, 5.0, 2.5)
    sample = make_sample(turns, others, weights)
    expected = 0.0
    for values, groups, given in (
        (sample.people - sample.machine, turns, weights),
        (sample.other_machine, others, np.ones(1000)),
    ):
        fitted = sm.WLS(values, np.ones(len(values)), weights=given).fit(
            cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}
        )
        expected += float(fitted.bse[0]) ** 2
    found = correct_rate_by_turn(sample)
    assert found.error == pytest.approx(expected**0.5)


def test_the_rate_is_covered_about_as_often_as_the_interval_says():
    generator = np.random.default_rng(2)
    covered = 0
    for _ in range(300):
        # 400 turns of four sentences whose truth hangs together; the machine overcalls.
        truth = np.repeat(generator.random(400) < 0.25, 4) ^ (generator.random(1600) < 0.05)
        machine = truth | (generator.random(1600) < 0.15)
        turns = np.repeat(np.arange(400), 4)
        held = np.isin(turns, generator.choice(400, 80, replace=False))
        found = correct_rate_by_turn(
            Sample(
                truth[held].astype(float),
                machine[held].astype(float),
                turns[held],
                np.full(int(held.sum()), 5.0),
                machine[~held].astype(float),
                turns[~held],
                np.full(int((~held).sum()), 1.25),
            )
        )
        assert found.interval is not None
        covered += found.interval.low <= 0.25 * 0.95 + 0.75 * 0.05 <= found.interval.high
    assert 0.9 <= covered / 300 <= 0.99


@pytest.mark.parametrize(("people", "machine", "other"), [([], [], [1, 0]), ([1], [1], []), ([], [], [])])
def test_without_one_of_the_two_parts_there_is_no_rate(people, machine, other):
    found = correct_rate(people, machine, other)
    assert (found.rate, found.error, found.interval) == (None, None, None)


def test_one_turn_bounds_nothing():
    found = correct_rate_by_turn(make_sample(np.zeros(100, dtype=int), np.arange(1000)))
    assert found.rate == pytest.approx(0.28)
    assert found.interval is None


SOUND = Found(40, 40, 8, 10, 200, 40, 30, 990, 1000, "a" * 64, 1000)


def test_a_sound_sample_meets_every_condition():
    conditions = check_conditions(SOUND)
    assert all(condition.holds for condition in conditions)
    assert refuse(conditions) == ""


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"withheld_turns": 0, "with_probability": 0}, "random sample"),
        ({"labelled": 990}, "the annotator labelled no sentences there other than those that people labelled."),
        ({"with_probability": 39}, "random sample"),
        (
            {"interviews": 0},
            "in none of 10 interviews does every sentence of every withheld turn have a blind decision",
        ),
        ({"hash": ""}, "it is unknown whether the annotator stayed the same: it has no hash."),
        ({"read": 900}, "the annotator labelled too few sentences of these interviews: 900 of 1000."),
        ({"labelled": 99}, "the sample is too small: 99 of 100 sentences."),
        ({"labelled_turns": 29}, "the sample is too small: 29 of 30 turns."),
        ({"positives": 9}, "the sample is too small: 9 of 10 with the code."),
    ],
)
def test_a_condition_that_fails_refuses_the_rate_by_name(change, name):
    refusal = refuse(check_conditions(SOUND._replace(**change)))
    assert name in refusal
    assert refusal.count(";") == 0


def test_one_model_behind_both_parts_holds_more_than_one_refuse_and_an_unnamed_one_cannot_be_checked():
    def check(*served):
        conditions = check_conditions(SOUND._replace(served=served))
        return next(each for each in conditions if each.name == "The annotator did not change")

    assert check().state == "Holds"
    assert check(("m-1", 40, 100)).state == "Holds"
    changed = check(("m-1", 40, 20), ("m-2", 0, 80))
    assert changed.state == "Does not hold"
    assert "m-1 (40 labelled and 20 other turns), m-2 (0 labelled and 80 other turns)" in changed.failure
    for served in ([("", 40, 100)], [("", 1, 0), ("m-1", 39, 100)]):
        unknown = check(*served)
        assert (unknown.state, unknown.holds, unknown.failure) == ("Cannot be checked", False, "")
        assert f"not known ({served[0][1]} labelled" in unknown.found
    assert refuse(check_conditions(SOUND._replace(served=(("", 40, 100),)))) == ""
    assert check(("", 1, 1), ("m-1", 1, 1), ("m-2", 1, 1)).state == "Does not hold"


def test_a_refusal_is_a_plain_sentence_for_each_condition_that_fails():
    small = SOUND._replace(labelled=31, labelled_turns=6, positives=5, hash="")
    assert refuse(check_conditions(small)) == (
        "it is unknown whether the annotator stayed the same: it has no hash. "
        "The sample is too small: 31 of 100 sentences, 6 of 30 turns, 5 of 10 with the code."
    )


def test_of_an_annotator_that_read_nothing_for_the_code_that_alone_is_said():
    conditions = check_conditions(Found(0, 0, 0, 0, 0, 0, 0, 0, 0, "", 0))
    assert [condition.holds for condition in conditions] == [False]
    assert refuse(conditions) == "the annotator has not annotated any sentence for this code."
