"""One chat message: what it says, and through which channel."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from transcripts.corpus.pure.readers.base import ReadError, ReadTurn
from transcripts.corpus.pure.readers.json_lines import JsonObject, name_json_type, shorten
from transcripts.corpus.pure.thinking import split_thinking

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "interviewer",
    "assistant": "model",
    "tool": "tool",
    "function": "tool",
}
"""Roles of chat messages, and ours."""

_REASONING_KEYS = ("reasoning", "reasoning_content")
_KNOWN_KEYS = frozenset(
    {"role", "content", "name", "refusal", "tool_calls", "function_call", "tool_call_id", *_REASONING_KEYS}
)
_CHANNELS = {
    "text": "utterance",
    "input_text": "utterance",
    "output_text": "utterance",
    "refusal": "utterance",
    "reasoning": "reasoning",
    "thinking": "reasoning",
    "tool_result": "tool_result",
}
_CALL_TYPES = frozenset({"tool_call", "tool_use", "function_call"})
_TEXT_KEYS = ("text", "value", "refusal", "thinking", "reasoning", "content")


Said = tuple[str, str, str]
"""A piece of a message: its channel, its text, and for a call the name of the tool."""


@dataclass(frozen=True)
class MessageReader:
    """Reads the messages of one line; counts in ``left_out`` what it has no place for."""

    file: str
    line: int
    left_out: Counter[str]

    def read(self, message: Any, number: int) -> list[ReadTurn]:
        """The turns of message ``number``, at least one. Raises `ReadError`."""
        try:
            return self._read_turns(message)
        except _Misfit as misfit:
            raise ReadError(self.file, self.line, f"{misfit.found} in message {number}", misfit.expected) from None

    def _read_turns(self, message: Any) -> list[ReadTurn]:
        if not isinstance(message, dict):
            raise _Misfit(name_json_type(message), 'an object with "role" and "content"')
        role = _read_role(message)
        for key in message.keys() - _KNOWN_KEYS:
            self.left_out[f"The key {shorten(key)} of a message was left out."] += 1
        said = [piece for piece in self._read_pieces(message, role) if piece[1].strip()]
        if not said:
            content = message.get("content")
            said = [("utterance", content if isinstance(content, str) else "", "")]
        name = message.get("name")
        return [_make_turn(piece, role, name if isinstance(name, str) else "") for piece in said]

    def _read_pieces(self, message: JsonObject, role: str) -> Iterator[Said]:
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise _Misfit(f'{name_json_type(calls)} as "tool_calls"', "a list of calls")
        if message.get("function_call") is not None:
            calls = [*calls, message["function_call"]]
        if "content" not in message and not calls:
            raise _Misfit('no "content"', 'messages with "role" and "content"')
        thoughts = [message[key] for key in _REASONING_KEYS if isinstance(message.get(key), str)]
        # Servers that send both keys send the same text twice.
        yield from (("reasoning", thought, "") for thought in dict.fromkeys(thoughts))
        said = list(self._read_content(message.get("content")))
        yield from _split_thinking(said) if role == "model" else said
        if isinstance(message.get("refusal"), str):
            yield "utterance", message["refusal"], ""
        yield from map(_read_call, calls)

    def _read_content(self, content: Any) -> Iterable[Said]:
        if content is None:
            return []
        if isinstance(content, str):
            return [("utterance", content, "")]
        if not isinstance(content, list):
            raise _Misfit(f'{name_json_type(content)} as "content"', "text, null or a list of parts")
        return _join_utterances(said for part in content for said in self._read_part(part))

    def _read_part(self, part: Any) -> Iterator[Said]:
        if isinstance(part, str):
            yield "utterance", part, ""
            return
        if not isinstance(part, dict):
            raise _Misfit(f"{name_json_type(part)} as a part of the content", "text or an object with a type")
        kind = str(part.get("type") or "")
        if kind in _CALL_TYPES:
            yield _read_call(part)
            return
        text = next((part[key] for key in _TEXT_KEYS if isinstance(part.get(key), str)), None)
        if text is not None:
            yield _CHANNELS.get(kind, "utterance"), text, ""
        elif kind == "tool_result" and isinstance(part.get("content"), list):
            for _, words, _ in self._read_content(part["content"]):
                yield "tool_result", words, ""
        else:
            self.left_out[f"A part of type {shorten(kind)} was left out because it has no text."] += 1


class _Misfit(Exception):
    """What a message should not hold, and what was expected."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.found = found
        self.expected = expected


def _read_role(message: JsonObject) -> str:
    given = message.get("role")
    if not isinstance(given, str):
        raise _Misfit(f"{name_json_type(given)} as the role" if "role" in message else "no role", " or ".join(ROLES))
    if given not in ROLES:
        raise _Misfit(f"the role {shorten(given)}", " or ".join(ROLES))
    return ROLES[given]


def _make_turn(said: Said, role: str, name: str) -> ReadTurn:
    channel, text, tool = said
    if role == "tool" and channel == "utterance":
        channel = "tool_result"
    if channel == "tool_call":
        return ReadTurn(role, channel, tool, text)
    # A result can be in the message of the role that passes it on.
    return ReadTurn("tool" if channel == "tool_result" else role, channel, name, text)


def _join_utterances(said: Iterable[Said]) -> Iterator[Said]:
    for is_utterance, group in groupby(said, lambda piece: piece[0] == "utterance"):
        if is_utterance:
            yield "utterance", "\n".join(text for _, text, _ in group), ""
        else:
            yield from group


def _split_thinking(said: list[Said]) -> Iterator[Said]:
    """Take reasoning that the first utterance begins with out of it; reasoning that never ends is all of it."""
    for position, piece in enumerate(said):
        channel, text, _ = piece
        if position == 0 and channel == "utterance":
            yield from (
                ("reasoning" if is_thought else channel, words, "") for is_thought, words in split_thinking(text)
            )
        else:
            yield piece


def _read_call(call: Any) -> Said:
    """A call in any of the shapes in use: the arguments as JSON text, the tool's name as speaker."""
    if not isinstance(call, dict):
        raise _Misfit(f"{name_json_type(call)} as a tool call", "an object with the tool's name and arguments")
    if isinstance(call.get("value"), str):
        return "tool_call", call["value"], _read_name(call["value"])
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    arguments = next((inner[key] for key in ("arguments", "input") if inner.get(key) is not None), "")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = inner.get("name")
    # A call without arguments is a call all the same, and an empty turn would be lost.
    return "tool_call", arguments if arguments.strip() else "{}", name if isinstance(name, str) else ""


def _read_name(value: str) -> str:
    """The name in a whole call that is kept as JSON text."""
    try:
        content = json.loads(value)
    except (ValueError, RecursionError):
        return ""
    name = content.get("name") if isinstance(content, dict) else None
    return name if isinstance(name, str) else ""
