"""The export of a Claude account, ``conversations.json``: a list of conversations with their messages in order.

    [{"uuid": "…", "name": "…", "created_at": "2026-03-01T…", "chat_messages": [{"sender": "human", "content": […]}]}]

``human`` is the interviewer, ``assistant`` the model. Of a message the parts of ``content`` are read, as in chat messages;
its ``text``, which may say the thinking once more, only where there are none. Text that was taken out of an attachment is a
turn of the interviewer, with the file's name as speaker. Where messages name their parents, those that were made anew are
branches. Mostly the file does not name the model. The day a conversation began is its period; every other key of it is kept as
metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.chat_content import MessageReader, name_results
from transcripts.formats.interviews.details import leave_out_silent, list_left_out, read_day, read_details, read_id
from transcripts.formats.interviews.threads import Node, Thread, divide_tree, find_models, name_threads
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects
from transcripts.formats.problems import ReadError

FORMAT = "claude_export"
NO_MODEL = "The file does not name the model; say it on the page of the interview."

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_APART = frozenset({"uuid", "name", "chat_messages", "created_at", "consent"})


def read_claude_export(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    read = (thread for line in read_json_objects(source) for thread in _read_conversation(line, source, left_out))
    interviews = leave_out_silent(read, left_out)
    told = [] if all(interview.model_label for interview in interviews) else [NO_MODEL]
    return ReadFile(FORMAT, interviews, [*told, *list_left_out(left_out)], left_out)


def _read_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> list[ReadInterview]:
    number, content = line
    messages = content.get("chat_messages")
    if not isinstance(messages, list):
        raise ReadError(source.name, number, f'{name_json_type(messages)} as "chat_messages"', "a list of messages")
    name, begun = content.get("name"), content.get("created_at")
    external_id = read_id({"id": content.get("uuid")}) or f"{source.stem}-{number}"
    details = read_details(line, name=source.name, apart=_APART)
    threads = _find_threads(content, messages, MessageReader(source.name, number, left_out))
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


def _find_threads(content: JsonObject, messages: list[Any], reader: MessageReader) -> list[Thread]:
    """One thread in the order of the file; where messages name their parents, one for each line of the tree."""
    nodes: dict[str, Node] = {}
    for place, each in enumerate(messages, 1):
        turns = tuple(_read_message(each, place, reader))
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


def _read_message(message: Any, number: int, reader: MessageReader) -> Iterator[ReadTurn]:
    if not isinstance(message, dict):
        found = f"{name_json_type(message)} as message {number}"
        raise ReadError(reader.file, reader.line, found, 'an object with "sender" and "content"')
    sender = message.get("sender")
    role = _ROLES.get(sender) if isinstance(sender, str) else None
    if role is None:
        raise ReadError(reader.file, reader.line, f"no sender known in message {number}", " or ".join(_ROLES))
    yield from _read_attachments(message, reader.left_out)
    parts = message.get("content")
    told = {"role": role, "content": parts or message.get("text") or "", "created_at": message.get("created_at")}
    turns = reader.read(told, number)
    yield from (turn for turn in turns if turn.text.strip() or turn.channel != "utterance")


def _read_attachments(message: JsonObject, left_out: Counter[str]) -> Iterator[ReadTurn]:
    for key in ("attachments", "files"):
        attached = message.get(key)
        for each in attached if isinstance(attached, list) else []:
            text = each.get("extracted_content") if isinstance(each, dict) else None
            name = each.get("file_name") if isinstance(each, dict) else None
            if isinstance(text, str) and text.strip():
                yield ReadTurn("interviewer", "utterance", name[:200] if isinstance(name, str) else "", text)
            else:
                left_out["A file that was attached was left out because the export has no text of it."] += 1
