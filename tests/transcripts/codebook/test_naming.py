"""Identifiers of new codes, and the question whether there is one of that name already."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.codebook.cast import code
from transcripts.codebook.pure.editing import find_prefix, find_similar, is_in_words, make_identifier
from transcripts.formats.codebook_rules import STABLE_NAME


@given(st.text(min_size=1, max_size=200), st.sets(st.text(max_size=10)))
def test_identifier_can_be_stored_and_is_nobody_elses(name, used):
    made = make_identifier(name, prefix="theme.", used=used)
    assert STABLE_NAME.fullmatch(made)
    assert made not in used
    assert make_identifier(name, prefix="theme.", used={*used, made.upper()}) != made


def test_identifier_is_made_of_the_name():
    assert make_identifier("Says “it depends”", prefix="theme.", used=()) == "theme.says_it_depends"
    assert make_identifier("身份", prefix="", used=["身份"]) == "身份_2"
    assert re.fullmatch("theme.code", make_identifier("!!!", prefix="theme.", used=()))


def test_identifiers_of_a_family_begin_alike():
    codes = [code("theme.a"), code("theme.b"), code("odd.c"), code("x.d", "g")]
    assert find_prefix("f", codes) == "theme."
    assert find_prefix("empty", codes) == "empty."


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("balance", ["Balance / trade off", "Balance"]),
        ("Ballance", ["Balance / trade off", "Balance"]),
        ("Trade-off, balance", ["Balance / trade off", "Balance"]),
        ("Hedging", []),
        ("Hedge", ["Quantify / hedge"]),
        ("Well balanced answers", ["Balance"]),
        ("the", []),
        ("!!!", []),
    ],
)
def test_codes_of_a_like_name_are_found(name, found):
    codes = [
        code("a", name="Balance / trade off"),
        code("b", name="Balance"),
        code("c", name="Quantify / hedge", aliases=("Hedge",)),
    ]
    assert {each.name for each in find_similar(name, codes)} == set(found)


def test_name_is_in_vivo_when_it_is_said_word_for_word():
    text = "It is a tendency, not a rule."
    assert is_in_words("A tendency – not a rule", text)
    assert not is_in_words("tend", text)
    assert not is_in_words("", text)
