"""A play as a line of the format interview_jsonl, and what became of a question in the words of pages and commands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from transcripts.formats.thinking import split_thinking

# Of a turn of a thread: role, channel, kind of prompt, text.
PlainTurn = tuple[str, str, str, str]
WAITING = "waiting"
ANSWERED = "answered"
TRUNCATED = "truncated"
EMPTY = "empty"
REFUSED = "refused"
FAILED = "failed"

HAVE_ANSWER = frozenset({ANSWERED, TRUNCATED, REFUSED})
"""States in which the model has said something, so that the talk can go on."""

LABELS = {
    WAITING: "Waiting for the answer",
    ANSWERED: "Answered",
    TRUNCATED: "Answer cut off at the output limit",
    EMPTY: "Empty answer",
    REFUSED: "Answer withheld by the provider's filter",
    FAILED: "No answer",
}

# Words of OpenAI, Anthropic and those who follow them for an answer that reached the output limit, and for one that a filter or
# the model's own policy ended.
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "refusal", "safety", "blocklist", "prohibited_content", "sensitive"})
# Question marks of Latin, East Asian, Arabic, Armenian, Greek and Ethiopic writing.
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u037e", "\u1367")
_BEHIND_A_QUESTION = "\"'\u201d\u2019\u00bb)]*_ "


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question of a play with the answer that counts.

    ``reasoning`` is what the model wrote before it, where that is known apart; reasoning that a server left in the answer
    between marks is taken out of it. ``details`` are those of a model's turn as files of interviews have them; see `ReadTurn`.
    """

    text: str
    kind: str
    answer: str
    reasoning: str = ""
    intent: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Talk:
    """A play that has ended, as one thread. ``facts`` are keys of the line besides id and turns, such as model and surface;
    empty ones are left out. A branch has in ``hangs_on`` the id of the other thread and the position of the turn in it."""

    external_id: str
    questions: Sequence[AnsweredQuestion]
    system: str = ""
    kind: str = "interview"
    hangs_on: tuple[str, int] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def write_line(talk: Talk) -> str:
    """The line, with its line end."""
    content: dict[str, Any] = {
        "id": talk.external_id,
        **{key: value for key, value in talk.facts.items() if value not in (None, "", {}, [])},
        "kind": talk.kind,
    }
    if talk.hangs_on is not None:
        thread, turn = talk.hangs_on
        content |= {"relation": "branch", "hangs_on": {"id": thread, "turn": turn}}
    content["turns"] = list(_list_turns(talk))
    return json.dumps(content, ensure_ascii=False) + "\n"


def write_known_line(external_id: str, turns: Sequence[PlainTurn]) -> str:
    """The line of a thread that the study has already, with its turns as they stand: what hangs on it must be in one file with
    it, and the import passes over it."""
    listed = [
        {"role": role, "channel": channel, "text": text, **({"prompt_kind": kind} if kind else {})}
        for role, channel, kind, text in turns
    ]
    return json.dumps({"id": external_id, "turns": listed}, ensure_ascii=False) + "\n"


def place_questions(talk: Talk) -> list[int]:
    """The position in the thread, from 1, of each question's turn."""
    return [at for at, turn in enumerate(_list_turns(talk), 1) if turn["role"] == "interviewer"]


def place_answers(talk: Talk) -> list[int]:
    """The position in the thread, from 1, of the last turn of each answer."""
    ends = [place - 1 for place in place_questions(talk)[1:]]
    return [*ends, sum(1 for _ in _list_turns(talk))]


def _list_turns(talk: Talk) -> Iterator[dict[str, Any]]:
    if talk.system:
        yield {"role": "system", "text": talk.system}
    for each in talk.questions:
        yield {"role": "interviewer", "text": each.text, "prompt_kind": each.kind}
        details = {"details": dict(each.details)} if each.details else {}
        if each.reasoning:
            yield {"role": "model", "channel": "reasoning", "text": each.reasoning}
        pieces = [(is_thought, text) for is_thought, text in split_thinking(each.answer) if text]
        for is_thought, text in pieces:
            if is_thought:
                yield {"role": "model", "channel": "reasoning", "text": text}
            else:
                yield {"role": "model", "text": text, **details}
        if all(is_thought for is_thought, _ in pieces):
            # An answer without words is a turn too: that the model said nothing is to be seen.
            yield {"role": "model", "text": "", **details}


def name_answer(words: str, finish_reason: str) -> str:
    """What kind of answer this is: one of the states above. ``words`` are the answer without reasoning.

    A refusal that the model puts into words is an answer; only what the provider calls one is named so.
    """
    reason = finish_reason.casefold()
    if reason in _FILTERED:
        return REFUSED
    if not words.strip():
        return EMPTY
    return TRUNCATED if reason in _CUT_OFF else ANSWERED


def asks_back(answer: str) -> bool:
    """Whether the last paragraph of an answer ends in a question mark, of whatever script, so that the model waits for a reply."""
    paragraphs = [part.strip() for part in answer.replace("\r\n", "\n").split("\n\n") if part.strip()]
    return bool(paragraphs) and paragraphs[-1].rstrip(_BEHIND_A_QUESTION).endswith(_QUESTION_MARKS)
