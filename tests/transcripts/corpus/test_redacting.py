"""Redaction entries: what is found, what is left, and which lists cannot work. No database."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.corpus.pure.redacting import (
    BadEntry,
    Entry,
    check_entries,
    count_inside,
    find_places,
    read_lines,
    replace,
    write_lines,
)


def make(*pairs):
    return [Entry(*pair) for pair in pairs]


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        ("Anna said so.", "[P1] said so."),
        ("ANNA, anna; (Anna)", "[P1], [P1]; ([P1])"),
        ("Annas Haus, Hannah", "Annas Haus, Hannah"),
        ("Anna Berg and Anna", "[P2] and [P1]"),
        ("Anna \n Berg", "[P2]"),
        ("An\u200bna and \u202eAnna", "[P1] and \u202e[P1]"),
        ("Jose\u0301 and José", "[P3] and [P3]"),
        ("田中さん", "[P4]さん"),
        ("ask @anna!", "ask [P5]!"),
        ("c. d.", "[P6]"),
        ("", ""),
    ],
)
def test_copy_holds_replacements(text, copy):
    entries = make(
        ("Anna", "[P1]"),
        ("Anna Berg", "[P2]"),
        ("José", "[P3]"),
        ("田中", "[P4]"),
        ("@anna", "[P5]"),
        ("c. d.", "[P6]"),
    )
    check_entries(entries)
    assert replace(text, entries) == copy


def test_places_are_those_of_the_original_text():
    text = "Then Anna Berg and Anna."
    places = find_places(text, make(("Anna", "[P1]"), ("Anna Berg", "[P2]")))
    assert [(text[start:end], entry) for start, end, entry in places] == [("Anna Berg", 1), ("Anna", 0)]


def test_places_inside_longer_words_are_counted_apart():
    entries = make(("Anna", "[P1]"), ("Berg", "[P2]"))
    assert count_inside("Anna, Annas Bergen, Hannah, Berg", entries) == {0: 2, 1: 1}
    assert count_inside("Anna", []) == {}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (make(("", "[P]")), "Entry 1 has no text to replace"),
        (make(("a", "[P]"), ("…", "[P]")), "Entry 2 has no text to replace"),
        (make(("Anna", "")), "Entry 1 has no replacement"),
        (make(("Anna", "***")), "Entry 1 has no replacement"),
        (make(("Anna", "[P1]"), ("ANNA", "[P2]")), "Entries 1 and 2 have the same words"),
        (make(("Anna  Berg", "[P1]"), ("anna berg", "[P2]")), "Entries 1 and 2 have the same words"),
        (make(("Jose\u0301", "[P1]"), ("José", "[P2]")), "Entries 1 and 2 have the same words"),
        (make(("An\u200bna", "[P1]"), ("Anna", "[P2]")), "Entries 1 and 2 have the same words"),
        (make(("Anna", "Berg 1"), ("Berg", "[P2]")), "replacement of entry 1 contains the text of entry 2"),
        (make(("Anna", "not Anna")), "replacement of entry 1 contains the text of entry 1"),
        (make(("Anna Berg", "[P1]"), ("Berg Hansen", "[P2]")), "Entries 1 and 2 can overlap"),
        (make(("Anna", "<b>P</b>")), "Entry 1 has a character that is not allowed"),
        (make(("Anna", "[P\u202e1]")), "Entry 1 has a character that is not allowed"),
        (make(("x" * 201, "[P]")), "longer than 200 characters"),
        (make(("Anna", "p" * 61)), "longer than 60 characters"),
        ([Entry(f"n{number}", "[P]") for number in range(201)], "at most 200 entries"),
    ],
)
def test_list_that_cannot_work_is_refused_by_its_entry(entries, said):
    with pytest.raises(BadEntry, match=said.replace("[", r"\[")):
        check_entries(entries)


def test_entries_that_meet_are_taken_when_the_whole_is_one_too():
    entries = make(("Anna Berg", "[P1]"), ("Berg Hansen", "[P2]"), ("Anna Berg Hansen", "[P3]"))
    check_entries(entries)
    assert replace("Anna Berg Hansen; Berg Hansen", entries) == "[P3]; [P2]"


def test_entry_within_another_is_taken():
    check_entries(make(("Anna", "[P1]"), ("Anna Berg", "[P2]"), ("Berg", "[P3]"), ("x Berg y", "[P4]")))


def test_lines_are_entries_and_back():
    entries = make(("Anna Berg", "[P1]"), ("@anna", "[H 1]"))
    assert read_lines("\nAnna Berg -> [P1]\n@anna→[H 1]\n  \n") == entries
    assert read_lines(write_lines(entries)) == entries


@pytest.mark.parametrize("typed", ["Anna", "Anna -> b -> c"])
def test_line_that_is_no_entry_is_named(typed):
    with pytest.raises(BadEntry, match="Line 2"):
        read_lines(f"x -> y\n{typed}")


WORDS = st.lists(
    st.sampled_from(["Anna", "BERG", "anna", "jose\u0301", "José", "田中", "x", "-", "\u200b"]), max_size=12
)


@given(WORDS, st.sampled_from([" ", "", "\n", "\u200b"]))
def test_nothing_looked_for_is_left_as_a_whole_word(words, between):
    entries = make(("Anna", "[1]"), ("Anna Berg", "[2]"), ("José", "[3]"), ("田中", "[4]"))
    text = between.join(words)
    copy = replace(text, entries)
    assert find_places(copy, entries) == []
    ends = [0, *(edge for place in find_places(text, entries) for edge in place[:2])]
    assert ends == sorted(ends)
