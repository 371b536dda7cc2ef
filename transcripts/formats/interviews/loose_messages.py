"""Reads the logged input and output of models, in their many forms, as chat messages.

Nothing is refused here, because traces contain whatever a program wrote. Data without words or calls give no message. Messages
that Python printed as objects, as agno logs them, are read if they are complete; others stay text, which `is_printed`
recognises.

Recordings that were transcribed by programs which tell voices apart, such as AssemblyAI: objects with ``utterances``.

    {"id": "r1", "text": "How? So.", "utterances": [
      {"speaker": "A", "text": "How?", "start": 250, "end": 900}, {"speaker": "B", "text": "So."}]}

Each utterance is a turn, with its time, which is in milliseconds. A voice that is called by a letter or a number, such as A, is
"Speaker A". Who asks is assumed from the names, as in tables. The field ``text`` repeats the utterances. Keys
with text or a number are kept as metadata, others (such as the single words) are left out and counted.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from transcripts.formats.interviews.base import (
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    find_list,
    list_left_out,
    read_details,
    read_id,
    write_clock,
)
from transcripts.formats.interviews.chat_content import ROLES, read_arguments, read_json_text
from transcripts.formats.interviews.speaker_text import assign_roles
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

_ROLE_NAMES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "bot": "assistant",
    **{role: role for role in ROLES},
}
_LISTS = ("messages", "input_messages", "output", "args")
_ITEMS = frozenset({"function_call", "function_call_output", "reasoning", "tool_result", "tool_use", "tool_call"})
_PARTS = frozenset({"text", "thinking", "output_text", "input_text"})
_TEXTS = ("prompt", "question", "query", "text", "completion", "response", "answer")
_LITERAL = r"""(None|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_PRINTED = re.compile(
    rf"role='(\w+)' content={_LITERAL} name={_LITERAL} tool_call_id={_LITERAL} tool_calls=", re.DOTALL
)
_PRINTED_THOUGHT = re.compile(rf" (?:thinking|reasoning_content)=(?!None){_LITERAL}", re.DOTALL)
_NEXT_FIELD = re.compile(r" \w+=|\Z")
# A list may contain text that looks like the next field; at most this many are tried as its end.
_ENDS_TRIED = 50
_NO_LITERAL = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)
_KEPT = ("role", "content", "parts", "name", "tool_calls", "tool_call_id", "reasoning_content", "refusal", "type")
_KEPT_OF_ITEM = (
    *_KEPT,
    "id",
    "call_id",
    "arguments",
    "output",
    "summary",
    "input",
    "tool_use_id",
    "is_error",
    "response",
)


def find_messages(logged: Any, *, role: str) -> list[JsonObject]:
    """The messages in logged data; ``role`` is that of words without a speaker ("user" or "assistant")."""
    return list(_find(read_json_text(logged), role))


def _find(logged: Any, role: str) -> Iterator[JsonObject]:
    if isinstance(logged, str):
        if printed := _read_printed(logged):
            yield from _read_message(printed, printed["role"])
        elif logged.strip():
            yield {"role": role, "content": logged}
    elif isinstance(logged, list):
        yield from _find_in_list(logged, role)
    elif isinstance(logged, dict):
        yield from _find_in_object(logged, role)


def is_printed(text: object) -> bool:
    """Whether a text is a message that Python printed as an object."""
    return isinstance(text, str) and re.match(r"role='\w+' content=", text) is not None


def _read_printed(text: str) -> JsonObject:
    """The message that Python printed, such as ``role='user' content='Why?' name=None …``; empty for any other text."""
    head = _PRINTED.match(text)
    if head is None or head[1] not in _ROLE_NAMES:
        return {}
    try:
        content, name, call_id = (ast.literal_eval(head[group]) for group in (2, 3, 4))
        calls, end = _read_printed_calls(text, head.end())
        thought = _PRINTED_THOUGHT.search(text, end)
        reasoning = ast.literal_eval(thought[1]) if thought else None
    except _NO_LITERAL:
        return {}
    told = {"content": content, "name": name, "tool_call_id": call_id, "tool_calls": calls}
    return {"role": head[1], **told, "reasoning_content": reasoning}


def _read_printed_calls(text: str, begin: int) -> tuple[Any, int]:
    """The list of calls, or None, that begins at this place, and its end. Raises one of `_NO_LITERAL`."""
    for end in islice(_NEXT_FIELD.finditer(text, begin), _ENDS_TRIED):
        try:
            calls = ast.literal_eval(text[begin : end.start()])
        except _NO_LITERAL:
            continue
        json.dumps(calls, allow_nan=False)
        return calls, end.start()
    raise ValueError("no list of calls")


def _find_in_list(logged: list[Any], role: str) -> Iterator[JsonObject]:
    parts = [
        each for each in logged if isinstance(each, dict) and "role" not in each and str(each.get("type")) in _PARTS
    ]
    if parts and len(parts) == len(logged):
        yield {"role": role, "content": parts}
        return
    calls = [each for each in logged if isinstance(each, dict) and "toolCallId" in each and "role" not in each]
    if calls and len(calls) == len(logged):
        yield {"role": role, "content": "", "tool_calls": calls}
        return
    called: set[str] = set()
    for each in logged:
        given = each.get("role") if isinstance(each, dict) else None
        if isinstance(given, str) and given in called and given not in _ROLE_NAMES and _says(each):
            # Some programs give the result of a tool the tool's name as its role.
            yield from _read_message({**each, "name": given}, "tool")
            continue
        for message in _find(each, role):
            called |= set(_list_called(message))
            yield message


def _list_called(message: JsonObject) -> Iterator[str]:
    """The names of the tools that a message calls."""
    yield from (read_arguments(call)[1] for call in find_list(message, "tool_calls") if isinstance(call, dict))


def _read_calls(content: Any) -> list[JsonObject]:
    """Calls that are written as JSON in the words of a message, as koog does; empty if the words are anything else."""
    calls = read_json_text(content) if isinstance(content, str) and content.lstrip().startswith("[") else None
    if not isinstance(calls, list):
        return []
    is_all = all(
        isinstance(each, dict) and each.get("type") == "function" and isinstance(each.get("function"), dict)
        for each in calls
    )
    return calls if is_all else []


def _find_in_object(logged: JsonObject, role: str) -> Iterator[JsonObject]:
    given = logged.get("role") or (
        logged.get("type") if logged.get("type") in ("human", "ai", "system", "tool") else None
    )
    if given is not None and _says(logged):
        yield from _read_message(logged, str(given))
        return
    if str(logged.get("type")) in _ITEMS:
        yield {key: logged[key] for key in _KEPT_OF_ITEM if key in logged}
        return
    if isinstance(logged.get("message"), dict):
        yield from _find(logged["message"], role)
        return
    if isinstance(logged.get("choices"), list):
        # The first answer is the one that the conversation goes on with.
        yield from _find(logged["choices"][:1], role)
        return
    system = logged.get("system") or logged.get("instructions")
    if isinstance(system, str) and system.strip():
        yield {"role": "system", "content": system}
    for key in _LISTS:
        if isinstance(logged.get(key), list):
            yield from _find_in_list(logged[key], role)
            return
    calls = logged.get("toolCalls") or logged.get("tool_calls")
    text = next((logged[key] for key in _TEXTS if isinstance(logged.get(key), str)), None)
    content = logged.get("content")
    if isinstance(calls, list) and calls:
        yield {"role": role, "content": text or "", "tool_calls": calls}
    elif text is not None:
        yield {"role": role, "content": text}
    elif isinstance(content, list):
        yield {"role": role, "content": content}


def _read_message(logged: JsonObject, given: str) -> Iterator[JsonObject]:
    if given not in _ROLE_NAMES:
        return
    content = logged.get("content")
    # Some programs send the tools' descriptions along as messages of a tool.
    if isinstance(content, dict) and content.get("type") == "function" and "function" in content:
        return
    message = {key: logged[key] for key in _KEPT if logged.get(key) is not None and key != "type"}
    more = logged.get("additional_kwargs")
    if not message.get("tool_calls") and isinstance(more, dict) and more.get("tool_calls"):
        message["tool_calls"] = more["tool_calls"]
    may_call = given == "tool" or logged.get("finish_reason") == "tool_calls"
    if may_call and (calls := _read_calls(message.get("content"))):
        yield {"role": "assistant", "content": "", "tool_calls": calls}
        return
    if "content" not in message and "parts" not in message:
        message["content"] = None
    yield {**message, "role": _ROLE_NAMES[given]}


def _says(logged: JsonObject) -> bool:
    return any(logged.get(key) is not None for key in ("content", "parts", "tool_calls", "reasoning_content"))


FORMAT = "utterances"

DIFFERS = "The field text has other words than the utterances, and was left out."
_APART = frozenset({"id", "text", "utterances", "consent"})
_VOICE = re.compile(r"[A-Za-z]|\d{1,3}")
_ALONE = (
    'a list of objects with "speaker" and "text" (transcribe with speakers told apart; or choose the format interview_jsonl, '
    "in which a text is one answer of the model)"
)


def read_utterances(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    told: dict[str, None] = {}
    interviews = []
    for line in read_json_objects(source):
        interview, warnings = _read_recording(line, source, left_out)
        interviews.append(interview)
        told.update(dict.fromkeys(warnings))
    return ReadFile(FORMAT, interviews, [*told, *list_left_out(left_out)], left_out)


def _read_recording(line: JsonLine, source: Source, left_out: Counter[str]) -> tuple[ReadInterview, list[str]]:
    number, content = line
    utterances = content.get("utterances")
    if not isinstance(utterances, list):
        raise ReadError(source.name, number, f'{name_json_type(utterances)} as "utterances"', _ALONE)
    said = [_read_utterance(each, place, number, source.name) for place, each in enumerate(utterances, 1)]
    roles, warnings = assign_roles(list(dict.fromkeys(speaker for speaker, _, _ in said)))
    turns = tuple(ReadTurn(roles[speaker], "utterance", speaker, text, details=at) for speaker, text, at in said)
    whole = content.get("text")
    if isinstance(whole, str) and whole.split() != " ".join(turn.text for turn in turns).split():
        left_out[DIFFERS] += 1
    kept: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, dict | list) and value and key not in _APART:
            left_out[f"The key {shorten(key)} of a recording was left out."] += 1
        elif key == "consent" or not isinstance(value, bool | dict | list):
            kept[key] = value
    details = read_details((number, kept), name=source.name, apart=_APART)
    external_id = read_id(content) or f"{source.stem}-{number}"
    title = details.pop("title", "")
    return ReadInterview(external_id, title if title.strip() else external_id, turns, **details), warnings


def _read_utterance(given: Any, place: int, line: int, name: str) -> tuple[str, str, dict[str, str]]:
    """Who speaks, what she says, and when."""
    speaker, text = (given.get("speaker"), given.get("text")) if isinstance(given, dict) else (None, None)
    if isinstance(speaker, int) and not isinstance(speaker, bool):
        speaker = str(speaker)[:40]
    if not isinstance(speaker, str) or not speaker.strip() or not isinstance(text, str):
        raise ReadError(name, line, f"utterance {place} without a speaker or words", _ALONE)
    ends = {"from": given.get("start"), "to": given.get("end")}
    at = {
        key: write_clock(value / 1000)
        for key, value in ends.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    }
    return (f"Speaker {speaker}" if _VOICE.fullmatch(speaker) else speaker), text, at
