"""How a passage and its readings are shown, without a database."""

import pytest

from transcripts.accounts.models import User
from transcripts.agreement.queries import NEAR_CHARACTERS, Item
from transcripts.corpus.models import Sentence

"""A code, its level and its note."""


def make_item(readings=None, *, before="", after=""):
    shown = [
        {
            "coder": User(pk=number, username=name),
            "letter": "ABCDE"[number],
            "codes": [
                {"code": None, "identifier": code, "name": code, "level": level, "enactment": "", "note": note}
                for code, level, note in codes
            ],
            "is_own": name == "anna",
        }
        for number, (name, codes) in enumerate((readings or {}).items())
    ]
    return Item(Sentence(), "sentence", "", before, "The words.", after, shown, "")


def test_equal_readings_are_listed_once_with_all_who_made_them():
    item = make_item(
        {"zoe": [("balance", "semantic", "")], "ben": [], "anna": [("balance", "semantic", "")], "carl": []}
    )
    assert [each["names"] for each in item.lettered_readings] == [
        [("A", False), ("C", True)],
        [("B", False), ("D", False)],
    ]
    assert [each["names"] for each in item.named_readings] == [
        [("anna", True), ("zoe", False)],
        [("ben", False), ("carl", False)],
    ]
    assert [each["coder"].pk for each in item.lettered_readings] == [0, 1]


def test_levels_and_notes_of_equal_readings_keep_who_gave_them():
    item = make_item(
        {
            "zoe": [("balance", "latent", "Between the lines.")],
            "ben": [("balance", "semantic", "")],
            "anna": [("balance", "latent", "Hm.")],
        }
    )
    [reading] = item.lettered_readings
    [put] = reading["codes"]
    assert put["forms"] == [(("latent", ""), ["A", "C"]), (("semantic", ""), ["B"])]
    assert put["notes"] == [("Between the lines.", ["A"]), ("Hm.", ["C"])]


def test_readings_that_share_only_some_codes_stay_apart():
    item = make_item({"zoe": [("a", "", "")], "ben": [("a", "", ""), ("b", "", "")]})
    assert [each["is_shared"] for each in item.lettered_readings] == [False, False]


@pytest.mark.parametrize(
    ("before", "after", "is_cut"),
    [
        ("", "", False),
        ("Short. ", " Short.", False),
        ("word " * 100, "", True),
        ("", " word" * 100, True),
    ],
)
def test_so_much_of_the_turn_is_in_view_that_whole_words_fit(before, after, is_cut):
    item = make_item(before=before, after=after)
    assert item.is_turn_cut == is_cut
    assert len(item.near_before) <= NEAR_CHARACTERS + 2
    assert len(item.near_after) <= NEAR_CHARACTERS + 2
    for shown, whole in ((item.near_before, before), (item.near_after, after)):
        assert set(shown.replace("…", "").split()) <= set(whole.split())
        assert ("…" in shown) == (len(whole) > NEAR_CHARACTERS)
