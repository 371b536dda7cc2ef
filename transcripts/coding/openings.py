"""Opening colleagues' codings of an interview: an act that is kept, for what is coded there afterwards is not blind."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.models import Opening
from transcripts.corpus.models import Interview
from transcripts.projects.access import find_role
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission, Role
from transcripts.rounds.queries import find_locked_interviews

# Where an interview was opened by reading it as a draft.
DRAFT = "draft"
# Where what was read in another role was opened, by the change of the role.
ROLE = "role"


class OpeningRefused(Exception):
    """A sentence for the person who asked."""


@transaction.atomic
def open_interview(*, project: Project, interview: Interview, by: User, where: str) -> Opening:
    """Store when ``by`` first opens colleagues' codings of an interview, and on which page; once opened stays opened.

    A person whose role does not see every coding may open interviews whose reading is over. Raises ``OpeningRefused``.
    """
    return open_interviews(project=project, interviews=[interview], by=by, where=where)[0]


@transaction.atomic
def open_interviews(*, project: Project, interviews: Collection[Interview], by: User, where: str) -> list[Opening]:
    """The same for several interviews, all or none; each has its own event, those opened before have none."""
    _check(project, interviews, by)
    return _store(project, interviews, by, where)


@transaction.atomic
def open_draft(*, project: Project, interview: Interview, by: User) -> Opening:
    """Store that ``by`` reads an interview as a draft, with others' labels open: it is not blind to her from now on.

    Asks for no more than that she codes in the study. Raises ``OpeningRefused``.
    """
    _check_belongs(project, [interview], by)
    return _store(project, [interview], by, DRAFT)[0]


@transaction.atomic
def open_seen(*, project: Project, interviews: Collection[Interview], user: User, by: trail.Actor) -> list[Opening]:
    """Store that ``user`` could see others' labels of these interviews in a role that does not code, which ``by`` ends."""
    return _store(project, interviews, user, ROLE, by=by)


def _store(
    project: Project, interviews: Collection[Interview], user: User, where: str, *, by: trail.Actor | None = None
) -> list[Opening]:
    opened = []
    for interview in interviews:
        opening, created = Opening.objects.get_or_create(
            interview=interview, user=user, defaults={"where": where, "opened_at": timezone.now()}
        )
        opened.append(opening)
        if created:
            trail.record(
                "coding.opened",
                target=opening,
                by=by or user,
                stream=trail.project_stream(project.pk),
                details={"interview": interview.pk, "where": where},
            )
    return opened


def find_unopened(project: Project, user: User, role: Role, interview_ids: Collection[int]) -> set[int]:
    """Those of the interviews that ``user`` has to open before she may see colleagues' codings there.

    Who may not code has nothing to lose. A closed interview is no exception: it may be given back to her.
    """
    if Permission.CODE not in role.permissions:
        return set()
    opened = Opening.objects.filter(user=user, interview__project=project).values_list("interview", flat=True)
    return set(interview_ids) - set(opened)


def _check_belongs(project: Project, interviews: Collection[Interview], by: User) -> Role:
    if any(interview.project_id != project.pk for interview in interviews):
        raise OpeningRefused("This interview is not part of this study.")
    role = find_role(by, project)
    if role is None:
        raise OpeningRefused("You do not belong to this study.")
    return role


def _check(project: Project, interviews: Collection[Interview], by: User) -> None:
    role = _check_belongs(project, interviews, by)
    if Permission.SEE_ALL_CODINGS in role.permissions:
        return
    locked = find_locked_interviews(project)
    if any(interview.pk not in locked for interview in interviews):
        raise OpeningRefused(
            "Colleagues' codings of an interview can be opened once every round that it is part of is locked."
        )
