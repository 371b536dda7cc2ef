"""Interviews, one JSON object on each line.

    {"id": "i-07", "turns": [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": "…"}], "model": "A"}

``id`` (text or whole number) and ``turns`` are needed. A turn needs ``role`` (interviewer, model, system or tool) and
``text``; it may have ``channel`` (utterance, reasoning, tool_call, tool_result; without it: utterance), ``speaker``,
``prompt_kind``, ``call_id``, which joins a tool's result with its call, and ``details``, an object; see `ReadTurn`. In place
of ``turns`` a line may have ``text``: one turn of the model.

``kind`` is interview or trajectory. A thread that hangs on a turn of another of the same file has ``relation`` (branch,
subagent, continuation) and ``hangs_on``, {"id": "i-07", "turn": 4}. ``run`` is an object, see `ReadInterview`.

``title``, ``model``, ``vendor``, ``surface``, ``period`` (or ``date``), ``interviewer``, ``tier``, ``inclusion``,
``inclusion_reason``, ``opening_prompt`` and ``language`` are text or null. ``consent`` is null or an object: true or
false for any of coding, external, quotation and reuse, and ``basis``, a text. Every other key is kept as metadata.
Without a title the id is the title.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.details import list_left_out, read_details, read_id
from transcripts.formats.json_lines import JsonLine, list_keys, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

FORMAT = "interview_jsonl"

_APART = frozenset({"id", "turns", "text", "consent", "kind", "relation", "hangs_on", "run"})
# No kind, and those that the paper distinguishes.
PROMPT_KINDS = ("", "open", "expand", "reflect", "challenge", "new_information", "leading")
_KEYS_OF_TURN = frozenset({"role", "text", "channel", "speaker", "prompt_kind", "call_id"})


def read_interview_lines(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    interviews = [_read_interview(line, source.name, left_out) for line in read_json_objects(source)]
    return ReadFile(FORMAT, interviews, list_left_out(left_out), left_out)


def _read_interview(line: JsonLine, name: str, left_out: Counter[str]) -> ReadInterview:
    number, content = line
    external_id = read_id(content)
    if external_id is None:
        found = f"no id among the keys {list_keys(content)}" if "id" not in content else "no id"
        raise ReadError(name, number, found, 'an "id" that is text or a whole number')
    details = read_details(line, name=name, apart=_APART)
    title = details.pop("title", "")
    return ReadInterview(
        external_id=external_id,
        title=title if title.strip() else external_id,
        turns=_read_turns(line, name, left_out),
        **_read_thread(line, name),
        **details,
    )


def _read_thread(line: JsonLine, name: str) -> dict[str, Any]:
    """What kind of thread it is, what it hangs on, and what is known of the run."""
    number, content = line
    told: dict[str, Any] = {}
    for key in ("kind", "relation"):
        if content.get(key) is not None:
            if not isinstance(content[key], str):
                raise ReadError(name, number, f"{name_json_type(content[key])} as {shorten(key)}", "text")
            told[key] = content[key]
    for key in ("run", "hangs_on"):
        if content.get(key) is not None and not isinstance(content[key], dict):
            raise ReadError(name, number, f"{name_json_type(content[key])} as {shorten(key)}", "an object")
    if content.get("run"):
        told["run"] = content["run"]
    if hung := content.get("hangs_on"):
        thread, turn = read_id(hung), hung.get("turn")
        if thread is None or not isinstance(turn, int) or isinstance(turn, bool):
            raise ReadError(name, number, '"hangs_on" without thread or turn', '{"id": "…", "turn": 4}')
        told["hangs_on"] = (thread, turn)
    return told


def _read_turns(line: JsonLine, name: str, left_out: Counter[str]) -> tuple[ReadTurn, ...]:
    number, content = line
    turns, text = content.get("turns"), content.get("text")
    if (turns is None) == (text is None):
        found = 'neither "turns" nor "text"' if turns is None else 'both "turns" and "text"'
        raise ReadError(name, number, found, '"turns", a list, or "text", what the model said')
    if turns is None:
        if not isinstance(text, str):
            raise ReadError(name, number, f'{name_json_type(text)} as "text"', "text")
        return (ReadTurn("model", "utterance", "", text),)
    if not isinstance(turns, list):
        raise ReadError(name, number, f'{name_json_type(turns)} as "turns"', "a list of turns")
    return tuple(_read_turn(turn, place, number, name, left_out) for place, turn in enumerate(turns, 1))


def _read_turn(turn: Any, number: int, line: int, name: str, left_out: Counter[str]) -> ReadTurn:
    if not isinstance(turn, dict):
        raise ReadError(name, line, f"{name_json_type(turn)} as turn {number}", 'an object with "role" and "text"')
    for key in ("role", "text"):
        if key not in turn:
            raise ReadError(name, line, f"no {shorten(key)} in turn {number}", 'turns with "role" and "text"')
    parts: dict[str, Any] = {"channel": "utterance", "speaker": "", "prompt_kind": ""}
    for key, value in turn.items():
        if key == "details" and isinstance(value, dict):
            parts[key] = value
        elif key not in _KEYS_OF_TURN:
            left_out[f"The key {shorten(key)} of a turn was left out."] += 1
        elif isinstance(value, str):
            parts[key] = value
        elif value is not None or key in {"role", "text"}:
            raise ReadError(name, line, f"{name_json_type(value)} as {shorten(key)} in turn {number}", "text")
    if parts["prompt_kind"] not in PROMPT_KINDS:
        found = f"The prompt_kind {shorten(parts['prompt_kind'])} was kept, but no count knows it."
        left_out[f"{found} Known are {', '.join(filter(None, PROMPT_KINDS))}."] += 1
    return ReadTurn(**parts)
