"""What people type, and the numbers in addresses."""

import pytest
from django.core.exceptions import ValidationError

from transcripts.ui.forms import NumberField
from transcripts.ui.typed_text import MAX_ID, find_number, find_numbers


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), (str(MAX_ID), MAX_ID)])
def test_digits_are_a_number(text, number):
    assert find_number(text) == number


@pytest.mark.parametrize("text", ["", "-1", "1.0", " 1", "٣", "²", "1e3", str(MAX_ID + 1), "9" * 5_000])
def test_anything_else_is_none(text):
    assert find_number(text) is None


def test_a_number_can_have_a_limit_of_its_own():
    assert (find_number("99", most=99), find_number("100", most=99)) == (99, None)


def test_boxes_that_name_no_number_are_left_out():
    assert find_numbers(["3", "x", "", "1"]) == [3, 1]


def test_a_form_takes_no_number_that_a_database_cannot_hold():
    field = NumberField(required=False)
    assert field.clean("") is None
    assert field.clean(str(MAX_ID)) == MAX_ID
    with pytest.raises(ValidationError, match="less than or equal to"):
        field.clean(str(MAX_ID + 1))
