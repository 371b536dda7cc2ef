"""Differences of means and of groups, against scipy, statsmodels and simulation."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_ind
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.oneway import anova_oneway

from transcripts.statistics.differences import (
    Estimate,
    Moments,
    estimate_difference_of_means,
    estimate_difference_of_shares,
    measure_heterogeneity,
    measure_welch,
)

samples = st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=2, max_size=30)


def take(values):
    moments = Moments()
    for value in values:
        moments.add(value)
    return moments


@given(samples, samples)
def test_number_mean_and_spread_are_those_of_numpy_also_of_two_samples_together(first, second):
    both = take(first) + take(second)
    for values, found in ((first, take(first)), (first + second, both)):
        assert found.n == len(values)
        assert found.mean == pytest.approx(np.mean(values), abs=1e-6)
        assert found.sd == pytest.approx(np.std(values, ddof=1), rel=1e-9, abs=1e-6)


def test_of_nothing_and_of_one_number_there_is_no_spread():
    assert (Moments() + Moments()).n == 0
    assert (take([3.0]).mean, take([3.0]).sd, take([3.0]).interval) == (3.0, None, None)
    assert take([0.1] * 7).squares == 0


def test_numbers_far_from_nought_keep_their_spread():
    assert take([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]).variance == pytest.approx(30)


def test_the_interval_of_a_mean_is_that_of_scipy():
    values = [2.0, 3.5, 7.0, 1.0, 4.0]
    assert take(values).interval == pytest.approx(tuple(ttest_1samp(values, 0).confidence_interval()))


@given(samples, samples)
def test_two_means_are_compared_as_scipy_does(first, second):
    assume(np.std(first) > 1e-2 and np.std(second) > 1e-2)
    found = measure_welch(take(first), take(second))
    expected = ttest_ind(first, second, equal_var=False)
    assert found is not None
    assert (found.t, found.df, found.p) == pytest.approx((expected.statistic, expected.df, expected.pvalue), rel=1e-6)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()), rel=1e-6, abs=1e-6)


def test_means_without_any_spread_are_not_tested():
    assert measure_welch(take([1.0, 1.0, 1.0]), take([2.0, 2.0, 2.0])) is None
    assert measure_welch(take([1.0]), take([2.0, 3.0])) is None
    one_sided = measure_welch(take([1.0, 1.0, 1.0]), take([2.0, 2.5, 3.5]))
    assert one_sided is not None
    assert one_sided.df == pytest.approx(2)


def test_q_is_that_of_statsmodels():
    estimates = [Estimate(0.1, 0.02), Estimate(0.4, 0.01), Estimate(-0.2, 0.05)]
    found = measure_heterogeneity(estimates)
    expected = combine_effects(*(np.array([each[place] for each in estimates]) for place in (0, 1)))
    assert found is not None
    assert found.q == pytest.approx(expected.q)
    assert (found.df, found.df_error) == (2, None)
    assert found.p == pytest.approx(expected.test_homogeneity().pvalue)


@given(st.lists(samples, min_size=2, max_size=6))
def test_with_few_degrees_of_freedom_it_is_the_test_of_welch(groups):
    assume(all(np.std(group) > 1e-2 for group in groups))
    moments = [take(group) for group in groups]
    found = measure_heterogeneity([Estimate(each.mean, (each.variance or 0) / each.n, each.n - 1) for each in moments])
    expected = anova_oneway(groups, use_var="unequal", welch_correction=True)
    assert found is not None
    assert (found.df, found.df_error) == pytest.approx(tuple(expected.df), rel=1e-6)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-5, abs=1e-12)


def test_differences_of_two_groups_are_compared_by_the_contrast_of_four_means():
    draw = np.random.default_rng(1)
    cells = [take(list(draw.normal(mean, 2, 12))) for mean in (1, 0, 3, 0)]
    pairs = [estimate_difference_of_means(*cells[:2]), estimate_difference_of_means(*cells[2:])]
    assert pairs[0] is not None
    assert pairs[1] is not None
    found = measure_heterogeneity([pairs[0], pairs[1]])
    variance = sum((cell.variance or 0) / cell.n for cell in cells)
    assert found is not None
    assert found.q == pytest.approx((pairs[0].value - pairs[1].value) ** 2 / variance)
    # Satterthwaite's degrees of freedom of a contrast of four means.
    df = variance**2 / sum(((cell.variance or 0) / cell.n) ** 2 / (cell.n - 1) for cell in cells)
    assert found.df_error == pytest.approx(df)


def test_one_estimate_or_one_without_variance_is_not_compared():
    assert measure_heterogeneity([]) is None
    assert measure_heterogeneity([Estimate(1.0, 1.0)]) is None
    assert measure_heterogeneity([Estimate(1.0, 0.0), Estimate(2.0, 1.0)]) is None


def test_a_share_of_nought_or_one_has_a_variance():
    found = estimate_difference_of_shares(10, 10, 0, 10)
    assert found is not None
    assert found.value == pytest.approx(10 / 12)
    assert found.variance == pytest.approx(2 * (11 / 12) * (1 / 12) / 12)
    assert estimate_difference_of_shares(0, 0, 1, 2) is None


@pytest.mark.parametrize("groups", [2, 3, 9])
@pytest.mark.parametrize("shares", [(0.5, 0.3), (0.9, 0.8), (0.1, 0.05), (0.95, 0.5)])
def test_groups_that_do_not_differ_seldom_seem_to_from_ten_units_on(groups, shares):
    draw = np.random.default_rng(groups)
    found = 0
    for _ in range(1500):
        counts = draw.binomial(10, shares, size=(groups, 2))
        estimates = [estimate_difference_of_shares(int(one), 10, int(other), 10) for one, other in counts]
        tested = measure_heterogeneity([each for each in estimates if each])
        found += tested is not None and tested.p < 0.05
    assert found / 1500 < 0.065


@pytest.mark.parametrize("groups", [2, 9])
def test_groups_of_ten_numbers_that_do_not_differ_seldom_seem_to(groups):
    draw = np.random.default_rng(groups)
    found = 0
    for _ in range(1000):
        values = draw.normal(0, (1, 3), size=(10, groups, 2))
        estimates = [
            estimate_difference_of_means(take(list(values[:, group, 0])), take(list(values[:, group, 1])))
            for group in range(groups)
        ]
        tested = measure_heterogeneity([each for each in estimates if each])
        found += tested is not None and tested.p < 0.05
    assert 0.03 < found / 1000 < 0.07


def test_numbers_that_are_all_the_same_have_no_spread_however_they_were_added_up():
    def add_up(value):
        total = Moments()
        for size in (3, 6, 5):
            group = Moments()
            for _ in range(size):
                group.add(value)
            total = total + group
        return total

    assert estimate_difference_of_means(add_up(3.3), add_up(2.4)) is None
    assert measure_welch(add_up(3.3), add_up(2.4)) is None


@pytest.mark.parametrize("smallest", [3e-162, 1e-161, 1e-300])
def test_numbers_too_small_for_squares_have_no_test_and_no_fault(smallest):
    first, second = Moments(), Moments()
    for number in range(12):
        first.add(smallest if number == 3 else 0.0)
        second.add(0.0)
    assert measure_welch(first, second) is None
