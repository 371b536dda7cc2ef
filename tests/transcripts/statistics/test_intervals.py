"""Intervals of shares, against other people's programs and published examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint  # type: ignore[import-untyped]

from transcripts.statistics.intervals import newcombe_interval, wilson_interval


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (1, 50), (25, 50), (49, 50), (50, 50), (3, 2457)])
def test_wilson_interval_agrees_with_statsmodels(successes: int, n: int) -> None:
    assert wilson_interval(successes, n) == pytest.approx(proportion_confint(successes, n, method="wilson"), abs=1e-12)


def test_wilson_interval_of_nothing_is_none_and_of_no_share_is_refused() -> None:
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
def test_newcombe_interval_is_the_published_one(
    successes: int, n: int, other: int, other_n: int, low: float, high: float
) -> None:
    assert newcombe_interval(successes, n, other, other_n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 400), st.integers(1, 400), st.data())
def test_newcombe_interval_agrees_with_statsmodels(n: int, other_n: int, data: st.DataObject) -> None:
    successes, other = data.draw(st.integers(0, n)), data.draw(st.integers(0, other_n))
    expected = confint_proportions_2indep(successes, n, other, other_n, compare="diff", method="newcomb")
    assert newcombe_interval(successes, n, other, other_n) == pytest.approx(expected, abs=1e-9)


def test_newcombe_interval_turns_over_with_its_samples() -> None:
    forward, backward = newcombe_interval(45, 60, 30, 60), newcombe_interval(30, 60, 45, 60)
    assert forward is not None
    assert backward == pytest.approx((-forward.high, -forward.low))


@pytest.mark.parametrize("counts", [(0, 0, 1, 2), (1, 2, 0, 0)])
def test_newcombe_interval_without_a_sample_is_none(counts: tuple[int, int, int, int]) -> None:
    assert newcombe_interval(*counts) is None
