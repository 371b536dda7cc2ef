"""Runs of agents: ATIF, SWE-agent, mini-swe-agent and tau-bench. The docstring of each reader describes its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import (
    Links,
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    Start,
    describe_turn,
    find_list,
    find_object,
    find_text,
    list_left_out,
    read_day,
    read_details,
    read_id,
    read_objects,
    write_plain,
)
from transcripts.formats.interviews.chat_content import MessageReader, name_results
from transcripts.formats.interviews.conversations import read_messages
from transcripts.formats.interviews.threads import find_models
from transcripts.formats.json_lines import (
    JsonLine,
    JsonObject,
    name_json_type,
    read_json_objects,
    shorten,
)
from transcripts.formats.problems import ReadError

ATIF = "atif"

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_APART_OF_ATIF = frozenset(
    {
        *("schema_version", "session_id", "trajectory_id", "agent", "steps", "subagent_trajectories", "consent"),
        *("continued_trajectory_ref",),
    }
)
_TOKENS = {"prompt_tokens": "input", "completion_tokens": "output", "cached_tokens": "cached"}


def read_atif(source: Source) -> ReadFile:
    """Runs in the Agent Trajectory Interchange Format (ATIF) 1.0 to 1.8: an object with ``schema_version``, ``agent``, ``steps``.

    A step of the user or the system is a turn. A step of the agent gives its reasoning, its words, its calls and, after them,
    what was observed, each result joined with its call. Steps that were copied from an earlier run (``is_copied_context``) are
    left out and counted. Steps are numbered 1, 2, 3, …; a gap is refused, because a step would be missing unnoticed. Runs of
    other agents in the same file hang on the turn that started them. Runs and continuations in other files hang on the turn
    that names them if the files are imported together; otherwise a warning names them. The id is that of the trajectory, or of
    the session, or the file's name.

    Raises `ReadError`.
    """
    left_out: Counter[str] = Counter()
    runs: list[ReadInterview] = []
    for line in read_json_objects(source):
        run, starts = _read_atif_run(line, source, left_out)
        if line[0] > 1 and run.external_id in {each.external_id for each in runs}:
            run = replace(run, external_id=f"{run.external_id}-{line[0]}"[:200])
        runs += [run, *_read_inner(line, run, starts, source, left_out)]
    return ReadFile(ATIF, runs, list_left_out(left_out), left_out)


def _read_inner(
    line: JsonLine, outer: ReadInterview, starts: dict[str, int], source: Source, left_out: Counter[str]
) -> Iterator[ReadInterview]:
    """The runs of other agents inside a run."""
    number, content = line
    for place, each in enumerate(find_list(content, "subagent_trajectories"), 1):
        if not isinstance(each, dict):
            raise ReadError(source.name, number, f"{name_json_type(each)} as a run of another agent", "an object")
        run, own = _read_atif_run((number, each), source, left_out)
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


def _read_atif_run(line: JsonLine, source: Source, left_out: Counter[str]) -> tuple[ReadInterview, dict[str, int]]:
    """Read a run and, for each other run that it names, the position of the turn that names it."""
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
    details = read_details(line, name=source.name, apart=_APART_OF_ATIF)
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
    """Harbor gives all its files the same name, so ids take precedence. Several files of a run may share the id of the session;
    they get different ids if they are imported together."""
    given = (_read_id(content.get(key)) for key in ("trajectory_id", "session_id"))
    return next(filter(None, given), source.stem)[:200]


def _read_id(given: object) -> str:
    return given.strip() if isinstance(given, str) else ""


def _list_names(reference: JsonObject) -> tuple[str, ...]:
    """The names by which the file of another run may be known: its file name and its ids."""
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
            source.name, line, found, f"step {place}, because steps have no gaps (export the whole run again)"
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
    # If only one call was made, a result need not name its call.
    made = [turn.call_id for turn in told if turn.channel == "tool_call"]
    for result in find_list(step.get("observation"), "results"):
        if isinstance(result, dict):
            told += _read_result(result, made[0] if len(made) == 1 else "", reader, number)
    details = {"step": number, **describe_turn(step.get("timestamp"))}
    metrics = find_object(step, "metrics")
    tokens = {word: metrics[key] for key, word in _TOKENS.items() if isinstance(metrics.get(key), int)}
    first = {"tokens": tokens} if tokens else {}
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
    for result in find_list(step.get("observation"), "results"):
        yield from (each for each in find_list(result, "subagent_trajectory_ref") if isinstance(each, dict))


SWE_AGENT = "swe_agent"
MINI_SWE_AGENT = "mini_swe_agent"

# What mini-swe-agent writes before the words of a person.
_PERSON = (
    "Interrupted by user",
    "User command:",
    "Command not executed. The user rejected",
    "Commands not executed. The user rejected",
    "The user added a new task",
)
# Repeated in other keys, or of no interest to a reader.
_REPEATED = frozenset({"thought", "action", "agent", "message_type", "is_demo", "tags", "cache_control"})


def read_swe_agent(source: Source) -> ReadFile:
    """Runs of SWE-agent, ``.traj``, and of mini-swe-agent, ``.traj.json``.

    SWE-agent writes one object with ``history``, the messages that the model saw. Demonstrations (``is_demo``), which come from
    another model in another run, are left out and counted. The output of a command of an agent without tool calls is a tool
    result. Its ``message_type`` is "observation"; without that, it is the message that follows an ``action``. That command is
    in the agent's words and is not repeated. Every agent named in ``history`` is a thread of its own. ``info`` says how the run
    ended; its other contents, such as the patch, are metadata.

    mini-swe-agent writes one object with ``messages``, ``info`` and ``trajectory_format``. There too, a message of a user after
    the first answer is the output or the error of a command, unless a person interrupted. An answer may be a complete response
    of OpenAI's Responses, whose items are read one by one. The message of the role ``exit`` says how the run ended.

    Raises `ReadError`.
    """
    return read_objects(SWE_AGENT, source, _read_swe_run)


def _read_swe_run(line: JsonLine, source: Source, left_out: Counter[str]) -> list[ReadInterview]:
    number, content = line
    history = content.get("history")
    if not isinstance(history, list):
        raise ReadError(source.name, number, f'{name_json_type(history)} as "history"', "a list of messages")
    reader = MessageReader(source.name, number, left_out)
    turns: dict[str, list[ReadTurn]] = {}
    acted: dict[str, bool] = {}
    for place, message in enumerate(history, 1):
        if isinstance(message, dict) and message.get("is_demo") is True:
            left_out["A message of a demonstration was left out because it is not from this run."] += 1
            continue
        agent = str(message.get("agent") or "") if isinstance(message, dict) else ""
        read = _read_swe_message(message, place, reader)
        before = turns.setdefault(agent, [])
        if _is_output(message, has_acted=acted.get(agent, False), before=before):
            read = _make_results(read)
        before += read
        acted[agent] = isinstance(message, dict) and "action" in message
    name = source.stem if number == 1 else f"{source.stem}-{number}"
    runs: list[ReadInterview] = []
    for agent, own in turns.items():
        external_id = name[:150] if not runs else f"{name[:150]}/{agent}"[:200]
        named = name_results(own, left_out)
        runs.append(
            ReadInterview(
                external_id=external_id,
                title=external_id,
                turns=named,
                model_label=find_models(named),
                metadata=_read_info(content),
                line=number,
                kind="trajectory",
                run=_read_run_details(find_object(content, "info"), content, agent),
            )
        )
    return runs


def _read_swe_message(message: Any, place: int, reader: MessageReader) -> list[ReadTurn]:
    if not isinstance(message, dict):
        return reader.read(message, place)
    plain = {key: value for key, value in message.items() if key not in _REPEATED}
    return reader.read(plain, place)


def _is_output(message: Any, *, has_acted: bool, before: list[ReadTurn]) -> bool:
    """Whether a message is the output of a command: by its type, or because it follows the command."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return False
    kind = message.get("message_type")
    return has_acted if kind is None else kind == "observation" and any(turn.role == "model" for turn in before)


def _make_results(read: list[ReadTurn]) -> list[ReadTurn]:
    return [replace(turn, role="tool", channel="tool_result") for turn in read]


def read_mini_swe_agent(source: Source) -> ReadFile:
    """Read runs of mini-swe-agent; raises `ReadError`."""
    return read_objects(MINI_SWE_AGENT, source, _read_mini_run)


def _read_mini_run(line: JsonLine, source: Source, left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    messages, info = content.get("messages"), find_object(content, "info")
    if not isinstance(messages, list):
        raise ReadError(source.name, number, f'{name_json_type(messages)} as "messages"', "a list of messages")
    reader = MessageReader(source.name, number, left_out)
    turns: list[ReadTurn] = []
    ended: dict[str, str] = {}
    for place, message in enumerate(messages, 1):
        if isinstance(message, dict) and message.get("role") == "exit":
            words = message.get("content")
            if isinstance(words, str) and words.strip() and words != info.get("submission"):
                ended["exit"] = words
            continue
        turns += _read_mini_message(message, place, reader, turns)
    details = read_details(line, name=source.name, apart=frozenset({"id", "messages", "info", "consent"}))
    external_id = read_id(content) or f"{source.stem}-{number}"
    named = name_results(turns, left_out)
    yield ReadInterview(
        external_id=external_id,
        title=details.pop("title", "") or external_id,
        turns=named,
        kind="trajectory",
        run={"agent": "mini-swe-agent", **_read_run_details(info, {}, "")},
        **{
            "model_label": find_models(named)
            or find_text(find_object(find_object(info, "config"), "model"), "model_name")[:200],
            **details,
            "metadata": {**details["metadata"], **_read_info({"info": info}), **ended},
        },
    )


def _read_mini_message(message: Any, place: int, reader: MessageReader, before: list[ReadTurn]) -> list[ReadTurn]:
    if not isinstance(message, dict):
        return reader.read(message, place)
    extra = find_object(message, "extra")
    if message.get("object") == "response" and isinstance(message.get("output"), list):
        return [turn for item in message["output"] for turn in reader.read(item, place)]
    plain = {key: value for key, value in message.items() if key != "extra"}
    read = reader.read({"timestamp": extra.get("timestamp"), **plain}, place)
    has_acted = any(turn.role == "model" for turn in before)
    is_person = any(
        turn.text.startswith(_PERSON) or str(extra.get("interrupt_type") or "").startswith("User") for turn in read
    )
    if has_acted and message.get("role") == "user" and not is_person:
        return _make_results(read)
    return read


def _read_run_details(info: JsonObject, content: JsonObject, agent: str) -> dict[str, Any]:
    status, environment = info.get("exit_status"), content.get("environment")
    return {
        **({"status": status} if isinstance(status, str) else {}),
        **({"task": environment} if isinstance(environment, str) else {}),
        **({"agent": agent} if agent else {}),
    }


def _read_info(content: JsonObject) -> dict[str, str]:
    """The facts about the run besides its messages; the steps in ``trajectory`` only repeat these."""
    told = {**find_object(content, "info"), "replay_config": content.get("replay_config")}
    return {key: write_plain(value) for key, value in told.items() if value is not None and key != "exit_status"}


TAU_BENCH = "tau_bench"

_APART_OF_TAU_BENCH = frozenset({"task_id", "trial", "reward", "traj", "consent"})


def read_tau_bench(source: Source) -> ReadFile:
    """Results of tau-bench: a list of runs, ``{"task_id": 0, "trial": 0, "reward": 1.0, "traj": [messages], "info": {…}}``.

    A run is a trajectory; its reward is a score. The task's instructions to the simulated user and the other contents of
    ``info`` are metadata, because they are not part of the conversation.

    Raises `ReadError`.
    """
    return read_objects(TAU_BENCH, source, _read_tau_run)


def _read_tau_run(line: JsonLine, source: Source, left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    messages = content.get("traj")
    if not isinstance(messages, list):
        raise ReadError(source.name, number, f'{name_json_type(messages)} as "traj"', "a list of messages")
    task, trial, reward = (content.get(key) for key in ("task_id", "trial", "reward"))
    external_id = f"{source.stem[:150]}-task-{task}-trial-{trial if trial is not None else 0}"
    turns = read_messages(messages, MessageReader(source.name, number, left_out))
    yield ReadInterview(
        external_id=external_id,
        title=f"Task {task}, trial {trial if trial is not None else 0}",
        turns=turns,
        kind="trajectory",
        run={
            "task": source.stem,
            "sample": str(task),
            "epoch": str(trial if trial is not None else 0),
            **({"scores": {"reward": reward}} if reward is not None else {}),
        },
        **{"model_label": find_models(turns), **read_details(line, name=source.name, apart=_APART_OF_TAU_BENCH)},
    )
