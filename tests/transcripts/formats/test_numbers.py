from __future__ import annotations

from transcripts.formats.numbers import write_number, write_p


def test_numbers_have_their_decimals_and_no_negative_nought() -> None:
    assert [write_number(value) for value in (None, 1 / 3, -0.001, -0.5)] == ["–", "0.33", "0.00", "-0.50"]
    assert [write_number(value, 3) for value in (0.5, -0.0001)] == ["0.500", "0.000"]


def test_p_values_below_what_three_decimals_show_are_told_so() -> None:
    assert [write_p(value) for value in (None, 0.5, 0.001, 0.0000021)] == ["–", "0.500", "0.001", "< 0.001"]
