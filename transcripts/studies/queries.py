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
from transcripts.studies.access import visible_projects
from transcripts.studies.models import Invitation, Membership, MethodStance, Project
from transcripts.studies.roles import OWNER, ROLES, Role


class Stances(NamedTuple):
    """The stances that hold: of the study, if one was set, and of the code families that have their own."""

    study: MethodStance | None
    families: dict[str, MethodStance]

    def find(self, family: str = "") -> str:
        """What holds for a family, or for the study: what is said of neither is read reflexively."""
        row = self.families.get(family) or self.study
        return row.stance if row else MethodStance.Stance.REFLEXIVE.value

    def find_own(self, family: str) -> MethodStance | None:
        """What was set for this very family, or for the study."""
        return self.families.get(family) if family else self.study

    @property
    def is_mixed(self) -> bool:
        """Whether a family is read otherwise than the study."""
        return any(row.stance != self.find() for row in self.families.values())


def studies_of(user: User) -> list[tuple[Project, Role]]:
    """The studies ``user`` may see, by name, with her role in each. Two queries at most."""
    if user.is_superuser:
        return [(project, OWNER) for project in visible_projects(user)]
    memberships = Membership.objects.filter(user=user).select_related("project")
    return [(each.project, each.get_role()) for each in memberships.order_by("project__name", "project_id")]


def members_of(project: Project) -> list[Membership]:
    """Who belongs to ``project``: owners first, then leads, coders and readers, each by name. One query."""
    memberships = Membership.objects.filter(project=project).select_related("user")
    rank = {key: place for place, key in enumerate(ROLES)}
    return sorted(memberships, key=lambda each: (rank[each.role], each.user.username.lower()))


def open_invitations(project: Project) -> list[Invitation]:
    """The invitations to ``project`` that nobody answered yet, newest first."""
    return list(project.invitations.filter(answer="").order_by("-pk"))


def invitations_for(user: User) -> list[Invitation]:
    """The studies that ``user`` is invited to, with what she is invited as."""
    return list(user.invitations.filter(answer="").select_related("project").order_by("pk"))


def may_renew_invitation(by: User, membership: Membership) -> bool:
    """Whether ``by`` may sign somebody in as this member.

    Only as a newcomer whose account was made for this very study, and who belongs to none that ``by`` does not own.
    """
    user = membership.user
    if user.is_superuser or not user.is_active or not membership.came_by_invitation or not membership.is_awaited:
        return False
    own = Membership.objects.filter(user=by, role=OWNER.key).values("project")
    return by.is_superuser or not Membership.objects.filter(user=user).exclude(project__in=own).exists()


def find_stance(project: Project, family_identifier: str = "") -> str:
    """The stance by which a code family is read, or without one the study: a value of ``MethodStance.Stance``."""
    return read_stances(project).find(family_identifier)


def read_stances(project: Project) -> Stances:
    """All stances that hold, in one query: the latest row of the study and of each family."""
    latest = {row.family: row for row in project.stances.order_by("pk")}
    return Stances(latest.pop("", None), latest)


def list_stances(project: Project) -> list[MethodStance]:
    """Every switch of the method, newest first."""
    return list(project.stances.order_by("-pk"))


def list_families(project: Project) -> list[tuple[str, str]]:
    """Identifier and name of the code families of the version people code with, or of the latest draft.

    Read through the study's relations, because the codebook is a room above this one.
    """
    versions = project.codebook_versions.order_by("-number")
    version = versions.filter(published_at__isnull=False).first() or versions.first()
    if version is None:
        return []
    return cast("list[tuple[str, str]]", list(version.families.order_by("position").values_list("identifier", "name")))


def knows_family(project: Project, identifier: str) -> bool:
    """Whether some version of the study's codebook has, or had, this code family."""
    return project.codebook_versions.filter(families__identifier=identifier).exists()


def events_of(project: Project) -> QuerySet[AuditEvent]:
    """What was done in ``project``, newest first."""
    return AuditEvent.objects.filter(stream=trail.project_stream(project.pk)).order_by("-sequence")


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
    own = Project.objects.filter(memberships__user=user, memberships__role=OWNER.key)
    return [
        f"The study {project.name} has no other owner. Make somebody else its owner first, on its page Members."
        for project in own.exclude(pk__in=owners.values("project")).order_by("name", "pk")
    ]


def list_notes(user: User) -> list[str]:
    """Of which studies the person is a member, and what she offered to others."""
    names = list(Project.objects.filter(memberships__user=user).order_by("name", "pk").values_list("name", flat=True))
    notes = (
        [f"Studies of this account: {', '.join(names)}. What was done in them stays, under the same name."]
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
    held = Project.objects.filter(Q(pk__in=own.values("project")) | Q(pk__in=invitations.values("project")))
    list(held.order_by("pk").select_for_update())
    # Somebody may have taken another owner out of a study since this was asked first.
    if obstacles := find_obstacles(user):
        raise Refused(" ".join(obstacles))
    for invitation in invitations:
        trail.record(
            "project.invitation.withdrawn",
            target=invitation,
            by=by,
            details={"username": invitation.username, "role": invitation.role},
        )
    invitations.update(answer=Invitation.Answer.WITHDRAWN, answered_at=timezone.now())


def _find_invitations(user: User) -> QuerySet[Invitation]:
    return Invitation.objects.filter(invited_by_name=user.username, answer="").order_by("pk")
