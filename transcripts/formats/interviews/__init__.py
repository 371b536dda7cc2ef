"""Readers of files with interviews. They turn bytes into interviews, or raise an error that names the place. No Django here.

    read_bytes(data, name="notes.jsonl")                       # finds out the format
    read_bytes(data, name="talk.txt", format="speaker_text")   # the format is given

A new format is a function from `Source` to `ReadFile`, in the module of its family, and an entry in ``FORMATS``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from transcripts.formats.codebook_rules import fold_heading
from transcripts.formats.interviews import (
    account_exports,
    agent_runs,
    captions,
    claude_code,
    conversations,
    documents,
    inspect_log,
    loose_messages,
    speaker_text,
    traces,
)
from transcripts.formats.interviews.base import (
    MAX_WHOLE_SIZE,
    NOTHING_SAID,
    Naming,
    Reader,
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    list_left_out,
)
from transcripts.formats.interviews.checks import FileCheck, Unkept, clear_names, fit_tool_traffic, mend_characters
from transcripts.formats.interviews.contents import UTF_8, Content, Unpacked, expand, find_encoding, read_text, unpack
from transcripts.formats.interviews.documents import HEADS
from transcripts.formats.interviews.threads import Joined, find_call, join_files, outline_file
from transcripts.formats.json_lines import JsonObject, list_keys, read_json_objects, shorten
from transcripts.formats.problems import ReadError

__all__ = [
    "FORMATS",
    "NOTHING_SAID",
    "READERS_VERSION",
    "Content",
    "Naming",
    "ReadError",
    "ReadFile",
    "ReadInterview",
    "ReadTurn",
    "Reader",
    "Reading",
    "expand",
    "find_call",
    "join_files",
    "outline_file",
    "read_bytes",
]

KEPT_SIZE = 8_000_000
"""Bytes of files that are read once and kept in memory together. A larger file is read again each time if its
format can be divided, and so is any file after the first if together they are larger."""
HEAD = 1_000
"""The least number of characters of a text that are examined."""
READERS_VERSION = "3"
"""Kept with each imported file; increased when a reader reads the same bytes differently."""

FORMATS: dict[str, Reader] = {
    conversations.INTERVIEW_JSONL: Reader(
        "Interviews as JSON objects", conversations.read_interview_lines, divisible=True
    ),
    conversations.CHAT_MESSAGES: Reader(
        "Chat messages (OpenAI) as JSON objects", conversations.read_chat_lines, divisible=True
    ),
    account_exports.CHATGPT: Reader("Export of a ChatGPT account", account_exports.read_chatgpt_export, divisible=True),
    account_exports.CLAUDE: Reader("Export of a Claude account", account_exports.read_claude_export, divisible=True),
    conversations.SHAREGPT: Reader("ShareGPT conversations", conversations.read_sharegpt, divisible=True),
    conversations.OASST: Reader("Open Assistant message trees", conversations.read_oasst, divisible=True),
    conversations.HH_RLHF: Reader("HH-RLHF pairs", conversations.read_hh_rlhf, divisible=True),
    conversations.RESPONSES: Reader("OpenAI Responses", conversations.read_responses, divisible=True),
    conversations.MESSAGE_LIST: Reader("One list of chat messages", conversations.read_message_list),
    inspect_log.FORMAT: Reader("Inspect log (.eval or .json)", inspect_log.read_inspect_json, log=True),
    agent_runs.ATIF: Reader("Agent Trajectory Interchange Format (ATIF)", agent_runs.read_atif, log=True, joins=True),
    claude_code.FORMAT: Reader("Claude Code session", claude_code.read_claude_code, log=True, joins=True),
    agent_runs.SWE_AGENT: Reader("SWE-agent run", agent_runs.read_swe_agent, log=True),
    agent_runs.MINI_SWE_AGENT: Reader("mini-swe-agent run", agent_runs.read_mini_swe_agent, log=True),
    agent_runs.TAU_BENCH: Reader("tau-bench results", agent_runs.read_tau_bench, log=True),
    traces.LANGFUSE: Reader("Langfuse trace", traces.read_langfuse, log=True),
    traces.OTEL_GENAI: Reader("OpenTelemetry spans (GenAI)", traces.read_otel, log=True),
    loose_messages.FORMAT: Reader("Transcribed recordings (JSON with utterances)", loose_messages.read_utterances),
    captions.FORMAT: Reader("Captions (WebVTT, SubRip, table)", captions.read_captions),
    documents.FORMAT: Reader("Table of speakers and text (CSV)", documents.read_speaker_table),
    speaker_text.FORMAT: Reader("Plain text with speakers", speaker_text.read_speaker_text),
    speaker_text.WHOLE_FORMAT: Reader("A text without speakers, as one turn", speaker_text.read_whole),
}
"""The formats by the names that people give on the command line."""

# The keys by which an object of each format is recognised; objects of the formats before it lack them.
_FORMAT_OF_KEYS = {
    ("resourceSpans",): traces.OTEL_GENAI,
    ("observations",): traces.LANGFUSE,
    ("eval", "samples"): inspect_log.FORMAT,
    ("agent", "steps"): agent_runs.ATIF,
    ("history",): agent_runs.SWE_AGENT,
    ("messages", "trajectory_format"): agent_runs.MINI_SWE_AGENT,
    ("traj",): agent_runs.TAU_BENCH,
    ("message_tree_id",): conversations.OASST,
    ("chosen",): conversations.HH_RLHF,
    ("mapping",): account_exports.CHATGPT,
    ("chat_messages",): account_exports.CLAUDE,
    ("conversations",): conversations.SHAREGPT,
    ("messages",): conversations.CHAT_MESSAGES,
    ("turns",): conversations.INTERVIEW_JSONL,
    ("sessionId", "type"): claude_code.FORMAT,
    ("leafUuid", "type"): claude_code.FORMAT,
    ("snapshot", "type"): claude_code.FORMAT,
    ("object", "output"): conversations.RESPONSES,
    ("role", "content"): conversations.MESSAGE_LIST,
    ("utterances",): loose_messages.FORMAT,
    ("id", "text"): conversations.INTERVIEW_JSONL,
}
_JSON_OBJECT = re.compile(r"\s*\{")
_JSON_LIST = re.compile(r"\s*\[\s*[\[{\]]")


class Reading:
    """A file that is read a few conversations at a time, so that memory use stays small. It can be iterated over repeatedly.

    ``format`` and ``reason`` give the recognised format and why; ``read_size`` is how many bytes of ``size`` the iteration has
    read. At its end, ``warnings``, the counted ones among them in ``left_out``, and the names that were ``read_as_text`` are
    known. A file that is small or cannot be divided is read once and kept, unless ``keeps`` is false.
    """

    def __init__(self, content: Content, format: str = "auto", naming: Naming = NOTHING_SAID) -> None:
        """``format`` is a key of ``FORMATS`` or "auto". Raises `ReadError`; ``ValueError`` for an unknown format."""
        if format not in FORMATS and format != "auto":
            raise ValueError(f"There is no format {format!r}. The formats are {', '.join(FORMATS)}.")
        self.name, self.size, self.read_size = content.name, content.size, 0
        self.left_out: Counter[str] = Counter()
        self.read_as_text: Counter[str] = Counter()
        self._naming = naming
        self._changed: Counter[str] = Counter()
        self._told: list[str] = []
        self._told_of_archive: list[str] = []
        self.keeps = True
        self._whole: ReadFile | None = None
        self._joined: Joined | None = None
        self._content, self._encoding = content, UTF_8
        self._is_log_archive = False
        if content.is_archive:
            unpacked = _unpack(content)
            if isinstance(unpacked, ReadFile):
                self._whole, self.format, self._is_log_archive = unpacked, unpacked.format, True
                self.reason = "it is an archive with the head or the start of a log"
                return
            self._content, self._told_of_archive = unpacked.content, unpacked.warnings
            # A name in a column of speakers does not need confirmation by a person.
            self._naming = Naming(naming.speakers | (unpacked.speakers - naming.texts), naming.texts)
            self.size = self._content.size
        self._encoding = find_encoding(self._content)
        if self._encoding.warning:
            self._told_of_archive = [*self._told_of_archive, self._encoding.warning]
        source = Source(self.name, self._read_text, lenient=True, naming=self._naming)
        self.format, self.reason = (format, "as chosen") if format != "auto" else recognise_format(source)
        if self.size > MAX_WHOLE_SIZE and not FORMATS[self.format].divisible:
            found = f"{self.size:,} bytes in a format that is read as a whole, {self.format}"
            raise ReadError(self.name, None, found, f"at most {MAX_WHOLE_SIZE:,} bytes (divide the file)")

    def __iter__(self) -> Iterator[ReadInterview]:
        """Every interview, checked. Raises `ReadError` if one cannot be kept, and at the end if all together cannot."""
        check = FileCheck(self.name)
        told, made = dict.fromkeys(self._told_of_archive), Counter[str]()
        self.left_out, self._changed, self.read_size = Counter(), Counter(), 0
        self.read_as_text = Counter()
        for part in self._read_parts():
            counted = list_left_out(Counter(part.left_out))
            told.update(dict.fromkeys(warning for warning in part.warnings if warning not in counted))
            self.left_out.update(part.left_out)
            self.read_as_text.update(part.read_as_text)
            for interview in clear_names(fit_tool_traffic(part.interviews, self._changed), self._changed):
                yield self._add(self._give_own_id(interview, made), check)
        check.finish()
        self._told = list(told)

    def _add(self, interview: ReadInterview, check: FileCheck) -> ReadInterview:
        """The checked interview, repaired if necessary."""
        try:
            check.add(interview)
        except Unkept:
            interview = mend_characters(interview, self._changed)
            check.add(interview)
        if self._joined and (hung := self._joined.hung.get(interview.external_id)) is not None:
            interview = replace(interview, relation=hung[0], hangs_on=hung[1])
        return interview

    @property
    def joins(self) -> bool:
        """Whether the file may be joined with others."""
        return FORMATS[self.format].joins

    def load(self) -> ReadFile:
        """All of a file that may be joined with others. Raises `ReadError`."""
        return next(self._read_parts())

    def join(self, joined: Joined) -> None:
        """Use the file in its form after joining it with others."""
        self._joined = joined
        if self._whole is not None:
            self._whole = joined.apply(self._whole)

    def forget(self) -> None:
        """Keep nothing in memory; the file is read again each time."""
        self.keeps, self._whole = False, None

    def _give_own_id(self, interview: ReadInterview, made: Counter[str]) -> ReadInterview:
        """Complete an id that was made from the line number: if several interviews begin on one line, add the place on it."""
        line_id = f"{Source(self.name, '').stem}-{interview.line}"
        if interview.external_id != line_id or interview.relation:
            return interview
        made[line_id] += 1
        if made[line_id] == 1:
            return interview
        own = f"{line_id}-{made[line_id]}"
        return replace(interview, external_id=own, title=own if interview.title == line_id else interview.title)

    @property
    def warnings(self) -> list[str]:
        """Sentences on what was assumed or left out, after everything was read."""
        return [*self._told, *list_left_out(self.left_out), *list_left_out(self._changed)]

    def _read_parts(self) -> Iterator[ReadFile]:
        whole, read = self._whole, FORMATS[self.format].read
        if whole is None and not self._is_log_archive and self.size > KEPT_SIZE and FORMATS[self.format].divisible:
            objects = read_json_objects(Source(self.name, self._read_text))
            yield from (read(Source(self.name, "", [line])) for line in objects)
            return
        if whole is None:
            whole = self._read_whole(read)
            if self._joined:
                whole = self._joined.apply(whole)
            if self.keeps:
                self._whole = whole
        self.read_size = self.size
        yield whole

    def _read_whole(self, read: Callable[[Source], ReadFile]) -> ReadFile:
        if self._is_log_archive and isinstance(unpacked := _unpack(self._content), ReadFile):
            return unpacked
        text, lenient = "".join(self._read_text()), FORMATS[self.format].log
        return read(Source(self.name, text, lenient=lenient, naming=self._naming))

    def _read_text(self) -> Iterator[str]:
        return read_text(self._content, self._encoding, note=self._note_size)

    def _note_size(self, size: int) -> None:
        self.read_size = size


def _unpack(content: Content) -> Unpacked | ReadFile:
    """Unpack an archive; an archive within an archive is read from memory."""
    return unpack(Content(content.name, content.read_whole()) if content.entry else content)


def read_bytes(data: bytes, *, name: str, format: str = "auto", naming: Naming = NOTHING_SAID) -> ReadFile:
    """Read a whole file of interviews.

    ``name`` is the file's name, for errors and for ids that the file does not give. ``format`` is a key of ``FORMATS`` or
    "auto"; ``naming`` has a person's decisions about names. Raises `ReadError` if anything in the file cannot be kept, so that
    a file is read completely or not at all; ``ValueError`` for an unknown format.
    """
    reading = Reading(Content.of(name, data), format, naming)
    interviews = list(reading)
    return ReadFile(
        reading.format, interviews, reading.warnings, reading.left_out, reading.reason, reading.read_as_text
    )


def recognise_format(source: Source) -> tuple[str, str]:
    """The format of the content, and the reason. Raises `ReadError`, which names what was tried."""
    head = _read_head(source)
    if _JSON_LIST.match(head) or _JSON_OBJECT.match(head):
        number, content = next(read_json_objects(source), (1, {}))
        for keys, format in _FORMAT_OF_KEYS.items():
            if all(key in content for key in keys):
                return format, f"its first object has {' and '.join(keys)}"
        found = f"an object with the keys {list_keys(content)}" if content else "nothing in the list"
        nearest = describe_nearest(content, _FORMAT_OF_KEYS)
        raise ReadError(source.name, number, found, f"the keys of a format that is known; the nearest are {nearest}")
    if captions.is_captions(source.text):
        return captions.FORMAT, "it has lines of times"
    if documents.is_speaker_table(source.text):
        return documents.FORMAT, "its first row names the columns of speakers and text"
    if speaker_text.find_starts(source.text, source.naming):
        return speaker_text.FORMAT, "its lines begin with who speaks"
    if columns := documents.find_unknown_columns(source.text):
        named = ", ".join(map(shorten, columns[:10]))
        raise ReadError(source.name, 1, f"a table with the columns {named}", "columns named speaker and text")
    raise ReadError(
        source.name,
        None,
        "a text in no format that is known here",
        "the export of an account, JSON, captions, a table with the columns speaker and text, or lines that begin with who "
        f'speaks, such as "Interviewer: …" and "Model: …" (a text without speakers comes in as one turn with the format '
        f"{speaker_text.WHOLE_FORMAT})",
    )


def _read_head(source: Source) -> str:
    """The beginning of the text, with the first words of it."""
    head = ""
    for piece in source.read_pieces():
        head += piece
        if len(head.lstrip()) >= HEAD:
            break
    return head


MOST = 3
# Keys that objects of any program may have.
_COMMON = frozenset({"id", "type", "object", "output", "role", "content", "name"})
_LIKE = 0.8
_SPEAKERS = frozenset({*HEADS["speaker"], "user", "sender", "username"})
_TEXTS = frozenset(HEADS["text"])

# The keys of the objects in a list, and the format that has such a list under a key.
_LISTS = {
    ("role", "content"): (conversations.CHAT_MESSAGES, "messages"),
    ("from", "value"): (conversations.SHAREGPT, "conversations"),
    ("role", "text"): (conversations.INTERVIEW_JSONL, "turns"),
    ("speaker", "text"): (loose_messages.FORMAT, "utterances"),
}
_SHAPES = {
    conversations.INTERVIEW_JSONL: '"id" and "turns", a list of {"role": "interviewer", "text": "…"}, or "id" and "text", one '
    "answer of the model",
    conversations.CHAT_MESSAGES: '"messages", a list of {"role": "user", "content": "…"}',
}


def describe_nearest(content: JsonObject, known: Mapping[tuple[str, ...], str]) -> str:
    """The nearest formats and what the object lacks for them. ``known`` are the keys by which formats are recognised."""
    nearest = {**(by_lists := _find_by_lists(content)), **_find_by_speakers(content)}
    # If a list identifies the format, keys that are only spelled similarly are ignored.
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
    """Formats recognised by the content of lists, which would be read under another key."""
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
    return {documents.FORMAT: f"a table with the columns speaker and text, here {shorten(speaker)} and {shorten(text)}"}


def _measure_distance(keys: tuple[str, ...], content: JsonObject) -> float:
    """The share of a format's keys that the object has or spells similarly; 0 if only common keys match."""
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
