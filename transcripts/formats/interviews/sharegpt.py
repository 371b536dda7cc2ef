"""Conversations as ShareGPT's collections write them: a list, or an object on each line.

    [{"id": "a1", "conversations": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "…"}]}]

``human`` and ``user`` are the interviewer; ``gpt``, ``assistant``, ``model``, ``chatgpt``, ``bing`` and ``bard`` the model;
``system`` is the system. ``function_call`` is a tool call of the model; ``tool``, ``observation`` and ``function_response``
are results. ``model`` and the other keys that interview lines know have the same meaning here; every other key is kept as
metadata.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.chat_content import name_results, read_whole_call
from transcripts.formats.interviews.details import list_left_out, read_details, read_id
from transcripts.formats.interviews.threads import find_kind
from transcripts.formats.json_lines import JsonLine, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

FORMAT = "sharegpt"

_SPEAKERS = {
    **dict.fromkeys(("human", "user"), ("interviewer", "utterance")),
    **dict.fromkeys(("gpt", "assistant", "model", "chatgpt", "bing", "bard"), ("model", "utterance")),
    "system": ("system", "utterance"),
    "function_call": ("model", "tool_call"),
    **dict.fromkeys(("tool", "observation", "function_response"), ("tool", "tool_result")),
}
_APART = frozenset({"id", "conversations", "consent"})
_KEYS_OF_TURN = frozenset({"from", "value"})


def read_sharegpt(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    interviews = [_read_conversation(line, source, left_out) for line in read_json_objects(source)]
    return ReadFile(FORMAT, interviews, list_left_out(left_out), left_out)


def _read_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> ReadInterview:
    number, content = line
    said = content.get("conversations")
    if not isinstance(said, list):
        raise ReadError(source.name, number, f'{name_json_type(said)} as "conversations"', "a list of turns")
    external_id = read_id(content) or f"{source.stem}-{number}"
    details = read_details(line, name=source.name, apart=_APART)
    title = details.pop("title", "")
    turns = name_results(
        [_read_turn(each, place, line, source, left_out) for place, each in enumerate(said, 1)], left_out
    )
    return ReadInterview(
        external_id=external_id,
        title=title if title.strip() else external_id,
        turns=turns,
        kind=find_kind(turns),
        **details,
    )


def _read_turn(turn: Any, place: int, line: JsonLine, source: Source, left_out: Counter[str]) -> ReadTurn:
    number, _ = line
    speaker, text = (turn.get("from"), turn.get("value")) if isinstance(turn, dict) else (None, None)
    if not isinstance(speaker, str) or not isinstance(text, str):
        raise ReadError(source.name, number, f"turn {place} without its words", 'an object with "from" and "value"')
    if speaker not in _SPEAKERS:
        raise ReadError(
            source.name, number, f"{shorten(speaker)} as the speaker of turn {place}", " or ".join(_SPEAKERS)
        )
    for key in turn.keys() - _KEYS_OF_TURN:
        left_out[f"The key {shorten(key)} of a turn was left out."] += 1
    role, channel = _SPEAKERS[speaker]
    if channel == "tool_call":
        arguments, name = read_whole_call(text)
        return ReadTurn(role, channel, name, arguments)
    return ReadTurn(role, channel, "", text)
