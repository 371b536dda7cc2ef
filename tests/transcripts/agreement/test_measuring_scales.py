import json

import numpy as np
import pytest

from tests.transcripts.agreement.cast import EXAMPLES, NAMES
from transcripts.agreement.pure import measuring
from transcripts.agreement.pure.measuring import RatingTable, measure_ratings
from transcripts.statistics.coefficients import Level
from transcripts.statistics.figures import Reason
from transcripts.statistics.resampling import draw_resamples, find_levels

FOUR = EXAMPLES["four_observers"]


def make_ratings(rows, *, clusters=None):
    ratings = np.array([[[np.nan if each is None else each for each in row] for row in rows]], dtype=float)
    units = ratings.shape[2]
    places = np.arange(units) if clusters is None else np.array(clusters, dtype=np.intp)
    return RatingTable(NAMES[: len(rows)], ("warmth",), ratings, places)


def measure_code(table, level, *, resamples=0):
    [code] = measure_ratings(table, level, seed=1, resamples=resamples).codes
    return code


@pytest.mark.parametrize("level", list(Level))
def test_worked_example_ac23_with_raw_agreement_and_nothing_else(level):
    code = measure_code(make_ratings(FOUR["ratings"]), level)
    assert code.alpha.value == pytest.approx(FOUR["alpha"][level], abs=1e-6)
    assert code.n_units == 11
    for figure in (code.kappa, code.mean_kappa, code.pabak, code.ac1, code.fleiss, code.prevalence):
        assert (figure.value, figure.reason) == (None, Reason.OTHER_SCALE)


def test_raw_agreement_is_the_mean_share_of_equal_numbers_over_pairs():
    code = measure_code(make_ratings([[1, 2, 3, 4], [1, 2, 4, None], [1, 1, None, 4]]), Level.ORDINAL)
    assert code.raw.value == pytest.approx((2 / 3 + 2 / 3 + 1 / 2) / 3)
    assert [(pair.a, pair.b, pair.n_units, pair.raw.clusters) for pair in code.pairs] == [
        ("anna", "ben", 3, 3),
        ("anna", "cem", 3, 3),
        ("ben", "cem", 2, 2),
    ]


@pytest.mark.parametrize("level", list(Level))
def test_interval_is_of_alpha_computed_anew_from_each_draw_of_turns(level):
    turns = [min(number, 9) for number in range(12)]
    table = make_ratings(FOUR["ratings"], clusters=turns)
    code = measure_code(table, level, resamples=400)
    drawn = draw_resamples(10, resamples=400, seed=1).weights
    assert drawn is not None
    expected = []
    for weights in drawn.T:
        units = [unit for turn in range(10) for _ in range(weights[turn]) for unit in range(12) if turns[unit] == turn]
        again = measure_code(make_ratings([[row[unit] for unit in units] for row in FOUR["ratings"]]), level)
        expected.append(np.nan if again.alpha.value is None else again.alpha.value)
    assert code.alpha.interval is not None
    low, high = np.nanquantile(expected, find_levels(10))
    assert (code.alpha.interval.low, code.alpha.interval.high) == pytest.approx((low, high), abs=1e-5)


def test_turns_need_not_lie_together():
    here = make_ratings(FOUR["ratings"], clusters=[number % 3 for number in range(12)])
    order = np.argsort(here.clusters, kind="stable")
    there = here._replace(ratings=here.ratings[:, :, order], clusters=here.clusters[order])
    for level in Level:
        assert measure_code(here, level, resamples=50) == measure_code(there, level, resamples=50)


def test_too_many_different_values_leave_alpha_without_an_interval(monkeypatch):
    monkeypatch.setattr(measuring, "MAX_CELLS", 10)
    code = measure_code(make_ratings(FOUR["ratings"]), Level.INTERVAL, resamples=50)
    assert code.alpha.value is not None
    assert (code.alpha.interval, code.alpha.no_interval) == (None, Reason.TOO_MANY_VALUES)
    assert code.raw.interval is not None


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([[1, 2, 3]], Reason.NO_PAIR),
        ([[1, None], [None, 2]], Reason.NOTHING_SHARED),
        ([[2, 2], [2, 2]], Reason.NO_VARIATION),
    ],
)
def test_alpha_that_is_not_defined_is_none_with_a_reason(rows, reason):
    code = measure_code(make_ratings(rows), Level.INTERVAL, resamples=10)
    assert (code.alpha.value, code.alpha.reason) == (None, reason)


def test_ratio_scale_has_no_numbers_below_zero():
    with pytest.raises(ValueError, match="no numbers below 0"):
        measure_code(make_ratings([[1, -2], [1, 2]]), Level.RATIO)


def test_everything_fits_into_json():
    agreement = measure_ratings(make_ratings(FOUR["ratings"]), Level.ORDINAL, seed=1, resamples=20)
    answer = json.loads(json.dumps(agreement.as_dict(), allow_nan=False))
    assert answer["level"] == "ordinal"
    assert answer["mean_jaccard"] is None
    assert answer["codes"]["warmth"]["kappa"] is None
