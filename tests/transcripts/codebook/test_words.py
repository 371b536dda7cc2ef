"""How one text became another: nothing is lost, nothing invented, and no letter is parted from its marks."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from transcripts.codebook.pure.comparing import IN, OUT, SAME, compare_words, split_words

TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(["a", "b", "the", " ", "\n", ",", "é", "語"]), max_size=40).map(
    "".join
)


@given(TEXTS, TEXTS)
def test_pieces_give_both_texts_back(before, after):
    pieces = compare_words(before, after)
    assert "".join(text for kind, text in pieces if kind != IN) == before
    assert "".join(text for kind, text in pieces if kind != OUT) == after
    assert all(text for _, text in pieces)
    assert all(one[0] != other[0] for one, other in pairwise(pieces))


@given(TEXTS)
def test_same_text_is_one_piece(text):
    assert compare_words(text, text) == (((SAME, text),) if text else ())


@given(TEXTS)
def test_words_are_the_text(text):
    assert "".join(split_words(text)) == text


def test_only_the_changed_words_are_marked():
    pieces = compare_words("Group knowledge both helps and endangers.", "Group knowledge helps and endangers.")
    assert [piece for piece in pieces if piece[0] != SAME] == [(OUT, "both ")]


def test_marks_stay_with_their_letter():
    letter = "e" + "\u0301" * 500
    assert list(split_words(f"a {letter}b 👩‍🔬")) == ["a", " ", f"{letter}b", " ", "👩‍🔬"]


def test_signs_of_scripts_without_spaces_are_compared_one_by_one():
    assert [piece for piece in compare_words("身份是背景", "身份是線索") if piece[0] != SAME] == [
        (OUT, "背景"),
        (IN, "線索"),
    ]


def test_texts_that_repeat_one_word_are_shown_as_replaced():
    before, after = "x " + "a b " * 4_000 + "y", "z " + "b a " * 4_000 + "w"
    assert {kind for kind, _ in compare_words(before, after)} <= {SAME, OUT, IN}
    assert len(compare_words(before, after)) <= 4
