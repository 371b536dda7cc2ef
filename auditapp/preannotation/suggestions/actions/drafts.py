"""Reading an interview as a draft: suggestions before one's own decision, and no label made after one in any measure."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.preannotation.models import DraftReading
from transcripts.audit_trail import trail
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.ui.typed_text import check_reason


@transaction.atomic
def open_draft_reading(*, project: Project, interview: Interview, reason: str, by: trail.Actor) -> DraftReading:
    """Let suggestions be opened before the own decision in this interview. Raises ``Refused``."""
    if interview.project_id != project.pk:
        raise Refused("This interview is not part of this study.")
    needed = (
        "Give a reason for making this interview a draft. Codings made after seeing its suggestions are left out of every "
        "measure."
    )
    reason = check_reason(reason, needed=needed, one_line=True)
    try:
        with transaction.atomic():
            reading = DraftReading.objects.create(
                interview=interview, reason=reason, opened_at=timezone.now(), opened_by_name=by.get_username()
            )
    except IntegrityError as error:
        raise Refused(f"Interview {interview.pk} is already a draft interview.") from error
    _record("opened", reading, project, by)
    return reading


@transaction.atomic
def close_draft_reading(*, project: Project, reading: DraftReading, by: trail.Actor) -> None:
    """Ask for the own decision first again. What was coded meanwhile stays assisted; one that is closed is left as it is."""
    still_open = DraftReading.objects.filter(pk=reading.pk, closed_at__isnull=True)
    if still_open.update(closed_at=timezone.now()):
        _record("closed", reading, project, by)


def _record(what: str, reading: DraftReading, project: Project, by: trail.Actor) -> None:
    trail.record(
        f"preannotation.draft.{what}",
        target=reading,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"interview": reading.interview_id},
    )
