"""Chat messages of OpenAI and Anthropic, and answers of OpenAI's Responses. Each reader's docstring describes its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import (
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    list_left_out,
    read_day,
    read_id,
    read_named,
    read_objects,
    write_plain,
)
from transcripts.formats.interviews.chat_content import MessageReader, name_results, split_joined_results
from transcripts.formats.interviews.threads import find_kind, find_models
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

CHAT_MESSAGES = "chat_messages"
MESSAGE_LIST = "message_list"

_APART = frozenset({"id", "messages", "consent", "system"})


def read_chat_lines(source: Source) -> ReadFile:
    """Chat messages as the interfaces of OpenAI and Anthropic write them: objects with ``messages``, or one list of messages.

        {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "…"}]}

    Roles: ``system`` and ``developer`` are the system, ``user`` is the interviewer, ``assistant`` the model, ``tool`` and
    ``function`` a tool. ``content`` is text, null, or a list of typed parts; text parts that follow each other are joined
    by a line feed. A message that says several kinds of thing becomes several turns: reasoning (in a key of its own, in parts
    of that type, or in a ``<think>`` block that opens an assistant's content), utterance, and tool calls, each with its
    arguments as JSON for text and the tool's name as speaker. A tool's message, and the part of a user's message that bears a
    result, is a tool result; a tool's message that holds the results of several calls becomes one for each. Parts without text,
    such as pictures, are left out with a warning. A ``system`` beside the messages is the first turn. With tool calls a
    conversation is a trajectory.

    A file that is one list of messages is one conversation; in it a message that begins with ``<returncode>``, as mini-swe-agent
    writes what a command gave back, is a tool result.

    ``id`` names the conversation; without one it is the file's name and the line. ``title``, ``model`` and the other keys
    that interview lines know have the same meaning here; every other key is kept as metadata.

    Raises `ReadError`.
    """
    return read_objects(CHAT_MESSAGES, source, _read_conversation)


def read_message_list(source: Source) -> ReadFile:
    """Read a file that is one list of messages; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    reader = MessageReader(source.name, 1, left_out)
    messages = [content for _, content in read_json_objects(source)]
    turns = tuple(map(_mark_output, read_messages(messages, reader)))
    kind = "trajectory" if any(turn.role == "tool" for turn in turns) else find_kind(turns)
    interview = ReadInterview(source.stem[:200], source.stem[:300], turns, find_models(turns), kind=kind)
    return ReadFile(MESSAGE_LIST, [interview], list_left_out(left_out), left_out)


def _mark_output(turn: ReadTurn) -> ReadTurn:
    """What mini-swe-agent reads back from a command that it wrote among its words is a result, not a question."""
    if turn.role == "interviewer" and turn.text.startswith("<returncode>"):
        return replace(turn, role="tool", channel="tool_result")
    return turn


def read_messages(messages: list[Any], reader: MessageReader) -> tuple[ReadTurn, ...]:
    """The turns of messages, each result with the name of its tool. Raises `ReadError`."""
    turns = [turn for place, message in enumerate(messages, 1) for turn in reader.read(message, place)]
    return name_results([*split_joined_results(turns)], reader.left_out)


def read_system(content: object, reader: MessageReader) -> list[ReadTurn]:
    """The instructions that stand beside the messages: text, or a list of parts."""
    if not content or not isinstance(content, str | list):
        return []
    return reader.read({"role": "system", "content": content}, 0)


def _read_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    messages = content.get("messages")
    if not isinstance(messages, list):
        found = f'{name_json_type(messages)} as "messages"' if "messages" in content else 'no "messages"'
        raise ReadError(source.name, number, found, "a list of messages")
    named = read_named(line, source, apart=_APART)
    if read_id(content) is None and content.get("id") is not None:
        raise ReadError(source.name, number, "an id that is empty or of another kind", "text or a whole number")
    reader = MessageReader(source.name, number, left_out)
    turns = (*read_system(content.get("system"), reader), *read_messages(messages, reader))
    yield ReadInterview(turns=turns, kind=find_kind(turns), **{"model_label": find_models(turns), **named})


RESPONSES = "openai_responses"

UNASKED = "An answer came without its question, which is not in the file."
_APART_OF_RESPONSE = frozenset({"id", "object", "created_at", "instructions", "input", "output", "consent"})
_ARGUMENTS = ("arguments", "input")
# Of a call that the provider ran, what is not among its arguments.
_OF_ITEM = frozenset({"id", "call_id", "type", "status", "name", "output", "error"})


def read_responses(source: Source) -> ReadFile:
    """Answers of OpenAI's Responses as its interface gives them: one object, a list, or an object on each line.

        {"id": "r1", "object": "response", "model": "m", "instructions": "Be brief.", "output": [
          {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "…"}]}]}

    ``instructions`` are the system, ``input`` is what was asked where the file has it, as text or as items; the items of ``output``
    follow. Messages, reasoning and calls are read as in chat messages; calls of tools that the provider runs itself (such as
    ``web_search_call``) are calls under the name of their type, with their contents as arguments. Items that are none of these
    are left out and counted. Every other key is kept as metadata.

    Raises `ReadError`.
    """
    return read_objects(RESPONSES, source, _read_response)


def _read_response(line: JsonLine, source: Source, left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    output = content.get("output")
    if content.get("object") != "response" or not isinstance(output, list):
        kind = content.get("object")
        found = (
            f'{name_json_type(output)} as "output"'
            if kind == "response"
            else f"an object of another kind, {shorten(str(kind))}"
        )
        raise ReadError(source.name, number, found, '"object": "response" and "output", a list of items')
    named = read_named(line, source, apart=_APART_OF_RESPONSE)
    named["metadata"] = {key: told for key, told in named["metadata"].items() if told not in {"", "[]", "{}"}}
    reader = MessageReader(source.name, number, left_out)
    asked = _read_items(content.get("input"), "user", reader)
    if not asked:
        left_out[UNASKED] += 1
    answered = [
        turn
        for place, item in enumerate(output, 1)
        for turn in _read_item(item, place, reader, {"created_at": content.get("created_at")})
    ]
    turns = name_results([*_read_items(content.get("instructions"), "system", reader), *asked, *answered], left_out)
    yield ReadInterview(turns=turns, kind=find_kind(turns), **{"period": read_day(content.get("created_at")), **named})


def _read_items(given: Any, role: str, reader: MessageReader) -> list[ReadTurn]:
    """What was said before the answer: a text of the role, or items that say whose they are."""
    if isinstance(given, str):
        return reader.read({"role": role, "content": given}, 0) if given.strip() else []
    items = given if isinstance(given, list) else []
    return [turn for place, item in enumerate(items, 1) for turn in _read_item(item, place, reader, {})]


def _read_item(item: Any, place: int, reader: MessageReader, shared: JsonObject) -> list[ReadTurn]:
    kind = str(item.get("type") or "") if isinstance(item, dict) else ""
    if not isinstance(item, dict) or "role" in item:
        said = {key: item[key] for key in item if key not in {"id", "status"}} if isinstance(item, dict) else item
        return reader.read({**shared, **said} if isinstance(said, dict) else said, place)
    if kind == "reasoning":
        return reader.read({**shared, **item}, place)
    if kind.endswith("_call_output"):
        return reader.read({**shared, **item, "type": "function_call_output"}, place)
    if kind.endswith("_call"):
        return _read_call(item, kind, place, reader, shared)
    reader.left_out[
        f"An item of type {shorten(kind)} was left out because it is not a message, call or reasoning."
    ] += 1
    return []


def _read_call(item: JsonObject, kind: str, place: int, reader: MessageReader, shared: JsonObject) -> list[ReadTurn]:
    """The call, and what it gave back where the item says that too."""
    arguments = next((item[key] for key in _ARGUMENTS if item.get(key) is not None), None)
    if arguments is None:
        arguments = {key: item[key] for key in item if key not in _OF_ITEM and item[key] is not None}
    name = item.get("name")
    call_id = item.get("call_id") or item.get("id")
    call = {
        "type": "function_call",
        "name": name if isinstance(name, str) and name else kind.removesuffix("_call"),
        "arguments": arguments,
        "call_id": call_id,
    }
    turns = reader.read({**shared, **call}, place)
    output = item.get("output")
    if output is None and item.get("error") is None:
        return turns
    given = "" if output is None else write_plain(output)
    result = {"type": "function_call_output", "call_id": call_id, "output": given, "error": item.get("error")}
    return [*turns, *reader.read({**shared, **result}, place)]
