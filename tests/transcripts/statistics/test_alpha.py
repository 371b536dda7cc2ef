import numpy as np
import pytest

from tests.transcripts.agreement.cast import EXAMPLES
from transcripts.statistics.coefficients import Level, count_coincidences, measure_alpha

FOUR = EXAMPLES["four_observers"]


def alpha(rows, level=Level.NOMINAL):
    ratings = np.array([[np.nan if each is None else each for each in row] for row in rows], dtype=float)
    return float(measure_alpha(count_coincidences(ratings), level)[0])


@pytest.mark.parametrize("level", list(Level))
def test_worked_example_ac23_four_observers_with_values_missing(level):
    assert alpha(FOUR["ratings"], level) == pytest.approx(FOUR["alpha"][level], abs=1e-6)


def test_worked_example_ac24_two_observers():
    binary, letters = EXAMPLES["two_observers_binary"], EXAMPLES["two_observers_letters"]
    assert alpha(binary["ratings"]) == pytest.approx(binary["alpha"], abs=1e-6)
    numbers = [[ord(letter) for letter in row] for row in letters["letters"]]
    assert alpha(numbers) == pytest.approx(letters["alpha"], abs=1e-6)


@pytest.mark.parametrize("level", list(Level))
def test_unit_with_one_value_drops_out(level):
    without = [row[:11] for row in FOUR["ratings"]]
    assert alpha(without, level) == pytest.approx(alpha(FOUR["ratings"], level))


@pytest.mark.parametrize("level", list(Level))
def test_alpha_of_yes_and_no_is_the_same_on_every_level(level):
    binary = EXAMPLES["two_observers_binary"]
    assert alpha(binary["ratings"], level) == pytest.approx(binary["alpha"], abs=1e-6)


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("rows", [[[1, 1], [1, 1]], [[0, 0], [0, 0]], [[1, None], [None, 2]], [[1, 2]], [[], []]])
def test_alpha_is_not_defined_without_variation_or_a_shared_unit(level, rows):
    assert np.isnan(alpha(rows, level))


@pytest.mark.parametrize("value", [0.1, 0.7, 1 / 3, 1e9 + 0.1])
@pytest.mark.parametrize("units", [3, 7, 11])
def test_rounding_is_not_taken_for_variation(value, units):
    assert np.isnan(alpha([[value] * units] * 3, Level.INTERVAL))


def test_interval_alpha_holds_far_from_zero():
    near, far = [[1, 2, 3], [1, 2, 4]], [[1e9 + 1, 1e9 + 2, 1e9 + 3], [1e9 + 1, 1e9 + 2, 1e9 + 4]]
    assert alpha(far, Level.INTERVAL) == pytest.approx(alpha(near, Level.INTERVAL))


def test_ordinal_alpha_needs_only_the_order():
    stretched = [[None if value is None else value**3 for value in row] for row in FOUR["ratings"]]
    assert alpha(stretched, Level.ORDINAL) == pytest.approx(FOUR["alpha"]["ordinal"], abs=1e-6)


def test_coincidences_of_clusters_add_up_to_those_of_all():
    ratings = np.array([[np.nan if each is None else each for each in row] for row in FOUR["ratings"]])
    whole = count_coincidences(ratings)
    parts = count_coincidences(ratings, np.arange(12, dtype=np.intp) // 5)
    assert parts.weights.shape == (len(whole.first), 3)
    assert parts.weights.sum(axis=1) == pytest.approx(whole.weights[:, 0])
