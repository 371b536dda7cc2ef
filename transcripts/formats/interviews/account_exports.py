"""Exports of the accounts of people at ChatGPT and Claude. The docstring of each reader describes its format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import (
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    describe_turn,
    find_list,
    find_object,
    find_text,
    leave_out_silent,
    list_left_out,
    note_clock,
    read_day,
    read_details,
    read_id,
)
from transcripts.formats.interviews.chat_content import MessageReader, name_results
from transcripts.formats.interviews.threads import Node, Thread, divide_tree, find_models, name_threads
from transcripts.formats.json_lines import (
    JsonLine,
    JsonObject,
    name_json_type,
    read_json_objects,
    shorten,
)
from transcripts.formats.problems import ReadError

CHATGPT = "chatgpt_export"

ROLES = {"user": "interviewer", "assistant": "model", "system": "system", "tool": "tool"}
_APART_OF_CHATGPT = frozenset({"id", "conversation_id", "title", "mapping", "current_node", "create_time", "consent"})
_CALLS = frozenset({"code"})
_RESULTS = frozenset({"execution_output", "tether_browsing_display", "tether_quote", "system_error"})
# "Thought for 12 seconds", which does not contain the thought.
_SAYS_NOTHING = frozenset({"reasoning_recap"})
_TEXT_KEYS = ("text", "result", "content")


def read_chatgpt_export(source: Source) -> ReadFile:
    """The export of a ChatGPT account, ``conversations.json``: a list of conversations, each a tree of messages.

        [{"title": "…", "mapping": {"n1": {"parent": null, "children": ["n2"], "message": {…}}, …}, "current_node": "n9"}]

    The thread of a conversation is the path that was shown last: up from ``current_node``; without it, up from the leaf that
    was written last; and if no message names a parent, all messages by time. Other leaves are repeated questions or answers:
    each is a branch, a thread that continues from the last turn that it shares. ``user`` is the interviewer, ``assistant`` the
    model. Thoughts are reasoning; code and what is said to a tool are tool calls, with the tool's name as speaker; what a tool
    says is a tool result. Messages that ChatGPT hides, such as custom instructions, are left out and counted, as are pictures
    and other parts without text.

    The time of each message and the model that wrote it are kept. The models that answered are the interview's model, the day
    it began is its period. Every other key of a conversation is kept as metadata.

    Raises `ReadError`.
    """
    left_out: Counter[str] = Counter()
    read = (
        thread for line in read_json_objects(source) for thread in _read_chatgpt_conversation(line, source, left_out)
    )
    interviews = leave_out_silent(read, left_out)
    return ReadFile(CHATGPT, interviews, list_left_out(left_out), left_out)


def _read_chatgpt_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> list[ReadInterview]:
    number, content = line
    mapping = content.get("mapping")
    if not isinstance(mapping, dict) or not all(isinstance(node, dict) for node in mapping.values()):
        raise ReadError(
            source.name, number, 'a "mapping" that is not an object of messages', "one of messages by their ids"
        )
    title = content.get("title")
    if title is not None and not isinstance(title, str):
        raise ReadError(source.name, number, f'{name_json_type(title)} as "title"', "text or null")
    threads = _find_chatgpt_threads(content.get("current_node"), mapping, left_out)
    for thread in threads:
        note_clock(thread.turns, left_out)
    external_id = read_id({"id": content.get("id") or content.get("conversation_id")}) or f"{source.stem}-{number}"
    details = read_details(line, name=source.name, apart=_APART_OF_CHATGPT)
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


def _find_chatgpt_threads(current: Any, mapping: dict[str, JsonObject], left_out: Counter[str]) -> list[Thread]:
    """The path that was shown last, and every other path to a message without an answer."""
    parents = {key: _find_parent(node, mapping) for key, node in mapping.items()}
    turns = {
        key: tuple(_read_chatgpt_message(node["message"], left_out)) if isinstance(node.get("message"), dict) else ()
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
    time = find_object(node, "message").get("create_time")
    return float(time) if isinstance(time, int | float) else -math.inf


def _read_chatgpt_message(message: JsonObject, left_out: Counter[str]) -> Iterator[ReadTurn]:
    author, content = find_object(message, "author"), message.get("content")
    given = author.get("role")
    role = ROLES.get(given) if isinstance(given, str) else None
    if role is None or not isinstance(content, dict):
        left_out[f"A message of the role {shorten(str(given))} was left out."] += 1
        return
    metadata = find_object(message, "metadata")
    if metadata.get("is_visually_hidden_from_conversation") is True:
        left_out["A message that ChatGPT hides was left out."] += 1
        return
    kind = str(content.get("content_type") or "text")
    text = "\n".join(_read_texts(kind, content, left_out))
    if not text.strip():
        return
    speaker = find_text(author, "name")
    recipient = message.get("recipient")
    is_to_tool = role == "model" and isinstance(recipient, str) and recipient not in {"", "all"}
    model = metadata.get("model_slug") if role == "model" else ""
    details = describe_turn(message.get("create_time"), model)
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
        for thought in find_list(content, "thoughts"):
            words = [find_text(thought, key) for key in ("summary", "content")]
            yield "\n".join(word for word in words if word.strip())
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


CLAUDE = "claude_export"
NO_MODEL = "The file does not name the model; enter it on the page of the interview."

_CLAUDE_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_APART_OF_CLAUDE = frozenset({"uuid", "name", "chat_messages", "created_at", "consent"})


def read_claude_export(source: Source) -> ReadFile:
    """The export of a Claude account, ``conversations.json``: a list of conversations with their messages in order.

        [{"uuid": "…", "name": "…", "created_at": "2026-03-01T…", "chat_messages": [{"sender": "human", "content": […]}]}]

    ``human`` is the interviewer, ``assistant`` the model. For a message, the parts of ``content`` are read, as in chat
    messages; its ``text``, which may repeat the thinking, is read only if there are none. Text extracted from an attachment is
    a turn of the interviewer, with the file's name as speaker. If messages name their parents, repeated messages are branches.
    Usually the file does not name the model. The day a conversation began is its period; every other key of it is kept as
    metadata.

    Raises `ReadError`.
    """
    left_out: Counter[str] = Counter()
    read = (
        thread for line in read_json_objects(source) for thread in _read_claude_conversation(line, source, left_out)
    )
    interviews = leave_out_silent(read, left_out)
    told = [] if all(interview.model_label for interview in interviews) else [NO_MODEL]
    return ReadFile(CLAUDE, interviews, [*told, *list_left_out(left_out)], left_out)


def _read_claude_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> list[ReadInterview]:
    number, content = line
    messages = content.get("chat_messages")
    if not isinstance(messages, list):
        raise ReadError(source.name, number, f'{name_json_type(messages)} as "chat_messages"', "a list of messages")
    name, begun = content.get("name"), content.get("created_at")
    external_id = read_id({"id": content.get("uuid")}) or f"{source.stem}-{number}"
    details = read_details(line, name=source.name, apart=_APART_OF_CLAUDE)
    threads = _find_claude_threads(content, messages, MessageReader(source.name, number, left_out))
    common = ReadInterview(
        external_id=external_id,
        title=name if isinstance(name, str) and name.strip() else external_id,
        turns=(),
        **{"period": read_day(begun), "surface": "Claude", **details},
    )
    return [
        replace(thread, model_label=details.get("model_label") or find_models(thread.turns))
        for thread in name_threads(threads, common=common)
    ]


def _find_claude_threads(content: JsonObject, messages: list[Any], reader: MessageReader) -> list[Thread]:
    """One thread in the order of the file or, if messages name their parents, one for each path of the tree."""
    nodes: dict[str, Node] = {}
    for place, each in enumerate(messages, 1):
        turns = tuple(_read_claude_message(each, place, reader))
        key = each["uuid"] if isinstance(each.get("uuid"), str) else f"message {place}"
        parent = each.get("parent_message_uuid")
        nodes[key if key not in nodes else f"message {place}"] = Node(
            parent if isinstance(parent, str) else None, turns
        )
    if any(node.parent in nodes for node in nodes.values()):
        threads = divide_tree(nodes, current=str(content.get("current_leaf_message_uuid")))
    else:
        threads = [Thread([turn for node in nodes.values() for turn in node.turns])]
    for thread in threads:
        thread.turns = list(name_results(thread.turns, reader.left_out))
    return threads or [Thread()]


def _read_claude_message(message: Any, number: int, reader: MessageReader) -> Iterator[ReadTurn]:
    if not isinstance(message, dict):
        found = f"{name_json_type(message)} as message {number}"
        raise ReadError(reader.file, reader.line, found, 'an object with "sender" and "content"')
    sender = message.get("sender")
    role = _CLAUDE_ROLES.get(sender) if isinstance(sender, str) else None
    if role is None:
        raise ReadError(reader.file, reader.line, f"no sender known in message {number}", " or ".join(_CLAUDE_ROLES))
    yield from _read_attachments(message, reader.left_out)
    parts = message.get("content")
    told = {"role": role, "content": parts or message.get("text") or "", "created_at": message.get("created_at")}
    turns = reader.read(told, number)
    yield from (turn for turn in turns if turn.text.strip() or turn.channel != "utterance")


def _read_attachments(message: JsonObject, left_out: Counter[str]) -> Iterator[ReadTurn]:
    for key in ("attachments", "files"):
        for each in find_list(message, key):
            text = find_text(each, "extracted_content")
            if text.strip():
                yield ReadTurn("interviewer", "utterance", find_text(each, "file_name")[:200], text)
            else:
                left_out["A file that was attached was left out because the export has no text of it."] += 1
