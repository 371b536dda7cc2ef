"""GUIDs, colours, times and characters of REFI-QDA files."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transcripts.formats.guarded_input import escape, unescape
from transcripts.formats.refi import make_guid, read_color, read_guid, read_moment, read_truth, show_moment

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
tricky = st.text(st.sampled_from("_x0015FE\x01\x1f\ufffe"), max_size=25)


@given(storable | tricky)
@example("_x0001_")
@example("_x0001\x01")
@example("\x01_x0002_")
@example("_x005F_x0001_")
def test_every_storable_text_comes_back_through_the_escape(text):
    escaped = escape(text)

    assert unescape(escaped) == text
    assert not any(character < " " and character not in "\t\n\r" for character in escaped)


def test_a_text_without_such_characters_is_left_as_it_is():
    text = "_x_ snake_x00_case\r\n\t\x7f\x85\u2028\U0001f600"

    assert escape(text) == text


@pytest.mark.parametrize("text", ["_xD800_", "_x0000_", "_x0041_", "_x000d_"])
def test_escapes_that_we_never_write_are_left_as_they_are(text):
    assert unescape(text) == text


@pytest.mark.parametrize(("text", "named"), [("a\0b", "U+0000 in “ab”"), ("a\ud800", "U+D800 in “a”")])
def test_what_nothing_can_hold_is_refused(text, named):
    with pytest.raises(ValueError, match=r"the character U\+") as caught:
        escape(text)

    assert named in str(caught.value)


def test_guids_are_the_same_for_the_same_names_and_only_for_these():
    assert make_guid("code", "study", "a") == make_guid("code", "study", "a")
    assert len({make_guid("code", "a", "b"), make_guid("code", "a b"), make_guid("code", "b", "a")}) == 3
    assert read_guid(make_guid("code", "é")) == make_guid("code", "é")


def test_the_guid_of_a_code_never_changes_between_releases():
    assert make_guid("code", "culture", "theme.balance") == "d8aaf341-2662-5ae9-bfed-40886b6fdd0f"


@pytest.mark.parametrize(
    ("text", "guid"),
    [
        ("{0D62985D-B147-5D01-A9B5-CAE5DCD98342}", "0d62985d-b147-5d01-a9b5-cae5dcd98342"),
        ("0d62985d-b147-5d01-a9b5-cae5dcd98342\n", "0d62985d-b147-5d01-a9b5-cae5dcd98342"),
        ("0d62985db1475d01a9b5cae5dcd98342", None),
        ("", None),
        (None, None),
    ],
)
def test_guids_are_read_in_either_case_with_and_without_braces(text, guid):
    assert read_guid(text) == guid


@pytest.mark.parametrize(("text", "color"), [("#6D91C6", "#6d91c6"), ("#fA0", "#ffaa00"), ("red", None), ("#12", None)])
def test_colours_are_read_in_both_forms(text, color):
    assert read_color(text) == color


def test_truth_is_read_in_both_forms():
    assert [read_truth(text) for text in ("true", "1", "false", " 0 ", "yes")] == [True, True, False, False, None]


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_moment_comes_back(moment):
    assert read_moment(show_moment(moment)) == moment


def test_moments_are_told_in_utc():
    moment = datetime(2025, 3, 1, 12, 0, 0, 250_000, tzinfo=timezone(timedelta(hours=-5)))

    assert show_moment(moment) == "2025-03-01T17:00:00.250000Z"
    assert read_moment("2018-03-27T17:46:39") == datetime(2018, 3, 27, 17, 46, 39, tzinfo=UTC)
    assert read_moment("2018-03-27T17:46:39.1234567+02:00") == datetime(2018, 3, 27, 15, 46, 39, 123_456, tzinfo=UTC)
    assert [read_moment(text) for text in ("yesterday", "0001-01-01T00:00:00+14:00", "2018-02-30")] == [None] * 3
    with pytest.raises(ValueError, match="no time zone"):
        show_moment(datetime(2025, 3, 1))  # noqa: DTZ001
