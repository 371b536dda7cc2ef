"""What the pages of a study show about people and about what was done."""

from __future__ import annotations

import datetime
import json
from typing import NamedTuple

from django.db.models import QuerySet

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.projects.access import visible_projects
from transcripts.projects.models import Membership, Project
from transcripts.projects.roles import OWNER, ROLES, Role


class Study(NamedTuple):
    """A study somebody may see, and as what."""

    project: Project
    role: Role


class Member(NamedTuple):
    """Somebody who belongs to a study. ``awaited`` until she signs in for the first time."""

    user: User
    role: Role
    joined_at: datetime.datetime
    came_by_invitation: bool
    awaited: bool


class Detail(NamedTuple):
    """One fact of an event, in words."""

    name: str
    value: str


class HistoryRow(NamedTuple):
    """One event of a study's history as its page shows it."""

    sequence: int
    at: datetime.datetime
    actor: str
    action: str
    target: str
    details: list[Detail]


def studies_of(user: User) -> list[Study]:
    """The studies ``user`` may see, by name, with her role in each. Two queries at most."""
    if user.is_superuser:
        return [Study(project, OWNER) for project in visible_projects(user)]
    memberships = Membership.objects.filter(user=user).select_related("project")
    return [Study(each.project, each.get_role()) for each in memberships.order_by("project__name", "project_id")]


def members_of(project: Project) -> list[Member]:
    """Who belongs to ``project``: owners first, then leads, coders and readers, each by name. One query."""
    memberships = Membership.objects.filter(project=project).select_related("user")
    rank = {key: place for place, key in enumerate(ROLES)}
    return [
        Member(each.user, each.get_role(), each.joined_at, each.came_by_invitation, is_awaited(each.user))
        for each in sorted(memberships, key=lambda each: (rank[each.role], each.user.username.lower()))
    ]


def is_awaited(user: User) -> bool:
    """Whether ``user`` never came in: an account that nobody has made hers yet."""
    return user.last_login is None and not user.has_usable_password()


def may_renew_invitation(by: User, membership: Membership) -> bool:
    """Whether ``by`` may sign somebody in as this member.

    Only as a newcomer whose account was made for this very study, and who belongs to none that ``by`` does not own.
    """
    user = membership.user
    if user.is_superuser or not membership.came_by_invitation or not is_awaited(user):
        return False
    own = Membership.objects.filter(user=by, role=OWNER.key).values("project")
    return by.is_superuser or not Membership.objects.filter(user=user).exclude(project__in=own).exists()


def events_of(project: Project) -> QuerySet[AuditEvent]:
    """What was done in ``project``, newest first."""
    return AuditEvent.objects.filter(stream=trail.project_stream(project.pk)).order_by("-sequence")


def describe_event(event: AuditEvent) -> HistoryRow:
    """An event in the form its table shows; what is neither text nor empty stays JSON."""
    details = [Detail(name.replace("_", " "), _in_words(value)) for name, value in event.details.items()]
    return HistoryRow(event.sequence, event.at, event.actor_name, event.action, event.target, details)


def _in_words(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
