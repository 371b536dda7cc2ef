"""Tool calls: their names, arguments and ids in the shapes in use, and which result belongs to which call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from transcripts.corpus.pure.readers.base import ReadTurn
from transcripts.corpus.pure.readers.json_lines import JsonObject, shorten
from transcripts.corpus.pure.readers.times import note_clock

_ID_KEYS = ("call_id", "toolCallId", "tool_call_id", "id")
_NAME_KEYS = ("name", "toolName", "function_name", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "input", "args", "parameters")


class Traffic(Protocol):
    """A turn of a thread, as a file has it or as it is stored."""

    @property
    def channel(self) -> str: ...
    @property
    def call_id(self) -> str: ...


def find_call_id(call: JsonObject) -> str:
    """The id that joins a call with its result; "" without one."""
    return next((call[key][:200] for key in _ID_KEYS if isinstance(call.get(key), str)), "")


def find_name(call: JsonObject) -> str:
    """The tool's name; "" where the file does not tell."""
    return next((call[key][:200] for key in _NAME_KEYS if isinstance(call.get(key), str)), "")


def read_arguments(call: JsonObject) -> tuple[str, str]:
    """The arguments of a call as JSON text, as the file writes them where it writes text, and the tool's name."""
    if isinstance(call.get("value"), str):
        return read_whole_call(call["value"])
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    arguments = next((inner[key] for key in _ARGUMENT_KEYS if inner.get(key) is not None), "")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    # A call without arguments is a call all the same, and an empty turn would be lost.
    return arguments if arguments.strip() else "{}", find_name(inner)


def read_whole_call(text: str) -> tuple[str, str]:
    """The text of a whole call, and the tool's name in it where it is JSON."""
    content = read_json_text(text)
    return text, find_name(content) if isinstance(content, dict) else ""


def pair_results(turns: Sequence[Traffic]) -> list[int | None]:
    """For each turn the position, from 1, of the call whose result it is, or ``None``.

    A result goes with the last call before it that bears its id; one without an id with the first call of the group
    before it that has no result yet.
    """
    pairs: list[int | None] = []
    by_id: dict[str, int] = {}
    waiting: list[int] = []
    for position, turn in enumerate(turns, 1):
        call: int | None = None
        if turn.channel == "tool_call":
            if not pairs or turns[position - 2].channel != "tool_call":
                waiting = []
            waiting.append(position)
            if turn.call_id:
                by_id[turn.call_id] = position
        elif turn.channel == "tool_result":
            if turn.call_id:
                call = by_id.get(turn.call_id)
            elif waiting:
                call = waiting[0]
            if call in waiting:
                waiting.remove(call)
        pairs.append(call)
    return pairs


def name_results(turns: Sequence[ReadTurn], left_out: Counter[str]) -> tuple[ReadTurn, ...]:
    """The turns with the tool's name as the speaker of each result that has none; what does not pair, and what goes back in
    time, is counted."""
    note_clock(turns, left_out)
    named: list[ReadTurn] = []
    ids = Counter(turn.call_id for turn in turns if turn.channel == "tool_call" and turn.call_id)
    if twice := sum(times > 1 for times in ids.values()):
        left_out[
            "An id of the file names more than one call: each result was read as that of the last one before it."
        ] += twice
    has_calls = any(turn.channel == "tool_call" for turn in turns)
    for turn, call in zip(turns, pair_results(turns), strict=True):
        if turn.channel == "tool_result" and call is None and (turn.call_id or has_calls):
            which = f"for the call {shorten(turn.call_id)}" if turn.call_id else "without an id"
            left_out[f"A tool's result {which} was kept though the file does not hold its call."] += 1
        speaker = turns[call - 1].speaker if call else ""
        named.append(replace(turn, speaker=speaker) if speaker and not turn.speaker else turn)
    return tuple(named)


def find_open_calls(turns: Sequence[ReadTurn]) -> list[int]:
    """The positions, from 1, of the calls that have no result."""
    answered = set(pair_results(turns))
    return [at for at, turn in enumerate(turns, 1) if turn.channel == "tool_call" and at not in answered]


def read_json_text(given: Any) -> Any:
    """What a text holds as JSON; the value itself when it is no text or holds none."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
