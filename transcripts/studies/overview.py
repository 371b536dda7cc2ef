"""What rooms show on the overview of a study, and the steps by which a study begins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, When

from transcripts.accounts.models import User
from transcripts.hooks import load_registrations
from transcripts.studies.access import StudyRequest
from transcripts.studies.models import Membership, MethodChoice, Study
from transcripts.studies.queries import find_method
from transcripts.studies.roles import Permission

Read = Callable[[StudyRequest], Mapping[str, object] | None]
ReadNotes = Callable[[Collection[Study], User], Mapping[int, str]]
# In the order in which they are shown; templates/studies/_first_steps.html says what there is to do.
STEPS = {"codebook": "Codebook and method", "people": "Who codes", "import": "First import", "code": "Code"}


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


_cards: list[Card] = []
_waiting: list[Callable[[StudyRequest], Waiting | None]] = []
_notes: list[ReadNotes] = []


def register_overview(
    *parts: Card, waiting: Callable[[StudyRequest], Waiting | None] | None = None, note: ReadNotes | None = None
) -> None:
    """Add to the overview of a study: cards; a line under "Waiting for you" where there is something; and what the list of
    studies says of each, by its number, read for all at once. Called once, in a room's ``registrations``."""
    _cards.extend(parts)
    _waiting.extend([waiting] if waiting else [])
    _notes.extend([note] if note else [])


def read_cards(request: StudyRequest) -> list[tuple[str, Mapping[str, object]]]:
    """The parts of the overview that have something to show, in order: template and contents."""
    load_registrations()
    read = ((card.template, card.read(request)) for card in sorted(_cards, key=lambda card: card.rank))
    return [(template, contents) for template, contents in read if contents is not None]


def list_waiting(request: StudyRequest) -> list[Waiting]:
    """What waits for the person who asks."""
    load_registrations()
    return [found for read in _waiting if (found := read(request)) is not None]


def read_notes(studies: Collection[Study], person: User) -> dict[int, list[str]]:
    """What is said of each study, by its number."""
    load_registrations()
    found: dict[int, list[str]] = {study.pk: [] for study in studies}
    for read in _notes:
        for key, words in read(studies, person).items():
            found[key].append(words)
    return found


class Step(NamedTuple):
    """A step with its state: ``done``, ``skipped``, ``next`` or ``later``. ``chosen`` says what was done, if it is."""

    key: str
    name: str
    state: str
    chosen: str


class FirstSteps(NamedTuple):
    """The steps of a study and the interview to code first, if there is one."""

    steps: list[Step]
    first_interview: int | None

    @property
    def is_over(self) -> bool:
        """Whether every step is done or skipped."""
        return all(step.state in {"done", "skipped"} for step in self.steps)

    @property
    def has_codes(self) -> bool:
        """Whether a codebook is published: nobody can apply a code before."""
        return any(step.key == "codebook" and step.state == "done" for step in self.steps)

    @property
    def skipped(self) -> list[Step]:
        """What can be brought back."""
        return [step for step in self.steps if step.state == "skipped"]


def read_first_steps(study: Study, members: Collection[Membership]) -> FirstSteps | None:
    """How far the study has begun; ``None`` once somebody has coded or decided a sentence.

    Codebook, interviews, codings and decisions are read through the study's relations, because their rooms are above this one.
    """
    of_study = Study.objects.filter(pk=OuterRef("pk"))
    decided = of_study.filter(interviews__turns__sentences__decisions__isnull=False)
    coded = of_study.filter(interviews__turns__sentences__codings__isnull=False)
    this = Study.objects.filter(pk=study.pk)
    # A case and not an "or", of which SQLite computes both sides: decisions are looked for only where nothing is coded.
    has_begun = Case(When(Exists(coded), then=True), When(Exists(decided), then=True), default=False)
    skipped, begun = this.values_list("skipped_steps", has_begun).get()
    if begun:
        return None
    invited = Count("invitations", filter=Q(invitations__answer=""), distinct=True)
    found = this.aggregate(amount=Count("interviews", distinct=True), first=Min("interviews"), invited=invited)
    chosen = {
        "codebook": _describe_codebook(study),
        "people": _describe_people(members, found["invited"]),
        "import": f"{found['amount']} interview{'' if found['amount'] == 1 else 's'}" if found["amount"] else "",
    }
    steps, is_first = [], True
    for key, name in STEPS.items():
        state = "done" if chosen.get(key) else "skipped" if key in skipped else "next" if is_first else "later"
        is_first = is_first and state != "next"
        steps.append(Step(key, name, state, chosen.get(key, "")))
    return FirstSteps(steps, found["first"])


def _describe_codebook(study: Study) -> str:
    """The codebook that people code with, and the method; "" as long as none is published."""
    published = study.codebook_versions.filter(published_at__isnull=False).order_by("-number")
    found = published.values_list("number", Count("codes")).first()
    if found is None:
        return ""
    number, codes = found
    method = MethodChoice.Method(find_method(study)).label
    return f"version {number}, {codes} code{'' if codes == 1 else 's'}; {method[0].lower()}{method[1:]}"


def _describe_people(members: Collection[Membership], invited: int) -> str:
    """Who codes, if anybody was added or invited besides the first member. Only owners may see the names of the invited."""
    names = [each.user.username for each in members if Permission.CODE in each.get_role().permissions]
    if len(names) < 2 and not invited:
        return ""
    more = f"{invited} open invitation{'' if invited == 1 else 's'}" if invited else ""
    return "; ".join(part for part in (", ".join(names), more) if part)
