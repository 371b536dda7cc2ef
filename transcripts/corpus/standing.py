"""Whether interviews count: archiving them, taking them back, and undoing the import that brought them.

Nothing is deleted. An interview that does not count has an empty ``project`` and keeps its ``study``; see models.Interview.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.models import SAYS_EXCLUDED, Interview, InterviewChange, Standing
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.ui.typed_text import check_reason

AT_A_TIME = 500


def archive_interviews(*, project: Project, interviews: Iterable[Interview], reason: str, by: User) -> int:
    """Take interviews out of every list and figure of the study, until somebody restores them. Returns how many.

    Those that are archived already stay as they are. Raises ``Refused``.
    """
    needed = "Say why, such as “wrong file” or “the participant withdrew”. The reason is kept."
    reason = check_reason(reason, needed=needed)
    return _move(project, interviews, to=Standing.ARCHIVED, reason=reason, by=by, action="corpus.interviews.archived")


def restore_interviews(*, project: Project, interviews: Iterable[Interview], by: User, reason: str = "") -> int:
    """Let archived interviews count again; what is said to be excluded becomes excluded. Returns how many.

    Raises ``Refused``.
    """
    found = list(interviews)
    if any(interview.standing == Standing.EXCLUDED for interview in found):
        raise Refused("An excluded interview counts again when its field Inclusion says so. Edit its details.")
    reason = check_reason(reason)
    return _move(project, found, to=Standing.COUNTED, reason=reason, by=by, action="corpus.interviews.restored")


def says_excluded(inclusion: str) -> bool:
    """Whether the field ``inclusion`` says that the interview is not to be analysed."""
    return inclusion.strip().casefold() in SAYS_EXCLUDED


@transaction.atomic
def _move(
    project: Project, interviews: Iterable[Interview], *, to: Standing, reason: str, by: User, action: str
) -> int:
    wanted = sorted({interview.pk for interview in interviews})
    if not wanted:
        raise Refused("Choose at least one interview.")
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    held = [
        row for first in range(0, len(wanted), AT_A_TIME) for row in _lock(project, wanted[first : first + AT_A_TIME])
    ]
    if len(held) != len(wanted):
        raise Refused("One of these interviews is not part of this study; nothing was changed.")
    moved = [row for row in held if to != Standing.COUNTED or row.standing == Standing.ARCHIVED]
    moved = store_standings(moved, to=to, reason=reason, by=by)
    if moved:
        trail.record(
            action,
            target=project,
            by=by,
            details={"interviews": [row.pk for row in moved], **({"reason": reason} if reason else {})},
        )
    return len(moved)


def _lock(project: Project, keys: Sequence[int]) -> list[Interview]:
    rows = Interview.objects.kept().filter(study=project, pk__in=keys).order_by("pk")
    return list(rows.select_for_update(no_key=True).only("pk", "study", "project", "standing", "inclusion"))


def store_standings(interviews: Sequence[Interview], *, to: Standing, reason: str, by: User) -> list[Interview]:
    """Give locked interviews a standing, with a row of history each; returns those that had another. Part of an action.

    What would count, but is said to be excluded, becomes excluded.
    """
    now = timezone.now()
    changes, moved = [], []
    for row in interviews:
        new = Standing.EXCLUDED if to == Standing.COUNTED and says_excluded(row.inclusion) else to
        if row.standing == new:
            continue
        changes.append(
            InterviewChange(
                interview=row, field="standing", old=row.standing, new=new, reason=reason, changed_at=now, changed_by=by
            )
        )
        row.standing, row.project_id = new, row.study_id if new == Standing.COUNTED else None
        moved.append(row)
    # An update of some thousand rows for each standing: one that has a case for each row takes ten times as long.
    for standing in {row.standing for row in moved}:
        keys = [row.pk for row in moved if row.standing == standing]
        project = F("study") if standing == Standing.COUNTED else None
        for first in range(0, len(keys), AT_A_TIME):
            rows = Interview.objects.filter(pk__in=keys[first : first + AT_A_TIME])
            rows.update(standing=standing, project=project)
    InterviewChange.objects.bulk_create(changes, batch_size=AT_A_TIME)
    return moved
