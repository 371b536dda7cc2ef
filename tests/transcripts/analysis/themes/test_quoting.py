"""Edited quotations against their source."""

from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from transcripts.analysis.themes.pure import Unfaithful, check_quotation

SOURCE = "I would ask first, because background can shape an answer, though it never settles it."
WORDS = st.lists(st.text("abcdefgäßçжщ", min_size=1, max_size=7), min_size=4, max_size=25)


@pytest.mark.parametrize(
    "edited",
    [
        SOURCE,
        "I would ask first, […] though it never settles it.",
        "I would ask first, [...] it never settles it.",
        "I would ask first … it never settles it",
        "… background can shape an answer ...",
        "[The model] would ask first",
        "[B]ackground can shape an answer",
        "background [of a person] can shape an answer",
        "it never settle[d] it",
        "I would ask first […].",
        "  I would   ask\nfirst  ",
    ],
)
def test_marked_edits_are_faithful(edited):
    check_quotation(edited, SOURCE)


@pytest.mark.parametrize(
    ("edited", "words"),
    [
        ("I would always ask first", ["always"]),
        ("I should ask never", ["should"]),
        ("Background can shape an answer", ["Background"]),
        ("I would ask firs", ["firs"]),
        ("I would tell [the reader] first", ["tell"]),
        ("it sometimes settles everything", ["sometimes", "everything"]),
    ],
)
def test_words_of_ones_own_are_named(edited, words):
    with pytest.raises(Unfaithful, match="Not in the sentence") as caught:
        check_quotation(edited, SOURCE)
    assert caught.value.words == words
    assert all(f"“{word}”" in str(caught.value) for word in words)


@pytest.mark.parametrize(
    "edited", ["I would ask because background can shape", "it never settles it […] I would ask first", "first ask"]
)
def test_words_left_out_or_moved_without_a_mark_are_refused(edited):
    with pytest.raises(Unfaithful, match="does not continue this way"):
        check_quotation(edited, SOURCE)


@pytest.mark.parametrize("edited", ["[…]", "[all of it is ours]", "… …", "", "—"])
def test_a_quotation_keeps_something_of_its_source(edited):
    with pytest.raises(Unfaithful, match="Nothing of the original sentence is left"):
        check_quotation(edited, SOURCE)


def test_an_ellipsis_may_not_cut_a_word_into_another():
    with pytest.raises(Unfaithful, match="Not in the sentence: “can”"):
        check_quotation("It can… help", "It cannot really help")


def test_marks_of_the_source_itself_are_kept():
    source = "Well … it depends [1] on **who** asks, she said: “don’t assume”."
    check_quotation(source, source)
    check_quotation("Well … it depends [1] on who asks", source)
    check_quotation('she said: "don\'t assume"', source)
    check_quotation("it depends […] on `who` asks", source)


def test_scripts_without_spaces_are_quoted_in_part():
    check_quotation("背景可以[…]答案", "我认为背景可以影响答案。")
    with pytest.raises(Unfaithful, match="Not in the sentence: “问题”"):
        check_quotation("问题", "我认为背景可以影响答案。")


@given(WORDS, st.data())
def test_any_parts_in_order_with_marks_between_are_faithful(words, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(words)), min_size=2, max_size=6)))
    parts = [" ".join(words[start:end]) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    mark = data.draw(st.sampled_from([" […] ", " [...] ", " … ", " [so to say] "]))
    check_quotation(mark.join(parts), " ".join(words))


@given(WORDS, st.integers(0, 30), st.text("xyz", min_size=1, max_size=5))
def test_a_foreign_word_is_found_wherever_it_is_put(words, place, foreign):
    edited = [*words[:place], foreign, *words[place:]]
    with pytest.raises(Unfaithful) as caught:
        check_quotation(" ".join(edited), " ".join(words))
    assert caught.value.words == [foreign]


@given(WORDS, st.data())
def test_a_word_left_out_in_the_middle_needs_a_mark(words, data):
    assume(len(set(words)) == len(words))
    gone = data.draw(st.integers(1, len(words) - 2))
    with pytest.raises(Unfaithful):
        check_quotation(" ".join(words[:gone] + words[gone + 1 :]), " ".join(words))
    check_quotation(" ".join([*words[:gone], "[…]", *words[gone + 1 :]]), " ".join(words))


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_get_an_answer(edited, source):
    with suppress(Unfaithful):
        check_quotation(edited, source)
