"""Runs in the Agent Trajectory Interchange Format (ATIF) 1.0 to 1.8: one object with ``schema_version``, ``agent`` and ``steps``.

A step of the user or the system is a turn. A step of the agent gives its reasoning, its words, its calls, and behind them
what was observed, each result joined with its call. Steps that were copied from a run before (``is_copied_context``) are left
out and counted. Steps are numbered 1, 2, 3, …; a gap is refused, for something would be missing without a word. Runs that the
file holds of other agents hang on the turn that started them. Runs in files of their own, and what goes on in another file, hang
on the turn that names them where the files are imported together; else a warning names them. The id is that of the trajectory, or
of the session, or the file's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import Links, ReadFile, ReadInterview, ReadTurn, Source, Start
from transcripts.formats.interviews.chat_content import MessageReader, name_results
from transcripts.formats.interviews.details import list_left_out, read_day, read_details, read_time
from transcripts.formats.interviews.threads import find_models
from transcripts.formats.json_lines import (
    JsonLine,
    JsonObject,
    name_json_type,
    read_json_objects,
    shorten,
)
from transcripts.formats.problems import ReadError

FORMAT = "atif"

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_APART = frozenset(
    {
        *("schema_version", "session_id", "trajectory_id", "agent", "steps", "subagent_trajectories", "consent"),
        *("continued_trajectory_ref",),
    }
)
_TOKENS = {"prompt_tokens": "input", "completion_tokens": "output", "cached_tokens": "cached"}


def read_atif(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    runs: list[ReadInterview] = []
    for line in read_json_objects(source):
        run, starts = _read_run(line, source, left_out)
        if line[0] > 1 and run.external_id in {each.external_id for each in runs}:
            run = replace(run, external_id=f"{run.external_id}-{line[0]}"[:200])
        runs += [run, *_read_inner(line, run, starts, source, left_out)]
    return ReadFile(FORMAT, runs, list_left_out(left_out), left_out)


def _read_inner(
    line: JsonLine, outer: ReadInterview, starts: dict[str, int], source: Source, left_out: Counter[str]
) -> Iterator[ReadInterview]:
    """The runs of other agents that a run holds."""
    number, content = line
    inner = content.get("subagent_trajectories")
    for place, each in enumerate(inner if isinstance(inner, list) else [], 1):
        if not isinstance(each, dict):
            raise ReadError(source.name, number, f"{name_json_type(each)} as a run of another agent", "an object")
        run, own = _read_run((number, each), source, left_out)
        identity = each.get("trajectory_id")
        at = starts.get(identity, 0) if isinstance(identity, str) else 0
        behind = str(identity or f"subagent-{place}")[:60]
        hung = replace(
            run,
            external_id=f"{outer.external_id[:130]}/{behind}",
            title=f"{outer.title[:230]} ({behind})",
            relation="subagent",
            hangs_on=(outer.external_id, at or len(outer.turns)),
        )
        yield hung
        yield from _read_inner((number, each), hung, own, source, left_out)


def _read_run(line: JsonLine, source: Source, left_out: Counter[str]) -> tuple[ReadInterview, dict[str, int]]:
    """A run, and for each other run that it names the position of the turn that names it."""
    number, content = line
    steps, agent = content.get("steps"), content.get("agent")
    if not isinstance(steps, list) or not isinstance(agent, dict):
        raise ReadError(source.name, number, 'no "steps" or no "agent"', "both, as ATIF has them")
    reader = MessageReader(source.name, number, left_out)
    turns: list[ReadTurn] = []
    starts: dict[str, int] = {}
    elsewhere: list[Start] = []
    for place, step in enumerate(steps, 1):
        _check_step(step, place, number, source)
        if step.get("is_copied_context") is True:
            left_out["A step that was copied from an earlier run was left out."] += 1
            continue
        read = _read_step(step, reader)
        turns += read
        for reference in _list_references(step):
            identity = reference.get("trajectory_id")
            if isinstance(identity, str):
                starts[identity] = len(turns)
            if isinstance(path := reference.get("trajectory_path") or reference.get("session_id"), str):
                told = f"The run of another agent is in {shorten(path)}. Import that file together with this one."
                left_out[told] += 1
                elsewhere.append(Start("subagent", max(1, len(turns)), _list_names(reference), told))
    if isinstance(path := content.get("continued_trajectory_ref"), str):
        told = f"The run goes on in {shorten(path)}. Import that file together with this one."
        left_out[told] += 1
        elsewhere.append(Start("continuation", max(1, len(turns)), (path.rpartition("/")[2],), told))
    named = name_results(turns, left_out)
    external_id = _choose_id(content, source)
    name, version = (str(agent.get(key) or "") for key in ("name", "version"))
    model = agent.get("model_name")
    details = read_details(line, name=source.name, apart=_APART)
    interview = ReadInterview(
        external_id=external_id,
        title=details.pop("title", "") or external_id,
        turns=named,
        kind="trajectory",
        run={"agent": f"{name} {version}".strip()},
        links=Links(
            ids=tuple(filter(None, (_read_id(content.get(key)) for key in ("session_id", "trajectory_id")))),
            starts=tuple(elsewhere),
        ),
        **{
            "model_label": str(model)[:200] if model else find_models(named),
            "period": read_day(steps[0].get("timestamp")) if steps else "",
            **details,
        },
    )
    return interview, starts


def _choose_id(content: JsonObject, source: Source) -> str:
    """Harbor names all its files alike, so the ids go first. Several files of a run may share that of the session; they get
    different ids where they are imported together."""
    given = (_read_id(content.get(key)) for key in ("trajectory_id", "session_id"))
    return next(filter(None, given), source.stem)[:200]


def _read_id(given: object) -> str:
    return given.strip() if isinstance(given, str) else ""


def _list_names(reference: JsonObject) -> tuple[str, ...]:
    """What the file of another run may be known by: its name and its ids."""
    path = _read_id(reference.get("trajectory_path"))
    ids = (_read_id(reference.get(key)) for key in ("session_id", "trajectory_id"))
    return tuple(filter(None, (path.rpartition("/")[2], *ids)))


def _check_step(step: Any, place: int, line: int, source: Source) -> None:
    if not isinstance(step, dict):
        raise ReadError(source.name, line, f"{name_json_type(step)} as step {place}", "an object")
    number = step.get("step_id")
    if number != place:
        found = f"step {number} in place {place}" if isinstance(number, int) else f"no number of step {place}"
        raise ReadError(
            source.name, line, found, f"step {place}, for steps are numbered without a gap (export the whole run again)"
        )
    given = step.get("source")
    if not isinstance(given, str) or given not in _ROLES:
        found = f"the source {shorten(given)} of step {place}" if isinstance(given, str) else f"step {place} of nobody"
        raise ReadError(source.name, line, found, "system, user or agent")


def _read_step(step: JsonObject, reader: MessageReader) -> list[ReadTurn]:
    number, calls = step["step_id"], step.get("tool_calls")
    message = {
        "role": _ROLES[step["source"]],
        "content": step.get("message") or "",
        "reasoning_content": step.get("reasoning_content"),
        "model": step.get("model_name"),
        "tool_calls": [_read_call(call) for call in calls] if isinstance(calls, list) else calls,
    }
    told = [turn for turn in reader.read(message, number) if turn.text.strip() or turn.channel == "tool_call"]
    observed = step.get("observation")
    results = observed.get("results") if isinstance(observed, dict) else None
    # Where only one call was made, a result need not say whose it is.
    made = [turn.call_id for turn in told if turn.channel == "tool_call"]
    for result in results if isinstance(results, list) else []:
        if isinstance(result, dict):
            told += _read_result(result, made[0] if len(made) == 1 else "", reader, number)
    at, metrics = read_time(step.get("timestamp")), step.get("metrics")
    details: dict[str, Any] = {"step": number, **({"at": at} if at else {})}
    if isinstance(metrics, dict):
        tokens = {word: metrics[key] for key, word in _TOKENS.items() if isinstance(metrics.get(key), int)}
        first = {"tokens": tokens} if tokens else {}
    else:
        first = {}
    return [
        replace(turn, details={**turn.details, **details, **(first if not place else {})})
        for place, turn in enumerate(told)
    ]


def _read_call(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    return {"id": call.get("tool_call_id"), "name": call.get("function_name"), "arguments": call.get("arguments")}


def _read_result(result: JsonObject, only_call: str, reader: MessageReader, number: int) -> list[ReadTurn]:
    content = result.get("content")
    call_id = result.get("source_call_id") or only_call
    message = {"role": "tool", "content": content if content is not None else "", "tool_call_id": call_id}
    read = reader.read(message, number)
    return read if content or call_id else [turn for turn in read if turn.text.strip()]


def _list_references(step: JsonObject) -> Iterator[JsonObject]:
    observed = step.get("observation")
    results = observed.get("results") if isinstance(observed, dict) else None
    for result in results if isinstance(results, list) else []:
        found = result.get("subagent_trajectory_ref") if isinstance(result, dict) else None
        yield from (each for each in (found if isinstance(found, list) else []) if isinstance(each, dict))
