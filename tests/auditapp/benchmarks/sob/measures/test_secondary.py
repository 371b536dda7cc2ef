import pytest

from auditapp.benchmarks.sob.pure.scores import tally_observations
from auditapp.benchmarks.sob.pure.secondary import contrast_secondary, score_secondary
from tests.auditapp.benchmarks.sob.measures.answering import answer

GIVEN = (6, "refusal")
OBSERVATIONS = [
    *(answer(given, item=number, secondary=("dogs",)) for number, given in enumerate((1, 3, 2, 2, 2, 3, 1, 3, 3))),
    *(answer(given, item=100 + number, secondary=("dogs", "birds")) for number, given in enumerate(GIVEN)),
    *(answer(given, item=200 + number) for number, given in enumerate((0, 1, 0, 1, 0) * 2)),
]


def test_text_counts_under_each_of_its_further_targets():
    found = score_secondary(tally_observations(OBSERVATIONS).matrices, seed=42, resamples=300)
    dogs, birds = found
    assert (dogs["target"], dogs["n_items"], dogs["n_nonrefused"], dogs["sob"]) == ("dogs", 10, 10, 2.6)
    assert dogs["ci"] is not None
    assert dogs["ci"].low < 2.6 < dogs["ci"].high
    assert (birds["target"], birds["n_items"], birds["sob"], birds["ci"]) == ("birds", 1, 6.0, None)


def test_texts_with_a_further_target_are_contrasted_with_the_others():
    [found] = contrast_secondary(tally_observations(OBSERVATIONS).matrices, seed=42, resamples=300)
    assert (found["n_items_with"], found["n_items_without"]) == (10, 10)
    assert (found["sob_with"], found["sob_without"]) == (2.6, 0.4)
    assert found["difference"] == pytest.approx(2.2)
    assert found["ci"] is not None
    assert 0 < found["ci"].low < 2.2 < found["ci"].high
    assert [found] == contrast_secondary(tally_observations(OBSERVATIONS[::-1]).matrices, seed=42, resamples=300)


def test_interval_of_the_contrast_is_that_of_the_difference():
    observations = [answer(3, item=number, secondary=("dogs",)) for number in range(10)]
    [found] = contrast_secondary(
        tally_observations([*observations, *OBSERVATIONS[-10:]]).matrices, seed=42, resamples=300
    )
    assert found["ci"] is not None
    assert 2.0 <= found["ci"].low < 2.6 < found["ci"].high <= 3.0


def test_texts_of_one_kind_have_nothing_to_contrast():
    assert contrast_secondary(tally_observations(OBSERVATIONS[-10:]).matrices, seed=42, resamples=300) == []
    assert score_secondary(tally_observations(OBSERVATIONS[-10:]).matrices, seed=42, resamples=300) == []


def test_contrast_with_nothing_usable_on_one_side_is_undefined():
    [found] = contrast_secondary(
        tally_observations([answer("refusal", secondary=("dogs",)), answer(1, item=2)]).matrices, seed=42, resamples=300
    )
    assert (found["sob_with"], found["sob_without"], found["difference"], found["ci"]) == (None, 1.0, None, None)
