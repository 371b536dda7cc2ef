from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.retrieval.pure.words import holds_all, mark, may_hold_all, read_terms

# Letters that fold into others, letters that compose, and what stands between words.
TRICKY = st.text(alphabet="aeijsxAEJSKkß \n*_'’\u00e9\u0301\u030cǰſ\u212aİςΣΐ한\u1112\u1161\u11ab文😀", max_size=40)


class TestWhatCountsAsTheSame:
    @pytest.mark.parametrize(
        ("text", "typed"),
        [
            ("Subcultures differ.", "culture"),
            ("STRASSE", "straße"),
            ("Straße", "STRASSE"),
            ("e\u0301cole", "École"),
            ("École", "e\u0301cole"),
            ("I don’t know.", "don't"),
            ("ΟΔΟΣ", "οδος"),
            ("社会文化背景", "文化"),
            ("\u1112\u1161\u11ab국", "한국"),
            ("One, two", "two one"),
            ("I would **ask** first.", '"ask first"'),
            ("I would ask\nfirst.", "“ask first”"),
        ],
    )
    def test_a_sentence_is_found(self, text: str, typed: str) -> None:
        assert holds_all(text, read_terms(typed))

    @pytest.mark.parametrize(
        ("text", "typed"),
        [
            ("First I ask.", '"ask first"'),
            ("One", "one two"),
            ("ask, first", '"ask first"'),
            ("i", "ı"),
        ],
    )
    def test_a_sentence_is_not_found(self, text: str, typed: str) -> None:
        assert not holds_all(text, read_terms(typed))

    def test_the_same_word_is_asked_once_and_empty_quotation_marks_are_nothing(self) -> None:
        assert [term.typed for term in read_terms('Ask ask "" “” ASK')] == ["Ask"]


class TestMarking:
    def test_what_was_searched_for_is_marked_whole_letters_only(self) -> None:
        pieces = mark("Die Straße, e\u0301cole!", read_terms("strasse ecole é"))
        assert [text for text, is_match in pieces if is_match] == ["Straße", "e\u0301"]

    @given(TRICKY, TRICKY)
    def test_the_pieces_are_the_text_and_something_is_marked_when_it_is_found(self, text: str, typed: str) -> None:
        terms = read_terms(typed)
        pieces = mark(text, terms)
        assert "".join(piece for piece, _ in pieces) == text
        if terms and holds_all(text, terms):
            assert any(is_match for _, is_match in pieces)

    def test_a_thousand_accents_on_one_letter_take_no_time(self) -> None:
        text = "a" + "\u0301" * 20_000 + "b"
        assert mark(text, read_terms("b"))[-1][1]


class TestTheFirstLook:
    @given(TRICKY, TRICKY, TRICKY)
    def test_it_never_refuses_a_text_of_which_some_part_is_found(self, before: str, text: str, after: str) -> None:
        for form in ("NFC", "NFD"):
            whole = normalize(form, before) + text + normalize(form, after)
            words = [word for word in text.split() if word.strip("\"'’")]
            for word in words:
                terms = read_terms(word)
                if terms and holds_all(text, terms):
                    assert may_hold_all(whole, terms)
