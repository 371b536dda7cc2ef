from __future__ import annotations

import pytest

from transcripts.formats.numbers import (
    round_percent,
    write_estimate,
    write_interval,
    write_number,
    write_p,
    write_signed,
)


def test_numbers_have_their_decimals_and_no_negative_nought() -> None:
    assert [write_number(value) for value in (None, 1 / 3, -0.001, -0.5)] == ["–", "0.33", "0.00", "-0.50"]
    assert [write_number(value, 3) for value in (0.5, -0.0001)] == ["0.500", "0.000"]


def test_an_estimate_has_its_interval_in_brackets_where_there_is_one() -> None:
    assert write_estimate(0.25, None) == "0.250"
    assert write_estimate(0.25, (-0.0001, 0.5)) == "0.250 [0.000, 0.500]"
    assert write_estimate(1.5, (1, 2), 1) == "1.5 [1.0, 2.0]"


def test_p_values_below_what_three_decimals_show_are_told_so() -> None:
    assert [write_p(value) for value in (None, 0.5, 0.001, 0.0000021)] == ["–", "0.500", "0.001", "< 0.001"]


def test_a_difference_shows_its_sign_and_nought_has_no_minus() -> None:
    assert [write_signed(value) for value in (0.1234, -0.1234, -0.0001, 0.0, None)] == [
        "+0.123",
        "-0.123",
        "+0.000",
        "+0.000",
        "–",
    ]


def test_an_interval_names_both_ends() -> None:
    assert write_interval([-0.0821, 0.3]) == "-0.082 to 0.300"
    assert write_interval(None) == "–"


@pytest.mark.parametrize(
    ("part", "whole", "percent"),
    [
        (53, 552, 10),
        (29, 30, 97),
        (2, 67, 3),
        (1, 200, 1),
        (1, 201, 0),
        (551, 552, 99),
        (552, 552, 100),
        (0, 7, 0),
        (0, 0, 0),
    ],
)
def test_percentages_are_rounded_and_100_means_all(part: int, whole: int, percent: int) -> None:
    assert round_percent(part, whole) == percent
