"""Paired comparisons against scipy, statsmodels and every toss written out."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from transcripts.statistics.differences import Direction, Paired, compare_family, pair_units
from transcripts.statistics.figures import Mark
from transcripts.statistics.significance import adjust_holm, toss_family

A = (3, 0, 2, 2, 4, 1, 0, 5, 2, 1, 4, 3)
B = (1, 1, 2, 0, 1, 0, 1, 2, 2, 0, 0, 3)


def compare(a, b, **given):
    return compare_units(dict(enumerate(a)), dict(enumerate(b)), **given)


def compare_units(first, second, *, clusters=None, **given):
    [found] = compare_family([pair_units(first, second, clusters)], **given)
    return found


def compare_differences(differences):
    [found] = compare_family([Paired(differences)])
    return found


def toss_all(sums):
    observed = abs(sum(sums))
    tosses = [
        abs(sum(sign * each for sign, each in zip(signs, sums, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    return sum(each >= observed - 1e-9 for each in tosses) / len(tosses)


def test_difference_interval_and_p_are_those_of_scipy_and_of_every_toss():
    found = compare(A, B)
    oracle = stats.ttest_rel(A, B).confidence_interval()
    assert (found.units, found.clusters, found.left_out) == (12, 12, 0)
    assert found.value == pytest.approx(np.mean(A) - np.mean(B))
    assert found.interval == pytest.approx((oracle.low, oracle.high))
    assert found.p == pytest.approx(toss_all(np.subtract(A, B).tolist()))
    assert (found.method, found.mark) == ("sign-flip permutation, exact", Mark.ROUGH)


def test_tosses_of_a_family_are_counted_as_for_each_test_alone():
    """The oracle adds one difference after the other: how often each sum comes, over all tosses."""
    draw = np.random.default_rng(5)
    family = [draw.integers(-size, size + 1, units) for units, size in itertools.product((1, 7, 40, 300), (1, 8, 60))]
    family += [np.zeros(12, np.int64), np.full(20, 3)]
    for (p, is_exact), differences in zip(toss_family(family, [None] * len(family)), family, strict=True):
        reach = int(np.abs(differences).sum())
        chances = np.zeros(2 * reach + 1)
        chances[reach] = 1
        for each in np.abs(differences):
            chances = (np.roll(chances, each) + np.roll(chances, -each)) / 2
        sums = np.arange(-reach, reach + 1)
        assert is_exact
        assert p == pytest.approx(chances[abs(sums) >= abs(differences.sum())].sum(), abs=1e-11)


def test_units_of_a_cluster_are_one_piece_of_evidence():
    clusters = [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9]
    a, b = (*A, 2, 5, 0), (*B, 1, 1, 1)
    found = compare(a, b, clusters=dict(enumerate(clusters)))
    differences = np.subtract(a, b)
    # Intercept alone: its cluster-robust error has the factor C / (C - 1).
    fitted = sm.OLS(differences, np.ones(15)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    assert (found.units, found.clusters, found.mark) == (15, 10, Mark.ROUGH)
    assert found.value == pytest.approx(differences.mean())
    assert found.interval == pytest.approx(tuple(fitted.conf_int()[0]))
    assert found.p == pytest.approx(toss_all([int(differences[np.equal(clusters, each)].sum()) for each in range(10)]))


def test_means_of_repeats_tie_where_their_fractions_do():
    thirds = [Fraction(1, 3), Fraction(2, 3), Fraction(1), Fraction(0), Fraction(1, 3)] * 2
    halves = [0.5, 0.0, 0.5, 1.0, 0.5] * 2
    exact = compare(thirds, [Fraction(each) for each in halves])
    assert exact == compare([float(each) for each in thirds], halves)
    assert exact.p == pytest.approx(toss_all([float(one) - other for one, other in zip(thirds, halves, strict=True)]))


def test_values_that_are_no_simple_fractions_are_compared_too():
    generator = np.random.default_rng(3)
    a, b = generator.normal(0.4, 1, (2, 10))
    found = compare(a.tolist(), b.tolist(), flips=200_000)
    assert found.value == pytest.approx(np.mean(a - b))
    assert found.interval == pytest.approx(tuple(stats.ttest_rel(a, b).confidence_interval()))
    assert found.p == pytest.approx(toss_all((a - b).tolist()), abs=0.005)
    assert found.method == "sign-flip permutation, 200,000 random flips"


def test_unit_of_one_side_is_left_out_and_counted():
    found = compare_units({"x": 1, "y": 2, "z": 3}, {"y": 1, "z": 1, "w": 0})
    assert (found.value, found.units, found.left_out, found.interval) == (1.5, 2, 2, None)
    assert found.p is None


def test_of_fewer_than_ten_clusters_nothing_is_tested_and_a_family_counts_those_that_are():
    nine, ten = compare_family([Paired(np.array([1] * n)) for n in (9, 10)])
    assert (nine.p, nine.p_adjusted, nine.interval, nine.family) == (None, None, (1.0, 1.0), 1)
    assert (ten.p, ten.p_adjusted, ten.family) == (2 / 2**10, 2 / 2**10, 1)


def test_no_common_unit_gives_no_figure():
    found = compare_units({"x": 1}, {"y": 1})
    assert (found.value, found.interval, found.p, found.left_out, found.verdict) == (None, None, None, 2, None)


def test_ties_alone_have_p_one_and_no_verdict_of_equality():
    found = compare(A, A)
    assert (found.value, found.interval, found.p) == (0.0, (0.0, 0.0), 1.0)
    assert (found.is_uniform, found.verdict) == (True, Direction.CANNOT_TELL)


def test_order_of_units_changes_nothing():
    first, second = dict(enumerate(A)), dict(enumerate(B))
    assert compare_units(first, second) == compare_units(dict(reversed(first.items())), dict(reversed(second.items())))


@pytest.mark.parametrize(
    ("differences", "mark", "verdict"),
    [
        ([3] * 9, Mark.FEW, None),
        ([3] * 10, Mark.ROUGH, Direction.HIGHER),
        ([-3] * 20, None, Direction.LOWER),
        ([1, -1] * 15, None, Direction.CANNOT_TELL),
    ],
)
def test_verdict_needs_ten_clusters_and_an_interval_on_one_side(differences, mark, verdict):
    found = compare_differences(np.array(differences))
    assert (found.mark, found.verdict) == (mark, verdict)


def test_verdict_of_one_of_a_family_needs_the_adjusted_p():
    alone = compare_differences(np.array([1] * 9 + [-1] + [0] * 10))
    assert alone.p is not None
    assert 0.01 < alone.p < 0.05
    assert alone.verdict is Direction.HIGHER
    family = compare_family(
        [Paired(np.array([1] * 9 + [-1] + [0] * 10)), pair_units({}, {}), *[Paired(np.array([1, -1] * 10))] * 4]
    )
    assert [each.p_adjusted for each in family] == [
        adjust_holm([alone.p, 1, 1, 1, 1])[0],
        None,
        *[1.0] * 4,
    ]
    assert family[0].verdict is Direction.CANNOT_TELL
