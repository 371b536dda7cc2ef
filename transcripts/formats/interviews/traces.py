"""From the model calls and tool runs of a trace to threads, whichever program wrote the trace."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from transcripts.formats.interviews.base import ReadInterview, ReadTurn
from transcripts.formats.interviews.chat_content import (
    MessageReader,
    find_open_calls,
    name_results,
    pair_results,
    read_json_text,
)
from transcripts.formats.interviews.details import read_time
from transcripts.formats.interviews.threads import Call, Thread, find_kind, find_models, join_calls, name_threads
from transcripts.formats.json_lines import JsonObject

COPIES = "A call to a model was skipped because it adds nothing to an earlier one."
UNREADABLE = "A call to a model was left out because the trace contains neither its input nor its answer."

LOST = "The result of a tool was left out because the trace does not contain its call."


@dataclass(frozen=True)
class ModelCall:
    """A call to a model: the messages that it was sent and that it answered. ``start`` orders the calls of a trace."""

    start: object
    sent: Sequence[JsonObject]
    answered: Sequence[JsonObject]
    model: str = ""
    conversation: str = ""
    tokens: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolRun:
    """What a tool was given and gave back; ``call_id`` may be ""."""

    start: object
    name: str
    call_id: str
    given: Any
    result: str


def read_trace(
    calls: Iterable[ModelCall], runs: Iterable[ToolRun], common: ReadInterview, reader: MessageReader
) -> list[ReadInterview]:
    """The threads of one trace. ``common`` says what they share. Raises ``ReadError`` for a message that is none."""
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
    at = read_time(call.start)
    details = {**({"at": at} if at else {}), **({"model": call.model[:200]} if call.model else {})}
    answer = [
        replace(
            turn, details={**details, **turn.details, **({"tokens": call.tokens} if call.tokens and not place else {})}
        )
        for place, turn in enumerate(turn for turn in answer if _says(turn))
    ]
    return Call(tuple(turn for turn in history if _says(turn)), tuple(answer), may_be_delta=bool(call.conversation))


def _says(turn: ReadTurn) -> bool:
    return bool(turn.text.strip()) or turn.channel == "tool_result" or "redacted" in turn.details


def _add_results(thread: Thread, runs: list[ToolRun]) -> list[ToolRun]:
    """Put what tools gave back behind calls whose result no later call was sent, in the order of the calls. Returns the
    runs that remain."""
    remaining = list(runs)
    pairs = pair_results(thread.turns)
    for position in reversed(find_open_calls(thread.turns)):
        call = thread.turns[position - 1]
        run = next((run for run in remaining if _is_run_of(run, call)), None)
        if run is None:
            continue
        remaining.remove(run)
        at = read_time(run.start)
        behind = position
        while behind < len(pairs) and (
            thread.turns[behind].channel == "tool_call" or 0 < (pairs[behind] or 0) <= position
        ):
            behind += 1
        result = ReadTurn(
            "tool", "tool_result", call.speaker or run.name, run.result, "", call.call_id, {"at": at} if at else {}
        )
        thread.turns.insert(behind, result)
        pairs.insert(behind, position)
    return remaining


def _find_tool(run: ToolRun, names: Collection[str]) -> bool:
    """Whether a run is of one of these tools: by its name, or by its last word, as in "running tool: look"."""
    return run.name in names or run.name.rpartition(" ")[2] in names


def _is_run_of(run: ToolRun, call: ReadTurn) -> bool:
    if run.call_id and call.call_id:
        return run.call_id == call.call_id
    if not _find_tool(run, {call.speaker}):
        return False
    given, asked = read_json_text(run.given), read_json_text(call.text)
    return given == asked or (isinstance(given, dict) and asked in (given.get("input"), given.get("arguments")))
