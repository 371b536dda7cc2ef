"""Recordings that were transcribed by programs which tell voices apart, such as AssemblyAI: objects with ``utterances``.

    {"id": "r1", "text": "How? So.", "utterances": [
      {"speaker": "A", "text": "How?", "start": 250, "end": 900}, {"speaker": "B", "text": "So."}]}

Each utterance is a turn, with its time, which is in milliseconds. A voice that is called by a letter or a number, such as A, is
"Speaker A". Who asks is assumed from the names, as in tables. The field ``text`` repeats the utterances. Keys
with text or a number are kept as metadata, others (such as the single words) are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.details import list_left_out, read_details, read_id, write_clock
from transcripts.formats.interviews.speaker_names import assign_roles
from transcripts.formats.json_lines import JsonLine, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

FORMAT = "utterances"

DIFFERS = "The field text has other words than the utterances, and was left out."
_APART = frozenset({"id", "text", "utterances", "consent"})
_VOICE = re.compile(r"[A-Za-z]|\d{1,3}")
_ALONE = (
    'a list of objects with "speaker" and "text" (transcribe with speakers told apart; or choose the format interview_jsonl, '
    "in which a text is one answer of the model)"
)


def read_utterances(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    told: dict[str, None] = {}
    interviews = []
    for line in read_json_objects(source):
        interview, warnings = _read_recording(line, source, left_out)
        interviews.append(interview)
        told.update(dict.fromkeys(warnings))
    return ReadFile(FORMAT, interviews, [*told, *list_left_out(left_out)], left_out)


def _read_recording(line: JsonLine, source: Source, left_out: Counter[str]) -> tuple[ReadInterview, list[str]]:
    number, content = line
    utterances = content.get("utterances")
    if not isinstance(utterances, list):
        raise ReadError(source.name, number, f'{name_json_type(utterances)} as "utterances"', _ALONE)
    said = [_read_utterance(each, place, number, source.name) for place, each in enumerate(utterances, 1)]
    roles, warnings = assign_roles(list(dict.fromkeys(speaker for speaker, _, _ in said)))
    turns = tuple(ReadTurn(roles[speaker], "utterance", speaker, text, details=at) for speaker, text, at in said)
    whole = content.get("text")
    if isinstance(whole, str) and whole.split() != " ".join(turn.text for turn in turns).split():
        left_out[DIFFERS] += 1
    kept: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, dict | list) and value and key not in _APART:
            left_out[f"The key {shorten(key)} of a recording was left out."] += 1
        elif key == "consent" or not isinstance(value, bool | dict | list):
            kept[key] = value
    details = read_details((number, kept), name=source.name, apart=_APART)
    external_id = read_id(content) or f"{source.stem}-{number}"
    title = details.pop("title", "")
    return ReadInterview(external_id, title if title.strip() else external_id, turns, **details), warnings


def _read_utterance(given: Any, place: int, line: int, name: str) -> tuple[str, str, dict[str, str]]:
    """Who speaks, what she says, and when."""
    speaker, text = (given.get("speaker"), given.get("text")) if isinstance(given, dict) else (None, None)
    if isinstance(speaker, int) and not isinstance(speaker, bool):
        speaker = str(speaker)[:40]
    if not isinstance(speaker, str) or not speaker.strip() or not isinstance(text, str):
        raise ReadError(name, line, f"utterance {place} without a speaker or words", _ALONE)
    ends = {"from": given.get("start"), "to": given.get("end")}
    at = {
        key: write_clock(value / 1000)
        for key, value in ends.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    }
    return (f"Speaker {speaker}" if _VOICE.fullmatch(speaker) else speaker), text, at
