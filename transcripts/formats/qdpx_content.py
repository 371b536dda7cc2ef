"""The content of a REFI-QDA project file as plain tuples; and our own part of one, as JSON lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, NamedTuple

from transcripts.formats.codebook_rules import UNSTORABLE
from transcripts.formats.guarded_input import refuse_unstorable
from transcripts.formats.json_lines import read_line
from transcripts.formats.refi import QdcCode, QdcSet, read_guid
from transcripts.formats.text_input import unfold

NOTHING: Mapping[str, str] = MappingProxyType({})
ENTRY = "auditapp.jsonl"
FORMAT = "auditapp-qdpx"
FORMAT_VERSION = 1
TURNS_IN_A_LINE = 1_000
LINE_ENDS_IN_A_LINE = 100_000
MAX_LINE_LENGTH = 5_000_000
MAX_TURNS = 1_000_000
MAX_DETAILS = 500_000
MAX_LINE_ENDS = 10_000_000

_HEAD = {"format": FORMAT, "format_version": FORMAT_VERSION}


class QdpxUser(NamedTuple):
    """Somebody who coded or wrote notes; ``id`` is a sign-in name."""

    guid: str
    name: str = ""
    id: str = ""


class QdpxTurn(NamedTuple):
    """Who says the characters from ``start`` to ``end`` of an interview's text."""

    start: int
    end: int
    role: str
    channel: str = "utterance"
    speaker: str = ""
    prompt_kind: str = ""


class QdpxCoding(NamedTuple):
    """A code that somebody applied to a selection or a whole source. ``notes`` are GUIDs of notes on this coding.

    ``details`` has values that the standard cannot represent, such as a level; they are kept in our own part of the archive.
    """

    guid: str
    code: str
    user: str = ""
    created: datetime | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, str] = NOTHING


class QdpxSelection(NamedTuple):
    """Characters (code points) from ``start`` to ``end`` of a text, with what was applied to them."""

    guid: str
    start: int
    end: int
    name: str = ""
    description: str = ""
    user: str = ""
    created: datetime | None = None
    codings: tuple[QdpxCoding, ...] = ()
    notes: tuple[str, ...] = ()


class QdpxSource(NamedTuple):
    """A text, such as an interview; ``text`` is None if a file names a text and does not contain it.

    ``attributes`` are named facts, such as the model's label; other programs show them as variables of the document.
    """

    guid: str
    name: str
    text: str | None
    description: str = ""
    user: str = ""
    created: datetime | None = None
    attributes: Mapping[str, str] = NOTHING
    turns: tuple[QdpxTurn, ...] = ()
    selections: tuple[QdpxSelection, ...] = ()
    codings: tuple[QdpxCoding, ...] = ()
    notes: tuple[str, ...] = ()


class QdpxNote(NamedTuple):
    """A memo. Its subject refers to it."""

    guid: str
    name: str
    text: str
    description: str = ""
    user: str = ""
    created: datetime | None = None


class QdpxProject(NamedTuple):
    """Everything except sources and notes, of which there may be many.

    ``variables`` are the names of all attributes that sources have; ``notes`` are GUIDs of notes on the whole.
    """

    name: str
    description: str = ""
    user: str = ""
    created: datetime | None = None
    users: tuple[QdpxUser, ...] = ()
    codes: tuple[QdcCode, ...] = ()
    variables: tuple[str, ...] = ()
    sets: tuple[QdcSet, ...] = ()
    notes: tuple[str, ...] = ()


class QdpxFile(NamedTuple):
    """A project file that was read. ``warnings`` are sentences on what is missing, left out or assumed."""

    project: QdpxProject
    sources: tuple[QdpxSource, ...]
    notes: tuple[QdpxNote, ...]
    origin: str = ""
    warnings: tuple[str, ...] = ()


class OwnPart(NamedTuple):
    """By GUID: turns of sources, hashes of the texts to which their positions refer, the Windows line ends of these texts, and
    details of codings.

    REFI-QDA cannot represent these. Turns and roles would have to become selections or notes, which other programs would show
    as hundreds of quotations and memos; they ignore an entry of the archive to which no source refers. Each line with turns has
    the SHA-256 of the text to which its positions refer, so that turns are never applied to a text that was changed since.
    """

    turns: dict[str, list[QdpxTurn]]
    hashes: dict[str, str]
    line_ends: dict[str, list[int]]
    details: dict[str, Mapping[str, str]]

    def find_text(self, source: QdpxSource) -> tuple[str, list[int]] | None:
        """The text of a source as it was exported, and its Windows line ends; None if it has none or was changed."""
        places = self.line_ends.get(source.guid, [])
        text = unfold(source.text, places) if source.text is not None and places else None
        return (text, places) if text is not None and hash_text(text) == self.hashes.get(source.guid) else None

    def find_turns(self, source: QdpxSource) -> tuple[QdpxTurn, ...] | None:
        """The turns of a source; None if it has turns but its text is not the one to which their positions refer."""
        turns = self.turns.get(source.guid, [])
        if not turns:
            return ()
        if source.text is None or hash_text(source.text) != self.hashes[source.guid]:
            return None
        length = len(source.text)
        return tuple(turns) if all(0 <= turn.start <= turn.end <= length for turn in turns) else None


def hash_text(text: str) -> str:
    """SHA-256 of the text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def list_own_lines(source: QdpxSource, line_ends: Sequence[int]) -> Iterator[bytes]:
    """The data of a source beyond the standard. ``line_ends``: the Windows line ends, as positions in the written text."""
    for turn in source.turns:
        for text in turn[2:]:
            refuse_unstorable(str(text))
    turns = iter(source.turns)
    digest = hash_text(source.text or "") if source.turns or line_ends else ""
    while batch := list(islice(turns, TURNS_IN_A_LINE)):
        yield _encode({"source": source.guid, "sha256": digest, "turns": batch})
    for first in range(0, len(line_ends), LINE_ENDS_IN_A_LINE):
        part = line_ends[first : first + LINE_ENDS_IN_A_LINE]
        yield _encode({"source": source.guid, "sha256": digest, "line_ends": part})
    yield from list_coding_lines(source.codings)
    for selection in source.selections:
        yield from list_coding_lines(selection.codings)


def list_coding_lines(codings: Iterable[QdpxCoding]) -> Iterator[bytes]:
    """The details of codings that have any."""
    for coding in codings:
        if coding.details:
            refuse_unstorable("".join(chain(coding.details, coding.details.values())))
            yield _encode({"coding": coding.guid, "details": dict(sorted(coding.details.items()))})


def make_head() -> bytes:
    """The first line of our own part."""
    return _encode(_HEAD)


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_own_part(chunks: Iterable[bytes]) -> OwnPart:
    """Read the lines of our own part. Raises ``ValueError`` or ``ReadError`` for a line that we did not write."""
    part = OwnPart({}, {}, {}, {})
    known: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
    turns = line_ends = 0
    lines = _split_lines(chunks)
    if next(lines, None) != _HEAD:
        raise ValueError("Not our part, or of another version.")
    for line in lines:
        if (guid := read_guid(_read_text(line.get("source")))) is not None:
            digest = _read_text(line.get("sha256"))
            places = _read_list(line.get("line_ends", []))
            batch = [_read_turn(values) for values in _read_list(line.get("turns", []))]
            turns, line_ends = turns + len(batch), line_ends + len(places)
            if part.hashes.setdefault(guid, digest) != digest or turns > MAX_TURNS or line_ends > MAX_LINE_ENDS:
                raise ValueError("Parts of two texts, or too many.")
            if any(type(place) is not int for place in places):
                raise ValueError("Line ends that are no numbers.")
            part.turns.setdefault(guid, []).extend(batch)
            part.line_ends.setdefault(guid, []).extend(places)
        elif (guid := read_guid(_read_text(line.get("coding")))) is not None:
            details = _read_details(line.get("details"))
            # The same few combinations are repeated many times, so each is stored once.
            part.details[guid] = known.setdefault(tuple(details.items()), details)
            if len(part.details) > MAX_DETAILS:
                raise ValueError("Too many details.")
    return part


def _split_lines(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_LENGTH:
            raise ValueError("A line that is too long.")
        yield from (read_line(line.decode(), 0, ENTRY) for line in lines if line)
    if rest:
        yield read_line(rest.decode(), 0, ENTRY)


def _read_text(value: object) -> str:
    if not isinstance(value, str | None) or UNSTORABLE.search(value or ""):
        raise ValueError("Not a text.")
    return value or ""


def _read_list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("Not a list.")
    return value


def _read_turn(value: object) -> QdpxTurn:
    start, end, *texts = _read_list(value)
    if type(start) is not int or type(end) is not int or len(texts) != len(QdpxTurn._fields) - 2:
        raise ValueError("Not a turn.")
    return QdpxTurn(start, end, *map(_read_text, texts))


def _read_details(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("Not details.")
    return {_read_text(key): _read_text(text) for key, text in value.items()}
