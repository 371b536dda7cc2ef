"""What a file holds, before anything of it is stored: conversations, speakers, models, dates, what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from transcripts.corpus.pure.choices import SPOKEN
from transcripts.corpus.pure.readers.base import ReadInterview, ReadTurn

LISTED = 500
"""Conversations that are shown one by one."""
SPEAKERS = 40
FIRST_WORDS = 160
FIRST_TURNS = 2


class Preview:
    """What a file holds, added up thread by thread; of the threads themselves the first few are remembered, shortened."""

    def __init__(self) -> None:
        self._threads = self._answers = self._reasoned = self._without_model = 0
        self._has_system_prompt = False
        self._relations: Counter[str] = Counter()
        self._roles: Counter[str] = Counter()
        self._channels: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._said: Counter[tuple[str, str]] = Counter()
        self._periods: tuple[str, str] | None = None
        self._listed: list[dict[str, Any]] = []

    def add(self, thread: ReadInterview, guessed: Sequence[ReadTurn]) -> None:
        """Count one more thread as it would be imported, and its speakers with the roles that were ``guessed``."""
        self._threads += 1
        self._relations[thread.relation] += 1
        self._models[thread.model_label] += 1
        self._reasoned += _count_reasoned(thread.turns)
        for turn in thread.turns:
            self._roles[turn.role] += 1
            self._channels[turn.channel] += 1
            self._answers += _is_answer(turn)
            self._has_system_prompt = self._has_system_prompt or turn.role == "system"
        for turn in guessed:
            if turn.channel in SPOKEN:
                self._said[turn.speaker, turn.role] += 1
        if period := thread.period:
            first, last = self._periods or (period, period)
            self._periods = min(first, period), max(last, period)
        if len(self._listed) < LISTED:
            self._listed.append(_describe_thread(thread))

    def describe(
        self, *, reason: str, left_out: Mapping[str, int], read_as_text: Mapping[str, int] = MappingProxyType({})
    ) -> dict[str, Any]:
        """The preview as JSON: what the file is and why (``reason``), sums, speakers with their roles, the first
        conversations, what was left out and how often, and which names were ``read_as_text``, each with its lines."""
        models = Counter({model: times for model, times in self._models.items() if model})
        return {
            "reason": reason,
            "conversations": self._relations[""],
            "relations": {relation: times for relation, times in self._relations.items() if relation},
            "roles": dict(self._roles.most_common()),
            "channels": dict(self._channels),
            "answers": self._answers,
            "answers_with_reasoning": self._reasoned,
            "has_system_prompt": self._has_system_prompt,
            "models": [model for model, _ in models.most_common(20)],
            "without_model": self._models[""],
            "from": self._periods[0] if self._periods else "",
            "to": self._periods[1] if self._periods else "",
            "speakers": self._list_speakers(),
            "read_as_text": [
                {"name": name, "lines": lines} for name, lines in Counter(read_as_text).most_common(SPEAKERS)
            ],
            "left_out": [{"what": what, "times": times} for what, times in Counter(left_out).most_common(20)],
            "listed": self._listed,
            "unlisted": self._threads - len(self._listed),
        }

    def _list_speakers(self) -> list[dict[str, Any]]:
        """Everybody who is named and speaks in one role only, with that role."""
        roles = Counter(speaker for speaker, _ in self._said)
        named = [
            (speaker, role, times)
            for (speaker, role), times in self._said.most_common()
            if speaker and roles[speaker] == 1
        ]
        return [{"name": speaker, "role": role, "turns": times} for speaker, role, times in named[:SPEAKERS]]


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
