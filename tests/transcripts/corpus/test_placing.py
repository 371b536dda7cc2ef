"""Where words of old sentences lie under corrected breaks, as plain places in a text."""

import pytest

from transcripts.corpus.pure.boundaries import EditedSentence, EditedTurn, Extent


@pytest.fixture
def split():
    """At import 0-20 and 25-40, with the sign of a list between them; the first was cut in two at a blank."""
    return EditedTurn(
        [
            EditedSentence(1, 0, 20, None, 1),
            EditedSentence(2, 25, 40, None, None),
            EditedSentence(3, 0, 9, 1, None),
            EditedSentence(4, 10, 20, 1, None),
        ]
    )


@pytest.fixture
def joined():
    """The same two at import, joined into one with what stood between them."""
    return EditedTurn(
        [EditedSentence(1, 0, 20, None, 1), EditedSentence(2, 25, 40, None, 1), EditedSentence(3, 0, 40, 1, None)]
    )


@pytest.mark.parametrize(
    ("words", "place"),
    [((0, 9), 3), ((2, 5), 3), ((10, 20), 4), ((8, 12), None), ((0, 20), None), ((30, 40), 2), ((21, 24), None)],
)
def test_words_have_a_place_where_one_standing_sentence_holds_all_of_them(split, words, place):
    assert split.find_place(Extent(*words)) == place


def test_words_across_a_break_touch_both_sides_of_it(split):
    assert split.list_touched(Extent(8, 12)) == [3, 4]
    assert split.list_touched(Extent(9, 10)) == []
    assert split.list_touched(Extent(19, 26)) == [4, 2]


def test_a_piece_knows_the_sentence_it_was_a_part_of(split):
    assert split.list_earlier(4) == [1]
    assert split.list_earlier(2) == []
    assert [each.pk for each in split.made] == [3, 4]


def test_a_piece_was_read_with_its_sentence(split):
    assert split.is_covered(3, [1])
    assert not split.is_covered(3, [2])
    assert not split.is_met(3, [2])


def test_a_whole_was_read_where_all_its_parts_were(joined):
    assert joined.is_covered(3, [1, 2])
    assert not joined.is_covered(3, [1])
    assert joined.is_met(3, [1])
    assert not joined.is_met(3, [])


def test_the_blank_at_which_a_sentence_was_cut_is_no_word_of_the_whole_that_was_joined_again():
    turn = EditedTurn(
        [
            EditedSentence(1, 0, 20, None, 1),
            EditedSentence(2, 0, 9, 1, 2),
            EditedSentence(3, 10, 20, 1, 2),
            EditedSentence(4, 0, 20, 2, None),
        ]
    )
    assert turn.is_covered(4, [2, 3])
    assert turn.is_covered(4, [1])
    assert not turn.is_covered(4, [2])
    assert turn.find_place(Extent(0, 20)) == 4
