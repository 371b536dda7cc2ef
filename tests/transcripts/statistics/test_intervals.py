"""Intervals of shares, against other people's programs and published examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from transcripts.statistics.figures import (
    newcombe_interval,
    paired_difference_interval,
    paired_ratio_interval,
    wilson_interval,
)


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (1, 50), (25, 50), (49, 50), (50, 50), (3, 2457)])
def test_wilson_interval_agrees_with_statsmodels(successes, n):
    assert wilson_interval(successes, n) == pytest.approx(proportion_confint(successes, n, method="wilson"), abs=1e-12)


def test_wilson_interval_of_nothing_is_none_and_of_no_share_is_refused():
    assert wilson_interval(0, 0) is None
    with pytest.raises(ValueError, match="3 of 2 is no share"):
        wilson_interval(3, 2)


# Newcombe 1998, table II, method 10: contrasts (a), (e), (f) and (g) of the eight that every method is tried on.
PUBLISHED = [
    (56, 70, 48, 80, 0.0524, 0.3339),
    (9, 10, 3, 10, 0.1705, 0.8090),
    (6, 7, 2, 7, 0.0582, 0.8062),
    (10, 10, 0, 10, 0.6075, 1.0),
]


@pytest.mark.parametrize(("successes", "n", "other", "other_n", "low", "high"), PUBLISHED)
def test_newcombe_interval_is_the_published_one(successes, n, other, other_n, low, high):
    assert newcombe_interval(successes, n, other, other_n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 400), st.integers(1, 400), st.data())
def test_newcombe_interval_agrees_with_statsmodels(n, other_n, data):
    successes, other = data.draw(st.integers(0, n)), data.draw(st.integers(0, other_n))
    expected = confint_proportions_2indep(successes, n, other, other_n, compare="diff", method="newcomb")
    assert newcombe_interval(successes, n, other, other_n) == pytest.approx(expected, abs=1e-9)


def test_newcombe_interval_turns_over_with_its_samples():
    forward, backward = newcombe_interval(45, 60, 30, 60), newcombe_interval(30, 60, 45, 60)
    assert forward is not None
    assert backward == pytest.approx((-forward.high, -forward.low))


@pytest.mark.parametrize("counts", [(0, 0, 1, 2), (1, 2, 0, 0)])
def test_newcombe_interval_without_a_sample_is_none(counts):
    assert newcombe_interval(*counts) is None


def spread_table(both, first, second, neither):
    """A table of paired outcomes, case by case."""
    return [1.0] * (both + first) + [0.0] * (second + neither), (
        [1.0] * both + [0.0] * first + [1.0] * second + [0.0] * neither
    )


TABLES = st.tuples(*[st.integers(0, 60)] * 4).filter(any)


@given(TABLES, st.sampled_from([0.95, 0.99]))
def test_the_interval_of_a_paired_difference_is_that_of_the_four_counts(table, confidence):
    both, first, second, neither = table
    n = sum(table)
    a, b = (both + first) / n, (both + second) / n
    (l1, u1), (l2, u2) = (
        proportion_confint(part, n, 1 - confidence, method="wilson") for part in (both + first, both + second)
    )
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    phi = (both * neither - first * second) / np.sqrt(margins) if margins else 0
    low = a - b - np.sqrt(max(0, (a - l1) ** 2 - 2 * phi * (a - l1) * (u2 - b) + (u2 - b) ** 2))
    high = a - b + np.sqrt(max(0, (u1 - a) ** 2 - 2 * phi * (u1 - a) * (b - l2) + (b - l2) ** 2))

    found = paired_difference_interval(*spread_table(*table), confidence)

    assert found == pytest.approx((max(-1, low), min(1, high)), abs=1e-6)


def test_sides_that_do_not_vary_together_have_the_interval_of_independent_samples():
    found = paired_difference_interval(*spread_table(12, 12, 8, 8))
    assert found == pytest.approx(newcombe_interval(24, 40, 20, 40))


@given(TABLES.filter(lambda table: table[0] + table[1] and table[0] + table[2] and table[1] + table[2]))
def test_the_interval_of_a_paired_ratio_is_that_of_the_four_counts(table):
    both, first, second, _ = table
    upper, lower = both + first, both + second
    spread = 1.959964 * np.sqrt((first + second) / (upper * lower))

    found = paired_ratio_interval(*spread_table(*table))

    assert found == pytest.approx((upper / lower * np.exp(-spread), upper / lower * np.exp(spread)), rel=1e-5)


@pytest.mark.parametrize("sides", [([], []), ([0.0, 0.0], [1.0, 0.5]), ([1.0, 0.5], [0.0, 0.0]), ([1.0], [0.5])])
def test_a_ratio_that_nothing_bounds_has_no_interval(sides):
    assert paired_ratio_interval(*sides) is None


def test_a_difference_over_no_cases_has_no_interval():
    assert paired_difference_interval([], []) is None


def test_intervals_over_means_of_repeats_cover_what_they_say():
    draws = np.random.default_rng(11)
    difference, ratio = [], []
    for _ in range(500):
        chances = draws.beta(2, 1, 20)
        # Both sides have the same chance in each case: no difference, a ratio of 1.
        first, second = (list(draws.binomial(4, chances) / 4) for _ in range(2))
        if found := paired_difference_interval(first, second):
            difference.append(found.low <= 0 <= found.high)
        if found := paired_ratio_interval(first, second):
            ratio.append(found.low <= 1 <= found.high)
    assert np.mean(difference) >= 0.95
    assert np.mean(ratio) >= 0.92
