"""Captions of a recording: WebVTT, SubRip and tables of captions (start, end, text). One file is one interview.

    00:43.810 --> 00:47.850                 12                             start	end	text
    <v Ada>Shall we begin?                  00:00:43,810 --> 00:00:47,850  43810	47850	Shall we begin?
                                            Ada: Shall we begin?

Captions that follow each other are joined by a space, so that sentences which they cut are whole again. A new turn begins where
another speaks, told by a voice tag or by a name and a colon; where nobody is named, where nobody speaks for two seconds. Marks of
looks and places are left out. When a turn was spoken, from the beginning of the recording, is kept.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from transcripts.corpus.pure.readers.base import ReadError, ReadFile, ReadInterview, ReadTurn, Source
from transcripts.corpus.pure.readers.speaker_names import assign_roles

FORMAT = "captions"

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMING = re.compile(rf"^[ \t]*(?P<start>{_TIME})[ \t]+-->[ \t]+(?P<end>{_TIME})[^\n]*$", re.MULTILINE)
_TABLE_HEAD = re.compile(r"\Astart\tend\ttext[ \t]*$", re.MULTILINE | re.IGNORECASE)
_VOICE = re.compile(r"<v(?:\.[^ >]*)?[ \t]+(?P<name>[^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z0-9:.][^<>]*>")
_LABEL = re.compile(r"(?:>>[ \t]*)?(?P<name>[^\W\d_][^\n:]{0,40}):[ \t]+(?=\S)")
_PAUSE = 2.0


class Cue(NamedTuple):
    """What was said from ``start`` to ``end``, in seconds, and by whom ("" where it is not told)."""

    start: float
    end: float
    speaker: str
    text: str


def is_captions(text: str) -> bool:
    """Whether a text is captions."""
    return _TIMING.search(text[:5_000]) is not None or _TABLE_HEAD.match(text) is not None


def read_captions(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    cues = [cue for cue in _find_cues(source) if cue.text]
    if not cues:
        raise ReadError(source.name, None, "captions without words", "lines of text below the times")
    names = Counter(cue.speaker for cue in cues if cue.speaker)
    # One name that comes once is a word before a colon.
    known = {name for name, times in names.items() if len(names) > 1 or times > 1}
    cues = [_part_label(cue, known) for cue in cues]
    turns, warnings = _make_turns(cues)
    interview = ReadInterview(source.stem[:200], source.stem[:300], turns)
    return ReadFile(FORMAT, [interview], warnings)


def _find_cues(source: Source) -> Iterator[Cue]:
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    if _TABLE_HEAD.match(text):
        yield from _read_table(text, source)
        return
    found = list(_TIMING.finditer(text))
    for place, timing in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) else len(text)
        # The words end at the first empty line; behind it come notes and the number of the next.
        words = text[timing.end() : end].lstrip("\n").split("\n\n", maxsplit=1)[0]
        yield _make_cue(_read_seconds(timing["start"]), _read_seconds(timing["end"]), words)


def _read_table(text: str, source: Source) -> Iterator[Cue]:
    for number, line in enumerate(text.split("\n")[1:], 2):
        if not line.strip():
            continue
        start, tab, rest = line.partition("\t")
        end, other, words = rest.partition("\t")
        if not (tab and other and start.strip().isdigit() and end.strip().isdigit()):
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
    voice = _VOICE.search(words)
    plain = html.unescape(_TAG.sub("", _VOICE.sub("", words)))
    text = " ".join(plain.split())
    if voice:
        return Cue(start, end, " ".join(voice["name"].split())[:200], text)
    label = _LABEL.match(text)
    return Cue(start, end, label["name"].strip() if label else "", text)


def _part_label(cue: Cue, known: set[str]) -> Cue:
    """The cue without the name before its words, where that is somebody who speaks."""
    if cue.speaker not in known:
        return cue._replace(speaker="")
    label = _LABEL.match(cue.text)
    return cue._replace(text=cue.text[label.end() :]) if label and label["name"].strip() == cue.speaker else cue


def _make_turns(cues: list[Cue]) -> tuple[tuple[ReadTurn, ...], list[str]]:
    is_named = any(cue.speaker for cue in cues)
    groups: list[list[Cue]] = []
    for cue in cues:
        last = groups[-1][-1] if groups else None
        goes_on = last is not None and (
            cue.speaker in {"", last.speaker} if is_named else cue.start - last.end < _PAUSE
        )
        if goes_on and last is not None:
            groups[-1].append(cue._replace(speaker=last.speaker))
        else:
            groups.append([cue])
    if is_named:
        speakers = [speaker for speaker, _ in groupby(cue.speaker for cue in cues if cue.speaker)]
        roles, warnings = assign_roles(list(dict.fromkeys(speakers)))
    else:
        roles, warnings = {}, ["The captions do not say who speaks. Every turn was assumed to be the model's."]
    turns = tuple(
        ReadTurn(
            roles.get(group[0].speaker, "model"),
            "utterance",
            group[0].speaker,
            " ".join(cue.text for cue in group),
            details={"from": _write_time(group[0].start), "to": _write_time(group[-1].end)},
        )
        for group in groups
    )
    return turns, warnings


def _write_time(seconds: float) -> str:
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}.{thousandths:03}"
