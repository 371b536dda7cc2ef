"""Shares over threads: the unit of evidence is the thread."""

import numpy as np
import pytest

from transcripts.negotiation.pure.records import Certainty, add_units, bound_difference, bound_share, sum_up
from transcripts.statistics.figures import newcombe_interval, wilson_interval


def make_tally(*counts):
    return {f"t{number}": each for number, each in enumerate(counts)}


def test_nothing_is_no_share():
    assert (sum_up({}).value, bound_share({})) == (None, Certainty(None, 0, None))
    assert bound_share(make_tally((0, 0), (0, 0))) == Certainty(None, 0, None)


@pytest.mark.parametrize(
    ("threads", "mark"), [(1, "few"), (2, "few"), (3, "few"), (9, "few"), (10, "rough"), (20, None)]
)
def test_few_is_counted_in_threads_and_below_three_there_is_no_interval(threads, mark):
    found = bound_share(make_tally(*[(3, 4)] * (threads - 1), (1, 5)))
    assert (found.threads, found.mark) == (threads, mark)
    assert (found.ci is None) is (threads < 3)


def test_one_unit_a_thread_has_wilsons_and_newcombes_interval():
    first, second = make_tally(*[(1, 1)] * 15, *[(0, 1)] * 8), {f"u{n}": (int(n < 6), 1) for n in range(22)}
    assert bound_share(first).ci == list(wilson_interval(15, 23) or ())
    assert bound_difference(first, second).ci == pytest.approx(list(newcombe_interval(15, 23, 6, 22) or ()))
    assert bound_difference(first, second).threads == 22


def test_units_that_are_all_alike_say_as_much_as_one_a_thread():
    assert bound_share(make_tally((4, 4), (3, 3), (9, 9), (1, 1))).ci == bound_share(make_tally(*[(2, 2)] * 4)).ci
    low, high = bound_share(make_tally((0, 4), (0, 3), (0, 9))).ci or (1, 1)
    assert low == pytest.approx(0, abs=1e-12)
    assert high > 0.5
    apart = bound_difference(make_tally(*[(5, 5)] * 4), make_tally(*[(0, 5)] * 4))
    assert apart.ci == bound_difference(make_tally(*[(9, 9)] * 4), make_tally(*[(0, 2)] * 4)).ci


def test_repeating_the_units_of_each_thread_narrows_no_interval():
    once = make_tally(*[(1, 2), (0, 2), (2, 2), (1, 2)] * 5)
    often = {thread: (30 * part, 30 * n) for thread, (part, n) in once.items()}
    assert bound_share(often).ci == pytest.approx(bound_share(once).ci)
    other = {thread: (n - part, n) for thread, (part, n) in once.items()}
    other_often = {thread: (30 * part, 30 * n) for thread, (part, n) in other.items()}
    assert bound_difference(often, other_often).ci == pytest.approx(bound_difference(once, other).ci)


@pytest.mark.parametrize(("threads", "units", "alike", "least"), [(40, 4, 1 / 3, 0.9), (40, 6, 1 / 2, 0.9)])
def test_intervals_of_features_that_depend_on_one_another_cover_the_share(threads, units, alike, least):
    """With 4 features a thread that correlate by 1/3, Wilson's interval of features covers 82 times in 100; with 6 and 1/2, 69."""
    chance, share, times = np.random.default_rng(30), 0.7, 150
    size = 1 / alike - 1
    covered = naive = 0
    for _ in range(times):
        counts = chance.binomial(units, chance.beta(share * size, (1 - share) * size, threads))
        low, high = bound_share(make_tally(*((int(part), units) for part in counts))).ci or (1, 0)
        covered += low <= share <= high
        wilson = wilson_interval(int(counts.sum()), threads * units)
        naive += wilson is not None and wilson.low <= share <= wilson.high
    assert covered / times >= least > 0.85 > naive / times


def test_units_are_added_up_by_thread():
    assert add_units([("a", True), ("b", False), ("a", False)]) == {"a": (1, 2), "b": (0, 1)}
