"""Readers of files with interviews: bytes in, interviews or an error that names the place out. Knows nothing of Django.

    read_bytes(data, name="notes.jsonl")                       # finds out the format
    read_bytes(data, name="talk.txt", format="speaker_text")   # the format is given

A new format is a module with a function from `Source` to `ReadFile` and an entry in ``FORMATS``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from transcripts.corpus.pure.readers import (
    atif,
    captions,
    chat_messages,
    chatgpt_export,
    claude_code,
    claude_export,
    hh_rlhf,
    inspect_log,
    interview_jsonl,
    langfuse,
    oasst,
    otel_genai,
    sharegpt,
    speaker_table,
    speaker_text,
    swe_agent,
    tau_bench,
)
from transcripts.corpus.pure.readers.archives import expand, is_archive, unpack
from transcripts.corpus.pure.readers.base import Reader, ReadError, ReadFile, ReadInterview, ReadTurn, Source
from transcripts.corpus.pure.readers.checks import check_file, clear_names, fit_tool_traffic
from transcripts.corpus.pure.readers.decoding import decode_text
from transcripts.corpus.pure.readers.json_lines import list_keys, read_json_objects

__all__ = [
    "FORMATS",
    "READERS_VERSION",
    "ReadError",
    "ReadFile",
    "ReadInterview",
    "ReadTurn",
    "Reader",
    "expand",
    "read_bytes",
]

READERS_VERSION = "2"
"""Kept with each file that comes in; counted up when a reader makes something else of the same bytes."""

FORMATS: dict[str, Reader] = {
    interview_jsonl.FORMAT: Reader("Interviews as JSON objects", interview_jsonl.read_interview_lines),
    chat_messages.FORMAT: Reader("Chat messages (OpenAI) as JSON objects", chat_messages.read_chat_lines),
    chatgpt_export.FORMAT: Reader("Export of a ChatGPT account", chatgpt_export.read_chatgpt_export),
    claude_export.FORMAT: Reader("Export of a Claude account", claude_export.read_claude_export),
    sharegpt.FORMAT: Reader("ShareGPT conversations", sharegpt.read_sharegpt),
    oasst.FORMAT: Reader("Open Assistant message trees", oasst.read_oasst),
    hh_rlhf.FORMAT: Reader("HH-RLHF pairs", hh_rlhf.read_hh_rlhf),
    chat_messages.LIST_FORMAT: Reader("One list of chat messages", chat_messages.read_message_list),
    inspect_log.FORMAT: Reader("Inspect log (.eval or .json)", inspect_log.read_inspect_json),
    atif.FORMAT: Reader("Agent Trajectory Interchange Format (ATIF)", atif.read_atif),
    claude_code.FORMAT: Reader("Claude Code session", claude_code.read_claude_code),
    swe_agent.FORMAT: Reader("SWE-agent run", swe_agent.read_swe_agent),
    tau_bench.FORMAT: Reader("tau-bench results", tau_bench.read_tau_bench),
    langfuse.FORMAT: Reader("Langfuse trace", langfuse.read_langfuse),
    otel_genai.FORMAT: Reader("OpenTelemetry spans (GenAI)", otel_genai.read_otel),
    captions.FORMAT: Reader("Captions (WebVTT, SubRip, table)", captions.read_captions),
    speaker_table.FORMAT: Reader("Table of speakers and text (CSV)", speaker_table.read_speaker_table),
    speaker_text.FORMAT: Reader("Plain text with speakers", speaker_text.read_speaker_text),
    speaker_text.WHOLE_FORMAT: Reader("A text without speakers, as one turn", speaker_text.read_whole),
}
"""The formats by the names that people give on the command line."""

# What an object of each format has, and none of the formats before it.
_FORMAT_OF_KEYS = {
    ("resourceSpans",): otel_genai.FORMAT,
    ("observations",): langfuse.FORMAT,
    ("eval", "samples"): inspect_log.FORMAT,
    ("agent", "steps"): atif.FORMAT,
    ("history",): swe_agent.FORMAT,
    ("traj",): tau_bench.FORMAT,
    ("message_tree_id",): oasst.FORMAT,
    ("chosen",): hh_rlhf.FORMAT,
    ("mapping",): chatgpt_export.FORMAT,
    ("chat_messages",): claude_export.FORMAT,
    ("conversations",): sharegpt.FORMAT,
    ("messages",): chat_messages.FORMAT,
    ("turns",): interview_jsonl.FORMAT,
    ("sessionId", "type"): claude_code.FORMAT,
    ("leafUuid", "type"): claude_code.FORMAT,
    ("snapshot", "type"): claude_code.FORMAT,
    ("role", "content"): chat_messages.LIST_FORMAT,
    ("text",): interview_jsonl.FORMAT,
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
    read = _read_archive(data, name, format) if is_archive(data) else _read_text(data, name, format)
    read = clear_names(fit_tool_traffic(read))
    check_file(read, name=name)
    return read


def _read_archive(data: bytes, name: str, format: str) -> ReadFile:
    unpacked = unpack(data, name=name)
    if isinstance(unpacked, ReadFile):
        return replace(unpacked, reason="it is an archive with the head or the start of a log")
    content, told = unpacked
    read = _read_text(content, name, format)
    return replace(read, warnings=[*told, *read.warnings])


def _read_text(data: bytes, name: str, format: str) -> ReadFile:
    source = Source(name, decode_text(data, name=name))
    if format != "auto":
        return replace(FORMATS[format].read(source), reason="as chosen")
    recognised, reason = recognise_format(source)
    return replace(FORMATS[recognised].read(source), reason=reason)


def recognise_format(source: Source) -> tuple[str, str]:
    """The format that the content shows, and what shows it. Raises `ReadError` that names what was tried."""
    if _JSON_LIST.match(source.text) or _JSON_OBJECT.match(source.text):
        number, content = next(read_json_objects(source), (1, {}))
        for keys, format in _FORMAT_OF_KEYS.items():
            if all(key in content for key in keys):
                return format, f"its first object has {' and '.join(keys)}"
        known = "; ".join(f"{' and '.join(keys)} ({format})" for keys, format in _FORMAT_OF_KEYS.items())
        found = f"an object with the keys {list_keys(content)}" if content else "nothing in the list"
        raise ReadError(source.name, number, found, f"objects with the keys of a format that is known: {known}")
    if captions.is_captions(source.text):
        return captions.FORMAT, "it has lines of times"
    if speaker_table.is_speaker_table(source.text):
        return speaker_table.FORMAT, "its first row names the columns of speakers and text"
    if speaker_text.find_starts(source.text):
        return speaker_text.FORMAT, "its lines begin with who speaks"
    raise ReadError(
        source.name,
        None,
        "text that is none of the formats tried",
        "the export of an account, JSON, captions, a table with the columns speaker and text, or lines that begin with who "
        f'speaks, such as "Interviewer: …" and "Model: …" (a text without speakers comes in as one turn with the format '
        f"{speaker_text.WHOLE_FORMAT})",
    )
