"""Which formats an object of JSON that no reader knows comes nearest to, for the sentence that refuses it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from transcripts.formats.codebook_rules import fold_heading
from transcripts.formats.interviews import (
    captions,
    chat_messages,
    interview_jsonl,
    loose_messages,
    sharegpt,
    speaker_table,
)
from transcripts.formats.interviews.documents import HEADS
from transcripts.formats.json_lines import JsonObject, shorten

MOST = 3
# Keys that objects of any program have.
_COMMON = frozenset({"id", "type", "object", "output", "role", "content", "name"})
_LIKE = 0.8
_SPEAKERS = frozenset({*HEADS["speaker"], "user", "sender", "username"})
_TEXTS = frozenset(HEADS["text"])

# What the objects of a list have, and the format that keeps such a list under a key.
_LISTS = {
    ("role", "content"): (chat_messages.FORMAT, "messages"),
    ("from", "value"): (sharegpt.FORMAT, "conversations"),
    ("role", "text"): (interview_jsonl.FORMAT, "turns"),
    ("speaker", "text"): (loose_messages.FORMAT, "utterances"),
}
_SHAPES = {
    interview_jsonl.FORMAT: '"id" and "turns", a list of {"role": "interviewer", "text": "…"}, or "id" and "text", one answer of '
    "the model",
    chat_messages.FORMAT: '"messages", a list of {"role": "user", "content": "…"}',
}


def describe_nearest(content: JsonObject, known: Mapping[tuple[str, ...], str]) -> str:
    """The nearest formats and what the object lacks of them. ``known`` are the keys by which formats are recognised."""
    nearest = {**(by_lists := _find_by_lists(content)), **_find_by_speakers(content)}
    # Where a list says what it is, a key that is merely spelled alike says nothing.
    exact = {key for keys in known for key in keys}
    rest = {key: value for key, value in content.items() if not by_lists or key in exact}
    for keys, format in sorted(known.items(), key=lambda item: -_measure_distance(item[0], rest)):
        if _measure_distance(keys, rest) and format not in nearest:
            nearest[format] = _say_missing(keys, rest)
    for format, shape in _SHAPES.items():
        if len(nearest) < MOST - 1:
            nearest.setdefault(format, shape)
    named = [f"{format} ({why})" for format, why in list(nearest.items())[:MOST]]
    return "; ".join(named)


def _find_by_lists(content: JsonObject) -> dict[str, str]:
    """Formats by what is in lists: under another key the same list would be read."""
    found: dict[str, str] = {}
    for key, value in content.items():
        first = value[0] if isinstance(value, list) and value else None
        if not isinstance(first, dict):
            continue
        if all(part in first for part in ("start", "end", "text")):
            found[captions.FORMAT] = "WebVTT or SubRip, which programs that transcribe write as well"
            continue
        for parts, (format, own) in _LISTS.items():
            if key != own and all(part in first for part in parts):
                found[format] = f"{shorten(own)} in place of {shorten(key)}"
    return found


def _find_by_speakers(content: JsonObject) -> dict[str, str]:
    """The table, for an object that is one turn of a conversation."""
    speaker = next((key for key in content if fold_heading(key) in _SPEAKERS), None)
    text = next((key for key in content if fold_heading(key) in _TEXTS), None)
    if speaker is None or text is None:
        return {}
    return {
        speaker_table.FORMAT: f"a table with the columns speaker and text, here {shorten(speaker)} and {shorten(text)}"
    }


def _measure_distance(keys: tuple[str, ...], content: JsonObject) -> float:
    """The share of a format's keys that the object has, or spells alike; 0 where only common ones are the same."""
    own = [key for key in keys if key not in _COMMON]
    there = [key for key in own if key in content or _find_like(key, content)]
    return len(there) / len(keys)


def _find_like(key: str, content: JsonObject) -> str:
    return next(iter(get_close_matches(key, [each[:40] for each in list(content)[:100]], 1, _LIKE)), "")


def _say_missing(keys: tuple[str, ...], content: JsonObject) -> str:
    if keys == ("id", "text") and "text" in content:
        return '"id" is missing, and "text" would be one answer of the model'
    missing = [key for key in keys if key not in content]
    said = [
        f"{shorten(key)} in place of {shorten(like)}"
        if (like := _find_like(key, content))
        else f"{shorten(key)} is missing"
        for key in missing
    ]
    return ", ".join(said)
