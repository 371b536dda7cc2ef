"""Readers of files with interviews: bytes in, interviews or an error that names the place out. Knows nothing of Django.

    read_bytes(data, name="notes.jsonl")                       # finds out the format
    read_bytes(data, name="talk.txt", format="speaker_text")   # the format is given

A new format is a module with a function from `Source` to `ReadFile` and an entry in ``FORMATS``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from transcripts.formats.interviews import (
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
    loose_messages,
    oasst,
    otel_genai,
    responses,
    sharegpt,
    speaker_table,
    speaker_text,
    swe_agent,
    tau_bench,
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
)
from transcripts.formats.interviews.checks import FileCheck, Unkept, clear_names, fit_tool_traffic, mend_characters
from transcripts.formats.interviews.contents import Content, Unpacked, expand, unpack
from transcripts.formats.interviews.decoding import UTF_8, find_encoding, read_text
from transcripts.formats.interviews.details import list_left_out
from transcripts.formats.interviews.nearest import describe_nearest
from transcripts.formats.interviews.threads import Joined, find_call, join_files, outline_file
from transcripts.formats.json_lines import list_keys, read_json_objects, shorten
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
"""Bytes of files that are read once and kept in memory together. A larger file is read again each time where its format can be
divided, and so is any file beyond the first where they are more."""
HEAD = 1_000
"""Characters of a text, at least, by which it is looked at."""
READERS_VERSION = "3"
"""Kept with each file that comes in; counted up when a reader makes something else of the same bytes."""

FORMATS: dict[str, Reader] = {
    interview_jsonl.FORMAT: Reader("Interviews as JSON objects", interview_jsonl.read_interview_lines, divisible=True),
    chat_messages.FORMAT: Reader(
        "Chat messages (OpenAI) as JSON objects", chat_messages.read_chat_lines, divisible=True
    ),
    chatgpt_export.FORMAT: Reader("Export of a ChatGPT account", chatgpt_export.read_chatgpt_export, divisible=True),
    claude_export.FORMAT: Reader("Export of a Claude account", claude_export.read_claude_export, divisible=True),
    sharegpt.FORMAT: Reader("ShareGPT conversations", sharegpt.read_sharegpt, divisible=True),
    oasst.FORMAT: Reader("Open Assistant message trees", oasst.read_oasst, divisible=True),
    hh_rlhf.FORMAT: Reader("HH-RLHF pairs", hh_rlhf.read_hh_rlhf, divisible=True),
    responses.FORMAT: Reader("OpenAI Responses", responses.read_responses, divisible=True),
    chat_messages.LIST_FORMAT: Reader("One list of chat messages", chat_messages.read_message_list),
    inspect_log.FORMAT: Reader("Inspect log (.eval or .json)", inspect_log.read_inspect_json, log=True),
    atif.FORMAT: Reader("Agent Trajectory Interchange Format (ATIF)", atif.read_atif, log=True, joins=True),
    claude_code.FORMAT: Reader("Claude Code session", claude_code.read_claude_code, log=True, joins=True),
    swe_agent.FORMAT: Reader("SWE-agent run", swe_agent.read_swe_agent, log=True),
    swe_agent.MINI_FORMAT: Reader("mini-swe-agent run", swe_agent.read_mini_swe_agent, log=True),
    tau_bench.FORMAT: Reader("tau-bench results", tau_bench.read_tau_bench, log=True),
    langfuse.FORMAT: Reader("Langfuse trace", langfuse.read_langfuse, log=True),
    otel_genai.FORMAT: Reader("OpenTelemetry spans (GenAI)", otel_genai.read_otel, log=True),
    loose_messages.FORMAT: Reader("Transcribed recordings (JSON with utterances)", loose_messages.read_utterances),
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
    ("messages", "trajectory_format"): swe_agent.MINI_FORMAT,
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
    ("object", "output"): responses.FORMAT,
    ("role", "content"): chat_messages.LIST_FORMAT,
    ("utterances",): loose_messages.FORMAT,
    ("id", "text"): interview_jsonl.FORMAT,
}
_JSON_OBJECT = re.compile(r"\s*\{")
_JSON_LIST = re.compile(r"\s*\[\s*[\[{\]]")


class Reading:
    """A file that is read some conversations at a time, so that memory stays small. Iterate over it as often as needed.

    ``format`` and ``reason`` say what it was taken for and why; ``read_size`` how many bytes of ``size`` the iteration has come
    through. What else was noticed is known at its end: ``warnings``, of them those that are counted, ``left_out``, and the names
    that were ``read_as_text``. What is small, or cannot be divided, is read once and kept, unless ``keeps`` is false.
    """

    def __init__(self, content: Content, format: str = "auto", naming: Naming = NOTHING_SAID) -> None:
        """``format`` is a key of ``FORMATS`` or "auto". Raises `ReadError`; ``ValueError`` for a format there is not."""
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
            # A name in the column of speakers needs nobody to say that it is one.
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
        """Every interview, each found fit. Raises `ReadError` where one cannot be kept, and at the end where all cannot."""
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
        """The interview once it is found fit, mended if it has to be."""
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
        """Whether it may be joined with other files."""
        return FORMATS[self.format].joins

    def load(self) -> ReadFile:
        """All of a file that may be joined with others. Raises `ReadError`."""
        return next(self._read_parts())

    def join(self, joined: Joined) -> None:
        """Go on with the file as it was joined with others."""
        self._joined = joined
        if self._whole is not None:
            self._whole = joined.apply(self._whole)

    def forget(self) -> None:
        """Keep nothing of it in memory: it is read again each time."""
        self.keeps, self._whole = False, None

    def _give_own_id(self, interview: ReadInterview, made: Counter[str]) -> ReadInterview:
        """An interview whose id was made of its line, with its place there where several begin on one line."""
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
        """Sentences on what was assumed or left out, once everything was read."""
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
    """What an archive is; one within an archive is read from memory."""
    return unpack(Content(content.name, content.read_whole()) if content.entry else content)


def read_bytes(data: bytes, *, name: str, format: str = "auto", naming: Naming = NOTHING_SAID) -> ReadFile:
    """Read a whole file of interviews.

    ``name`` is the file's name, for errors and for ids that the file does not give. ``format`` is a key of ``FORMATS``
    or "auto"; ``naming`` is what a person said of names. Raises `ReadError` when anything in the file cannot be kept, so that
    a file is read whole or not at all; ``ValueError`` for a format there is not.
    """
    reading = Reading(Content.of(name, data), format, naming)
    interviews = list(reading)
    return ReadFile(
        reading.format, interviews, reading.warnings, reading.left_out, reading.reason, reading.read_as_text
    )


def recognise_format(source: Source) -> tuple[str, str]:
    """The format that the content shows, and what shows it. Raises `ReadError` that names what was tried."""
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
    if speaker_table.is_speaker_table(source.text):
        return speaker_table.FORMAT, "its first row names the columns of speakers and text"
    if speaker_text.find_starts(source.text, source.naming):
        return speaker_text.FORMAT, "its lines begin with who speaks"
    if columns := speaker_table.find_unknown_columns(source.text):
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
