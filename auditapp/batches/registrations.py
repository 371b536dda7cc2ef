"""What workers do for the engine every few seconds, and what the engine adds to the overview of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from auditapp.batches.grids import cancel_abandoned
from auditapp.batches.kinds import is_always_visible
from auditapp.batches.models import OPEN_STATES, Batch
from auditapp.batches.pages import live
from auditapp.batches.pages.progress import count_percent, read_progress_of
from transcripts.accounts.models import User
from transcripts.blinding.viewers import get_viewer
from transcripts.hooks import job_waiting, on, worker_swept
from transcripts.studies.access import StudyRequest
from transcripts.studies.models import Study
from transcripts.studies.queries import Card, register_overview

BATCHES_SHOWN = 5


def read_batches(request: StudyRequest) -> Mapping[str, object] | None:
    """The open batches, newest first, with the progress, spend and time left that the list of batches shows."""
    found = list(Batch.objects.filter(study=request.study, state__in=OPEN_STATES)[: BATCHES_SHOWN + 1])
    if not found:
        return None
    batches, viewer = found[:BATCHES_SHOWN], get_viewer(request)
    progress, unpriced = read_progress_of(batches), live.find_unpriced_batches(batches)
    rows = [
        {
            "batch": batch,
            "progress": progress[batch.pk],
            "percent": count_percent(progress[batch.pk]),
            "is_priced": batch.pk not in unpriced,
            "is_open": is_always_visible(batch, viewer),
        }
        for batch in batches
    ]
    return {"rows": rows, "has_more": len(found) > len(batches)}


def read_notes(studies: Collection[Study], person: User) -> dict[int, str]:
    """How many batches of each study are open."""
    open_ones = Batch.objects.filter(study__in=[each.pk for each in studies], state__in=OPEN_STATES)
    counts = Counter(open_ones.order_by().values_list("study", flat=True))
    return {pk: f"{n} batch{'' if n == 1 else 'es'} not finished" for pk, n in counts.items()}


def notify_of_job(job_id: int) -> None:
    """Loads Celery only when an import or export is started."""
    from auditapp.batches.runner import job_tasks

    job_tasks.notify_of_job(job_id)


def sweep_jobs() -> None:
    """A sweep that loads Celery only when it runs, which is in a worker."""
    from auditapp.batches.runner import job_tasks

    job_tasks.sweep_jobs()


def remove_abandoned_imports() -> None:
    """A sweep that loads the readers of files only when it runs, which is in a worker."""
    from transcripts.corpus.storing import remove_abandoned

    remove_abandoned(seconds=1)


def cancel_abandoned_launches() -> None:
    """Cancel launches whose process died. Takes a second at most."""
    cancel_abandoned(seconds=1)


on(job_waiting, notify_of_job)
on(worker_swept, sweep_jobs)
on(worker_swept, remove_abandoned_imports)
on(worker_swept, cancel_abandoned_launches)
register_overview(Card(20, "batches/_card.html", read_batches), note=read_notes)
