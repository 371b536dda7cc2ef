"""A run of SWE-agent, ``.traj``: one object with ``history``, the messages that the model saw.

Demonstrations (``is_demo``), which another model gave in another run, are left out and counted. What an agent without tool
calls reads back (``message_type`` "observation" after its first question) is what its command printed: a tool result. The
command it then runs (``action``) is in its words and is not repeated. Every agent named in ``history`` is a thread of its own.
``info`` says how the run ended; what else it holds, such as the patch, is metadata.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from transcripts.corpus.pure.readers.base import ReadError, ReadFile, ReadInterview, ReadTurn, Source
from transcripts.corpus.pure.readers.calls import name_results
from transcripts.corpus.pure.readers.chat_content import MessageReader
from transcripts.corpus.pure.readers.details import list_left_out
from transcripts.corpus.pure.readers.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects
from transcripts.corpus.pure.readers.threads import find_models

FORMAT = "swe_agent"

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
    for place, message in enumerate(history, 1):
        if isinstance(message, dict) and message.get("is_demo") is True:
            left_out["A message of a demonstration was left out: it was not said in this run."] += 1
            continue
        agent = str(message.get("agent") or "") if isinstance(message, dict) else ""
        turns.setdefault(agent, []).extend(_read_message(message, place, reader, turns.get(agent, [])))
    name = source.stem if number == 1 else f"{source.stem}-{number}"
    read: list[ReadInterview] = []
    for agent, own in turns.items():
        external_id = name[:150] if not read else f"{name[:150]}/{agent}"[:200]
        named = name_results(own, left_out)
        info = content.get("info")
        read.append(
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
    return read


def _read_message(message: Any, place: int, reader: MessageReader, before: list[ReadTurn]) -> list[ReadTurn]:
    if not isinstance(message, dict):
        return reader.read(message, place)
    plain = {key: value for key, value in message.items() if key not in _REPEATED}
    read = reader.read(plain, place)
    has_acted = any(turn.role == "model" for turn in before)
    if message.get("role") == "user" and message.get("message_type") == "observation" and has_acted:
        return [ReadTurn("tool", "tool_result", turn.speaker, turn.text, details=turn.details) for turn in read]
    return read


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
