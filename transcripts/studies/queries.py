"""Queries for the pages of a study: people and acts, the overview, and the first steps.

Also the effects of closing an account on studies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, cast

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, QuerySet, When
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.hooks import load_registrations
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, visible_studies
from transcripts.studies.models import Invitation, Membership, MethodChoice, Study
from transcripts.studies.roles import OWNER, ROLES, Permission, Role


class Methods(NamedTuple):
    """The current methods: that of the study, if one was set, and those of the code families that have their own."""

    study: MethodChoice | None
    families: dict[str, MethodChoice]

    def find(self, family: str = "") -> str:
        """The method of a family, or of the study; reflexive by default."""
        row = self.families.get(family) or self.study
        return row.method if row else MethodChoice.Method.REFLEXIVE.value

    def find_own(self, family: str) -> MethodChoice | None:
        """The method that was set for this family itself, or for the study."""
        return self.families.get(family) if family else self.study

    @property
    def is_mixed(self) -> bool:
        """Whether a family has another method than the study."""
        return any(row.method != self.find() for row in self.families.values())


def studies_of(user: User) -> list[tuple[Study, Role]]:
    """The studies that ``user`` may see, by name, with her role in each. Two queries at most."""
    if user.is_superuser:
        return [(study, OWNER) for study in visible_studies(user)]
    memberships = Membership.objects.filter(user=user).select_related("study")
    return [(each.study, each.get_role()) for each in memberships.order_by("study__name", "study_id")]


def members_of(study: Study) -> list[Membership]:
    """The members of ``study``: owners first, then leads, coders and readers, each by name. One query."""
    memberships = Membership.objects.filter(study=study).select_related("user")
    rank = {key: place for place, key in enumerate(ROLES)}
    return sorted(memberships, key=lambda each: (rank[each.role], each.user.username.lower()))


def open_invitations(study: Study) -> list[Invitation]:
    """The invitations to ``study`` that nobody answered yet, newest first."""
    return list(study.invitations.filter(answer="").order_by("-pk"))


def invitations_for(user: User) -> list[Invitation]:
    """The studies to which ``user`` is invited, with the offered roles."""
    return list(user.invitations.filter(answer="").select_related("study").order_by("pk"))


def may_renew_invitation(by: User, membership: Membership) -> bool:
    """Whether ``by`` may make a link that signs in as this member.

    This is allowed only for a new person whose account was created for this study, and who belongs to no study that ``by`` does
    not own.
    """
    user = membership.user
    if user.is_superuser or not user.is_active or not membership.came_by_invitation or not membership.is_awaited:
        return False
    own = Membership.objects.filter(user=by, role=OWNER.key).values("study")
    return by.is_superuser or not Membership.objects.filter(user=user).exclude(study__in=own).exists()


def find_method(study: Study, family_identifier: str = "") -> str:
    """The method of a code family or, without one, of the study: a value of ``MethodChoice.Method``."""
    return read_methods(study).find(family_identifier)


def read_methods(study: Study) -> Methods:
    """All current methods, in one query: the latest row of the study and of each family."""
    latest = {row.family: row for row in study.method_choices.order_by("pk")}
    return Methods(latest.pop("", None), latest)


def list_method_choices(study: Study) -> list[MethodChoice]:
    """Every choice of method, newest first."""
    return list(study.method_choices.order_by("-pk"))


def list_families(study: Study) -> list[tuple[str, str]]:
    """Identifier and name of the code families of the version people code with, or of the latest draft.

    Read through the study's relations, because the codebook is a room above this one.
    """
    versions = study.codebook_versions.order_by("-number")
    version = versions.filter(published_at__isnull=False).first() or versions.first()
    if version is None:
        return []
    return cast("list[tuple[str, str]]", list(version.families.order_by("position").values_list("identifier", "name")))


def knows_family(study: Study, identifier: str) -> bool:
    """Whether some version of the study's codebook has, or had, this code family."""
    return study.codebook_versions.filter(families__identifier=identifier).exists()


def events_of(study: Study) -> QuerySet[AuditEvent]:
    """The events of ``study``, newest first."""
    return AuditEvent.objects.filter(stream=trail.study_stream(study.pk)).order_by("-sequence")


def list_details(event: AuditEvent) -> list[tuple[str, str]]:
    """Names and values of an event's details; values that are neither text nor empty stay JSON.

    The rows are left out, because they are only for replaying the trail.
    """
    return [(name.replace("_", " "), _in_words(value)) for name, value in event.details.items() if name != "rows"]


def _in_words(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def find_obstacles(user: User) -> list[str]:
    """A sentence for each study that would be left without an owner."""
    owners = Membership.objects.filter(role=OWNER.key, user__is_active=True).exclude(user=user)
    own = Study.objects.filter(memberships__user=user, memberships__role=OWNER.key)
    return [
        f"The study {study.name} has no other owner. First make another person its owner, on its page Members."
        for study in own.exclude(pk__in=owners.values("study")).order_by("name", "pk")
    ]


def list_notes(user: User) -> list[str]:
    """Notes on the person's studies, and on her open invitations to others."""
    names = list(Study.objects.filter(memberships__user=user).order_by("name", "pk").values_list("name", flat=True))
    notes = (
        [f"Studies of this account: {', '.join(names)}. The work in them remains, under the same name."]
        if names
        else []
    )
    number = _find_invitations(user).count()
    invitations = "invitation that this account sent is" if number == 1 else "invitations that this account sent are"
    return [*notes, f"{number} {invitations} withdrawn."] if number else notes


def close(user: User, by: trail.Actor) -> None:
    """Withdraw the invitations that the person sent, and check again that each study keeps an owner."""
    invitations = _find_invitations(user)
    own = Membership.objects.filter(user=user, role=OWNER.key)
    held = Study.objects.filter(Q(pk__in=own.values("study")) | Q(pk__in=invitations.values("study")))
    list(held.order_by("pk").select_for_update())
    # Another owner may have been removed from a study since the first check.
    if obstacles := find_obstacles(user):
        raise Refused(" ".join(obstacles))
    for invitation in invitations:
        trail.record(
            "study.invitation.withdrawn",
            target=invitation,
            by=by,
            details={"username": invitation.username, "role": invitation.role},
        )
    invitations.update(answer=Invitation.Answer.WITHDRAWN, answered_at=timezone.now())


def _find_invitations(user: User) -> QuerySet[Invitation]:
    return Invitation.objects.filter(invited_by_name=user.username, answer="").order_by("pk")


Read = Callable[[StudyRequest], Mapping[str, object] | None]
ReadNotes = Callable[[Collection[Study], User], Mapping[int, str]]
# In the order in which they are shown; templates/studies/_first_steps.html describes them.
STEPS = {"codebook": "Codebook and method", "people": "Who codes", "import": "First import", "code": "Code"}


class Card(NamedTuple):
    """A part of the overview: its template, and the function that reads its data, ``None`` if it has nothing to show to this
    person.

    Cards are shown in the order of their ``rank``. A card shows only what its reader may also see elsewhere (docs/blinding.md).
    """

    rank: int
    template: str
    read: Read


class Waiting(NamedTuple):
    """Something that waits for a person, as a line with a link."""

    words: str
    address: str


_cards: list[Card] = []
_waiting: list[Callable[[StudyRequest], Waiting | None]] = []
_notes: list[ReadNotes] = []


def register_overview(
    *parts: Card, waiting: Callable[[StudyRequest], Waiting | None] | None = None, note: ReadNotes | None = None
) -> None:
    """Add to the overview of a study: cards; lines under "Waiting for you"; and notes in the list of studies, by the study's id,
    read for all at once. Called once, in a room's ``registrations``."""
    _cards.extend(parts)
    _waiting.extend([waiting] if waiting else [])
    _notes.extend([note] if note else [])


def read_cards(request: StudyRequest) -> list[tuple[str, Mapping[str, object]]]:
    """The parts of the overview that have something to show, in order: template and data."""
    load_registrations()
    read = ((card.template, card.read(request)) for card in sorted(_cards, key=lambda card: card.rank))
    return [(template, contents) for template, contents in read if contents is not None]


def list_waiting(request: StudyRequest) -> list[Waiting]:
    """What waits for the person who requests the page."""
    load_registrations()
    return [found for read in _waiting if (found := read(request)) is not None]


def read_notes(studies: Collection[Study], person: User) -> dict[int, list[str]]:
    """The notes on each study, by its id."""
    load_registrations()
    found: dict[int, list[str]] = {study.pk: [] for study in studies}
    for read in _notes:
        for key, words in read(studies, person).items():
            found[key].append(words)
    return found


class Step(NamedTuple):
    """A step with its state: ``done``, ``skipped``, ``next`` or ``later``. ``chosen`` says what was done, if it is done."""

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
        """Whether a codebook is published; before that, nobody can apply a code."""
        return any(step.key == "codebook" and step.state == "done" for step in self.steps)

    @property
    def skipped(self) -> list[Step]:
        """The skipped steps, which can be brought back."""
        return [step for step in self.steps if step.state == "skipped"]


def read_first_steps(study: Study, members: Collection[Membership]) -> FirstSteps | None:
    """The first steps of the study; ``None`` once somebody has coded or decided a sentence.

    Codebook, interviews, codings and decisions are read through the study's relations, because their rooms are above this one.
    """
    of_study = Study.objects.filter(pk=OuterRef("pk"))
    decided = of_study.filter(interviews__turns__sentences__decisions__isnull=False)
    coded = of_study.filter(interviews__turns__sentences__codings__isnull=False)
    this = Study.objects.filter(pk=study.pk)
    # A CASE, because SQLite computes both sides of an OR: decisions are searched only if nothing is coded.
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
    """The codebook that people code with, and the method; "" if none is published."""
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
