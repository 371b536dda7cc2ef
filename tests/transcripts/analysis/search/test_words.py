from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.analysis.search.pure.words import holds_all, mark, may_hold_all, read_terms

# Letters that fold into others, letters that compose, and what stands between words.
TRICKY = st.text(
    alphabet="aeijsxAEJSKkß \n*_'’\u00e9\u0301\u030cǰſ\u00ad\u200b\u05b8ıÉ\u212aİςΣΐ한\u1112\u1161\u11ab文😀",
    max_size=40,
)


# What folds to the same: accents, points, vowels, dots, width, and what has no width.
ALIKE = [
    ("caf\u00e9", "cafe"),
    ("cafe\u0301", "CAFE"),
    ("\u0130stanbul", "istanbul"),
    ("Diyarbak\u0131r", "DIYARBAKIR"),
    ("\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
    ("\u0643\u064e\u062a\u064e\u0628\u064e", "\u0643\u062a\u0628"),
    ("\u0623\u062d\u0645\u062f", "\u0627\u062d\u0645\u062f"),
    ("\u0643\u0640\u0640\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628"),
    ("\uff26\uff55\uff4c\uff4c", "full"),
    ("cul\u00adture", "culture"),
    ("cul\u200bture", "culture"),
    ("\ufeffculture\u2060", "culture"),
    ("\u0141\u00f3d\u017a", "lodz"),
    ("œuvre", "OEUVRE"),
    ("ﬁne", "fine"),
]


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
            *((one, other) for pair in ALIKE for one, other in (pair, pair[::-1])),
        ],
    )
    def test_a_sentence_is_found(self, text, typed):
        assert holds_all(text, read_terms(typed))

    @pytest.mark.parametrize(
        ("text", "typed"),
        [
            ("First I ask.", '"ask first"'),
            ("One", "one two"),
            ("ask, first", '"ask first"'),
            ("か", "が"),
            ("कि", "का"),
            ("ก", "กิ่งไม้"),
        ],
    )
    def test_a_sentence_is_not_found(self, text, typed):
        assert not holds_all(text, read_terms(typed))

    def test_the_same_word_is_asked_once_and_empty_quotation_marks_are_nothing(self):
        assert [term.typed for term in read_terms('Ask ask "" “” ASK')] == ["Ask"]


class TestMarking:
    def test_what_was_searched_for_is_marked_whole_letters_only(self):
        pieces = mark("Die Straße, e\u0301cole!", read_terms("strasse ecole é"))
        assert [text for text, is_match in pieces if is_match] == ["e", "Straße", "e\u0301cole"]

    @pytest.mark.parametrize(("text", "typed"), [each for pair in ALIKE for each in (pair, pair[::-1])])
    def test_the_mark_is_at_the_right_place(self, text, typed):
        for before, after in (("", ""), ("Vorher ", " nachher"), ("\u200bé ", "\u0130!"), ("(", "x")):
            pieces = mark(before + text + after, read_terms(typed))
            marked = [(piece, is_match) for piece, is_match in pieces if piece]
            assert "".join(piece for piece, _ in marked) == before + text + after
            [found] = [piece for piece, is_match in marked if is_match]
            assert found in {text, text.removeprefix("\ufeff")}

    @given(TRICKY, TRICKY)
    def test_the_pieces_are_the_text_and_something_is_marked_when_it_is_found(self, text, typed):
        terms = read_terms(typed)
        pieces = mark(text, terms)
        assert "".join(piece for piece, _ in pieces) == text
        if terms and holds_all(text, terms):
            assert any(is_match for _, is_match in pieces)

    def test_a_thousand_accents_on_one_letter_take_no_time(self):
        text = "a" + "\u0301" * 20_000 + "b"
        assert mark(text, read_terms("b"))[-1][1]


class TestTheFirstLook:
    @given(TRICKY, TRICKY, TRICKY)
    def test_it_never_refuses_a_text_of_which_some_part_is_found(self, before, text, after):
        for form in ("NFC", "NFD"):
            whole = normalize(form, before) + text + normalize(form, after)
            words = [word for word in text.split() if word.strip("\"'’")]
            for word in words:
                terms = read_terms(word)
                if terms and holds_all(text, terms):
                    assert may_hold_all(whole, terms)
