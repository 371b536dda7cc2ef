"""Reads one message of a conversation with a model, in the form of any interface in use: its content by channel.

A message yields its reasoning, its words and its calls, in this order; the parts of one content keep their order. Other facts
(time, model, the id of a call, the failure of a tool) are in the details of the turns. Keys without a rule below are kept in
the details too, under ``other``, and counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from transcripts.formats.interviews.base import ReadTurn, note_clock, read_time, write_plain
from transcripts.formats.json_lines import JsonObject, name_json_type, shorten
from transcripts.formats.problems import ReadError
from transcripts.formats.thinking import split_thinking

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "interviewer",
    "assistant": "model",
    "tool": "tool",
    "function": "tool",
}
"""Roles of chat messages, and ours."""

# The greatest length, as JSON, of the value of a key without a rule.
MAX_OTHER = 2_000

_REASONING_KEYS = ("reasoning", "reasoning_content", "thinking")
_CALL_ID_KEYS = ("tool_call_id", "tool_use_id", "call_id", "toolCallId")
_TIME_KEYS = ("timestamp", "created_at", "create_time", "time")
_KNOWN_KEYS = frozenset(
    {
        *("role", "content", "parts", "name", "refusal", "tool_calls", "function_call", "type", "model"),
        *("is_error", "error", "tool_call_ids", "thinking_blocks", "reasoning_details"),
        *_REASONING_KEYS,
        *_CALL_ID_KEYS,
        *_TIME_KEYS,
    }
)
# What the items of OpenAI's Responses have instead.
_ITEM_KEYS = frozenset(
    {"id", "status", "arguments", "input", "output", "response", "result", "summary", "encrypted_content"}
)
_CHANNELS = {
    "text": "utterance",
    "input_text": "utterance",
    "output_text": "utterance",
    "summary_text": "utterance",
    "refusal": "utterance",
    "reasoning": "reasoning",
    "thinking": "reasoning",
    "reasoning.text": "reasoning",
    "reasoning.summary": "reasoning",
}
_CALL_TYPES = frozenset(
    {"tool_call", "tool_use", "function_call", "server_tool_use", "tool-call", "mcp_call", "server_tool_call"}
)
_RESULT_TYPES = frozenset(
    {
        *("tool_result", "tool_call_response", "tool-result", "function_call_output", "server_tool_call_response"),
        *("web_search_tool_result", "mcp_tool_result", "code_execution_tool_result"),
    }
)
_HIDDEN_TYPES = frozenset({"redacted_thinking", "reasoning.encrypted"})
_TEXT_KEYS = ("text", "value", "refusal", "thinking", "reasoning", "content", "summary")
_RESULT_KEYS = ("content", "response", "output", "result", "text", "value")


class Piece(NamedTuple):
    """A piece of a message: its channel and text; of a call or a result the name of the tool and the id of the call."""

    channel: str
    text: str
    name: str = ""
    call_id: str = ""
    details: dict[str, Any] = {}


@dataclass(frozen=True)
class MessageReader:
    """Reads the messages of one line; counts in ``left_out`` what cannot be kept."""

    file: str
    line: int
    left_out: Counter[str]

    def read(self, message: Any, number: int) -> list[ReadTurn]:
        """The turns of message ``number``, at least one. Raises `ReadError`."""
        try:
            return self._read_turns(message)
        except Misfit as misfit:
            raise ReadError(self.file, self.line, f"{misfit.found} in message {number}", misfit.expected) from None

    def _read_turns(self, message: Any) -> list[ReadTurn]:
        if not isinstance(message, dict):
            raise Misfit(name_json_type(message), 'an object with "role" and "content"')
        role = _read_role(message)
        wordless: list[str] = []
        said = [piece for piece in self._read_pieces(message, role, wordless) if is_kept(piece)]
        if not said:
            content = message.get("content")
            said = [Piece("utterance", content if isinstance(content, str) else "")]
        details = self._read_details(message)
        if wordless:
            details["left_out"] = wordless
        name = message.get("name")
        name = name[:200] if isinstance(name, str) else ""
        call_id = _read_call_id(message)
        turns = []
        for place, piece in enumerate(said):
            shared = {key: details[key] for key in details if not place or key in {"at", "model"}}
            turns.append(_make_turn(piece, role, name, call_id, shared))
        return turns

    def _read_details(self, message: JsonObject) -> dict[str, Any]:
        details: dict[str, Any] = {}
        if at := next(filter(None, (read_time(message.get(key)) for key in _TIME_KEYS)), ""):
            details["at"] = at
        if isinstance(message.get("model"), str) and message["model"]:
            details["model"] = message["model"][:200]
        error = message.get("error")
        if isinstance(error, dict):
            if isinstance(error.get("type"), str) and error["type"] not in {"", "unknown"}:
                details["error_type"] = error["type"][:200]
            error = error.get("message") or error.get("type")
        if error or message.get("is_error") is True:
            details["error"] = error[:MAX_OTHER] if isinstance(error, str) else True
        others = {}
        for key in sorted(message.keys() - _KNOWN_KEYS - (_ITEM_KEYS if "role" not in message else frozenset())):
            if message[key] is None or message[key] in ("", [], {}):
                continue
            if len(json.dumps(message[key])) > MAX_OTHER:
                self.left_out[f"The key {shorten(key)} of a message was left out because it is long."] += 1
            else:
                others[key] = message[key]
                self.left_out[f"The key {shorten(key)} of a message was kept in the details of its turn."] += 1
        if others:
            details["other"] = others
        return details

    def _read_pieces(self, message: JsonObject, role: str, wordless: list[str]) -> Iterator[Piece]:
        kind = str(message.get("type") or "")
        if kind in _CALL_TYPES and "role" not in message:
            yield _read_call(message)
            return
        if kind in _RESULT_TYPES and "role" not in message:
            yield from self._read_result(message, wordless)
            return
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise Misfit(f'{name_json_type(calls)} as "tool_calls"', "a list of calls")
        if message.get("function_call") is not None:
            calls = [*calls, message["function_call"]]
        content = message.get("content", message.get("parts"))
        if content is None and "content" not in message and not calls and kind != "reasoning":
            raise Misfit('no "content"', 'messages with "role" and "content"')
        yield from self._read_reasoning(message, wordless)
        said = list(self._read_content(content, wordless))
        yield from _split_thinking(said) if role == "model" else said
        if isinstance(message.get("refusal"), str):
            yield Piece("utterance", message["refusal"])
        # Some servers write a call among the parts and repeat it next to them.
        known = {piece.call_id for piece in said if piece.channel == "tool_call" and piece.call_id}
        yield from (call for call in map(_read_call, calls) if call.call_id not in known)

    def _read_reasoning(self, message: JsonObject, wordless: list[str]) -> Iterator[Piece]:
        """Reasoning in keys of its own. Servers that send several such keys send the same text several times."""
        told = [message[key] for key in _REASONING_KEYS if isinstance(message.get(key), str)]
        yield from (Piece("reasoning", thought) for thought in dict.fromkeys(told))
        for key in ("thinking_blocks", "reasoning_details"):
            blocks = message.get(key)
            if isinstance(blocks, list) and not told:
                told = [key]
                yield from (piece for block in blocks for piece in self._read_part(block, wordless))
        # The reasoning item of OpenAI's Responses: summaries, and sometimes the words themselves.
        if message.get("type") == "reasoning" and "role" not in message:
            told_in = message.get("content") or message.get("summary")
            parts = told_in if isinstance(told_in, list) else []
            texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
            is_summary = not message.get("content") and bool(texts)
            yield _make_thought("\n".join(texts), is_summary=is_summary)

    def _read_content(self, content: Any, wordless: list[str]) -> Iterable[Piece]:
        if content is None:
            return []
        if isinstance(content, str):
            return [Piece("utterance", content)]
        if isinstance(content, dict):
            content = [content]
        if not isinstance(content, list):
            raise Misfit(f'{name_json_type(content)} as "content"', "text, null or a list of parts")
        return _join_utterances(said for part in content for said in self._read_part(part, wordless))

    def _read_part(self, part: Any, wordless: list[str]) -> Iterator[Piece]:
        if isinstance(part, str):
            yield Piece("utterance", part)
            return
        if not isinstance(part, dict):
            raise Misfit(f"{name_json_type(part)} as a part of the content", "text or an object with a type")
        kind = str(part.get("type") or "")
        if kind in _CALL_TYPES:
            yield _read_call(part)
        elif kind in _RESULT_TYPES:
            yield from self._read_result(part, wordless)
        elif kind in _HIDDEN_TYPES:
            yield _make_thought("")
        elif _CHANNELS.get(kind) == "reasoning":
            yield _read_thought(part)
        elif (text := next((part[key] for key in _TEXT_KEYS if isinstance(part.get(key), str)), None)) is not None:
            yield Piece(_CHANNELS.get(kind, "utterance"), text)
        else:
            wordless.append(kind[:40])
            self.left_out[f"A part of type {shorten(kind)} was left out because it has no text."] += 1

    def _read_result(self, part: JsonObject, wordless: list[str]) -> Iterator[Piece]:
        given = next((part[key] for key in _RESULT_KEYS if part.get(key) is not None), "")
        details = {"error": True} if part.get("is_error") is True else {}
        if isinstance(given, list) and all(isinstance(each, dict) and "type" in each for each in given):
            said = self._read_content(given, wordless)
            text = "\n".join(piece.text for piece in said)
        elif isinstance(given, dict) and isinstance(given.get("value"), str):
            text = given["value"]
        else:
            text = write_plain(given)
        yield Piece("tool_result", text, find_name(part), _read_call_id(part) or find_call_id(part), details)


class Misfit(Exception):
    """Invalid content of a message, and what was expected."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.found = found
        self.expected = expected


def _read_role(message: JsonObject) -> str:
    given = message.get("role")
    if given is None and "role" not in message:
        kind = str(message.get("type") or "")
        if kind in _RESULT_TYPES:
            return "tool"
        if kind in _CALL_TYPES or kind == "reasoning":
            return "model"
    if not isinstance(given, str):
        raise Misfit(f"{name_json_type(given)} as the role" if "role" in message else "no role", " or ".join(ROLES))
    if given not in ROLES:
        raise Misfit(f"the role {shorten(given)}", " or ".join(ROLES))
    return ROLES[given]


def is_kept(piece: Piece | ReadTurn) -> bool:
    """Whether a piece or a turn is kept: a result that is empty, and reasoning that was taken out, still took place."""
    return bool(piece.text.strip()) or piece.channel == "tool_result" or "redacted" in piece.details


def _make_turn(piece: Piece, role: str, name: str, call_id: str, details: dict[str, Any]) -> ReadTurn:
    channel = "tool_result" if role == "tool" and piece.channel == "utterance" else piece.channel
    told = {**details, **piece.details}
    if channel in {"tool_call", "tool_result"}:
        # A result can be in a message of the role that forwards it.
        speaks = "tool" if channel == "tool_result" else role
        joined = (piece.call_id or call_id) if channel == "tool_result" else piece.call_id
        speaker = piece.name or (name if channel == "tool_result" else "")
        error = told.get("error")
        text = error if channel == "tool_result" and not piece.text and isinstance(error, str) else piece.text
        return ReadTurn(speaks, channel, speaker[:200], text, "", joined, told)
    return ReadTurn(role, channel, name, piece.text, "", "", told)


def _make_thought(text: str, *, is_summary: bool = False) -> Piece:
    details: dict[str, Any] = {"is_summary": True} if is_summary else {}
    return Piece("reasoning", text, details=details if text.strip() else {"redacted": True})


def _read_thought(part: JsonObject) -> Piece:
    """Reasoning, or the summary of reasoning that the file has only encrypted."""
    summary = part.get("summary")
    if part.get("redacted") is True or not any(isinstance(part.get(key), str) and part[key] for key in _TEXT_KEYS[:-1]):
        told = summary if isinstance(summary, str) else ""
        return Piece("reasoning", told, details={"redacted": True, **({"is_summary": True} if told else {})})
    text = next(part[key] for key in ("thinking", "reasoning", *_TEXT_KEYS) if isinstance(part.get(key), str))
    return _make_thought(text, is_summary=part.get("type") == "reasoning.summary")


def _join_utterances(said: Iterable[Piece]) -> Iterator[Piece]:
    for is_utterance, group in groupby(said, lambda piece: piece.channel == "utterance"):
        if is_utterance:
            yield Piece("utterance", "\n".join(piece.text for piece in group))
        else:
            yield from group


def _split_thinking(said: list[Piece]) -> Iterator[Piece]:
    """Separate reasoning at the beginning of the first utterance; if it never ends, the whole utterance is reasoning."""
    for position, piece in enumerate(said):
        if position == 0 and piece.channel == "utterance":
            yield from (
                Piece("reasoning" if is_thought else piece.channel, words)
                for is_thought, words in split_thinking(piece.text)
            )
        else:
            yield piece


def _read_call_id(message: JsonObject) -> str:
    several = message.get("tool_call_ids")
    given = several[:1] if isinstance(several, list) else [message.get(key) for key in _CALL_ID_KEYS]
    return next((each[:200] for each in given if isinstance(each, str) and each), "")


def _read_call(call: Any) -> Piece:
    """A call in any of the shapes in use: the arguments as JSON text, the tool's name as speaker."""
    if not isinstance(call, dict):
        raise Misfit(f"{name_json_type(call)} as a tool call", "an object with the tool's name and arguments")
    arguments, parts = read_arguments(call)
    error = call.get("parse_error")
    details = {"error": error[:MAX_OTHER]} if isinstance(error, str) and error else {}
    return Piece("tool_call", arguments, parts, find_call_id(call), details)


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
    """The id that connects a call with its result; "" without one."""
    return next((call[key][:200] for key in _ID_KEYS if isinstance(call.get(key), str)), "")


def find_name(call: JsonObject) -> str:
    """The tool's name; "" if the file does not give it."""
    return next((call[key][:200] for key in _NAME_KEYS if isinstance(call.get(key), str)), "")


def read_arguments(call: JsonObject) -> tuple[str, str]:
    """The arguments of a call as JSON text (unchanged if the file has them as text), and the tool's name."""
    if isinstance(call.get("value"), str):
        return read_whole_call(call["value"])
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    arguments = next((inner[key] for key in _ARGUMENT_KEYS if inner.get(key) is not None), "")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    # A call without arguments is still a call, and an empty turn would be lost.
    return arguments if arguments.strip() else "{}", find_name(inner)


def read_whole_call(text: str) -> tuple[str, str]:
    """The arguments in the text of a whole call, unchanged, and the tool's name.

    Text that is not a JSON object with a name and arguments is returned unchanged, with the name if it has one.
    """
    content = read_json_text(text)
    if not isinstance(content, dict):
        return text, ""
    key = next((key for key in _ARGUMENT_KEYS if key in content), "")
    is_plain = key and content.keys() <= {key, "type", *_NAME_KEYS}
    return _cut_value(text, key, content[key]) if is_plain else text, find_name(content)


def _cut_value(text: str, key: str, value: Any) -> str:
    """The value under ``key`` in the JSON ``text``, in its original characters; the value itself if it is text."""
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
    """The turns, with a tool's message that contains the results of several calls divided into one turn for each.

    Some files answer the calls of one message with a JSON list of objects, each with the ``name`` of its tool and its
    ``content``. The names must be those of the previous calls, in their order; otherwise the list itself is a result.
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
            # If a call does not have this id, results are paired by order instead.
            details["other"] = {**details.get("other", {}), _ID_OF_RESULT: given}
        text = write_plain(content)
        yield replace(turn, speaker=call.speaker, text=text, call_id=call.call_id, details=details)


def pair_results(turns: Sequence[Traffic]) -> list[int | None]:
    """For each turn the position, from 1, of the call whose result it is, or ``None``.

    A result belongs to the last call before it that has its id; a result without an id, to the first call of the preceding
    group that has no result yet.
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
    """The turns with the tool's name as the speaker of each result that has none. Results without a call, and turns whose times go
    backwards, are counted."""
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
            left_out[f"A tool's result {which} was kept although the file does not contain its call."] += 1
        speaker = turns[call - 1].speaker if call else ""
        named.append(replace(turn, speaker=speaker) if speaker and not turn.speaker else turn)
    return tuple(named)


def find_open_calls(turns: Sequence[ReadTurn]) -> list[int]:
    """The positions, from 1, of the calls that have no result."""
    answered = set(pair_results(turns))
    return [at for at, turn in enumerate(turns, 1) if turn.channel == "tool_call" and at not in answered]


def read_json_text(given: Any) -> Any:
    """The value of a JSON text; the argument itself if it is not a text or not JSON."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
