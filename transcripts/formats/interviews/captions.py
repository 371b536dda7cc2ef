"""Captions of a recording: WebVTT, SubRip, SubViewer and tables of captions (start, end, text). One file is one interview.

    00:43.810 --> 00:47.850                 12                             start	end	text
    <v Ada>Shall we begin?                  00:00:43,810 --> 00:00:47,850  43810	47850	Shall we begin?
                                            Ada: Shall we begin?

Consecutive captions are joined by a space, so that divided sentences are whole again. A new turn begins where another person
speaks, which a voice tag, a name with a colon (also in brackets, and more than once in a caption), a dash or ``>>`` shows; if
nobody is named, where nobody speaks for two seconds. Marks of style and position are left out. The time of a turn, from the
beginning of the recording, is kept.

If every caption names its speaker, a caption without a name has no known speaker. If names are only at the beginning of each
person's words, it continues the last speaker, unless she had ended a sentence and two seconds have passed. Lines of rolling
captions, which are shown again while the next line appears, are read once.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from transcripts.formats.interviews.base import Naming, ReadFile, ReadInterview, ReadTurn, Source, write_clock
from transcripts.formats.interviews.speaker_text import (
    Label,
    assign_roles,
    choose_speakers,
    is_voice,
    may_be_name,
    plain_name,
    warn_of_texts,
)
from transcripts.formats.problems import ReadError

FORMAT = "captions"

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMING = re.compile(rf"^[ \t]*(?P<start>{_TIME})(?:[ \t]+-->[ \t]+|,(?=\d+:))(?P<end>{_TIME})[^\n]*$", re.MULTILINE)
_TABLE_HEAD = re.compile(r"\Astart\tend\ttext[ \t]*$", re.MULTILINE | re.IGNORECASE)
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?(?:[ \t]+(?P<name>[^<>]*))?>|</v>")
_TAG = re.compile(r"</?[a-zA-Z0-9:.][^<>]*>|\{\\[^{}]*\}")
_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t\n]|\Z)")
_DASH = re.compile(r"(?P<sign>[-‐–—])(?P<space>[ \t]*)(?=[^\s\d])")
_CHANGE = re.compile(r"(?:\A|(?<=\s))(?:>>+|»)[ \t]*(?=\S)")
_LABEL = re.compile(
    r"(?:[\[(](?P<square>[^\W\d_][^\n:：\[\]()]{0,40})[\])](?P<colon>[ \t]*[:：])?"
    r"|(?P<name>[^\W\d_][^\n:：\[\]]{0,40}?)[ \u00a0\u202f]?[:：])"
    r"(?:[ \t\u00a0]+|\Z|(?=[^\W\d_]))"
)
_ENDED = re.compile(r"[.!?…。！？؟][\"'”’»)\]]*\Z")
_PAUSE = 2.0
# The longest wait for the end of a sentence that was begun.
_WAIT = 10.0


class Cue(NamedTuple):
    """The text shown from ``start`` to ``end``, in seconds: its lines, each with the voice that a tag names (None without a tag).
    ``raw`` is the whole text with its marks."""

    start: float
    end: float
    lines: list[tuple[str | None, str]]
    raw: str = ""


class Piece(NamedTuple):
    """What one person says in a caption. ``name`` is "" if there is none; ``whole`` has the name before the words, in case it
    turns out to be text. ``is_sure``: a tag or brackets name her. ``is_new``: the speaker is different from before. ``is_first``:
    the caption begins with it."""

    start: float
    end: float
    name: str
    text: str
    whole: str
    is_sure: bool
    is_new: bool
    is_first: bool


def is_captions(text: str) -> bool:
    """Whether a text is captions."""
    return _TIMING.search(text[:5_000]) is not None or _TABLE_HEAD.match(text) is not None


def read_captions(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    cues = [cue for cue in _find_cues(source) if cue.lines]
    if not cues:
        raise ReadError(source.name, None, "captions without words", "lines of text below the times")
    cues, warnings = _unroll(cues)
    warnings += _warn_of_times(cues)
    pieces = _part(cues)
    speakers, texts = _choose_speakers(pieces, source.naming)
    turns, told = _make_turns(_keep_names(pieces, speakers))
    interview = ReadInterview(source.stem[:200], source.stem[:300], turns)
    return ReadFile(FORMAT, [interview], [*told, *warnings, *warn_of_texts(texts)], read_as_text=texts)


def _find_cues(source: Source) -> Iterator[Cue]:
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    if _TABLE_HEAD.match(text):
        yield from _read_table(text, source)
        return
    found = list(_TIMING.finditer(text))
    for place, timing in enumerate(found):
        is_last = place + 1 == len(found)
        between = text[timing.end() : len(text) if is_last else found[place + 1].start()]
        words = _find_words(between.removeprefix("\n"), is_last=is_last)
        yield _make_cue(_read_seconds(timing["start"]), _read_seconds(timing["end"]), words)


def _find_words(between: str, *, is_last: bool) -> str:
    """The words of a caption among the lines between its times and the next; notes and the number of the next caption are not
    words."""
    if not is_last:
        *lines, last = between.removesuffix("\n").split("\n")
        is_apart = not lines or not lines[-1].strip()
        if last.strip().isdecimal() or (last.strip() and lines and is_apart):
            between = "\n".join(lines)
    blocks = re.split(r"\n[ \t]*\n", between)
    return "\n".join(block for block in blocks if not _BLOCK.match(block.lstrip()))


def _read_table(text: str, source: Source) -> Iterator[Cue]:
    for number, line in enumerate(text.split("\n")[1:], 2):
        if not line.strip():
            continue
        start, tab, rest = line.partition("\t")
        end, other, words = rest.partition("\t")
        if not (tab and other and start.strip().isdecimal() and end.strip().isdecimal()):
            raise ReadError(
                source.name, number, "a line of another form", "start, end and text, with tabs between them"
            )
        yield _make_cue(int(start) / 1000, int(end) / 1000, words)


def _read_seconds(time: str) -> float:
    seconds = 0.0
    for part in time.replace(",", ".").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def _make_cue(start: float, end: float, words: str) -> Cue:
    lines: list[tuple[str | None, str]] = []
    voice: str | None = None
    begin = 0
    for found in [*_VOICE.finditer(words), None]:
        plain = html.unescape(_TAG.sub("", words[begin : found.start() if found else len(words)]))
        lines += [(voice, " ".join(line.split())) for line in plain.split("\n") if line.strip()]
        if found:
            begin = found.end()
            voice = None if found[0] == "</v>" else " ".join(html.unescape(found["name"] or "").split())[:200]
    return Cue(start, end, lines, words)


def _unroll(cues: list[Cue]) -> tuple[list[Cue], list[str]]:
    """The captions without repeated lines, if they roll."""
    repeated = [_count_repeated(before, cue) for before, cue in pairwise(cues)]
    sure = sum(words > 0 and is_sure for words, is_sure in repeated)
    if not sure or (sure < 2 and sure < len(repeated)):
        return cues, []
    kept = cues[:1]
    for cue, (words, is_sure) in zip(cues[1:], repeated, strict=True):
        if not words or not (is_sure or cue.start - kept[-1].end <= 0.05):
            kept.append(cue)
        elif lines := _drop_words(cue.lines, words):
            kept.append(cue._replace(lines=lines))
        else:
            kept[-1] = kept[-1]._replace(end=max(cue.end, kept[-1].end))
    return kept, ["The captions repeat lines while the next ones appear. Each line was read once."]


def _count_repeated(before: Cue, cue: Cue) -> tuple[int, bool]:
    """How many words at the beginning of a caption repeat the previous one, still shown; and whether that is certain, because a
    person may also say the same words twice."""
    if not before.start <= cue.start <= before.end + _PAUSE:
        return 0, False
    shown, lines = [line for _, line in before.lines], [line for _, line in cue.lines]
    if shown == lines:
        return len(" ".join(lines).split()), before.raw.strip() != cue.raw.strip()
    for count in range(min(len(shown), len(lines)), 0, -1):
        if shown[-count:] == lines[:count]:
            return len(" ".join(lines[:count]).split()), len(lines) > count
    words, now = " ".join(shown).split(), " ".join(lines).split()
    return (len(words), len(words) > 1) if len(now) > len(words) and now[: len(words)] == words else (0, False)


def _drop_words(lines: Sequence[tuple[str | None, str]], count: int) -> list[tuple[str | None, str]]:
    kept = []
    for voice, line in lines:
        words = line.split()
        if len(words) > count:
            kept.append((voice, " ".join(words[count:])))
        count = max(0, count - len(words))
    return kept


def _warn_of_times(cues: Sequence[Cue]) -> list[str]:
    back = [cue for before, cue in pairwise(cues) if cue.start < before.start]
    if not back:
        return []
    begin = f"{len(back):,} captions begin" if len(back) > 1 else "A caption begins"
    return [
        f"{begin} before the one above, the first at {write_clock(back[0].start)}. They were read in the order of the file."
    ]


def _part(cues: Sequence[Cue]) -> list[Piece]:
    """What each person says in each caption, as far as marks and names show."""
    dashes = [sum(voice is None and _DASH.match(line) is not None for voice, line in cue.lines) for cue in cues]
    is_dashed = max(dashes) > 1
    pieces = []
    for cue in cues:
        own: list[Piece] = []
        for number, (voice, line) in enumerate(cue.lines):
            if voice is not None:
                is_new = number > 0 and cue.lines[number - 1][0] != voice
                own.append(_name_voice(cue, voice, line, is_new=is_new, is_first=number == 0))
                continue
            is_after_voice = number > 0 and cue.lines[number - 1][0] is not None
            for place, (is_change, words) in enumerate(_part_line(line, is_dashed=is_dashed)):
                is_new = is_change or (is_after_voice and place == 0)
                own.append(_name_words(cue, words, is_new=is_new, is_marked=is_change, is_first=number + place == 0))
        pieces += own
    return pieces


def _part_line(line: str, *, is_dashed: bool) -> Iterator[tuple[bool, str]]:
    """The parts of a line, each after whether a mark says that somebody else speaks."""
    begin, is_change = 0, False
    for found in _CHANGE.finditer(line):
        if before := line[begin : found.start()].strip():
            yield is_change, before
        begin, is_change = found.end(), True
    rest = line[begin:].strip()
    dash = _DASH.match(rest)
    if dash and (is_dashed or (dash["space"] and dash["sign"] != "—")):
        is_change, rest = True, rest[dash.end() :]
    yield is_change, rest


def _name_voice(cue: Cue, voice: str, words: str, *, is_new: bool, is_first: bool) -> Piece:
    is_named = any(sign.isalnum() for sign in voice)
    return Piece(
        cue.start, cue.end, voice if is_named else "", words, words, is_named, is_new or not is_named, is_first
    )


def _name_words(cue: Cue, words: str, *, is_new: bool, is_marked: bool, is_first: bool) -> Piece:
    """Words with the name before them. Brackets without a colon describe sounds, unless a mark or a number is with them."""
    label = _LABEL.match(words)
    name = (label["name"] or label["square"]).strip() if label else ""
    is_square = label is not None and label["square"] is not None
    is_sure = is_square and label is not None and (label["colon"] is not None or is_marked or is_voice(name))
    if label is None or (is_square and not is_sure):
        return Piece(cue.start, cue.end, "", words, words, False, is_new, is_first)
    return Piece(cue.start, cue.end, name[:200], words[label.end() :], words, is_sure, is_new, is_first)


def _choose_speakers(pieces: Sequence[Piece], naming: Naming) -> tuple[set[str], Counter[str]]:
    times = Counter(plain_name(piece.name) for piece in pieces)
    sure = frozenset(piece.name for piece in pieces if piece.is_sure and piece.name)
    labels = [
        Label(number, piece.name, number)
        for number, piece in enumerate(pieces)
        # "And then he said: …"
        if piece.name
        and (times[plain_name(piece.name)] > 1 or may_be_name(piece.name) or piece.name in naming.speakers)
    ]
    return choose_speakers(labels, Naming(naming.speakers | sure, naming.texts)) if labels else (set(), Counter())


def _keep_names(pieces: Sequence[Piece], speakers: set[str]) -> list[Piece]:
    """The pieces in which only speakers count as names; words that continue those before them in a caption are joined."""
    kept: list[Piece] = []
    for found in pieces:
        is_text = found.name and plain_name(found.name) not in speakers
        piece = found._replace(name="", text=found.whole) if is_text else found
        if kept and not (piece.name or piece.is_first or piece.is_new):
            kept[-1] = kept[-1]._replace(text=f"{kept[-1].text} {piece.text}".strip())
        else:
            kept.append(piece)
    return [piece for piece in kept if piece.text]


def _make_turns(pieces: Sequence[Piece]) -> tuple[tuple[ReadTurn, ...], list[str]]:
    names = [piece.name for piece in pieces]
    # If a name is repeated although nobody else spoke, or is in tags, every caption names its speaker.
    firsts = [piece for piece in pieces if piece.is_first]
    is_said_always = any(one.name and one.name == other.name for one, other in pairwise(firsts))
    is_said_always = is_said_always or any(piece.is_sure and piece.text == piece.whole for piece in pieces)
    groups: list[list[Piece]] = []
    gone_on = 0
    for piece in pieces:
        last = groups[-1][-1] if groups else None
        if last is None or not _goes_on(last, piece, is_said_always=is_said_always):
            groups.append([piece])
            continue
        gone_on += bool(last.name and not piece.name)
        groups[-1].append(piece._replace(name=last.name))
    roles, warnings = assign_roles(list(dict.fromkeys(filter(None, names)))) if any(names) else ({}, [])
    nobody = sum(not group[0].name for group in groups)
    if not any(names):
        warnings = ["The captions do not say who speaks. Every turn was assumed to be the model's."]
    elif nobody:
        have = f"{nobody:,} turns have" if nobody > 1 else "One turn has"
        warnings.append(f"{have} no name in the captions. Their speaker is not known and was assumed to be the model.")
    if gone_on:
        warnings.append(f"Captions without a name that follow a named one were joined to it ({gone_on:,}).")
    turns = tuple(
        ReadTurn(
            roles.get(group[0].name, "model"),
            "utterance",
            group[0].name,
            " ".join(piece.text for piece in group),
            details={"from": write_clock(group[0].start), "to": write_clock(max(piece.end for piece in group))},
        )
        for group in groups
    )
    return turns, warnings


def _goes_on(last: Piece, piece: Piece, *, is_said_always: bool) -> bool:
    """Whether a piece belongs to the turn of the one before it."""
    if piece.name:
        return piece.name == last.name
    if piece.is_new or piece.start < last.start or (last.name and is_said_always):
        return False
    pause = piece.start - last.end
    return pause < _PAUSE or (bool(last.name) and pause < _WAIT and not _ENDED.search(last.text))
