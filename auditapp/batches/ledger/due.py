"""Which queues that use a provider's batch service have something to do now."""

from __future__ import annotations

import datetime

from auditapp.batches.models import WORKING_STATES, Batch, Cell, ProviderJob, WorkQueue
from auditapp.outbound.clock import read_now

OPEN_JOBS = (ProviderJob.State.WRITTEN, ProviderJob.State.UPLOADED, ProviderJob.State.SUBMITTED)
FIRST_CHECK = datetime.timedelta(seconds=30)
MAX_WAIT = datetime.timedelta(minutes=10)
ENDING = (Batch.Control.CANCEL, Batch.Control.ABORT)


def find_due_queues(batch: Batch | None = None) -> list[int]:
    """Queues (of one batch, or of all) with cells to submit or a job to check, and no runner."""
    queues = WorkQueue.objects.filter(runner="", batch__route=Batch.Route.JOBS)
    if batch is not None:
        queues = queues.filter(batch=batch)
    now = read_now()
    open_jobs = ProviderJob.objects.filter(queue__in=queues, state__in=OPEN_JOBS).select_related("queue__batch")
    due = {job.queue_id for job in open_jobs if is_due(job, now)}
    due.update(queue.pk for queue in queues.select_related("batch") if has_cells_to_submit(queue, now))
    return sorted(due)


def is_due(job: ProviderJob, now: datetime.datetime) -> bool:
    """Whether an open job has to be checked. Reads job.queue.batch.

    A submitted job is checked half a minute after it was created, then each time its age has doubled, at the latest after
    ten minutes. One that is not submitted yet continues unless people want nothing sent; when the batch is ended it is
    withdrawn. One that people want ended is checked a last time soon.
    """
    batch = job.queue.batch
    if not job.submitted_at:
        is_fresh = job.checked_at is None or now - job.checked_at >= FIRST_CHECK
        return batch.control in ENDING or (is_sending(batch) and is_fresh)
    last = job.checked_at or job.submitted_at
    wait = min(max(last - job.submitted_at, FIRST_CHECK), MAX_WAIT)
    return now - last >= (FIRST_CHECK if batch.control in ENDING or job.ended_at else wait)


def is_sending(batch: Batch) -> bool:
    """Whether calls of the batch may be sent."""
    return batch.state in WORKING_STATES and batch.control in {Batch.Control.RUN, Batch.Control.DRAIN}


def has_cells_to_submit(queue: WorkQueue, now: datetime.datetime, *, begins: bool = True) -> bool:
    """Whether the queue's planned cells can become a job. Reads queue.batch.

    All of them together: a job takes hours, while cells that wait for their next attempt take seconds. And one job after
    the other: while one waits to be submitted, there is no next. Chains go one question at a time: with jobs still at the
    provider nothing more ``begins``, because each answer of theirs plans a further cell.
    """
    if not is_sending(queue.batch):
        return False
    if ProviderJob.objects.filter(queue=queue, state__in=OPEN_JOBS, submitted_at__isnull=True).exists():
        return False
    if begins and queue.batch.has_chains and ProviderJob.objects.filter(queue=queue, state__in=OPEN_JOBS).exists():
        return False
    account, _, model = queue.name.partition(":")
    cells = Cell.objects.filter(batch=queue.batch, arm__variant__account=int(account), arm__variant__model=model)
    cells = cells.filter(state=Cell.State.PLANNED)
    if queue.batch.state == Batch.State.PILOT:
        cells = cells.filter(pilot=True)
    if queue.batch.control == Batch.Control.DRAIN:
        cells = cells.filter(fence__gt=0)
    return cells.exists() and not cells.filter(not_before__gt=now).exists()
