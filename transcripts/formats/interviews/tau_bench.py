"""Results of tau-bench: a list of runs, ``{"task_id": 0, "trial": 0, "reward": 1.0, "traj": [messages], "info": {…}}``.

A run is a trajectory; its reward is a score. The task's instructions to the simulated user, and what else ``info`` holds, is
metadata, for it is no part of what was said.
"""

from __future__ import annotations

from collections import Counter

from transcripts.formats.interviews.base import ReadFile, ReadInterview, Source
from transcripts.formats.interviews.chat_content import MessageReader
from transcripts.formats.interviews.chat_messages import read_messages
from transcripts.formats.interviews.details import list_left_out, read_details
from transcripts.formats.interviews.threads import find_models
from transcripts.formats.json_lines import JsonLine, name_json_type, read_json_objects
from transcripts.formats.problems import ReadError

FORMAT = "tau_bench"

_APART = frozenset({"task_id", "trial", "reward", "traj", "consent"})


def read_tau_bench(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    runs = [_read_run(line, source, left_out) for line in read_json_objects(source)]
    return ReadFile(FORMAT, runs, list_left_out(left_out), left_out)


def _read_run(line: JsonLine, source: Source, left_out: Counter[str]) -> ReadInterview:
    number, content = line
    messages = content.get("traj")
    if not isinstance(messages, list):
        raise ReadError(source.name, number, f'{name_json_type(messages)} as "traj"', "a list of messages")
    task, trial, reward = (content.get(key) for key in ("task_id", "trial", "reward"))
    external_id = f"{source.stem[:150]}-task-{task}-trial-{trial if trial is not None else 0}"
    turns = read_messages(messages, MessageReader(source.name, number, left_out))
    return ReadInterview(
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
        **{"model_label": find_models(turns), **read_details(line, name=source.name, apart=_APART)},
    )
