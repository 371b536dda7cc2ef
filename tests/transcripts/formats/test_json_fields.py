"""Fields of JSON objects: what is taken, and what is said of what cannot be."""

import pytest

from transcripts.formats.json_lines import (
    WrongField,
    read_each,
    take_choice,
    take_name,
    take_text,
    take_truth,
    take_whole,
    take_words,
)
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import StrictTable


def test_the_first_key_that_is_there_is_taken():
    row = {"old": None, "new": "x", "n": 0, "yes": True, "id": 7}
    assert take_text(row, "old", "new", "n") == "x"
    assert take_text(row, "old", default="-") == "-"
    assert (take_whole(row, "n"), take_whole(row, "old", default=3)) == (0, 3)
    assert (take_name(row, "id"), take_name(row, "new")) == ("7", "x")
    assert (take_truth(row, "yes"), take_truth(row, "old")) == (True, None)
    assert take_choice(row, "new", ("x", "y")) == "x"
    assert (take_words({"a": ""}, "a", "a text"), take_words({"a": None}, "a", "a text")) == ("", None)


def test_the_rows_of_a_table_are_read_as_objects_are_and_a_wrong_one_is_named_with_its_line():
    rows = StrictTable([b"unit,code\n", b"u1,x\n", b"\n", b",y\n"], name="labels.csv").read_objects()
    read = read_each(rows, "labels.csv", lambda row: take_text(row, "unit"))
    assert next(read) == (2, "u1")
    with pytest.raises(ReadError, match=r"labels\.csv, line 4: found an empty text for “unit”; expected a text"):
        next(read)


@pytest.mark.parametrize(
    ("take", "row", "found", "expected"),
    [
        (lambda row: take_text(row, "a", "b"), {}, "an object without “a” or “b”", "a text"),
        (lambda row: take_text(row, "a"), {"record": "turn"}, "a turn without “a”", "a text"),
        (lambda row: take_text(row, "a"), {"record": "You people are all alike."}, "an object without “a”", "a text"),
        (lambda row: take_text(row, "a"), {"a": ""}, "an empty text for “a”", "a text"),
        (lambda row: take_text(row, "a", default=""), {"a": []}, "a list for “a”", "a text"),
        (lambda row: take_text(row, "a"), {"a": " "}, "a text of 1 character for “a”", "a text"),
        (lambda row: take_words(row, "a", "a text or null"), {"a": 3}, "3 for “a”", "a text or null"),
        (lambda row: take_choice(row, "a", ("x", "y")), {"a": "Z-1"}, '"Z-1" for “a”', "x or y"),
        (lambda row: take_choice(row, "a", ("x", "y")), {"a": "Her own"}, "a text of 7 characters for “a”", "x or y"),
        (lambda row: take_whole(row, "a", lowest=1), {"a": True}, "true or false for “a”", "a whole number from 1 up"),
        (lambda row: take_whole(row, "a", default=1), {"a": 1.5}, "1.5 for “a”", "a whole number from 0 up"),
        (lambda row: take_name(row, "a"), {"a": -1}, "-1 for “a”", "a text or a whole number"),
        (lambda row: take_name(row, "a"), {"a": " "}, "a text of 1 character for “a”", "a text or a whole number"),
        (lambda row: take_truth(row, "a"), {"a": 1}, "1 for “a”", "true, false or null"),
        (lambda row: take_choice(row, "a", ("x", "y", "z")), {"a": ["x"]}, "a list for “a”", "x, y or z"),
    ],
)
def test_what_is_something_else_is_named(take, row, found, expected):
    with pytest.raises(WrongField) as wrong:
        take(row)
    assert wrong.value.args == (found, expected)
