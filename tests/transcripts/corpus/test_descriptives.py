from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.corpus.pure.markdown_lines import InterviewCounts, count_words, describe, summarise
from transcripts.corpus.pure.segmenting import segment


class Turn(NamedTuple):
    role: str
    channel: str
    text: str


# The synthetic set made to the published anchors: 5-10 questions, mean 7.60; 1,249-4,894 words, mean 3,114.
FIVE_INTERVIEWS = [
    InterviewCounts(5, 210, 1249),
    InterviewCounts(7, 260, 2900),
    InterviewCounts(8, 300, 3200),
    InterviewCounts(8, 330, 3327),
    InterviewCounts(10, 400, 4894),
]


def test_average_response_of_each_interview_is_words_by_questions():
    averages = [counts.average_response for counts in FIVE_INTERVIEWS]
    assert averages == pytest.approx([249.8, 414.285714, 400.0, 415.875, 489.4])


def list_values(spread):
    assert spread is not None
    return [spread.minimum, spread.maximum, spread.mean]


def test_summary_gives_extremes_unweighted_means_and_the_pooled_average():
    summary = summarise(FIVE_INTERVIEWS)
    assert summary.interviews == 5
    assert list_values(summary.questions) == pytest.approx([5, 10, 7.6])
    assert list_values(summary.author_words) == [210, 400, 300.0]
    assert list_values(summary.model_words) == [1249, 4894, 3114.0]
    assert list_values(summary.average_response) == pytest.approx([249.8, 489.4, 393.872143])
    assert summary.pooled_average == pytest.approx(409.736842)


def test_interview_without_questions_has_no_average_and_does_not_move_that_of_others():
    monologue = InterviewCounts(0, 0, 5000)
    assert monologue.average_response is None
    summary = summarise([*FIVE_INTERVIEWS, monologue])
    assert summary.pooled_average == pytest.approx(409.736842)
    assert summary.average_response == summarise(FIVE_INTERVIEWS).average_response
    assert list_values(summary.questions) == pytest.approx([0, 10, 38 / 6])


def test_summary_of_nothing_is_undefined_not_zero():
    summary = summarise([])
    assert summary.interviews == 0
    assert summary.questions is None
    assert summary.average_response is None
    assert summary.pooled_average is None


def test_only_what_was_said_is_counted():
    turns = [
        Turn("system", "utterance", "You are kind and brief."),
        Turn("interviewer", "utterance", "Why is that so?"),
        Turn("model", "reasoning", "She wants a reason."),
        Turn("model", "utterance", "It depends."),
        Turn("model", "tool_call", '{"city": "X"}'),
        Turn("tool", "tool_result", "nothing found"),
        Turn("interviewer", "utterance", ""),
        Turn("model", "utterance", "- Yes\n- No"),
    ]
    assert describe(turns) == InterviewCounts(questions=2, author_words=4, model_words=4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("  \n\t ", 0),
        ("One two  three", 3),
        ("don’t over-count e.g. 3.5 %", 5),
        ("# A heading #\n\n1. first\n2. second\n   - third\n> quoted words", 7),
        ("**Bold words** and ** loose ** marks", 5),
        ("---\n***\n```python\nx = 1\n```", 3),
        ("| Group | Share |\n|---|---|\n| a | 3 % |", 5),
        ("a\u2028b c\u00a0d", 4),
        ("你好吗", 1),
        ("👩‍👩‍👧 hello", 2),
    ],
)
def test_words_are_runs_without_white_space_after_markers(text, words):
    assert count_words(text) == words


@given(st.text(alphabet="ab .-#>1*\n\t", max_size=60))
def test_words_of_a_text_are_those_of_its_units(text):
    units = [text[start:end] for start, end, _ in segment(text)]
    assert count_words(text) == sum(1 for unit in units for word in unit.split() if word.strip("*"))
