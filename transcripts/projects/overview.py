"""What rooms show on the overview of a study, and beside a study in the list of studies.

Each room adds its cards in its module ``registrations``; the overview knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from transcripts.accounts.models import User
from transcripts.projects.access import ProjectRequest
from transcripts.projects.models import Project
from transcripts.projects.registrations import load_registrations

Read = Callable[[ProjectRequest], Mapping[str, object] | None]
ReadNotes = Callable[[Collection[Project], User], Mapping[int, str]]


class Card(NamedTuple):
    """A part of the overview: its template, and what it reads; ``None`` where it has nothing to show to this person.

    Cards stand in the order of their ``rank``. It shows what its reader may see elsewhere, and no more (docs/blinding.md).
    """

    rank: int
    template: str
    read: Read


class Waiting(NamedTuple):
    """Something that waits for a person, as a line with its link."""

    words: str
    address: str


_cards: dict[str, Card] = {}
_waiting: list[Callable[[ProjectRequest], Waiting | None]] = []
_notes: list[ReadNotes] = []


def register_card(template: str, read: Read, *, rank: int) -> None:
    """Show a part on every overview."""
    _cards[template] = Card(rank, template, read)


def register_waiting(read: Callable[[ProjectRequest], Waiting | None]) -> None:
    """Show a line under "Waiting for you" where there is something."""
    _waiting.append(read)


def register_note(read: ReadNotes) -> None:
    """Say something of each study in the list of studies, by its number: read for all at once."""
    _notes.append(read)


def read_cards(request: ProjectRequest) -> list[tuple[str, Mapping[str, object]]]:
    """The parts of the overview that have something to show, in order: template and contents."""
    load_registrations()
    read = ((card.template, card.read(request)) for card in sorted(_cards.values(), key=lambda card: card.rank))
    return [(template, contents) for template, contents in read if contents is not None]


def list_waiting(request: ProjectRequest) -> list[Waiting]:
    """What waits for the person who asks."""
    load_registrations()
    return [found for read in _waiting if (found := read(request)) is not None]


def read_notes(studies: Collection[Project], person: User) -> dict[int, list[str]]:
    """What is said of each study, by its number."""
    load_registrations()
    found: dict[int, list[str]] = {study.pk: [] for study in studies}
    for read in _notes:
        for key, words in read(studies, person).items():
            found[key].append(words)
    return found
