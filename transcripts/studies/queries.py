"""What the pages of a study show about people and acts, and what the closing of an account means for studies."""

from __future__ import annotations

import json
from typing import NamedTuple, cast

from django.db.models import Q, QuerySet
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.access import visible_studies
from transcripts.studies.models import Invitation, Membership, MethodChoice, Study
from transcripts.studies.roles import OWNER, ROLES, Role


class Methods(NamedTuple):
    """The methods that hold: of the study, if one was set, and of the code families that have their own."""

    study: MethodChoice | None
    families: dict[str, MethodChoice]

    def find(self, family: str = "") -> str:
        """What holds for a family, or for the study: what is said of neither is read reflexively."""
        row = self.families.get(family) or self.study
        return row.method if row else MethodChoice.Method.REFLEXIVE.value

    def find_own(self, family: str) -> MethodChoice | None:
        """What was set for this very family, or for the study."""
        return self.families.get(family) if family else self.study

    @property
    def is_mixed(self) -> bool:
        """Whether a family is read otherwise than the study."""
        return any(row.method != self.find() for row in self.families.values())


def studies_of(user: User) -> list[tuple[Study, Role]]:
    """The studies ``user`` may see, by name, with her role in each. Two queries at most."""
    if user.is_superuser:
        return [(study, OWNER) for study in visible_studies(user)]
    memberships = Membership.objects.filter(user=user).select_related("study")
    return [(each.study, each.get_role()) for each in memberships.order_by("study__name", "study_id")]


def members_of(study: Study) -> list[Membership]:
    """Who belongs to ``study``: owners first, then leads, coders and readers, each by name. One query."""
    memberships = Membership.objects.filter(study=study).select_related("user")
    rank = {key: place for place, key in enumerate(ROLES)}
    return sorted(memberships, key=lambda each: (rank[each.role], each.user.username.lower()))


def open_invitations(study: Study) -> list[Invitation]:
    """The invitations to ``study`` that nobody answered yet, newest first."""
    return list(study.invitations.filter(answer="").order_by("-pk"))


def invitations_for(user: User) -> list[Invitation]:
    """The studies that ``user`` is invited to, with what she is invited as."""
    return list(user.invitations.filter(answer="").select_related("study").order_by("pk"))


def may_renew_invitation(by: User, membership: Membership) -> bool:
    """Whether ``by`` may sign somebody in as this member.

    Only as a newcomer whose account was made for this very study, and who belongs to none that ``by`` does not own.
    """
    user = membership.user
    if user.is_superuser or not user.is_active or not membership.came_by_invitation or not membership.is_awaited:
        return False
    own = Membership.objects.filter(user=by, role=OWNER.key).values("study")
    return by.is_superuser or not Membership.objects.filter(user=user).exclude(study__in=own).exists()


def find_method(study: Study, family_identifier: str = "") -> str:
    """The method by which a code family is read, or without one the study: a value of ``MethodChoice.Method``."""
    return read_methods(study).find(family_identifier)


def read_methods(study: Study) -> Methods:
    """All methods that hold, in one query: the latest row of the study and of each family."""
    latest = {row.family: row for row in study.method_choices.order_by("pk")}
    return Methods(latest.pop("", None), latest)


def list_method_choices(study: Study) -> list[MethodChoice]:
    """Every switch of the method, newest first."""
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
    """What was done in ``study``, newest first."""
    return AuditEvent.objects.filter(stream=trail.study_stream(study.pk)).order_by("-sequence")


def list_details(event: AuditEvent) -> list[tuple[str, str]]:
    """Names and values of an event's details; what is neither text nor empty stays JSON.

    Without the rows, which are there for replaying the trail.
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
    """Of which studies the person is a member, and what she offered to others."""
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
    """Withdraw the invitations that the person sent, and see once more that each study keeps an owner."""
    invitations = _find_invitations(user)
    own = Membership.objects.filter(user=user, role=OWNER.key)
    held = Study.objects.filter(Q(pk__in=own.values("study")) | Q(pk__in=invitations.values("study")))
    list(held.order_by("pk").select_for_update())
    # Somebody may have taken another owner out of a study since this was asked first.
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
