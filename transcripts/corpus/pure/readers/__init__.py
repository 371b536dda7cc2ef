"""Readers of files with interviews: bytes in, interviews or an error that names the place out. Knows nothing of Django.

    read_bytes(data, name="notes.jsonl")                       # finds out the format
    read_bytes(data, name="talk.txt", format="speaker_text")   # the format is given

A new format is a module with a function from `Source` to `ReadFile` and an entry in ``FORMATS``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from transcripts.corpus.pure.readers import (
    chat_messages,
    chatgpt_export,
    claude_export,
    interview_jsonl,
    sharegpt,
    speaker_text,
)
from transcripts.corpus.pure.readers.archives import is_archive, unpack
from transcripts.corpus.pure.readers.base import Reader, ReadError, ReadFile, ReadInterview, ReadTurn, Source
from transcripts.corpus.pure.readers.checks import check_file
from transcripts.corpus.pure.readers.decoding import decode_text
from transcripts.corpus.pure.readers.json_lines import list_keys, read_json_objects

__all__ = ["FORMATS", "ReadError", "ReadFile", "ReadInterview", "ReadTurn", "Reader", "read_bytes"]

FORMATS: dict[str, Reader] = {
    interview_jsonl.FORMAT: Reader("Interviews as JSON objects", interview_jsonl.read_interview_lines),
    chat_messages.FORMAT: Reader("Chat messages (OpenAI) as JSON objects", chat_messages.read_chat_lines),
    chatgpt_export.FORMAT: Reader("Export of a ChatGPT account", chatgpt_export.read_chatgpt_export),
    claude_export.FORMAT: Reader("Export of a Claude account", claude_export.read_claude_export),
    sharegpt.FORMAT: Reader("ShareGPT conversations", sharegpt.read_sharegpt),
    speaker_text.FORMAT: Reader("Plain text with speakers", speaker_text.read_speaker_text),
}
"""The formats by the names that people give on the command line."""

# What an object of each format has, and none of the formats before it.
_FORMAT_OF_KEY = {
    "mapping": chatgpt_export.FORMAT,
    "chat_messages": claude_export.FORMAT,
    "conversations": sharegpt.FORMAT,
    "messages": chat_messages.FORMAT,
    "turns": interview_jsonl.FORMAT,
    "text": interview_jsonl.FORMAT,
}
_JSON_OBJECT = re.compile(r"\s*\{")
_JSON_LIST = re.compile(r"\s*\[\s*[\[{\]]")


def read_bytes(
    data: bytes,
    *,
    name: str,
    format: str = "auto",
) -> ReadFile:
    """Read a whole file of interviews.

    ``name`` is the file's name, for errors and for ids that the file does not give. ``format`` is a key of ``FORMATS``
    or "auto". Raises `ReadError` when anything in the
    file cannot be kept, so that a file comes in whole or not at all; ``ValueError`` for a format there is not.
    """
    if format not in FORMATS and format != "auto":
        raise ValueError(f"There is no format {format!r}. The formats are {', '.join(FORMATS)}.")
    told: list[str] = []
    if is_archive(data):
        data, told = unpack(data, name=name)
    source = Source(name, decode_text(data, name=name))
    reader = FORMATS[recognise_format(source) if format == "auto" else format]
    read = reader.read(source)
    check_file(read, name=name)
    return replace(read, warnings=[*told, *read.warnings]) if told else read


def recognise_format(source: Source) -> str:
    """The format that the content shows. Raises `ReadError` that names what was tried."""
    if _JSON_LIST.match(source.text) or _JSON_OBJECT.match(source.text):
        number, content = next(read_json_objects(source), (1, {}))
        for key, format in _FORMAT_OF_KEY.items():
            if key in content:
                return format
        known = ", ".join(f'"{key}" ({format})' for key, format in _FORMAT_OF_KEY.items())
        found = f"an object with the keys {list_keys(content)}" if content else "nothing in the list"
        raise ReadError(source.name, number, found, f"objects with one of the keys {known}")
    if speaker_text.find_starts(source.text):
        return speaker_text.FORMAT
    raise ReadError(
        source.name,
        None,
        "text that is none of the formats tried",
        'the export of an account, JSON, or lines that begin with who speaks, such as "Interviewer: …" and "Model: …"',
    )
