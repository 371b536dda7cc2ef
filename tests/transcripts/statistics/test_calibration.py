"""Calibration, held against the formulas in numpy and against simulation."""

import numpy as np
import pytest

from transcripts.statistics.figures import MIN_STATED, TOO_FEW, Stated, measure_calibration, wilson_interval


def make_stated(seed, n, clusters=10**6):
    """Perfectly calibrated: what is stated is how often it comes true."""
    draws = np.random.default_rng(seed)
    return [Stated(place % clusters, float(p), bool(draws.random() < p)) for place, p in enumerate(draws.random(n))]


def test_the_figures_are_those_of_the_formulas():
    stated = [*make_stated(1, 397), Stated("a", 0.0, True), Stated("b", 1.0, False), Stated("c", 0.3, True)]
    p, y = np.array([each.probability for each in stated]), np.array([each.came_true for each in stated], dtype=float)
    bins = np.minimum(np.digitize(p, np.arange(0, 10) / 10) - 1, 9)
    errors = [abs(p[bins == each].mean() - y[bins == each].mean()) * (bins == each).mean() for each in range(10)]

    found = measure_calibration(stated)

    assert found.brier == pytest.approx(((p - y) ** 2).mean())
    assert found.error == pytest.approx(sum(errors))
    assert [each.n for each in found.bins] == [int((bins == each).sum()) for each in range(10)]
    assert [each.stated for each in found.bins] == pytest.approx([p[bins == each].mean() for each in range(10)])
    for place, each in enumerate(found.bins):
        true = y[bins == place].sum()
        assert each.share == pytest.approx(true / each.n)
        assert each.interval == pytest.approx(wilson_interval(int(true), each.n))


def test_below_a_hundred_there_is_no_error_and_no_diagram():
    few, enough = (measure_calibration(make_stated(2, n)) for n in (MIN_STATED - 1, MIN_STATED))

    assert (few.n, few.error, few.bins) == (99, None, ())
    assert few.brier is not None
    assert enough.error is not None
    assert len(enough.bins) == 10


def test_nothing_stated_has_no_figures():
    assert measure_calibration([]) == (0, 0, None, None, ())


def test_an_empty_bin_has_no_share():
    found = measure_calibration([Stated(place, 0.95, True) for place in range(100)])

    assert found.bins[0][2:] == (0, 0, None, None, None)
    assert found.error == pytest.approx(0.05)


def test_repeats_narrow_no_interval():
    once = [Stated(case, 0.55, case % 3 == 0) for case in range(100)]
    often = measure_calibration([each for each in once for _ in range(7)]).bins[5]

    assert (often.n, often.clusters) == (700, 100)
    assert often.interval == pytest.approx(measure_calibration(once).bins[5].interval)


def test_a_bin_of_two_cases_has_no_interval():
    first = [Stated(case, 0.05, False) for case in range(2, 100)]
    [*_, last] = measure_calibration([*first, *(Stated(place % 2, 0.95, place > 2) for place in range(9))]).bins
    assert (last.clusters, last.interval) == (2, None)


@pytest.mark.parametrize("wrong", [-0.01, 1.01, float("nan")])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(ValueError, match="not a probability"):
        measure_calibration([Stated(1, wrong, True)])


@pytest.mark.parametrize(("n", "expected"), [(10, 0.26), (20, 0.21), (100, 0.10)])
def test_the_sentence_says_what_chance_gives(n, expected):
    draws = np.random.default_rng(4)
    found = []
    for _ in range(3000):
        p = draws.random(n)
        off = (p - (draws.random(n) < p)) / n
        found.append(np.abs(np.bincount((p * 10).astype(int), off, minlength=10)).sum())
    assert np.mean(found) == pytest.approx(expected, abs=0.01)
    assert f"{expected:.2f} with {n}" in TOO_FEW
