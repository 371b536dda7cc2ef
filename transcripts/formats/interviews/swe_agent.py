"""Runs of SWE-agent, ``.traj``, and of mini-swe-agent, ``.traj.json``.

SWE-agent writes one object with ``history``, the messages that the model saw. Demonstrations (``is_demo``), which another
model gave in another run, are left out and counted. What an agent without tool calls reads back is what its command printed: a
tool result. Its ``message_type`` is "observation"; where there is none, it is the message that follows an ``action``. That
command is in the agent's words and is not repeated. Every agent named in ``history`` is a thread of its own. ``info`` says how
the run ended; whatever else it has, such as the patch, is metadata.

mini-swe-agent writes one object with ``messages``, ``info`` and ``trajectory_format``. There too a message of a user behind
the first answer is what a command printed or what was wrong with it, unless a person interrupted. An answer may be a whole
response of OpenAI's Responses, whose items are read one by one. The message of the role ``exit`` says how the run ended.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.chat_content import MessageReader, name_results
from transcripts.formats.interviews.details import list_left_out, read_details, read_id
from transcripts.formats.interviews.threads import find_models
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects
from transcripts.formats.problems import ReadError

FORMAT = "swe_agent"
MINI_FORMAT = "mini_swe_agent"

# What mini-swe-agent writes before the words of a person.
_PERSON = (
    "Interrupted by user",
    "User command:",
    "Command not executed. The user rejected",
    "Commands not executed. The user rejected",
    "The user added a new task",
)
# Told once more in other keys, or of no interest to a reader.
_REPEATED = frozenset({"thought", "action", "agent", "message_type", "is_demo", "tags", "cache_control"})


def read_swe_agent(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    runs = [run for line in read_json_objects(source) for run in _read_run(line, source, left_out)]
    return ReadFile(FORMAT, runs, list_left_out(left_out), left_out)


def _read_run(line: JsonLine, source: Source, left_out: Counter[str]) -> list[ReadInterview]:
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
        read = _read_message(message, place, reader)
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
        info = content.get("info")
        runs.append(
            ReadInterview(
                external_id=external_id,
                title=external_id,
                turns=named,
                model_label=find_models(named),
                metadata=_read_metadata(content),
                line=number,
                kind="trajectory",
                run=_read_run_details(info if isinstance(info, dict) else {}, content, agent),
            )
        )
    return runs


def _read_message(message: Any, place: int, reader: MessageReader) -> list[ReadTurn]:
    if not isinstance(message, dict):
        return reader.read(message, place)
    plain = {key: value for key, value in message.items() if key not in _REPEATED}
    return reader.read(plain, place)


def _is_output(message: Any, *, has_acted: bool, before: list[ReadTurn]) -> bool:
    """Whether a message is what a command printed: by its type, or because it follows the command."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return False
    kind = message.get("message_type")
    return has_acted if kind is None else kind == "observation" and any(turn.role == "model" for turn in before)


def _make_results(read: list[ReadTurn]) -> list[ReadTurn]:
    return [replace(turn, role="tool", channel="tool_result") for turn in read]


def read_mini_swe_agent(source: Source) -> ReadFile:
    """Read runs of mini-swe-agent; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    runs = [_read_mini_run(line, source, left_out) for line in read_json_objects(source)]
    return ReadFile(MINI_FORMAT, runs, list_left_out(left_out), left_out)


def _read_mini_run(line: JsonLine, source: Source, left_out: Counter[str]) -> ReadInterview:
    number, content = line
    messages, info = content.get("messages"), content.get("info")
    if not isinstance(messages, list):
        raise ReadError(source.name, number, f'{name_json_type(messages)} as "messages"', "a list of messages")
    info = info if isinstance(info, dict) else {}
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
    return ReadInterview(
        external_id=external_id,
        title=details.pop("title", "") or external_id,
        turns=named,
        kind="trajectory",
        run={"agent": "mini-swe-agent", **_read_run_details(info, {}, "")},
        **{
            "model_label": find_models(named) or _find_mini_model(info),
            **details,
            "metadata": {**details["metadata"], **_read_metadata({"info": info}), **ended},
        },
    )


def _read_mini_message(message: Any, place: int, reader: MessageReader, before: list[ReadTurn]) -> list[ReadTurn]:
    if not isinstance(message, dict):
        return reader.read(message, place)
    extra = message.get("extra")
    extra = extra if isinstance(extra, dict) else {}
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


def _find_mini_model(info: JsonObject) -> str:
    config = info.get("config")
    model = config.get("model") if isinstance(config, dict) else None
    name = model.get("model_name") if isinstance(model, dict) else None
    return name[:200] if isinstance(name, str) else ""


def _read_run_details(info: JsonObject, content: JsonObject, agent: str) -> dict[str, Any]:
    status, environment = info.get("exit_status"), content.get("environment")
    return {
        **({"status": status} if isinstance(status, str) else {}),
        **({"task": environment} if isinstance(environment, str) else {}),
        **({"agent": agent} if agent else {}),
    }


def _read_metadata(content: JsonObject) -> dict[str, str]:
    """What is known of the run besides its messages; the steps in ``trajectory`` tell the same once more."""
    info = content.get("info")
    told = {**(info if isinstance(info, dict) else {}), "replay_config": content.get("replay_config")}
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in told.items()
        if value is not None and key != "exit_status"
    }
