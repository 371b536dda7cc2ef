"""Traces of Langfuse as JSON: ``{"trace": {…}, "observations": […]}``, a trace with its observations, or a list of these.

The generations of a trace are the calls to models; `threads` says how calls become threads. What a tool's observation gave
back follows its call where no later call was sent it. Other observations (spans, agents, events) repeat what their parts say
and are passed over, but for the instructions that the calls themselves do not tell. Scores, name and release of the trace are
kept.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, Source
from transcripts.formats.interviews.chat_content import MessageReader, read_json_text
from transcripts.formats.interviews.details import list_left_out, read_day
from transcripts.formats.interviews.loose_messages import find_messages, is_printed
from transcripts.formats.interviews.traces import ModelCall, ToolRun, read_trace
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects
from transcripts.formats.problems import ReadError

FORMAT = "langfuse"

UNREAD = "The input of a call to a model was left out because its form is unknown; the answer was read."
PRINTED = "A message was left out because it is the text of a Python object, of which who speaks could not be read."
JOINED = "A prompt of several messages in one text was read as one turn of the interviewer."
_JOINED = re.compile(r"(?:system|developer|user): (?s:.*)\n(?:user|assistant|tool): ")
_METADATA = ("name", "release", "version", "environment", "tags", "sessionId", "metadata")
_TOKENS = ("input", "output")


def read_langfuse(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    read: list[ReadInterview] = []
    for line in read_json_objects(source):
        read += _read_trace(line, source, left_out)
    left_out = +left_out
    return ReadFile(FORMAT, read, list_left_out(left_out), left_out)


def _read_trace(line: JsonLine, source: Source, left_out: Counter[str]) -> list[ReadInterview]:
    number, content = line
    trace = content.get("trace") if isinstance(content.get("trace"), dict) else content
    observations = content.get("observations")
    if not isinstance(trace, dict) or not isinstance(observations, list):
        found = f'{name_json_type(observations)} as "observations"'
        raise ReadError(source.name, number, found, "a trace with the list of its observations")
    if not all(isinstance(each, dict) for each in observations):
        raise ReadError(
            source.name, number, "an observation that is not an object", "objects with type, input and output"
        )
    identity = trace.get("id")
    external_id = (identity if isinstance(identity, str) and identity else f"{source.stem}-{number}")[:150]
    name = trace.get("name")
    scores = _read_scores(trace.get("scores"))
    common = ReadInterview(
        external_id=external_id,
        title=(f"{name} {external_id}" if isinstance(name, str) and name else external_id)[:300],
        turns=(),
        period=read_day(trace.get("timestamp")),
        surface="Langfuse",
        metadata={key: _keep(trace[key]) for key in _METADATA if trace.get(key)},
        line=number,
        run={"task": str(name or ""), **({"scores": scores} if scores else {})},
    )
    generations = [each for each in observations if each.get("type") == "GENERATION"]
    calls = [_read_generation(each, left_out) for each in generations]
    if not any(call.sent for call in calls) and (unread := sum(bool(each.get("input")) for each in generations)):
        left_out[UNREAD] += unread
    return read_trace(
        _add_system(calls, observations),
        (_read_tool(each) for each in observations if each.get("type") == "TOOL"),
        common,
        MessageReader(source.name, number, left_out),
    )


def _add_system(calls: list[ModelCall], observations: list[JsonObject]) -> list[ModelCall]:
    """The calls; where none of them was sent instructions, the first with those that an observation around them was given."""
    if not calls or any(message.get("role") == "system" for call in calls for message in call.sent):
        return calls
    around = [each for each in observations if each.get("type") not in {"GENERATION", "TOOL"}]
    for each in sorted(around, key=lambda each: str(each.get("startTime"))):
        given = find_messages(each.get("input"), role="user")
        if system := [message for message in given if message.get("role") == "system"]:
            first = min(calls, key=lambda call: str(call.start))
            return [replace(call, sent=[*system, *call.sent]) if call is first else call for call in calls]
    return calls


def _keep(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read_scores(scores: Any) -> dict[str, Any]:
    rows: Iterable[Any] = scores if isinstance(scores, list) else []
    return {
        str(row["name"]): row["value"] if row.get("value") is not None else row.get("stringValue")
        for row in rows
        if isinstance(row, dict) and row.get("name")
    }


def _read_generation(observation: JsonObject, left_out: Counter[str]) -> ModelCall:
    usage = observation.get("usageDetails")
    usage = usage if isinstance(usage, dict) else {}
    sent = _leave_out_printed(find_messages(observation.get("input"), role="user"), left_out)
    answered = _leave_out_printed(find_messages(observation.get("output"), role="assistant"), left_out)
    left_out[JOINED] += sum(_holds_several(message) for message in sent)
    # An answer of OpenAI's Responses says once more what it was instructed to.
    instructed = [message for message in answered if message.get("role") == "system"]
    return ModelCall(
        start=observation.get("startTime"),
        sent=[*(message for message in instructed if message not in sent), *sent],
        answered=[message for message in answered if message not in instructed],
        model=str(observation.get("model") or ""),
        tokens={key: usage[key] for key in _TOKENS if isinstance(usage.get(key), int)},
    )


def _leave_out_printed(messages: list[JsonObject], left_out: Counter[str]) -> list[JsonObject]:
    kept = [message for message in messages if not is_printed(message.get("content"))]
    left_out[PRINTED] += len(messages) - len(kept)
    return kept


def _holds_several(message: JsonObject) -> bool:
    content = message.get("content")
    return isinstance(content, str) and message.get("role") == "user" and _JOINED.match(content) is not None


def _read_tool(observation: JsonObject) -> ToolRun:
    result = read_json_text(observation.get("output"))
    content = result.get("content") if isinstance(result, dict) else None
    if isinstance(content, list) and all(
        isinstance(each, dict) and isinstance(each.get("text"), str) for each in content
    ):
        result = "\n".join(each["text"] for each in content)
    elif not isinstance(result, str) and isinstance(observation.get("output"), str):
        # As the file writes it.
        result = observation["output"]
    return ToolRun(
        start=observation.get("startTime"),
        name=str(observation.get("name") or "")[:200],
        call_id="",
        given=observation.get("input"),
        result=result if isinstance(result, str) else json.dumps(result, ensure_ascii=False),
    )
