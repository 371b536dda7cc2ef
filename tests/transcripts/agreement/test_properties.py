"""What holds of every table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.agreement.cast import make_table
from transcripts.agreement.pure.figures import CodeAgreement
from transcripts.agreement.pure.measuring import measure_agreement
from transcripts.statistics.coefficients import Level, count_coincidences, measure_alpha
from transcripts.statistics.figures import Figure

Rows = list[list[int | None]]
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
def tables(draw: st.DrawFn, most_coders: int = 5) -> Rows:
    units = draw(st.integers(0, 12))
    row = st.lists(st.sampled_from([0, 1, None]), min_size=units, max_size=units)
    return draw(st.lists(row, min_size=2, max_size=most_coders))


def measure(rows: Rows) -> CodeAgreement:
    [code] = measure_agreement(make_table(rows), seed=1, resamples=0).codes
    return code


def get_values(code: CodeAgreement) -> list[float | None]:
    figures: list[Figure] = [getattr(code, name) for name in FIGURES]
    return [figure.value for figure in figures]


def assert_same(here: CodeAgreement, there: CodeAgreement) -> None:
    for one, other in zip(get_values(here), get_values(there), strict=True):
        assert one == other if one is None or other is None else math.isclose(one, other, abs_tol=1e-12)


@given(tables())
def test_every_figure_is_in_its_range_or_none_with_a_reason(rows: Rows) -> None:
    code = measure(rows)
    for name in FIGURES:
        figure: Figure = getattr(code, name)
        if figure.value is None:
            assert figure.reason
        else:
            assert not figure.reason
            assert (0 if name in SHARES else -1) - 1e-9 <= figure.value <= 1 + 1e-9
    error = code.kappa_error.value
    assert error is None or error >= 0


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_coders_and_of_units_changes_nothing(rows: Rows, chance: object) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    order = list(range(len(rows[0])))
    chance.shuffle(order)  # type: ignore[attr-defined]
    assert_same(measure(rows), measure([[row[place] for place in order] for row in shuffled]))


@given(tables())
def test_yes_and_no_change_places_without_changing_what_is_symmetric(rows: Rows) -> None:
    here = measure(rows)
    there = measure([[None if each is None else 1 - each for each in row] for row in rows])
    for name in ("raw", "mean_kappa", "pabak", "ac1", "fleiss", "alpha", "prevalence_index"):
        one, other = getattr(here, name).value, getattr(there, name).value
        assert one == other if one is None else other == pytest.approx(one)


@given(tables(2))
def test_two_coders_change_places_without_changing_kappa(rows: Rows) -> None:
    here, there = measure(rows), measure(rows[::-1])
    assert here.kappa.value == there.kappa.value
    if here.counts and there.counts:
        assert (here.counts["only_a"], here.counts["only_b"]) == (there.counts["only_b"], there.counts["only_a"])


@given(st.lists(st.sampled_from([0, 1]), min_size=2, max_size=12), st.integers(2, 5))
def test_perfect_agreement_with_variation_is_one_everywhere(row: list[int | None], coders: int) -> None:
    code = measure([row] * coders)
    expected = None if len(set(row)) == 1 else 1.0
    assert code.mean_kappa.value == expected
    assert code.fleiss.value == expected
    assert code.alpha.value == expected
    assert (code.raw.value, code.pabak.value, code.ac1.value) == (1.0, 1.0, 1.0)


@given(tables())
def test_unit_that_one_coder_decided_changes_nothing(rows: Rows) -> None:
    longer = [[*row, 1 if number == 0 else None] for number, row in enumerate(rows)]
    assert_same(measure(rows), measure(longer))


@given(tables(), st.sampled_from(list(Level)))
def test_alpha_of_codes_is_alpha_of_numbers(rows: Rows, level: Level) -> None:
    ratings = np.array([[np.nan if each is None else each for each in row] for row in rows], dtype=float)
    general = float(measure_alpha(count_coincidences(ratings), level)[0])
    figure = measure(rows).alpha
    assert math.isnan(general) if figure.value is None else figure.value == pytest.approx(general)


NUMBERS = st.one_of(st.none(), st.integers(0, 6))


@given(
    st.lists(st.lists(NUMBERS, min_size=6, max_size=6), min_size=2, max_size=4), st.integers(1, 9), st.integers(0, 9)
)
def test_interval_alpha_does_not_mind_another_unit_or_zero(rows: Rows, factor: int, shift: int) -> None:
    ratings = np.array([[np.nan if each is None else each for each in row] for row in rows], dtype=float)
    for level, moved in ((Level.INTERVAL, ratings * factor + shift), (Level.RATIO, ratings * factor)):
        here = float(measure_alpha(count_coincidences(ratings), level)[0])
        there = float(measure_alpha(count_coincidences(moved), level)[0])
        assert (math.isnan(here) and math.isnan(there)) or here == pytest.approx(there)
