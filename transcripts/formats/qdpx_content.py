"""What a REFI-QDA project file holds of a study, as plain tuples. GUIDs are in lower case; a text that is "" is not known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from transcripts.formats.refi_codes import QdcCode, QdcSet

NOTHING: Mapping[str, str] = MappingProxyType({})


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

    ``details`` is what the standard has no place for, such as a level; it is kept in our own part of the archive.
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
    """A text, such as an interview; ``text`` is None where a file names one and does not bring it along.

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
    """A memo. What it is about refers to it."""

    guid: str
    name: str
    text: str
    description: str = ""
    user: str = ""
    created: datetime | None = None


class QdpxProject(NamedTuple):
    """All but sources and notes, which can be many.

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
