"""Chat messages as OpenAI's interface writes them, one conversation on each line.

    {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "…"}]}

Roles: ``system`` and ``developer`` are the system, ``user`` is the interviewer, ``assistant`` the model, ``tool`` and
``function`` a tool. ``content`` is text, null, or a list of typed parts; text parts that follow each other are joined
by a line feed. A message that says several kinds of thing becomes several turns: reasoning (``reasoning``,
``reasoning_content``, parts of that type, a ``<think>`` block that opens an assistant's content), utterance, and tool
calls, each with its arguments as JSON for text and the tool's name as speaker. A tool's message is a tool result. Parts
without text, such as pictures, and other keys of a message are left out with a warning.

``id`` names the conversation; without one it is the file's name and the line. ``title``, ``model`` and the other keys
that interview lines know have the same meaning here; every other key is kept as metadata.
"""

from __future__ import annotations

from collections import Counter

from transcripts.corpus.pure.readers.base import ReadError, ReadFile, ReadInterview, Source
from transcripts.corpus.pure.readers.chat_content import MessageReader
from transcripts.corpus.pure.readers.details import list_left_out, read_details, read_id
from transcripts.corpus.pure.readers.json_lines import JsonLine, name_json_type, read_json_objects

FORMAT = "chat_messages"

_APART = frozenset({"id", "messages", "consent"})


def read_chat_lines(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    interviews = [_read_conversation(line, source, left_out) for line in read_json_objects(source)]
    return ReadFile(FORMAT, interviews, list_left_out(left_out))


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
    return ReadInterview(
        external_id=external_id,
        title=title if title.strip() else external_id,
        turns=tuple(turn for place, message in enumerate(messages, 1) for turn in reader.read(message, place)),
        **details,
    )


def _choose_id(line: JsonLine, source: Source) -> str:
    number, content = line
    given = read_id(content)
    if given is None and content.get("id") is not None:
        raise ReadError(source.name, number, "an id that is empty or of another kind", "text or a whole number")
    return given or f"{source.stem}-{number}"
