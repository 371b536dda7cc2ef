"""Chat messages as the interfaces of OpenAI and Anthropic write them: objects with ``messages``, or one list of messages.

    {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "…"}]}

Roles: ``system`` and ``developer`` are the system, ``user`` is the interviewer, ``assistant`` the model, ``tool`` and
``function`` a tool. ``content`` is text, null, or a list of typed parts; text parts that follow each other are joined
by a line feed. A message that says several kinds of thing becomes several turns: reasoning (in a key of its own, in parts
of that type, or in a ``<think>`` block that opens an assistant's content), utterance, and tool calls, each with its
arguments as JSON for text and the tool's name as speaker. A tool's message, and the part of a user's message that bears a
result, is a tool result; a tool's message that holds the results of several calls becomes one for each. Parts without text,
such as pictures, are left out with a warning. A ``system`` beside the messages is the first turn. With tool calls a
conversation is a trajectory.

A file that is one list of messages is one conversation; in it a message that begins with ``<returncode>``, as mini-swe-agent
writes what a command gave back, is a tool result.

``id`` names the conversation; without one it is the file's name and the line. ``title``, ``model`` and the other keys
that interview lines know have the same meaning here; every other key is kept as metadata.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.chat_content import MessageReader, name_results, split_joined_results
from transcripts.formats.interviews.details import list_left_out, read_details, read_id
from transcripts.formats.interviews.threads import find_kind, find_models
from transcripts.formats.json_lines import JsonLine, name_json_type, read_json_objects
from transcripts.formats.problems import ReadError

FORMAT = "chat_messages"
LIST_FORMAT = "message_list"

_APART = frozenset({"id", "messages", "consent", "system"})


def read_chat_lines(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    interviews = [_read_conversation(line, source, left_out) for line in read_json_objects(source)]
    return ReadFile(FORMAT, interviews, list_left_out(left_out), left_out)


def read_message_list(source: Source) -> ReadFile:
    """Read a file that is one list of messages; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    reader = MessageReader(source.name, 1, left_out)
    messages = [content for _, content in read_json_objects(source)]
    turns = tuple(map(_mark_output, read_messages(messages, reader)))
    kind = "trajectory" if any(turn.role == "tool" for turn in turns) else find_kind(turns)
    interview = ReadInterview(source.stem[:200], source.stem[:300], turns, find_models(turns), kind=kind)
    return ReadFile(LIST_FORMAT, [interview], list_left_out(left_out), left_out)


def _mark_output(turn: ReadTurn) -> ReadTurn:
    """What mini-swe-agent reads back from a command that it wrote among its words is a result, not a question."""
    if turn.role == "interviewer" and turn.text.startswith("<returncode>"):
        return replace(turn, role="tool", channel="tool_result")
    return turn


def read_messages(messages: list[Any], reader: MessageReader) -> tuple[ReadTurn, ...]:
    """The turns of messages, each result with the name of its tool. Raises `ReadError`."""
    turns = [turn for place, message in enumerate(messages, 1) for turn in reader.read(message, place)]
    return name_results([*split_joined_results(turns)], reader.left_out)


def read_system(content: object, reader: MessageReader) -> list[ReadTurn]:
    """The instructions that stand beside the messages: text, or a list of parts."""
    if not content or not isinstance(content, str | list):
        return []
    return reader.read({"role": "system", "content": content}, 0)


def _read_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> ReadInterview:
    number, content = line
    messages = content.get("messages")
    if not isinstance(messages, list):
        found = f'{name_json_type(messages)} as "messages"' if "messages" in content else 'no "messages"'
        raise ReadError(source.name, number, found, "a list of messages")
    details = read_details(line, name=source.name, apart=_APART)
    external_id = _choose_id(line, source)
    title = details.pop("title", "")
    reader = MessageReader(source.name, number, left_out)
    turns = (*read_system(content.get("system"), reader), *read_messages(messages, reader))
    return ReadInterview(
        external_id=external_id,
        title=title if title.strip() else external_id,
        turns=turns,
        kind=find_kind(turns),
        **{"model_label": find_models(turns), **details},
    )


def _choose_id(line: JsonLine, source: Source) -> str:
    number, content = line
    given = read_id(content)
    if given is None and content.get("id") is not None:
        raise ReadError(source.name, number, "an id that is empty or of another kind", "text or a whole number")
    return given or f"{source.stem}-{number}"
