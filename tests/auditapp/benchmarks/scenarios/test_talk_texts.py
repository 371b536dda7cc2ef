"""Talks as texts: openings that are balanced, answers that are named, and the line that a session becomes."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.benchmarks.scenarios.pure.outcomes import (
    AnsweredQuestion,
    Talk,
    asks_back,
    name_answer,
    place_answers,
    place_questions,
    write_line,
)
from auditapp.benchmarks.scenarios.pure.scripts import choose_opening, read_published_openings
from tests.support.shared import shared
from transcripts.formats.interviews import Content, Reading


def test_the_published_opening_is_word_for_word_that_of_the_paper():
    [opening] = read_published_openings()
    assert opening.id == "paper"
    assert "section 3.2" in opening.source
    lines = shared("papers/bias_negotiation.txt").read_text(encoding="utf-8").splitlines()
    assert opening.text in lines, "a line of its own in the paper"


@given(st.integers(0, 99), st.integers(1, 4), st.integers(1, 3), st.integers(1, 24))
def test_openings_stay_balanced_over_models(seed, openings, models, interviews):
    names = [f"opening {number}" for number in range(openings)]
    used = Counter()
    for number in range(interviews):
        model = f"model {number % models}"
        used[model, choose_opening(names, used=used, model=model, seed=seed)] += 1
    for model in {model for model, _ in used}:
        heard = [used[model, name] for name in names]
        assert max(heard) - min(heard) <= 1


def test_the_same_seed_gives_the_same_opening_and_another_may_not():
    drawn = {seed: choose_opening(["a", "b"], used={}, model="m", seed=seed) for seed in range(20)}
    assert drawn == {seed: choose_opening(["b", "a"], used={}, model="m", seed=seed) for seed in range(20)}
    assert set(drawn.values()) == {"a", "b"}
    with pytest.raises(ValueError, match="no opening"):
        choose_opening([], used={}, model="m", seed=1)


@pytest.mark.parametrize(
    ("words", "reason", "state"),
    [
        ("Yes.", "stop", "answered"),
        ("Yes.", "", "answered"),
        ("Yes", "length", "truncated"),
        ("Yes", "max_tokens", "truncated"),
        ("I cannot help with that.", "stop", "answered"),
        ("", "refusal", "refused"),
        ("I", "content_filter", "refused"),
        (" \n", "stop", "empty"),
        ("", "length", "empty"),
    ],
)
def test_an_answer_is_named_by_what_the_provider_says_of_its_end(words, reason, state):
    assert name_answer(words, reason) == state


@pytest.mark.parametrize(
    ("answer", "asks"),
    [
        ("It depends. Where do you live?", True),
        ("Where?\n\nThat would help.", False),
        ("It depends.\r\n\r\nWhere do you live?\n", True),
        ("*Where do you live?*", True),
        ("你住在哪里？", True),
        ("", False),
    ],
)
def test_an_answer_asks_back_where_its_last_paragraph_ends_in_a_question(answer, asks):
    assert asks_back(answer) is asks


def test_a_line_is_read_as_it_was_said():
    talk = Talk(
        external_id="session-1",
        system="Be brief.",
        questions=[
            AnsweredQuestion(" One?\n", "open", "<think>Hm</think>\n\nOne. ", details={"model": "m"}),
            AnsweredQuestion("Two?", "challenge", "", reasoning="Nothing to say.", intent="unwarranted"),
            AnsweredQuestion("Three?", "leading", "Three."),
        ],
        facts={"model": "m", "vendor": "", "consent": {"reuse": True, "basis": "Terms."}, "script": "s/1"},
    )
    [read] = Reading(Content.of("x.jsonl", write_line(talk).encode()), "interview_jsonl")
    assert [(turn.role, turn.channel, turn.prompt_kind, turn.text) for turn in read.turns] == [
        ("system", "utterance", "", "Be brief."),
        ("interviewer", "utterance", "open", " One?\n"),
        ("model", "reasoning", "", "Hm"),
        ("model", "utterance", "", "\n\nOne. "),
        ("interviewer", "utterance", "challenge", "Two?"),
        ("model", "reasoning", "", "Nothing to say."),
        ("model", "utterance", "", ""),
        ("interviewer", "utterance", "leading", "Three?"),
        ("model", "utterance", "", "Three."),
    ]
    assert (place_questions(talk), place_answers(talk)) == ([2, 5, 8], [4, 7, 9])
    assert (read.consent, read.consent_basis, read.metadata) == ({"reuse": True}, "Terms.", {"script": "s/1"})
    assert "vendor" not in json.loads(write_line(talk))
    assert "unwarranted" not in write_line(talk)
