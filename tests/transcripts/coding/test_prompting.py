"""Prompted or not, from what the interviewer said before."""

from __future__ import annotations

import pytest

from transcripts.coding.pure.prompting import Prompts

WORDS = {
    "power": ["Power", "asymmetry"],
    "stakeholders": ["Stakeholders"],
    "policy": ["Policy / normative constraints", "policy"],
    "fairness": ["公平", "fairness talk"],
}


def derive(text: str, code: str, *, asked_at: int = 1, said_at: int = 2) -> str:
    prompts = Prompts([(asked_at, text)], WORDS)
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
    ],
)
def test_an_earlier_mention_prompts(text: str, code: str) -> None:
    assert derive(text, code) == "prompted"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Is it powerful?", "power"),
        ("An empowered reader?", "power"),
        ("A policymaker asks.", "policy"),
        ("Is that fair?", "fairness"),
        ("Anything at all?", "unknown"),
        ("", "power"),
    ],
)
def test_other_words_do_not_prompt(text: str, code: str) -> None:
    assert derive(text, code) == "unprompted"


def test_what_is_asked_later_prompts_nothing_before_it() -> None:
    assert derive("Who has power?", "power", asked_at=3, said_at=2) == "unprompted"


def test_a_mention_does_not_reach_over_from_one_turn_to_the_next() -> None:
    prompts = Prompts([(1, "Is that fairness"), (3, "talk to you?")], WORDS)
    assert prompts.find_mention("fairness") is None


def test_the_first_of_several_mentions_counts() -> None:
    prompts = Prompts([(5, "power again"), (1, "hello"), (3, "power")], WORDS)
    assert prompts.find_mention("power") == 3


def test_a_coders_own_code_on_the_question_prompts_for_her_alone() -> None:
    prompts = Prompts([], WORDS, [("ada", "power", 3), ("ada", "power", 1)])
    assert prompts.derive(coder="ada", code="power", position=2) == "prompted"
    assert prompts.derive(coder="eve", code="power", position=2) == "unprompted"
