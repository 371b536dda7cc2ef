"""Answers of OpenAI's Responses as its interface gives them: one object, a list, or an object on each line.

    {"id": "r1", "object": "response", "model": "m", "instructions": "Be brief.", "output": [
      {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "…"}]}]}

``instructions`` are the system, ``input`` is what was asked where the file has it, as text or as items; the items of ``output``
follow. Messages, reasoning and calls are read as in chat messages; calls of tools that the provider runs itself (such as
``web_search_call``) are calls under the name of their type, with their contents as arguments. Items that are none of these
are left out and counted. Every other key is kept as metadata.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.chat_content import MessageReader, name_results
from transcripts.formats.interviews.details import list_left_out, read_day, read_details, read_id
from transcripts.formats.interviews.threads import find_kind
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

FORMAT = "openai_responses"

UNASKED = "An answer came without its question, which is not in the file."
_APART = frozenset({"id", "object", "created_at", "instructions", "input", "output", "consent"})
_ARGUMENTS = ("arguments", "input")
# Of a call that the provider ran, what is not among its arguments.
_OF_ITEM = frozenset({"id", "call_id", "type", "status", "name", "output", "error"})


def read_responses(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    interviews = [_read_response(line, source, left_out) for line in read_json_objects(source)]
    return ReadFile(FORMAT, interviews, list_left_out(left_out), left_out)


def _read_response(line: JsonLine, source: Source, left_out: Counter[str]) -> ReadInterview:
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
    details = read_details(line, name=source.name, apart=_APART)
    external_id = read_id(content) or f"{source.stem}-{number}"
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
    title = details.pop("title", "")
    return ReadInterview(
        external_id=external_id,
        title=title if title.strip() else external_id,
        turns=turns,
        kind=find_kind(turns),
        **{
            "period": read_day(content.get("created_at")),
            **details,
            "metadata": {key: told for key, told in details["metadata"].items() if told not in {"", "[]", "{}"}},
        },
    )


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
    given = output if isinstance(output, str) or output is None else json.dumps(output, ensure_ascii=False)
    result = {"type": "function_call_output", "call_id": call_id, "output": given or "", "error": item.get("error")}
    return [*turns, *reader.read({**shared, **result}, place)]
