"""Finishing an interview in a study without assignments, where it takes the place of signing off.

The coder can undo it until she opens her own figures that include the interview. These reveal what a machine said of
sentences on which it is not shown, so her labels there are fixed from then on.
"""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.rows import RowChange, row_changed, row_made
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.rounds.actions import StillUndecided
from transcripts.rounds.models import Finish
from transcripts.rounds.progress import read_progress
from transcripts.rounds.queries import closes_the_rest, find_dealt_out
from transcripts.ui.typed_text import check_reason


@transaction.atomic
def finish_interview(*, project: Project, interview: Interview, reason: str = "", by: User) -> Finish:
    """Record that ``by`` has finished an interview; she cannot code it until she undoes this.

    Repeating it changes nothing. Raises ``StillUndecided`` while sentences of the model are undecided and no reason is
    given, and ``Refused`` for an interview that is assigned, or that a round closes.
    """
    if interview.project_id != project.pk:
        raise Refused("This interview is not part of this study.")
    if closes_the_rest(project) or interview.pk in find_dealt_out(project):
        raise Refused("This interview is assigned, or closed by a round. Sign off what is assigned to you.")
    active = Finish.objects.filter(interview=interview, coder=by, withdrawn_at__isnull=True)
    if (stored := active.first()) is not None:
        return stored
    progress = read_progress([interview.pk], coder_id=by.pk).find(interview.pk, by.pk)
    if not progress.decided:
        raise Refused(f"You have decided nothing in “{interview.title}” yet, so there is nothing to finish.")
    reason = check_reason(reason, one_line=True)
    if progress.undecided and not reason:
        raise StillUndecided(
            f"{progress.undecided} of {progress.total} sentences of the model are undecided. Decide them (Enter at the "
            "desk), or give a reason for finishing anyway.",
            field="reason",
        )
    finish = Finish(interview=interview, coder=by, finished_at=timezone.now())
    try:
        with transaction.atomic():
            finish.save(force_insert=True)
    except IntegrityError:
        return active.get()
    details: dict[str, object] = {"interview": interview.pk, **progress._asdict()}
    if reason:
        details["reason"] = reason
    _record("interview.finished", finish, project, by=by, details=details, row=row_made(finish))
    return finish


@transaction.atomic
def take_back_finish(*, project: Project, interview: Interview, by: User) -> None:
    """Undo finishing an interview, to code it further. Raises ``Refused`` once one's own figures with it were opened."""
    own = Finish.objects.select_for_update().filter(interview=interview, coder=by, withdrawn_at__isnull=True)
    finish = own.first()
    if finish is None:
        return
    if finish.shown_at is not None:
        raise Refused(
            f"You have opened your own figures with “{interview.title}”. They reveal what machines said there, so your "
            "labels in it can no longer change."
        )
    finish.withdrawn_at = timezone.now()
    finish.save(update_fields=["withdrawn_at"])
    row = row_changed(Finish, finish.pk, withdrawn_at=finish.withdrawn_at)
    _record("interview.finish_taken_back", finish, project, by=by, details={"interview": interview.pk}, row=row)


@transaction.atomic
def show_finished(*, project: Project, by: User) -> int:
    """Open one's own figures with all finished interviews, which fixes one's labels there. Returns how many are new."""
    own = Finish.objects.select_for_update().filter(interview__project=project, coder=by)
    finished = list(own.filter(withdrawn_at__isnull=True, shown_at__isnull=True).order_by("pk"))
    if not finished:
        return 0
    now = timezone.now()
    Finish.objects.filter(pk__in=[each.pk for each in finished]).update(shown_at=now)
    trail.record(
        "interview.finished_shown",
        target=by,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"interviews": sorted(each.interview_id for each in finished)},
        rows=[row_changed(Finish, each.pk, shown_at=now) for each in finished],
    )
    return len(finished)


def _record(
    action: str, finish: Finish, project: Project, *, by: User, details: dict[str, object], row: RowChange
) -> None:
    trail.record(action, target=finish, by=by, stream=trail.project_stream(project.pk), details=details, rows=[row])
