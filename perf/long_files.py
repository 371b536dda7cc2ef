"""Large files of conversations, invented: the same numbers give the same bytes.

``write_trajectories`` writes runs of an agent as chat messages, ``write_account`` the export of a ChatGPT account with what
surrounds the words in a real one: a tree of messages with their metadata, some made anew, some hidden, all on one line.
"""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perf.corpus import SEED, make_sentence

TOOLS = ("search", "read_file", "run_tests", "write_file")
STEPS_OF_AGENT = 14
BEGUN = 1_750_000_000


def write_trajectories(path: Path, count: int, *, steps: int = STEPS_OF_AGENT, sentences: int = 4) -> None:
    """``count`` runs as JSON lines. A run has the system, the task, of each step reasoning, words, a call and its result, and
    two turns at the end: with 14 steps 60 turns."""
    chance = random.Random(SEED)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            run = {
                "id": f"run-{number:05d}",
                "model": "Invented model",
                "messages": _make_run(chance, steps, sentences),
            }
            file.write(json.dumps(run, ensure_ascii=False) + "\n")


def _make_run(chance: random.Random, steps: int, sentences: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _write_words(chance, 3)},
        {"role": "user", "content": _write_words(chance, 2)},
    ]
    for step in range(steps):
        tool, call = chance.choice(TOOLS), f"call_{step}"
        arguments = json.dumps({"path": f"part_{step}.py", "text": make_sentence(chance)})
        messages += [
            {
                "role": "assistant",
                "reasoning_content": _write_words(chance, sentences),
                "content": _write_words(chance, sentences),
                "tool_calls": [
                    {"id": call, "type": "function", "function": {"name": tool, "arguments": arguments}},
                ],
            },
            {"role": "tool", "tool_call_id": call, "content": "\n".join(make_sentence(chance) for _ in range(6))},
        ]
    messages += [
        {"role": "user", "content": _write_words(chance, 1)},
        {"role": "assistant", "content": _write_words(chance, 10)},
    ]
    return messages


def write_account(path: Path, megabytes: float) -> int:
    """The export of an account of about so many megabytes, packed where the name ends with .zip; the number of its
    conversations."""
    if path.suffix != ".zip":
        with path.open("wb") as file:
            return _write_conversations(file, megabytes)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("chat.html", "<html></html>")
        with archive.open("conversations.json", "w", force_zip64=True) as entry:
            return _write_conversations(entry, megabytes)


def _write_conversations(file: Any, megabytes: float) -> int:
    chance = random.Random(SEED)
    size = count = 0
    while size < megabytes * 1_000_000:
        conversation = json.dumps(_make_conversation(chance, count)).encode()
        size += file.write((b", " if count else b"[") + conversation)
        count += 1
    file.write(b"]")
    return count


def _make_conversation(chance: random.Random, number: int) -> dict[str, Any]:
    identity = f"{number:08x}-bench"
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for place, (key, message) in enumerate(_make_messages(chance, number)):
        mapping[key] = {"id": key, "message": message, "parent": parent, "children": []}
        mapping[parent]["children"].append(key)
        # Every eighth question is asked once more in other words: what was said before is a branch.
        if place % 16 != 15:
            parent = key
    return {
        "title": f"Invented {number}",
        "create_time": BEGUN + number,
        "update_time": BEGUN + number + 3_600,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": parent,
        "conversation_id": identity,
        "id": identity,
        "gizmo_id": None,
        "is_archived": False,
        "safe_urls": [],
        "default_model_slug": "invented-1",
    }


def _make_messages(chance: random.Random, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    hidden = {"is_visually_hidden_from_conversation": True}
    yield "m0", _make_message("m0", "system", "", number, **hidden)
    for turn in range(1, 2 * chance.randrange(4, 24) + 1):
        is_answer = turn % 2 == 0
        text = _write_words(chance, chance.randrange(8, 30) if is_answer else chance.randrange(1, 4))
        more = (
            {"model_slug": "invented-1", "finish_details": {"type": "stop", "stop_tokens": [200_002]}}
            if is_answer
            else {}
        )
        yield f"m{turn}", _make_message(f"m{turn}", "assistant" if is_answer else "user", text, number + turn, **more)


def _make_message(key: str, role: str, text: str, at: int, **more: object) -> dict[str, Any]:
    return {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": BEGUN + at + 0.25,
        "update_time": None,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "end_turn": role == "assistant",
        "weight": 1.0,
        "metadata": {
            "request_id": f"{at:016x}-XXX",
            "message_source": None,
            "timestamp_": "absolute",
            "turn_exchange_id": f"{at:032x}",
            "selected_sources": [],
            "serialization_metadata": {"custom_symbol_offsets": []},
            "citations": [],
            "content_references": [],
            **more,
        },
        "recipient": "all",
        "channel": None,
    }


def _write_words(chance: random.Random, sentences: int) -> str:
    """Paragraphs of five sentences."""
    made = [make_sentence(chance) for _ in range(sentences)]
    return "\n\n".join(" ".join(made[first : first + 5]) for first in range(0, len(made), 5))
