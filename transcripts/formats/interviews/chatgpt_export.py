"""The export of a ChatGPT account, ``conversations.json``: a list of conversations, each a tree of messages.

    [{"title": "…", "mapping": {"n1": {"parent": null, "children": ["n2"], "message": {…}}, …}, "current_node": "n9"}]

The thread of a conversation is the path that was in sight at last: up from ``current_node``; without it, up from the leaf that
was written last; and where no message names a parent, all messages by their time. Other leaves are questions or answers
that were made anew: each is a branch, a thread that hangs on the last turn that it shares. ``user`` is the interviewer,
``assistant`` the model. Thoughts are reasoning; code and what is said to a tool are tool calls, with the tool's name as
speaker; what a tool says is a tool result. Messages that ChatGPT hides, such as custom instructions, are left out and
counted, as are pictures and other parts without text.

The time of each message and the model that wrote it are kept. The models that answered are the interview's model, the day
it began is its period. Every other key of a conversation is kept as metadata.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.details import (
    leave_out_silent,
    list_left_out,
    note_clock,
    read_day,
    read_details,
    read_id,
    read_time,
)
from transcripts.formats.interviews.threads import Node, Thread, divide_tree, find_models, name_threads
from transcripts.formats.json_lines import (
    JsonLine,
    JsonObject,
    name_json_type,
    read_json_objects,
    shorten,
)
from transcripts.formats.problems import ReadError

FORMAT = "chatgpt_export"

ROLES = {"user": "interviewer", "assistant": "model", "system": "system", "tool": "tool"}
_APART = frozenset({"id", "conversation_id", "title", "mapping", "current_node", "create_time", "consent"})
_CALLS = frozenset({"code"})
_RESULTS = frozenset({"execution_output", "tether_browsing_display", "tether_quote", "system_error"})
# "Thought for 12 seconds", which says nothing of what was thought.
_SAYS_NOTHING = frozenset({"reasoning_recap"})
_TEXT_KEYS = ("text", "result", "content")


def read_chatgpt_export(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    read = (thread for line in read_json_objects(source) for thread in _read_conversation(line, source, left_out))
    interviews = leave_out_silent(read, left_out)
    return ReadFile(FORMAT, interviews, list_left_out(left_out), left_out)


def _read_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> list[ReadInterview]:
    number, content = line
    mapping = content.get("mapping")
    if not isinstance(mapping, dict) or not all(isinstance(node, dict) for node in mapping.values()):
        raise ReadError(
            source.name, number, 'a "mapping" that is not an object of messages', "one of messages by their ids"
        )
    title = content.get("title")
    if title is not None and not isinstance(title, str):
        raise ReadError(source.name, number, f'{name_json_type(title)} as "title"', "text or null")
    threads = _find_threads(content.get("current_node"), mapping, left_out)
    for thread in threads:
        note_clock(thread.turns, left_out)
    external_id = read_id({"id": content.get("id") or content.get("conversation_id")}) or f"{source.stem}-{number}"
    details = read_details(line, name=source.name, apart=_APART)
    common = ReadInterview(
        external_id=external_id,
        title=title if title and title.strip() else external_id,
        turns=(),
        **{"period": read_day(content.get("create_time")), "surface": "ChatGPT", **details},
    )
    return [
        replace(thread, model_label=details.get("model_label") or find_models(thread.turns))
        for thread in name_threads(threads or [Thread()], common=common)
    ]


def _find_threads(current: Any, mapping: dict[str, JsonObject], left_out: Counter[str]) -> list[Thread]:
    """What was in sight at last, and every other path to a message that nothing answers."""
    parents = {key: _find_parent(node, mapping) for key, node in mapping.items()}
    turns = {
        key: tuple(_read_message(node["message"], left_out)) if isinstance(node.get("message"), dict) else ()
        for key, node in mapping.items()
    }
    if not any(parents.values()):
        # The sort keeps the order of the file among those of one time.
        return [
            Thread([turn for key in sorted(mapping, key=lambda key: _find_time(mapping[key])) for turn in turns[key]])
        ]
    if not isinstance(current, str) or current not in mapping:
        order = {key: place for place, key in enumerate(mapping)}
        leaves = [key for key in mapping if key not in set(parents.values()) and turns[key]]
        current = max(leaves or mapping, key=lambda key: (_find_time(mapping[key]), order[key]))
    return divide_tree({key: Node(parents[key] or None, turns[key]) for key in mapping}, current=current)


def _find_parent(node: JsonObject, mapping: dict[str, JsonObject]) -> str:
    parent = node.get("parent")
    return parent if isinstance(parent, str) and parent in mapping else ""


def _find_time(node: JsonObject) -> float:
    message = node.get("message")
    time = message.get("create_time") if isinstance(message, dict) else None
    return float(time) if isinstance(time, int | float) else -math.inf


def _read_message(message: JsonObject, left_out: Counter[str]) -> Iterator[ReadTurn]:
    author, content = message.get("author"), message.get("content")
    given = author.get("role") if isinstance(author, dict) else None
    role = ROLES.get(given) if isinstance(given, str) else None
    if role is None or not isinstance(content, dict):
        left_out[f"A message of the role {shorten(str(given))} was left out."] += 1
        return
    if _read_metadata(message).get("is_visually_hidden_from_conversation") is True:
        left_out["A message that ChatGPT hides was left out."] += 1
        return
    kind = str(content.get("content_type") or "text")
    text = "\n".join(_read_texts(kind, content, left_out))
    if not text.strip():
        return
    name = author.get("name") if isinstance(author, dict) else None
    speaker = name if isinstance(name, str) else ""
    recipient = message.get("recipient")
    is_to_tool = role == "model" and isinstance(recipient, str) and recipient not in {"", "all"}
    at, model = read_time(message.get("create_time")), _read_metadata(message).get("model_slug")
    details = {
        **({"at": at} if at else {}),
        **({"model": model[:200]} if isinstance(model, str) and model and role == "model" else {}),
    }
    if kind == "thoughts":
        yield ReadTurn(role, "reasoning", speaker, text, details=details)
    elif role == "tool" or kind in _RESULTS:
        yield ReadTurn("tool", "tool_result", speaker, text, details=details)
    elif is_to_tool or kind in _CALLS:
        tool = str(recipient) if is_to_tool else str(content.get("language") or "")
        yield ReadTurn(role, "tool_call", tool, text, details=details)
    else:
        yield ReadTurn(role, "utterance", speaker, text, details=details)


def _read_texts(kind: str, content: JsonObject, left_out: Counter[str]) -> Iterator[str]:
    if kind in _SAYS_NOTHING:
        return
    if kind == "thoughts":
        thoughts = content.get("thoughts")
        for thought in thoughts if isinstance(thoughts, list) else []:
            words = [thought.get(key) for key in ("summary", "content")] if isinstance(thought, dict) else []
            yield "\n".join(word for word in words if isinstance(word, str) and word.strip())
        return
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else [content]:
        text = part if isinstance(part, str) else _find_text(part)
        if text is not None:
            yield text
        else:
            found = part.get("content_type") if isinstance(part, dict) else None
            left_out[f"A part of type {shorten(str(found or kind))} was left out because it has no text."] += 1


def _find_text(part: Any) -> str | None:
    if not isinstance(part, dict):
        return None
    return next((part[key] for key in _TEXT_KEYS if isinstance(part.get(key), str)), None)


def _read_metadata(message: JsonObject) -> JsonObject:
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
