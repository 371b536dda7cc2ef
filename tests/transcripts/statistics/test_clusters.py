"""Shares over clusters: against statsmodels, by hand, and how often their intervals contain the truth."""

import numpy as np
import pytest
import statsmodels.api as sm

from transcripts.statistics.figures import Mark, Reason, wilson_interval
from transcripts.statistics.resampling import average_clusters, correlate_shares, subtract_shares


def test_the_variance_over_clusters_is_that_of_statsmodels():
    parts, units = [3, 0, 5, 2, 1], [4, 1, 5, 6, 3]
    values = [each for part, n in zip(parts, units, strict=True) for each in [1.0] * part + [0.0] * (n - part)]
    groups = np.repeat(np.arange(5), units)
    fitted = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "df_correction": True}
    )
    found = average_clusters(parts, units)
    assert found is not None
    assert found.value == pytest.approx(11 / 19)
    assert (found.n, found.clusters) == (19, 5)
    # statsmodels corrects for the number of units, too.
    assert found.variance == pytest.approx(float(fitted.bse[0]) ** 2, rel=1e-9)


def test_the_correlation_of_two_shares_of_the_same_clusters_is_that_of_statsmodels():
    columns = [3, 0, 5, 2, 1, 0], [4, 1, 5, 6, 3, 0], [1, 2, 0, 0, 3, 2], [2, 2, 3, 0, 4, 2]
    values = []
    sides = []
    groups = []
    for place in (0, 2):
        for cluster, (part, n) in enumerate(zip(columns[place], columns[place + 1], strict=True)):
            values += [1.0] * part + [0.0] * (n - part)
            sides += [[int(place == 0), int(place == 2)]] * n
            groups += [cluster] * n
    fitted = sm.OLS(values, np.array(sides)).fit(cov_type="cluster", cov_kwds={"groups": np.array(groups)})
    covariances = fitted.cov_params()
    expected = covariances[0][1] / np.sqrt(covariances[0][0] * covariances[1][1])
    found = correlate_shares(*columns)
    assert found == pytest.approx(float(expected), rel=1e-9)
    assert correlate_shares([0, 0], [0, 0], [1, 0], [1, 1]) == correlate_shares([2, 1], [2, 1], [1, 0], [1, 1]) == 0


def test_shares_that_go_together_narrow_the_interval_of_their_difference_from_ten_clusters_on():
    for times, is_narrower in ((1, False), (2, True)):
        share = average_clusters([3, 0, 5, 2, 1] * times, [4, 1, 5, 6, 3] * times)
        apart, together = (subtract_shares(share, share, each).interval for each in (0, 0.5))
        assert apart is not None
        assert together is not None
        assert (apart.low < together.low < together.high < apart.high) is is_narrower


def test_many_clusters_of_one_unit_give_nearly_wilsons_interval():
    found = average_clusters([1] * 300 + [0] * 700, [1] * 1_000)
    assert found is not None
    assert found.interval == pytest.approx(wilson_interval(300, 1_000), abs=2e-4)


@pytest.mark.parametrize("clusters", [1, 2])
def test_one_cluster_and_two_have_a_value_and_say_why_there_is_no_interval(clusters):
    found = average_clusters([2] * clusters, [3] * clusters)
    assert found is not None
    figure = found.figure
    assert figure.value == pytest.approx(2 / 3)
    assert (figure.interval, figure.clusters) == (None, clusters)
    assert (figure.no_interval, figure.mark) == (Reason.FEW_CLUSTERS, Mark.FEW)


def test_no_unit_gives_no_share_and_empty_clusters_do_not_count():
    assert average_clusters([], []) is None
    assert average_clusters([0, 0], [0, 0]) is None
    found = average_clusters([1, 0, 2, 3], [2, 0, 2, 4])
    assert found is not None
    assert found.clusters == 3


def test_units_that_are_all_alike_count_as_one_for_each_cluster():
    found = average_clusters([9] * 12, [9] * 12)
    assert found is not None
    assert found.interval is not None
    assert (found.effective, found.interval.high) == (12.0, 1.0)
    assert found.interval.low < 0.8


def test_a_difference_with_a_missing_side_is_not_defined():
    figure = subtract_shares(average_clusters([1], [2]), None)
    assert (figure.value, figure.reason, figure.mark) == (None, Reason.ONE_SIDE, None)


@pytest.mark.full
@pytest.mark.parametrize("clusters", [3, 5, 10, 20, 50])
def test_equal_shares_are_seldom_found_to_differ(clusters):
    chance = np.random.default_rng(clusters)
    missed = 0
    for _ in range(1_000):
        interval = subtract_shares(draw(chance, clusters, 0.3, 0.4), draw(chance, clusters, 0.3, 0.4)).interval
        missed += interval is not None and not interval.low <= 0 <= interval.high
    assert missed / 1_000 <= 0.075


def draw(chance, clusters, correlation, share):
    """A sample of clusters of 1 to 7 units, whose shares vary as a beta distribution: two units of a cluster correlate so much."""
    units = chance.integers(1, 8, clusters)
    spread = 1 / correlation - 1
    own = chance.beta(share * spread, (1 - share) * spread, clusters)
    return average_clusters(chance.binomial(units, own), units)
