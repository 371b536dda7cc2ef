"""Prompted, unprompted or unclear, from what the interviewer said before."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.coding import pure as prompting
from transcripts.coding.pure import Prompts, quote_mention, read_signs

SIGNS = {
    "power": read_signs(["Power"], ["asymmetry"]),
    "stakeholders": read_signs(["Stakeholders"], ["stakeholder"]),
    "policy": read_signs(["Policy / normative constraints"], ["policy"]),
    "fairness": read_signs(["公平"], ["fairness talk"]),
    "revise": read_signs(["Revise"], ["take that back", "[challenge]", "[New Information]"]),
    "bare": read_signs(["Bare"], []),
}


def derive(text, code, *, asked_at=1, said_at=2, kind=""):
    prompts = Prompts([(asked_at, text, kind)], SIGNS)
    return prompts.derive(coder="", code=code, position=said_at)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Who has POWER here?", "power"),
        ("What of powers?", "power"),
        ("And asymmetries?", "power"),
        ("Is there a stakeholder you forgot?", "stakeholders"),
        ("Which policies bind you?", "policy"),
        ("这公平吗？", "fairness"),
        ("Is that fairness\n  talk?", "fairness"),
        ("Bare facts?", "bare"),
    ],
)
def test_an_earlier_mention_prompts(text, code):
    assert derive(text, code) == "prompted"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Is it powerful?", "power"),
        ("An empowered reader?", "power"),
        ("A policymaker asks.", "policy"),
        ("Is that fair?", "fairness"),
    ],
)
def test_what_was_looked_for_and_not_found_is_unprompted(text, code):
    assert derive(text, code) == "unprompted"


@pytest.mark.parametrize(
    ("questions", "code"),
    [
        ([], "power"),
        ([(3, "Who has power?", "")], "power"),
        ([(1, "Hello?", "")], "bare"),
        ([(1, "Hello?", "")], "unknown"),
        ([(1, " ", "")], "power"),
        ([(0, "Hello?", ""), (1, "", "")], "power"),
    ],
    ids=["no question", "question only later", "no terms", "no such code", "no words asked", "one turn without words"],
)
def test_where_nothing_could_be_looked_for_it_is_unclear(questions, code):
    assert Prompts(questions, SIGNS).derive(coder="", code=code, position=2) == "unclear"


@pytest.mark.parametrize(
    ("text", "kind", "prompting"),
    [
        ("That does not follow.", "challenge", "prompted"),
        ("She was not hired.", "new_information", "prompted"),
        ("Would you take that back?", "", "prompted"),
        ("What do you think?", "open", "unprompted"),
        ("That does not follow.", "", "unclear"),
    ],
)
def test_a_code_that_answers_a_kind_of_turn_is_prompted_by_it(text, kind, prompting):
    assert derive(text, "revise", kind=kind) == prompting


def test_a_turn_of_unknown_kind_leaves_open_only_what_follows_it():
    prompts = Prompts([(1, "What do you think?", "open"), (3, "Hm.", ""), (5, "Why?", "challenge")], SIGNS)
    found = [prompts.derive(coder="", code="revise", position=position) for position in (0, 2, 4, 6)]
    assert found == ["unclear", "unprompted", "unclear", "prompted"]


def test_a_mention_does_not_reach_over_from_one_turn_to_the_next():
    prompts = Prompts([(1, "Is that fairness", ""), (3, "talk to you?", "")], SIGNS)
    assert prompts.find_mention("fairness") is None


def test_the_first_of_several_mentions_counts():
    prompts = Prompts([(5, "power again", ""), (1, "hello", ""), (3, "power", "")], SIGNS)
    assert prompts.find_mention("power") == 3


def test_a_coders_own_code_on_the_question_prompts_for_her_alone():
    questions = [(1, "Who may object?", ""), (3, "And then?", "")]
    prompts = Prompts(questions, SIGNS, [("ada", "power", 3), ("ada", "power", 1)])
    assert prompts.derive(coder="ada", code="power", position=2) == "prompted"
    assert prompts.derive(coder="eve", code="power", position=2) == "unprompted"


@given(
    st.text("abies yß\n公", max_size=40),
    st.lists(st.text("abies yß\n公", max_size=6), max_size=4).map(tuple),
)
def test_the_first_of_some_words_is_where_one_pattern_of_all_would_find_it(text, words):
    text = text.casefold()
    folded = {" ".join(word.casefold().split()) for word in words} - {""}
    hit = re.search("|".join(map(prompting._write_pattern, folded)), text) if folded else None
    assert prompting._find_words(text, words) == (hit.start() if hit else None)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("Who has POWER here, and who powers it?", "power", "POWER"),
        ("Which Policies bind you?", "policy", "Policies"),
        ("Is that fairness\n  talk?", "fairness", "fairness talk"),
        ("Weiß man das? Groß: ASYMMETRIES.", "power", "ASYMMETRIES"),
        ("Nothing of the kind.", "power", ""),
        # Raised by its kind alone.
        ("That is wrong.", "revise", ""),
    ],
)
def test_the_words_that_name_a_code_are_quoted_as_they_stand(text, code, words):
    assert quote_mention(text, SIGNS[code]) == words


@given(st.text(), st.sampled_from(sorted(SIGNS)))
def test_words_are_quoted_wherever_a_text_names_a_code(text, code):
    named = Prompts([(1, text, "")], SIGNS).find_mention(code) is not None
    quoted = quote_mention(text, SIGNS[code])
    assert bool(quoted) is named
    assert quoted in " ".join(text.split())
