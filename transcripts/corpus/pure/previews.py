"""What a file holds, before anything of it is stored: conversations, speakers, models, dates, what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from transcripts.corpus.pure.choices import SPOKEN
from transcripts.corpus.pure.readers.base import ReadFile, ReadInterview, ReadTurn

LISTED = 500
"""Conversations that are shown one by one."""
SPEAKERS = 40
FIRST_WORDS = 160
FIRST_TURNS = 2


def describe_contents(read: ReadFile) -> dict[str, Any]:
    """The preview of a file as JSON: what it is and why, sums, speakers with their roles, the first conversations."""
    threads = read.interviews
    answers = [turn for thread in threads for turn in thread.turns if _is_answer(turn)]
    reasoned = sum(_count_reasoned(thread.turns) for thread in threads)
    models = Counter(thread.model_label for thread in threads if thread.model_label)
    periods = sorted(thread.period for thread in threads if thread.period)
    channels = Counter(turn.channel for thread in threads for turn in thread.turns)
    return {
        "reason": read.reason,
        "conversations": sum(not thread.relation for thread in threads),
        "relations": dict(Counter(thread.relation for thread in threads if thread.relation)),
        "roles": dict(Counter(turn.role for thread in threads for turn in thread.turns).most_common()),
        "channels": dict(channels),
        "answers": len(answers),
        "answers_with_reasoning": reasoned,
        "has_system_prompt": any(turn.role == "system" for thread in threads for turn in thread.turns),
        "models": [model for model, _ in models.most_common(20)],
        "without_model": sum(not thread.model_label for thread in threads),
        "from": periods[0] if periods else "",
        "to": periods[-1] if periods else "",
        "speakers": _list_speakers(threads),
        "left_out": [{"what": what, "times": times} for what, times in Counter(read.left_out).most_common(20)],
        "listed": [_describe_thread(thread) for thread in threads[:LISTED]],
        "unlisted": max(0, len(threads) - LISTED),
    }


def _describe_thread(thread: ReadInterview) -> dict[str, Any]:
    spoken = [
        turn for turn in thread.turns if turn.channel == "utterance" and turn.role != "system" and turn.text.strip()
    ]
    return {
        "id": thread.external_id,
        "title": thread.title,
        "kind": thread.kind,
        "relation": thread.relation,
        "turns": len(thread.turns),
        "calls": sum(turn.channel == "tool_call" for turn in thread.turns),
        "model": thread.model_label,
        "period": thread.period,
        "first": [{"role": turn.role, "text": _shorten(turn.text)} for turn in spoken[:FIRST_TURNS]],
    }


def _list_speakers(threads: Iterable[ReadInterview]) -> list[dict[str, Any]]:
    """Everybody who is named and speaks in one role only, with that role."""
    said = Counter((turn.speaker, turn.role) for thread in threads for turn in thread.turns if turn.channel in SPOKEN)
    roles = Counter(speaker for speaker, _ in said)
    named = [(speaker, role, times) for (speaker, role), times in said.most_common() if speaker and roles[speaker] == 1]
    return [{"name": speaker, "role": role, "turns": times} for speaker, role, times in named[:SPEAKERS]]


def _is_answer(turn: ReadTurn) -> bool:
    return turn.role == "model" and turn.channel == "utterance"


def _count_reasoned(turns: Iterable[ReadTurn]) -> int:
    """How many answers come with the reasoning before them."""
    found, open_reasoning = 0, False
    for turn in turns:
        if turn.channel == "reasoning":
            open_reasoning = True
        elif _is_answer(turn):
            found += open_reasoning
            open_reasoning = False
        elif turn.role == "interviewer":
            open_reasoning = False
    return found


def _shorten(text: str) -> str:
    words = " ".join(text[: FIRST_WORDS * 4].split())
    return words if len(words) <= FIRST_WORDS else f"{words[: FIRST_WORDS - 1]}…"
