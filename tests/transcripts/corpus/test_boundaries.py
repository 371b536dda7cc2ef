import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.corpus.pure.boundaries import (
    BoundaryEditRefused,
    Extent,
    is_inside_character,
    merge_quotes,
    name_pieces,
    share_quote,
    split_extent,
)

FAMILY = "👩‍👩‍👧"
ZALGO = "a" + "\u0301" * 500
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def whole(text):
    return Extent(0, len(text))


def test_white_space_between_the_pieces_belongs_to_neither():
    text = "It depends.  \n Ask first."
    for at in (11, 12, 13, 14, 15):
        first, second = split_extent(text, whole(text), at)
        assert (text[slice(*first)], text[slice(*second)]) == ("It depends.", "Ask first.")


def test_cut_counts_in_the_turns_text():
    text = "Before. One. Two. After."
    assert split_extent(text, Extent(8, 17), 13) == (Extent(8, 12), Extent(13, 17))


@pytest.mark.parametrize("at", [-1, 0, 8, 17, 18, 99])
def test_edge_is_refused(at):
    with pytest.raises(BoundaryEditRefused, match="edge of the sentence"):
        split_extent("Before. One. Two. After.", Extent(8, 17), at)


@pytest.mark.parametrize(("text", "at"), [("One \u200b", 4), ("\u200d\u200d one", 1), ("One \n\u2060", 4)])
def test_piece_without_anything_to_read_is_refused(text, at):
    with pytest.raises(BoundaryEditRefused, match="no visible text"):
        split_extent(text, whole(text), at)


@pytest.mark.parametrize(
    "character",
    [
        FAMILY,
        ZALGO,
        "é".replace("é", "e\u0301"),
        "👍🏽",
        "🇩🇪",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "❤️",
        "각",
        "\u1112\u1161\u11ab",
        "क्षि",
        "เกี้",
        "\r\n",
    ],
)
def test_no_cut_inside_what_people_see_as_one_character(character):
    text = f"Left{character}right"
    inside = [at for at in range(5, 4 + len(character)) if not is_inside_character(text, at)]
    if character == "เกี้":
        # Two characters: a vowel that is written before its consonant, and the consonant with two marks.
        assert inside == [5]
    else:
        assert inside == []
    assert not is_inside_character(text, 4 + len(character))
    for at in range(5, 4 + len(character)):
        if at not in inside and character != "\r\n":
            with pytest.raises(BoundaryEditRefused, match="inside a combined character"):
                split_extent(text, whole(text), at)


def test_two_flags_are_parted_between_them_only():
    text = "🇩🇪🇫🇷"
    assert [is_inside_character(text, at) for at in (1, 2, 3)] == [True, False, True]


def test_mark_on_a_space_is_not_torn_off():
    with pytest.raises(BoundaryEditRefused, match="inside a combined character"):
        split_extent("One \u0301two", Extent(0, 8), 3)


def test_right_to_left_and_chinese_text_is_cut_like_any_other():
    hebrew = "שלום. מה שלומך?"
    assert [hebrew[slice(*piece)] for piece in split_extent(hebrew, whole(hebrew), 6)] == ["שלום.", "מה שלומך?"]
    chinese = "你好。再见。"
    assert [chinese[slice(*piece)] for piece in split_extent(chinese, whole(chinese), 3)] == ["你好。", "再见。"]


@given(TEXT, TEXT, st.data())
def test_pieces_are_trimmed_parts_in_order_and_nothing_readable_is_lost(before, text, data):
    sentence = text.strip()
    full = f"{before}{sentence} after"
    extent = Extent(len(before), len(before) + len(sentence))
    at = data.draw(st.integers(0, len(full)))
    try:
        first, second = split_extent(full, extent, at)
    except BoundaryEditRefused:
        return
    assert extent.start <= first.start < first.end <= second.start < second.end <= extent.end
    assert full[first.end : second.start].strip() == ""
    for piece in (first, second):
        assert full[slice(*piece)] == full[slice(*piece)].strip() != ""
    assert (first.start, second.end) == extent


def test_pieces_are_told_apart_by_letters():
    assert name_pieces("", taken=[]) == ("a", "b")
    assert name_pieces("a", taken=["b"]) == ("aa", "ab")
    assert name_pieces("", taken=["b"]) == ("a", "c")


def test_sentence_cut_too_often_is_refused_with_a_way_out():
    with pytest.raises(BoundaryEditRefused, match="first split in the middle"):
        name_pieces("a" * 20, taken=[])


def test_quote_goes_where_it_lies():
    assert share_quote(Extent(2, 5), Extent(0, 10)) == Extent(2, 5)
    assert share_quote(Extent(2, 15), Extent(0, 10)) == Extent(2, 10)
    assert share_quote(Extent(2, 15), Extent(11, 20)) == Extent(11, 15)
    assert share_quote(Extent(2, 5), Extent(11, 20)) is None
    assert share_quote(Extent(10, 11), Extent(0, 10)) is None


def test_quotes_that_only_the_break_parted_are_one_again():
    gap = Extent(10, 11)
    assert merge_quotes([Extent(11, 15), Extent(2, 10)], gap) == Extent(2, 15)
    assert merge_quotes([Extent(2, 6), Extent(4, 8)], gap) == Extent(2, 8)
    assert merge_quotes([Extent(2, 9), Extent(11, 15)], gap) is None
    assert merge_quotes([Extent(2, 9)], gap) == Extent(2, 9)
