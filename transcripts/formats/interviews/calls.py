"""Tool calls: their names, arguments and ids in the shapes in use, and which result belongs to which call."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from transcripts.formats.interviews.base import ReadTurn
from transcripts.formats.interviews.details import note_clock
from transcripts.formats.json_lines import JsonObject, shorten

_ID_KEYS = ("call_id", "toolCallId", "tool_call_id", "id")
_NAME_KEYS = ("name", "toolName", "function_name", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "input", "args", "parameters")
_KEYS_OF_RESULT = frozenset({"name", "content"})
_ID_OF_RESULT = "tool_call_id"


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
    """The arguments in the text of a whole call, as they are written there, and the tool's name.

    Text that is no JSON object of a name and arguments is given back whole, with the name if it has one.
    """
    content = read_json_text(text)
    if not isinstance(content, dict):
        return text, ""
    key = next((key for key in _ARGUMENT_KEYS if key in content), "")
    is_plain = key and content.keys() <= {key, "type", *_NAME_KEYS}
    return _cut_value(text, key, content[key]) if is_plain else text, find_name(content)


def _cut_value(text: str, key: str, value: Any) -> str:
    """What the JSON ``text`` holds under ``key``, in the characters of the text; the value itself where it is text."""
    if isinstance(value, str):
        return value if value.strip() else "{}"
    for found in re.finditer(rf'"{key}"\s*:\s*', text):
        try:
            read, end = json.JSONDecoder().raw_decode(text, found.end())
        except ValueError:
            continue
        if read == value:
            return text[found.end() : end]
    return json.dumps(value, ensure_ascii=False)


def split_joined_results(turns: Iterable[ReadTurn]) -> Iterator[ReadTurn]:
    """The turns, with a tool's message that holds what several calls gave as one turn for each.

    Some files answer the calls of one message with a JSON list of objects, each with the ``name`` of its tool and the
    ``content`` that it gave. The names have to be those of the calls before, in their order: else the list is itself a result.
    """
    calls: list[ReadTurn] = []
    channel = ""
    for turn in turns:
        if turn.channel == "tool_call":
            calls = [*calls, turn] if channel == "tool_call" else [turn]
            yield turn
        elif turn.channel == "tool_result" and not turn.call_id and not turn.speaker:
            results = list(_read_joined(turn, calls)) or [turn]
            calls = calls[len(results) :]
            yield from results
        else:
            yield turn
        channel = turn.channel


def _read_joined(turn: ReadTurn, calls: Sequence[ReadTurn]) -> Iterator[ReadTurn]:
    results = read_json_text(turn.text) if turn.text.lstrip().startswith("[") else None
    if not isinstance(results, list):
        return
    if not all(isinstance(each, dict) and each.keys() - {_ID_OF_RESULT} == _KEYS_OF_RESULT for each in results):
        return
    if [each["name"] for each in results] != [call.speaker for call in calls[: len(results)]]:
        return
    for place, (each, call) in enumerate(zip(results, calls, strict=False)):
        content, given = each["content"], each.get(_ID_OF_RESULT)
        details = {key: turn.details[key] for key in turn.details if not place or key in {"at", "model"}}
        if given and given != call.call_id:
            # An id that the call does not bear pairs nothing: their order does.
            details["other"] = {**details.get("other", {}), _ID_OF_RESULT: given}
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        yield replace(turn, speaker=call.speaker, text=text, call_id=call.call_id, details=details)


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
