"""Finishing an interview where nothing is assigned: what signing off is to an assignment.

Undone by its coder as long as her own figures with it were not opened to her: they tell what a machine said of sentences
it is not shown on, so her labels there are settled from then on.
"""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project
from transcripts.rounds.actions import RoundError, StillUndecided, check_reason
from transcripts.rounds.models import Finish
from transcripts.rounds.progress import read_progress
from transcripts.rounds.queries import has_assignments


@transaction.atomic
def finish_interview(*, project: Project, interview: Interview, reason: str = "", by: User) -> Finish:
    """Store that ``by`` is through with an interview that nobody assigns; she does not code it until she takes it back.

    One that is finished stays so. Raises ``StillUndecided`` while sentences of the model are undecided and no reason says
    why that is meant, and ``RoundError`` in a study with assignments.
    """
    if interview.project_id != project.pk:
        raise RoundError("This interview is not part of this study.")
    if has_assignments(project):
        raise RoundError("In this study interviews are assigned: sign off those that are assigned to you.")
    active = Finish.objects.filter(interview=interview, coder=by, withdrawn_at__isnull=True)
    if (stored := active.first()) is not None:
        return stored
    progress = read_progress([interview.pk], coder_id=by.pk).find(interview.pk, by.pk)
    if not progress.decided:
        raise RoundError(f"You have decided nothing in “{interview.title}” yet, so there is nothing to finish.")
    reason = check_reason(reason)
    if progress.undecided and not reason:
        raise StillUndecided(
            f"{progress.undecided} of {progress.total} sentences of the model are undecided. Decide them (Enter at the "
            "desk), or say why you finish all the same."
        )
    finish = Finish(interview=interview, coder=by, finished_at=timezone.now())
    try:
        with transaction.atomic():
            finish.save(force_insert=True)
    except IntegrityError:
        return active.get()
    details: dict[str, object] = {"interview": interview.pk, **progress._asdict()}
    _record("interview.finished", finish, project, by, {**details, "reason": reason} if reason else details)
    return finish


@transaction.atomic
def take_back_finish(*, project: Project, interview: Interview, by: User) -> None:
    """Take one's word back, and code on. Raises ``RoundError`` once one's own figures with it were opened."""
    own = Finish.objects.select_for_update().filter(interview=interview, coder=by, withdrawn_at__isnull=True)
    finish = own.first()
    if finish is None:
        return
    if finish.shown_at is not None:
        raise RoundError(
            f"Your own figures with “{interview.title}” were opened to you, and they tell what machines said there: your "
            "labels of it stay as they are."
        )
    finish.withdrawn_at = timezone.now()
    finish.save(update_fields=["withdrawn_at"])
    _record("interview.finish_taken_back", finish, project, by, {"interview": interview.pk})


@transaction.atomic
def show_finished(*, project: Project, by: User) -> int:
    """Open one's own figures with all interviews one has finished: they settle one's labels there. How many are new."""
    own = Finish.objects.select_for_update().filter(interview__project=project, coder=by)
    waiting = list(own.filter(withdrawn_at__isnull=True, shown_at__isnull=True).order_by("pk"))
    if not waiting:
        return 0
    Finish.objects.filter(pk__in=[each.pk for each in waiting]).update(shown_at=timezone.now())
    trail.record(
        "interview.finished_shown",
        target=by,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"interviews": sorted(each.interview_id for each in waiting)},
    )
    return len(waiting)


def _record(action: str, finish: Finish, project: Project, by: User, details: dict[str, object]) -> None:
    trail.record(action, target=finish, by=by, stream=trail.project_stream(project.pk), details=details)
