"""Traces of Langfuse and OpenTelemetry: from the model calls and tool runs of a trace to threads.

The docstring of each reader describes its format; how calls become threads is the same for both.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from transcripts.formats.interviews.base import (
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    describe_turn,
    find_list,
    find_object,
    list_left_out,
    read_day,
    read_objects,
    read_time,
    write_plain,
)
from transcripts.formats.interviews.chat_content import (
    MessageReader,
    find_open_calls,
    is_kept,
    name_results,
    pair_results,
    read_json_text,
)
from transcripts.formats.interviews.loose_messages import find_messages, is_printed
from transcripts.formats.interviews.threads import Call, Thread, find_kind, find_models, join_calls, name_threads
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects
from transcripts.formats.problems import ReadError

COPIES = "A call to a model was skipped because it adds nothing to an earlier one."
UNREADABLE = "A call to a model was left out because the trace contains neither its input nor its answer."

LOST = "The result of a tool was left out because the trace does not contain its call."


@dataclass(frozen=True)
class ModelCall:
    """A call to a model: its input and output messages. ``start`` orders the calls of a trace."""

    start: object
    sent: Sequence[JsonObject]
    answered: Sequence[JsonObject]
    model: str = ""
    conversation: str = ""
    tokens: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolRun:
    """The input and result of a tool; ``call_id`` may be ""."""

    start: object
    name: str
    call_id: str
    given: Any
    result: str


def read_trace(
    calls: Iterable[ModelCall], runs: Iterable[ToolRun], common: ReadInterview, reader: MessageReader
) -> list[ReadInterview]:
    """The threads of one trace. ``common`` has what they share. Raises ``ReadError`` for an invalid message."""
    by_conversation: dict[str, list[Call]] = {}
    for call in sorted(calls, key=lambda call: _order(call.start)):
        read = _read_call(call, reader)
        if read.history or read.answer:
            by_conversation.setdefault(call.conversation, []).append(read)
        else:
            reader.left_out[UNREADABLE] += 1
    waiting = sorted(runs, key=lambda run: _order(run.start))
    read_threads: list[ReadInterview] = []
    for conversation, told in by_conversation.items():
        threads, copies = join_calls(told)
        if copies:
            reader.left_out[COPIES] += copies
        for thread in threads:
            waiting = _add_results(thread, waiting)
            thread.turns = list(name_results(thread.turns, reader.left_out))
        behind = f"/{conversation}" if conversation and len(by_conversation) > 1 else ""
        own = replace(common, external_id=f"{common.external_id}{behind}"[:200], title=f"{common.title}{behind}"[:300])
        read_threads += [
            replace(each, model_label=find_models(each.turns), kind=find_kind(each.turns))
            for each in name_threads(threads, common=own)
        ]
    turns = [turn for thread in read_threads for turn in thread.turns]
    called = {turn.speaker for turn in turns if turn.channel == "tool_call"}
    results = {turn.text.strip() for turn in turns if turn.channel == "tool_result"}
    if lost := sum(not (_find_tool(run, called) or run.result.strip() in results) for run in waiting):
        reader.left_out[LOST] += lost
    return read_threads


def _order(start: object) -> tuple[float, str]:
    return (float(start), "") if isinstance(start, int | float) else (0.0, str(start or ""))


def _read_call(call: ModelCall, reader: MessageReader) -> Call:
    history = [turn for at, message in enumerate(call.sent, 1) for turn in reader.read(message, at)]
    answer = [turn for at, message in enumerate(call.answered, 1) for turn in reader.read(message, at)]
    details = describe_turn(call.start, call.model)
    answer = [
        replace(
            turn, details={**details, **turn.details, **({"tokens": call.tokens} if call.tokens and not place else {})}
        )
        for place, turn in enumerate(turn for turn in answer if is_kept(turn))
    ]
    return Call(tuple(turn for turn in history if is_kept(turn)), tuple(answer), may_be_delta=bool(call.conversation))


def _add_results(thread: Thread, runs: list[ToolRun]) -> list[ToolRun]:
    """Insert the results of tools after those calls whose result was not sent to a later call, in the order of the calls. Returns
    the remaining runs."""
    remaining = list(runs)
    pairs = pair_results(thread.turns)
    for position in reversed(find_open_calls(thread.turns)):
        call = thread.turns[position - 1]
        run = next((run for run in remaining if _is_run_of(run, call)), None)
        if run is None:
            continue
        remaining.remove(run)
        behind = position
        while behind < len(pairs) and (
            thread.turns[behind].channel == "tool_call" or 0 < (pairs[behind] or 0) <= position
        ):
            behind += 1
        result = ReadTurn(
            "tool", "tool_result", call.speaker or run.name, run.result, "", call.call_id, describe_turn(run.start)
        )
        thread.turns.insert(behind, result)
        pairs.insert(behind, position)
    return remaining


def _find_tool(run: ToolRun, names: Collection[str]) -> bool:
    """Whether a run belongs to one of these tools: by its name, or by its last word, as in "running tool: look"."""
    return run.name in names or run.name.rpartition(" ")[2] in names


def _is_run_of(run: ToolRun, call: ReadTurn) -> bool:
    if run.call_id and call.call_id:
        return run.call_id == call.call_id
    if not _find_tool(run, {call.speaker}):
        return False
    given, asked = read_json_text(run.given), read_json_text(call.text)
    return given == asked or (isinstance(given, dict) and asked in (given.get("input"), given.get("arguments")))


LANGFUSE = "langfuse"

UNREAD = "The input of a call to a model was left out because its form is unknown; the answer was read."
PRINTED = "A message was left out because it is the text of a Python object, of which who speaks could not be read."
JOINED = "A prompt of several messages in one text was read as one turn of the interviewer."
_JOINED = re.compile(r"(?:system|developer|user): (?s:.*)\n(?:user|assistant|tool): ")
_KEPT_OF_TRACE = ("name", "release", "version", "environment", "tags", "sessionId", "metadata")
_TOKENS_KEPT = ("input", "output")


def read_langfuse(source: Source) -> ReadFile:
    """Traces of Langfuse as JSON: ``{"trace": {…}, "observations": […]}``, a trace with its observations, or a list of these.

    The generations of a trace are the calls to models; `threads` says how calls become threads. The result in a tool's
    observation follows its call unless it was sent to a later call. Other observations (spans, agents, events) repeat the
    content of their parts and are skipped, except for instructions that the calls themselves do not contain. Scores, name and
    release of the trace are kept.

    Raises `ReadError`.
    """
    return read_objects(LANGFUSE, source, _read_trace)


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
    scores = _read_scores(trace)
    common = ReadInterview(
        external_id=external_id,
        title=(f"{name} {external_id}" if isinstance(name, str) and name else external_id)[:300],
        turns=(),
        period=read_day(trace.get("timestamp")),
        surface="Langfuse",
        metadata={key: write_plain(trace[key]) for key in _KEPT_OF_TRACE if trace.get(key)},
        line=number,
        run={"task": str(name or ""), **({"scores": scores} if scores else {})},
    )
    generations = [each for each in observations if each.get("type") == "GENERATION"]
    calls = [_read_generation(each, left_out) for each in generations]
    if not any(call.sent for call in calls) and (unread := sum(bool(each.get("input")) for each in generations)):
        left_out[UNREAD] += unread
    return read_trace(
        _add_system(calls, observations),
        (_read_tool_observation(each) for each in observations if each.get("type") == "TOOL"),
        common,
        MessageReader(source.name, number, left_out),
    )


def _add_system(calls: list[ModelCall], observations: list[JsonObject]) -> list[ModelCall]:
    """The calls; if none of them has instructions, the first gets those of an observation around them."""
    if not calls or any(message.get("role") == "system" for call in calls for message in call.sent):
        return calls
    around = [each for each in observations if each.get("type") not in {"GENERATION", "TOOL"}]
    for each in sorted(around, key=lambda each: str(each.get("startTime"))):
        given = find_messages(each.get("input"), role="user")
        if system := [message for message in given if message.get("role") == "system"]:
            first = min(calls, key=lambda call: str(call.start))
            return [replace(call, sent=[*system, *call.sent]) if call is first else call for call in calls]
    return calls


def _read_scores(trace: JsonObject) -> dict[str, Any]:
    return {
        str(row["name"]): row["value"] if row.get("value") is not None else row.get("stringValue")
        for row in find_list(trace, "scores")
        if isinstance(row, dict) and row.get("name")
    }


def _read_generation(observation: JsonObject, left_out: Counter[str]) -> ModelCall:
    usage = find_object(observation, "usageDetails")
    sent = _leave_out_printed(find_messages(observation.get("input"), role="user"), left_out)
    answered = _leave_out_printed(find_messages(observation.get("output"), role="assistant"), left_out)
    left_out[JOINED] += sum(_holds_several(message) for message in sent)
    # An answer of OpenAI's Responses repeats its instructions.
    instructed = [message for message in answered if message.get("role") == "system"]
    return ModelCall(
        start=observation.get("startTime"),
        sent=[*(message for message in instructed if message not in sent), *sent],
        answered=[message for message in answered if message not in instructed],
        model=str(observation.get("model") or ""),
        tokens={key: usage[key] for key in _TOKENS_KEPT if isinstance(usage.get(key), int)},
    )


def _leave_out_printed(messages: list[JsonObject], left_out: Counter[str]) -> list[JsonObject]:
    kept = [message for message in messages if not is_printed(message.get("content"))]
    left_out[PRINTED] += len(messages) - len(kept)
    return kept


def _holds_several(message: JsonObject) -> bool:
    content = message.get("content")
    return isinstance(content, str) and message.get("role") == "user" and _JOINED.match(content) is not None


def _read_tool_observation(observation: JsonObject) -> ToolRun:
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
        result=write_plain(result),
    )


OTEL_GENAI = "otel_genai"

_NUMBERED = re.compile(
    r"(?:llm\.(?P<side>input|output)_messages\.(?P<place>\d{1,5})\.message"
    r"|gen_ai\.(?P<old>prompt|completion)\.(?P<at>\d{1,5}))\.(?P<key>.+)"
)
_NUMBERED_CALL = re.compile(
    r"(?:tool_calls\.(?P<place>\d{1,4})\.)(?:tool_call\.)?(?:function\.)?(?P<key>id|name|arguments)\Z"
)
_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_DETAILS_EVENT = "gen_ai.client.inference.operation.details"


def read_otel(source: Source) -> ReadFile:
    """Traces of OpenTelemetry (OTLP as JSON: objects with ``resourceSpans``) whose spans have input and output of models.

    These are read: the attributes of the GenAI conventions (``gen_ai.input.messages``, ``gen_ai.output.messages``,
    ``gen_ai.system_instructions``), the events that preceded them (``gen_ai.user.message``, ``gen_ai.choice``, …), and the
    numbered attributes of OpenInference (``llm.input_messages.0.message.role``) and of OpenLLMetry (``gen_ai.prompt.0.role``).
    A span with none of these is skipped, and so is a span that only gives the number of tokens. Spans of tools have the results
    of calls. Calls of one conversation (``gen_ai.conversation.id``, else one trace) become threads as `threads` says.

    Raises `ReadError`.
    """
    left_out: Counter[str] = Counter()
    traces: dict[str, list[JsonObject]] = {}
    for number, content in read_json_objects(source):
        for span in _list_spans(content, source, number):
            traces.setdefault(str(span.get("traceId") or ""), []).append(span)
    read: list[ReadInterview] = []
    reader = MessageReader(source.name, 1, left_out)
    for trace_id, spans in traces.items():
        told = [(span, _read_attributes(span)) for span in spans]
        calls = [call for span, attributes in told if (call := _read_span(span, attributes)) is not None]
        runs = [run for span, attributes in told if (run := _read_tool_span(span, attributes)) is not None]
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
    return ReadFile(OTEL_GENAI, read, list_left_out(left_out), left_out)


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
    if isinstance(told.get("attributes"), dict):
        return find_object(told, "attributes")
    return {
        str(row.get("key")): _read_value(row.get("value"))
        for row in find_list(told, "attributes")
        if isinstance(row, dict)
    }


def _read_value(value: Any) -> Any:
    """Read a value that OTLP writes with its type: {"stringValue": "…"}, {"arrayValue": {"values": […]}} and so on."""
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


def _read_span(span: JsonObject, attributes: dict[str, Any]) -> ModelCall | None:
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
    return [event for event in find_list(span, "events") if isinstance(event, dict)]


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
        if call := _NUMBERED_CALL.match(found["key"]):
            calls = message.setdefault("calls", {})
            calls.setdefault(int(call["place"]), {})[call["key"]] = value
        elif found["key"] in {"role", "content", "tool_call_id", "name"}:
            message[found["key"]] = value
    return _list_numbered(sides["input"], "user"), _list_numbered(sides["output"], "assistant")


def _list_numbered(numbered: dict[int, JsonObject], role: str) -> list[JsonObject]:
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


def _read_tool_span(span: JsonObject, attributes: dict[str, Any]) -> ToolRun | None:
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
        result=write_plain(result),
    )
