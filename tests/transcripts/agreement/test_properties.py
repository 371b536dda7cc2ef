"""What holds of every table."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.agreement.cast import make_table
from transcripts.agreement.pure.measuring import measure_agreement
from transcripts.statistics.coefficients import Level, count_coincidences, measure_alpha

FIGURES = (
    "raw",
    "positive_agreement",
    "mean_kappa",
    "pabak",
    "ac1",
    "fleiss",
    "alpha",
    "prevalence",
    "prevalence_index",
)
SHARES = ("raw", "positive_agreement", "prevalence", "prevalence_index")


@st.composite
def tables(draw, most_coders=5):
    units = draw(st.integers(0, 12))
    row = st.lists(st.sampled_from([0, 1, None]), min_size=units, max_size=units)
    return draw(st.lists(row, min_size=2, max_size=most_coders))


def measure(rows):
    [code] = measure_agreement(make_table(rows), seed=1, resamples=0).codes
    return code


def get_values(code):
    figures = [getattr(code, name) for name in FIGURES]
    return [figure.value for figure in figures]


def assert_same(here, there):
    for one, other in zip(get_values(here), get_values(there), strict=True):
        assert one == other if one is None or other is None else math.isclose(one, other, abs_tol=1e-12)


@given(tables())
def test_every_figure_is_in_its_range_or_none_with_a_reason(rows):
    code = measure(rows)
    for name in FIGURES:
        figure = getattr(code, name)
        if figure.value is None:
            assert figure.reason
        else:
            assert not figure.reason
            assert (0 if name in SHARES else -1) - 1e-9 <= figure.value <= 1 + 1e-9
    error = code.kappa_error.value
    assert error is None or error >= 0


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_coders_and_of_units_changes_nothing(rows, chance):
    shuffled = list(rows)
    chance.shuffle(shuffled)
    order = list(range(len(rows[0])))
    chance.shuffle(order)
    assert_same(measure(rows), measure([[row[place] for place in order] for row in shuffled]))


@given(tables())
def test_yes_and_no_change_places_without_changing_what_is_symmetric(rows):
    here = measure(rows)
    there = measure([[None if each is None else 1 - each for each in row] for row in rows])
    for name in ("raw", "mean_kappa", "pabak", "ac1", "fleiss", "alpha", "prevalence_index"):
        one, other = getattr(here, name).value, getattr(there, name).value
        assert one == other if one is None else other == pytest.approx(one)


@given(tables(2))
def test_two_coders_change_places_without_changing_kappa(rows):
    here, there = measure(rows), measure(rows[::-1])
    assert here.kappa.value == there.kappa.value
    if here.counts and there.counts:
        assert (here.counts["only_a"], here.counts["only_b"]) == (there.counts["only_b"], there.counts["only_a"])


@given(st.lists(st.sampled_from([0, 1]), min_size=2, max_size=12), st.integers(2, 5))
def test_perfect_agreement_with_variation_is_one_everywhere(row, coders):
    code = measure([row] * coders)
    expected = None if len(set(row)) == 1 else 1.0
    assert code.mean_kappa.value == expected
    assert code.fleiss.value == expected
    assert code.alpha.value == expected
    assert (code.raw.value, code.pabak.value, code.ac1.value) == (1.0, 1.0, 1.0)


@given(tables())
def test_unit_that_one_coder_decided_changes_nothing(rows):
    longer = [[*row, 1 if number == 0 else None] for number, row in enumerate(rows)]
    assert_same(measure(rows), measure(longer))


@given(tables(), st.sampled_from(list(Level)))
def test_alpha_of_codes_is_alpha_of_numbers(rows, level):
    ratings = np.array([[np.nan if each is None else each for each in row] for row in rows], dtype=float)
    general = float(measure_alpha(count_coincidences(ratings), level)[0])
    figure = measure(rows).alpha
    assert math.isnan(general) if figure.value is None else figure.value == pytest.approx(general)


NUMBERS = st.one_of(st.none(), st.integers(0, 6))


@given(
    st.lists(st.lists(NUMBERS, min_size=6, max_size=6), min_size=2, max_size=4), st.integers(1, 9), st.integers(0, 9)
)
def test_interval_alpha_does_not_mind_another_unit_or_zero(rows, factor, shift):
    ratings = np.array([[np.nan if each is None else each for each in row] for row in rows], dtype=float)
    for level, moved in ((Level.INTERVAL, ratings * factor + shift), (Level.RATIO, ratings * factor)):
        here = float(measure_alpha(count_coincidences(ratings), level)[0])
        there = float(measure_alpha(count_coincidences(moved), level)[0])
        assert (math.isnan(here) and math.isnan(there)) or here == pytest.approx(there)
