"""Conversations as plain text: one file is one interview, or several that lines of = part.

    Interviewer: Why?                        Sara Lind  00:03                [id1] Why?
    Model A: It depends.                     Why?                            [id2] It depends.
    A second paragraph of the answer.

Left: a line that begins with a speaker and a colon starts a turn (``**Speaker:**`` too); lines up to the next speaker
belong to it. Middle: a line of a speaker, two spaces and a time is the head of a turn. Right: each turn begins with its
speaker in brackets. The text of a turn begins behind the colon and the spaces after it, or on the next line if nothing else
is there, and ends before the line breaks in front of the next speaker; in between nothing is changed. A time before the
speaker, or after her name, is kept as the time of the turn.

Not everything before a colon is a speaker: "Note: …" inside an answer is text. speaker_names.py says who speaks, and which
other names are listed as text. Names decide who asks; where none tells, the first to speak does, and a warning says so. Text
before the first speaker is kept as metadata ("preamble"). Id and title are the file's name, of several with a number at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from transcripts.formats.interviews.base import NOTHING_SAID, Naming, ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.details import say_times
from transcripts.formats.interviews.speaker_names import (
    SECTIONS,
    Label,
    assign_roles,
    choose_speakers,
    is_answerer,
    is_asker,
    plain_name,
    warn_of_texts,
)
from transcripts.formats.problems import ReadError

FORMAT = "speaker_text"

_LINE_BREAK = r"(?:\r\n|\n|\r)"
# Marks of direction come before names that are written from right to left.
_LINE_START = r"(?<![^\r\n])[\u200e\u200f\u202a-\u202e\u2066-\u2069]*"
_GAP = r"[ \t\u00a0\u2002-\u200a\u202f\u3000]"
_TIME = r"(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
SPAN = rf"{_TIME}(?:{_GAP}*(?:[-–]|-->){_GAP}*{_TIME})?"
_BEFORE = rf"(?:[\[(<#{{]?{SPAN}[\])>#}}]?{_GAP}*(?:[-–|]{_GAP}*)?)?"
_BEHIND = rf"(?:{_GAP}*[\[(]{SPAN}[\])]|{_GAP}+{SPAN})?"
_NAME = rf"[^\W\d_][^\s:：*]*(?:{_GAP}[^\s:：*]+){{0,4}}?"
# French puts a space before the colon; Chinese and Japanese have a wide one.
_COLON = rf"{_GAP}?[:：]"
_LABELLED = (
    rf"{_BEFORE}(?:\*\*(?P<bold>{_NAME}){_BEHIND}(?:{_COLON}\*\*|\*\*{_COLON})"
    rf"|\[(?P<square>{_NAME})\]{_BEHIND}:|(?P<plain>{_NAME}){_BEHIND}{_COLON})"
    rf"(?:{_GAP}*{_LINE_BREAK}|{_GAP}+|\Z|(?=[^\s\d:/\\]))"
)
_LABEL = re.compile(rf"{_LINE_START}{_LABELLED}")
# Behind an indent, the number of the line or the sign of a list.
_SHIFTED = re.compile(
    rf"{_LINE_START}(?:{_GAP}{{0,20}}+(?:[-*•]|\d{{1,5}}+[.)]?){_GAP}{{1,20}}+|{_GAP}{{1,20}}+){_LABELLED}"
)
_HEAD = re.compile(
    rf"{_LINE_START}(?P<plain>{_NAME})(?:{_GAP}{{2,}}[(\[]?{_TIME}[)\]]?|{_GAP}[(\[]{_TIME}[)\]]){_GAP}*(?:{_LINE_BREAK}|\Z)"
)
_BRACKETED = re.compile(rf"{_LINE_START}{_BEFORE}\[(?P<plain>[^\W\d_][\w .-]{{0,39}})\]{_GAP}+(?=\S)")
_TIMED = re.compile(_TIME)
_PARTING = re.compile(rf"{_LINE_START}={{3,}}[ \t]*(?:{_LINE_BREAK}|\Z)")
_MAX_NAME_LENGTH = 60
WHOLE_FORMAT = "plain_text"
_EXPECTED = 'lines such as "Interviewer: …" and "Model: …", or "Name  00:15" above each turn'

Start = tuple[int, str, int]
"""Where a turn is announced, by whom, and where its text begins."""


def read_speaker_text(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError` when nobody speaks in it."""
    parts = _part(source.text)
    # A line of = inside of one conversation, such as below a heading, parts nothing.
    if sum(bool(find_starts(text, source.naming)) for _, text in parts) < 2:
        return read_conversation(source)
    interviews: list[ReadInterview] = []
    warnings: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    for line, text in parts:
        if find_starts(text, source.naming):
            name = f"{source.stem}-{len(interviews) + 1}"
            read = _read_one(Source(source.name, text, naming=source.naming))
            [interview] = read.interviews
            interviews.append(replace(interview, external_id=name, title=name, line=interview.line + line))
            warnings.update(read.warnings)
            texts.update(read.read_as_text)
        elif text.strip():
            warnings["A part between lines of = in which nobody speaks was left out."] += 1
    told = [say_times(warning, times) for warning, times in warnings.items()]
    told = [f"Lines of = part the file into {len(interviews):,} interviews.", *told, *warn_of_texts(texts)]
    return ReadFile(FORMAT, interviews, told, read_as_text=texts)


def read_whole(source: Source) -> ReadFile:
    """The whole text as one turn, for a document in which nobody is named."""
    interview = ReadInterview(source.stem[:200], source.stem[:300], (ReadTurn("model", "utterance", "", source.text),))
    return ReadFile(WHOLE_FORMAT, [interview], ["The whole text was read as one turn of the model, as you chose."])


def _part(text: str) -> list[tuple[int, str]]:
    """What lies between lines of =, each with the number of lines before it."""
    parts, begin, lines = [], 0, 0
    for end, after in [*(found.span() for found in _PARTING.finditer(text)), (len(text), len(text))]:
        parts.append((lines, text[begin:end]))
        lines += len(re.findall(_LINE_BREAK, text[begin:after]))
        begin = after
    return parts


def read_conversation(source: Source) -> ReadFile:
    """The whole text as one interview; raises `ReadError` when nobody speaks in it."""
    read = _read_one(source)
    return replace(read, warnings=[*read.warnings, *warn_of_texts(Counter(read.read_as_text))])


def _read_one(source: Source) -> ReadFile:
    """A conversation, without a warning of the names that are read as text."""
    starts, texts = _find_starts(source.text, source.naming)
    if not starts:
        raise ReadError(source.name, None, "no two speakers", _EXPECTED)
    roles, guesses = assign_roles(list(dict.fromkeys(speaker for _, speaker, _ in starts)))
    ends = [*(announced for announced, _, _ in starts[1:]), len(source.text)]
    turns = tuple(
        ReadTurn(
            roles[speaker],
            "utterance",
            speaker,
            source.text[begin:end].rstrip("\r\n"),
            details=_read_time(source.text[announced:begin]),
        )
        for (announced, speaker, begin), end in zip(starts, ends, strict=True)
    )
    before = source.text[: starts[0][0]]
    preamble = before.strip()
    warnings = ["The text before the first speaker was kept as metadata."] if preamble else []
    interview = ReadInterview(
        external_id=source.stem,
        title=source.stem,
        turns=turns,
        metadata={"preamble": preamble} if preamble else {},
        line=len(re.findall(_LINE_BREAK, before)) + 1,
    )
    return ReadFile(FORMAT, [interview], [*guesses, *warnings], read_as_text=texts)


def find_starts(text: str, naming: Naming = NOTHING_SAID) -> list[Start]:
    """Every place where a turn begins, in order; none when these are not two speakers or one with a usual name."""
    return _find_starts(text, naming)[0]


def find_texts(text: str) -> Counter[str]:
    """The names that begin lines as speakers do and are read as text, each with the number of its lines."""
    return _find_starts(text, NOTHING_SAID)[1]


def _find_starts(text: str, naming: Naming) -> tuple[list[Start], Counter[str]]:
    heads = _find_all(_HEAD, text)
    if len(heads) > 1:
        return _list_starts(heads), Counter()
    bracketed = _find_all(_BRACKETED, text)
    if len({label.name for label in bracketed}) > 1 and not text[: bracketed[0].announced].strip():
        return _list_starts(bracketed), Counter()
    labels = _find_all(_LABEL, text)
    speakers, texts = choose_speakers(labels, naming)
    if not speakers and (shifted := _find_all(_SHIFTED, text)):
        speakers, told = choose_speakers(shifted, naming)
        starts = _list_starts(label for label in shifted if plain_name(label.name) in speakers)
        return (starts, told) if is_dialogue(text, starts) else ([], texts)
    return _list_starts(label for label in labels if plain_name(label.name) in speakers), texts


def is_dialogue(text: str, starts: list[Start]) -> bool:
    """Whether a text of unknown kind is a conversation, given where turns begin in it, and no article with some colons.

    In a conversation those who ask and those who answer bear usual names, or at least two speak again after somebody else,
    the first to speak among them; and most of the text is theirs.
    """
    if not starts or starts[0][0] * 3 > len(text):
        return False
    if _HEAD.match(text, starts[0][0]) or _BRACKETED.match(text, starts[0][0]):
        return True
    names = [plain_name(speaker) for _, speaker, _ in starts]
    if any(map(is_asker, names)) and any(map(is_answerer, names)):
        return True
    changes = [name for name, before in zip(names, ["", *names], strict=False) if name != before]
    returning = {name for name, times in Counter(changes).items() if times > 1 and name not in SECTIONS}
    return len(returning) > 1 and names[0] in returning


def _find_all(pattern: re.Pattern[str], text: str) -> list[Label]:
    labels = []
    for found in pattern.finditer(text):
        parts = found.groupdict()
        name = parts.get("bold") or parts.get("square") or parts["plain"]
        if len(name) <= _MAX_NAME_LENGTH:
            above = text[max(0, found.start() - 100) : found.start()].replace("\r\n", "\n").replace("\r", "\n")
            is_apart = not above.removesuffix("\n").rpartition("\n")[2].strip()
            labels.append(Label(found.start(), name, found.end(), "**" in found[0], is_apart))
    return labels


def _list_starts(labels: Iterable[Label]) -> list[Start]:
    return [(label.announced, label.name, label.begin) for label in labels]


def _read_time(announcement: str) -> dict[str, str]:
    """When a turn was spoken, as it is written before or after its speaker."""
    found = _TIMED.search(announcement)
    return {"from": found[0]} if found else {}
