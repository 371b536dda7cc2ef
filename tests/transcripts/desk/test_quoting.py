"""Places in a text as a browser counts them and as they are stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.corpus.pure.boundaries import Extent
from transcripts.desk.forms import WrongSpan, find_span, find_words

# What a transcript may hold: anything but halves of pairs, which no stored text has. Line breaks of two characters,
# which a page shows as one, are tried below.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=40)


def count_units(text):
    """How long a browser says the text is."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(before=TEXTS, quote=TEXTS.filter(bool), after=TEXTS)
def test_what_a_browser_marks_is_what_is_quoted(before, quote, after):
    text = before + quote + after
    first = count_units(before)
    start, end = find_span(text, first, first + count_units(quote))
    assert text[start:end] == quote
    assert start == len(before)


@pytest.mark.parametrize(
    ("text", "first", "last", "quote"),
    [
        ("Say 👩‍👩‍👧 aloud", 4, 12, "👩‍👩‍👧"),
        ("我会先问。你呢？", 2, 4, "先问"),
        ("שלום עולם", 5, 9, "עולם"),
        ("a" + "\u0301" * 500 + " b", 0, 501, "a" + "\u0301" * 500),
    ],
)
def test_scripts(text, first, last, quote):
    start, end = find_span(text, first, last)
    assert text[start:end] == quote


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [(0, 1, "splits a character"), (1, 2, "splits a character"), (2, 2, "empty"), (0, 9, "ends after")],
)
def test_wrong_places_are_told(first, last, words):
    with pytest.raises(WrongSpan, match=words):
        find_span("👋 hi", first, last)


def test_typed_words_are_found_where_they_stand_once():
    assert find_words("It depends on whom you ask.", " depends on ") == Extent(3, 13)


@pytest.mark.parametrize(("words", "told"), [("never", "not in the sentence"), ("a", "more than once")])
def test_typed_words_that_cannot_be_found_are_told(words, told):
    with pytest.raises(WrongSpan, match=told):
        find_words("a and a", words)


def test_line_break_of_two_characters_counts_once_on_a_page():
    text = "👋 One.\r\nTwo.\n\r\nThree"
    shown = text.replace("\r\n", "\n")
    for words in ("One.", "Two.", "Three"):
        first = count_units(shown[: shown.index(words)])
        start, end = find_span(text, first, first + len(words))
        assert text[start:end] == words
