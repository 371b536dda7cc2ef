"""Traces of OpenTelemetry (OTLP as JSON: objects with ``resourceSpans``) whose spans say what models were sent and answered.

Read are the attributes of the GenAI conventions (``gen_ai.input.messages``, ``gen_ai.output.messages``,
``gen_ai.system_instructions``), the events that came before them (``gen_ai.user.message``, ``gen_ai.choice``, …), and the numbered
attributes of OpenInference (``llm.input_messages.0.message.role``) and of OpenLLMetry (``gen_ai.prompt.0.role``). A span with
none of these is passed over, as is one that only says how many tokens were used. Spans of tools say what calls gave back.
Calls of one conversation (``gen_ai.conversation.id``, else one trace) become threads as `threads` says.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, Source
from transcripts.formats.interviews.chat_content import MessageReader, read_json_text
from transcripts.formats.interviews.details import list_left_out, read_day, read_time
from transcripts.formats.interviews.loose_messages import find_messages
from transcripts.formats.interviews.traces import ModelCall, ToolRun, read_trace
from transcripts.formats.json_lines import JsonObject, read_json_objects
from transcripts.formats.problems import ReadError

FORMAT = "otel_genai"

_NUMBERED = re.compile(
    r"(?:llm\.(?P<side>input|output)_messages\.(?P<place>\d{1,5})\.message"
    r"|gen_ai\.(?P<old>prompt|completion)\.(?P<at>\d{1,5}))\.(?P<key>.+)"
)
_CALL = re.compile(r"(?:tool_calls\.(?P<place>\d{1,4})\.)(?:tool_call\.)?(?:function\.)?(?P<key>id|name|arguments)\Z")
_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_DETAILS_EVENT = "gen_ai.client.inference.operation.details"


def read_otel(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    traces: dict[str, list[JsonObject]] = {}
    for number, content in read_json_objects(source):
        for span in _list_spans(content, source, number):
            traces.setdefault(str(span.get("traceId") or ""), []).append(span)
    read: list[ReadInterview] = []
    reader = MessageReader(source.name, 1, left_out)
    for trace_id, spans in traces.items():
        told = [(span, _read_attributes(span)) for span in spans]
        calls = [call for span, attributes in told if (call := _read_call(span, attributes)) is not None]
        runs = [run for span, attributes in told if (run := _read_tool(span, attributes)) is not None]
        passed = len(spans) - len(calls) - len(runs)
        if passed:
            left_out["A span without messages was skipped."] += passed
        external_id = (trace_id or source.stem)[:150]
        common = ReadInterview(
            external_id, external_id, (), surface="OpenTelemetry", period=read_day(_find_start(spans)), line=1
        )
        read += read_trace(calls, runs, common, reader)
    if not read:
        raise ReadError(
            source.name,
            None,
            "spans without messages",
            "spans with gen_ai.input.messages and gen_ai.output.messages (recording them is off by default)",
        )
    return ReadFile(FORMAT, read, list_left_out(left_out), left_out)


def _list_spans(content: JsonObject, source: Source, line: int) -> Iterator[JsonObject]:
    try:
        for resource in content["resourceSpans"]:
            # Until 2022 the scope was called a library.
            for scope in resource.get("scopeSpans") or resource.get("instrumentationLibrarySpans") or []:
                yield from (span for span in scope["spans"] if isinstance(span, dict))
    except (KeyError, TypeError, AttributeError):
        raise ReadError(
            source.name, line, "spans in another layout", "OTLP as JSON: resourceSpans, scopeSpans, spans"
        ) from None


def _find_start(spans: list[JsonObject]) -> object:
    starts = [str(span.get("startTimeUnixNano") or "") for span in spans]
    return min((start for start in starts if start.isdigit()), default=None, key=int)


def _read_attributes(told: JsonObject) -> dict[str, Any]:
    rows = told.get("attributes")
    if isinstance(rows, dict):
        return rows
    return {
        str(row.get("key")): _read_value(row.get("value"))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    }


def _read_value(value: Any) -> Any:
    """What OTLP writes with its type: {"stringValue": "…"}, {"arrayValue": {"values": […]}} and so on."""
    if not isinstance(value, dict) or not value:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "arrayValue":
        return [_read_value(each) for each in (inner or {}).get("values") or []]
    if kind == "kvlistValue":
        return {str(row.get("key")): _read_value(row.get("value")) for row in (inner or {}).get("values") or []}
    if kind == "intValue":
        return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() else inner
    return inner


def _read_call(span: JsonObject, attributes: dict[str, Any]) -> ModelCall | None:
    if _is_tool(attributes):
        return None
    told = {**attributes, **_read_details_event(span)}
    sent = find_messages(told.get("gen_ai.input.messages"), role="user")
    answered = find_messages(told.get("gen_ai.output.messages"), role="assistant")
    if not sent and not answered:
        sent, answered = _read_numbered(told)
    if not sent and not answered:
        sent, answered = _read_events(span)
    if not sent and not answered:
        return None
    system = read_json_text(told.get("gen_ai.system_instructions"))
    if system:
        sent = [{"role": "system", "content": system}, *sent]
    start = span.get("startTimeUnixNano")
    usage = {word: told.get(f"gen_ai.usage.{word}_tokens") for word in ("input", "output")}
    return ModelCall(
        start=int(start) if isinstance(start, str | int) and str(start).isdigit() else read_time(start),
        sent=sent,
        answered=answered,
        model=str(
            told.get("gen_ai.response.model") or told.get("gen_ai.request.model") or told.get("llm.model_name") or ""
        ),
        conversation=str(told.get("gen_ai.conversation.id") or told.get("session.id") or ""),
        tokens={word: number for word, number in usage.items() if isinstance(number, int)},
    )


def _list_events(span: JsonObject) -> list[JsonObject]:
    events = span.get("events")
    return [event for event in events if isinstance(event, dict)] if isinstance(events, list) else []


def _read_details_event(span: JsonObject) -> dict[str, Any]:
    for event in _list_events(span):
        if event.get("name") == _DETAILS_EVENT:
            return _read_attributes(event)
    return {}


def _read_numbered(told: dict[str, Any]) -> tuple[list[JsonObject], list[JsonObject]]:
    sides: dict[str, dict[int, JsonObject]] = {"input": {}, "output": {}}
    for name, value in told.items():
        if (found := _NUMBERED.match(name)) is None:
            continue
        side = found["side"] or ("input" if found["old"] == "prompt" else "output")
        message = sides[side].setdefault(int(found["place"] or found["at"]), {})
        if call := _CALL.match(found["key"]):
            calls = message.setdefault("calls", {})
            calls.setdefault(int(call["place"]), {})[call["key"]] = value
        elif found["key"] in {"role", "content", "tool_call_id", "name"}:
            message[found["key"]] = value
    return _order(sides["input"], "user"), _order(sides["output"], "assistant")


def _order(numbered: dict[int, JsonObject], role: str) -> list[JsonObject]:
    messages = []
    for _, message in sorted(numbered.items()):
        calls = [call for _, call in sorted(message.pop("calls", {}).items())]
        whole = {"role": role, "content": "", **message, **({"tool_calls": calls} if calls else {})}
        messages += find_messages([whole], role=role)
    return messages


def _read_events(span: JsonObject) -> tuple[list[JsonObject], list[JsonObject]]:
    sent: list[JsonObject] = []
    answered: list[JsonObject] = []
    for event in _list_events(span):
        role = _EVENT_ROLES.get(str(event.get("name")))
        if role is None:
            continue
        told = {key: read_json_text(value) for key, value in _read_attributes(event).items()}
        message = told["message"] if isinstance(told.get("message"), dict) else told
        if role == "tool" and isinstance(message.get("id"), str):
            message = {**message, "tool_call_id": message["id"]}
        content = message.get("content")
        if isinstance(content, dict | int | float):
            message = {**message, "content": json.dumps(content, ensure_ascii=False)}
        target = answered if event["name"] == "gen_ai.choice" else sent
        target += find_messages([{**message, "role": role}], role=role)
    return sent, answered


def _is_tool(attributes: dict[str, Any]) -> bool:
    kind = attributes.get("gen_ai.operation.name") or attributes.get("openinference.span.kind")
    return str(kind).lower() in {"execute_tool", "tool"}


def _read_tool(span: JsonObject, attributes: dict[str, Any]) -> ToolRun | None:
    if not _is_tool(attributes):
        return None
    result = attributes.get("gen_ai.tool.call.result", attributes.get("output.value"))
    if result is None:
        return None
    start = span.get("startTimeUnixNano")
    return ToolRun(
        start=int(start) if isinstance(start, str | int) and str(start).isdigit() else "",
        name=str(attributes.get("gen_ai.tool.name") or attributes.get("tool.name") or span.get("name") or "")[:200],
        call_id=str(attributes.get("gen_ai.tool.call.id") or "")[:200],
        given=attributes.get("gen_ai.tool.call.arguments", attributes.get("input.value")),
        result=result if isinstance(result, str) else json.dumps(result, ensure_ascii=False),
    )
