"""The export of threads as one log of Inspect, in its layout of JSON as it is today: a sample for each thread.

One log, although Inspect writes one for each task and model: a study is one thing, and so its file is. The model of each answer
stands with it; the log names one only where all threads have the same. What Inspect has no place for is in the metadata of
samples and messages, under ``auditapp`` in the latter; docs/reference/formats.md says what is lost.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.db.models import Max, QuerySet

from transcripts.corpus.models import Interview, Turn
from transcripts.exchange.registry import Scope
from transcripts.exchange.trajectory_rows import Hanging, list_threads
from transcripts.formats.interviews.calls import pair_results, read_json_text
from transcripts.formats.tabular import encode_json

Message = dict[str, Any]
LAYOUT = 2
# What Inspect knows as kinds of a tool's error; another word would make its reader refuse the log.
ERROR_TYPES = frozenset(
    {
        *("parsing", "timeout", "unicode_decode", "permission", "file_not_found", "is_a_directory", "limit"),
        *("approval", "cancelled", "sandbox_unavailable", "unknown", "output_limit"),
    }
)
_ROLES = {
    Turn.Role.INTERVIEWER: "user",
    Turn.Role.SYSTEM: "system",
    Turn.Role.TOOL: "tool",
    Turn.Role.MODEL: "assistant",
}
# What one message of a model says, in this order. Of words it has one piece: a reader would join two.
_ORDER = {Turn.Channel.REASONING: 0, Turn.Channel.UTTERANCE: 1, Turn.Channel.TOOL_CALL: 2}
_TEXTS = ("title", "kind", "vendor", "surface", "period", "interviewer", "tier", "inclusion", "inclusion_reason")
_MORE_TEXTS = ("opening_prompt", "language")


def write_inspect_log(scope: Scope, path: Path) -> int:
    """Write the threads of a study as a log; returns how many."""
    threads = Interview.objects.filter(scope.within())
    at = _find_time(scope, threads)
    head = encode_json(_describe_log(scope, threads, at))
    written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head[:-1] + ',"samples":[')
        for interview, hanging, turns in list_threads(scope):
            file.write((",\n" if written else "\n") + encode_json(_describe_sample(interview, hanging, turns, at)))
            written += 1
            scope.watch(written, 0)
        file.write("\n]}\n")
    return written


def begin_name(scope: Scope) -> str:
    """What the file's name begins with: Inspect finds logs in JSON by a name that begins with a time."""
    at = _find_time(scope, Interview.objects.filter(scope.within())).astimezone(datetime.UTC)
    return f"{at.isoformat(timespec='seconds').replace(':', '-')}_"


def _find_time(scope: Scope, threads: QuerySet[Interview]) -> datetime.datetime:
    """When the newest of the threads was imported; of a study without any, when it began."""
    newest: datetime.datetime | None = threads.aggregate(at=Max("imported_file__imported_at"))["at"]
    return newest or scope.project.created_at


def _describe_log(scope: Scope, threads: QuerySet[Interview], imported: datetime.datetime) -> dict[str, Any]:
    total = threads.count()
    models = list(threads.order_by().values_list("model_label", flat=True).distinct()[:2])
    return {
        "version": LAYOUT,
        "status": "success",
        "eval": {
            "run_id": scope.project.slug,
            "created": imported.isoformat(),
            "task": scope.project.name,
            "task_id": scope.project.slug,
            "dataset": {"name": scope.project.slug, "samples": total},
            "model": models[0] if len(models) == 1 else "",
            "config": {},
        },
        # Programs that read the head alone ask for these two.
        "plan": {"name": "none", "steps": []},
        "stats": {"started_at": imported.isoformat(), "completed_at": imported.isoformat()},
        "results": {"total_samples": total, "completed_samples": total, "scores": []},
    }


def _describe_sample(
    interview: Interview, hanging: Hanging, turns: Sequence[Turn], at: datetime.datetime
) -> dict[str, Any]:
    messages = list(_list_messages(turns, interview))
    asked = next((place for place, each in enumerate(messages) if each["role"] == "assistant"), len(messages))
    told = {name: value for name in (*_TEXTS, *_MORE_TEXTS) if (value := getattr(interview, name))}
    if interview.model_label:
        told["model"] = interview.model_label
    if hanging.relation:
        told |= {"relation": hanging.relation, "hangs_on": {"sample": hanging.thread, "turn": hanging.turn}}
    if interview.run:
        told["run"] = interview.run
    scores = interview.run.get("scores")
    return {
        "id": interview.external_id,
        "epoch": 1,
        "input": messages[:asked],
        "target": "",
        "messages": messages,
        "scores": {name: {"value": value} for name, value in (scores or {}).items()},
        "metadata": {**interview.metadata, **told},
        "events": [_describe_last_call(messages, interview.model_label, at)],
    }


def _describe_last_call(messages: Sequence[Message], model: str, at: datetime.datetime) -> Message:
    """The thread once more as the call that a chat ends with: what was sent, what was answered. Inspect's data frames of messages
    are made from such events, and are empty without one. A thread that does not end with an answer was all sent."""
    is_answered = bool(messages) and messages[-1]["role"] == "assistant"
    answer = messages[-1] if is_answered else {}
    name = answer.get("model") or model
    stop = "tool_calls" if "tool_calls" in answer else "stop"
    return {
        "event": "model",
        "timestamp": at.isoformat(),
        "working_start": 0,
        "model": name,
        "input": messages[: len(messages) - is_answered],
        "tools": [],
        "tool_choice": "none",
        "config": {},
        "output": {"model": name, "choices": [{"message": answer, "stop_reason": stop}] if is_answered else []},
    }


def _list_messages(turns: Sequence[Turn], interview: Interview) -> Iterator[Message]:
    """The messages of a thread, each with an id. What a model says at once is one message: its reasoning, its words, its calls."""

    def name(turn: Turn) -> Message:
        return {"id": f"{interview.external_id}-{turn.position}"}

    model = interview.model_label
    calls = pair_results(turns)
    ids = {turn.position: turn.call_id or f"call-{turn.position}" for turn in turns}
    together: list[Turn] = []
    for turn, call in zip(turns, calls, strict=True):
        if together and not _goes_on(together[-1], turn):
            yield name(together[0]) | _describe_answer(together, ids, model)
            together = []
        if turn.role == Turn.Role.MODEL and turn.channel in _ORDER:
            together.append(turn)
        else:
            yield name(turn) | _describe_other(turn, ids.get(call or 0, turn.call_id))
    if together:
        yield name(together[0]) | _describe_answer(together, ids, model)


def _goes_on(before: Turn, turn: Turn) -> bool:
    """Whether a turn is of the same message as the one before."""
    if turn.role != Turn.Role.MODEL or turn.channel not in _ORDER or turn.details != before.details:
        return False
    first, second = _ORDER[Turn.Channel(before.channel)], _ORDER[Turn.Channel(turn.channel)]
    return first < second or (first == second and turn.channel != Turn.Channel.UTTERANCE)


def _describe_answer(turns: Sequence[Turn], ids: dict[int, str], model: str) -> Message:
    content: list[Message] = []
    calls: list[Message] = []
    for turn in turns:
        if turn.channel == Turn.Channel.TOOL_CALL:
            calls.append(_describe_call(turn, ids[turn.position]))
        elif turn.channel == Turn.Channel.REASONING:
            content.append(_describe_reasoning(turn))
        else:
            content.append({"type": "text", "text": turn.text})
    said = turns[0].details.get("model") or model
    message: Message = {"role": "assistant", "content": content, "source": "generate", **_describe_beside(turns[0])}
    if said:
        message["model"] = said
    if calls:
        message["tool_calls"] = calls
    return message


def _describe_call(turn: Turn, call_id: str) -> Message:
    """A call. Inspect has objects as arguments; other text is one argument."""
    arguments = read_json_text(turn.text)
    if not isinstance(arguments, dict):
        arguments = {"input": turn.text}
    return {"id": call_id, "function": turn.speaker or "tool", "arguments": arguments, "type": "function"}


def _describe_reasoning(turn: Turn) -> Message:
    if turn.details.get("redacted"):
        summary = {"summary": turn.text} if turn.text else {}
        return {"type": "reasoning", "reasoning": "", "redacted": True, **summary}
    return {"type": "reasoning", "reasoning": turn.text}


def _describe_other(turn: Turn, call_id: str) -> Message:
    message: Message = {"role": _ROLES[Turn.Role(turn.role)], "content": turn.text, **_describe_beside(turn)}
    if turn.role == Turn.Role.TOOL:
        message |= {name: value for name, value in (("function", turn.speaker), ("tool_call_id", call_id)) if value}
        if error := turn.details.get("error"):
            kind = turn.details.get("error_type")
            message["error"] = {
                "type": kind if kind in ERROR_TYPES else "unknown",
                "message": error if isinstance(error, str) else "error",
            }
    elif turn.role == Turn.Role.SYSTEM and turn.details.get("prefilled"):
        message |= {"role": "assistant", "source": "input"}
    return message


def _describe_beside(turn: Turn) -> Message:
    """What is known of a turn that messages of Inspect have no place for."""
    told: Message = {"details": turn.details} if turn.details else {}
    told |= {name: value for name in ("speaker", "prompt_kind") if (value := getattr(turn, name))}
    return {"metadata": {"auditapp": told}} if told else {}
