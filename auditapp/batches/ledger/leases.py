"""Leases: which runner works on a queue and for how long, what a dead runner left behind, which queues of a provider's batch
service are due, and which workers are alive.

Claims are in ``claims``, ends in ``results``, the batch's own state in ``batch_state``. Each function is one transaction. The
ledger's rows are the workers' audit trail; only changes of a batch's state are audit events as well. Every few seconds a worker
updates its own row, which also says what prevents it from working.
"""

from __future__ import annotations

import datetime
import os
import socket
from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from auditapp.batches.ledger.endings import LeasedCell
from auditapp.batches.models import (
    SENDING_CONTROLS,
    SENDING_STATES,
    WORKING_STATES,
    Attempt,
    Batch,
    Cell,
    LimitChange,
    ProviderJob,
    WorkerSign,
    WorkQueue,
)
from auditapp.batches.pure.spool import find_disk_shortage
from auditapp.outbound.clock import read_now

LEASE = datetime.timedelta(seconds=60)
QUEUE_DEAD_AFTER = datetime.timedelta(seconds=30)


class Orders(NamedTuple):
    """What people want a running queue to do. ``is_mine`` is ``False`` if another runner has the queue by now."""

    control: str
    concurrency: int
    state: str
    is_mine: bool = True

    @property
    def may_claim(self) -> bool:
        """Whether the queue may claim and send at present."""
        return self.is_mine and self.control in SENDING_CONTROLS and self.state in SENDING_STATES


def acquire_queue(queue_id: int, runner: str) -> WorkQueue | None:
    """Take the queue for ``runner``, and return it with batch and arms; ``None`` if another runner has it or it must not run."""
    # A subquery, not a join: PostgreSQL then checks the queue's own row again after waiting for another update.
    to_run = Batch.objects.filter(state__in=SENDING_STATES, control__in=SENDING_CONTROLS)
    free = WorkQueue.objects.filter(pk=queue_id, runner="", batch__in=to_run)
    held = free.update(runner=runner, heartbeat_at=read_now())
    if not held:
        return None
    queues = WorkQueue.objects.select_related("batch")
    return queues.prefetch_related("batch__arms__variant__account", "batch__arms__capabilities").get(pk=queue_id)


def release_queue(queue: WorkQueue, runner: str) -> None:
    """Release the queue."""
    WorkQueue.objects.filter(pk=queue.pk, runner=runner).update(runner="", heartbeat_at=None, in_flight=0)


def poll(queue: WorkQueue, runner: str) -> Orders:
    """What people want the queue to do now. One small query."""
    columns = ("runner", "batch__control", "batch__concurrency", "batch__state")
    holder, control, concurrency, state = WorkQueue.objects.values_list(*columns).get(pk=queue.pk)
    return Orders(control, concurrency, state, is_mine=holder == runner)


@transaction.atomic
def beat(queue: WorkQueue, runner: str) -> str:
    """Extend the queue's leases. Returns the batch's control, or ``cancel`` if another runner has the queue by now."""
    now = read_now()
    if not WorkQueue.objects.filter(pk=queue.pk, runner=runner).update(heartbeat_at=now):
        return Batch.Control.CANCEL
    Cell.objects.filter(batch_id=queue.batch_id, state=Cell.State.LEASED, lease_owner=runner).update(
        lease_until=now + LEASE
    )
    return Batch.objects.values_list("control", flat=True).get(pk=queue.batch_id)


@transaction.atomic
def note_limit(
    queue: WorkQueue,
    runner: str,
    *,
    limit: int,
    in_flight: int,
    slow_until: datetime.datetime | None,
    silent_since: datetime.datetime | None,
    changes: Sequence[LimitChange],
) -> None:
    """Record a heartbeat with the limiter's state, for the page and for the next runner."""
    held = WorkQueue.objects.filter(pk=queue.pk, runner=runner)
    state = {"limit": limit, "in_flight": in_flight, "slow_until": slow_until, "silent_since": silent_since}
    if held.update(heartbeat_at=read_now(), **state):
        LimitChange.objects.bulk_create(changes)


def read_held_limit(queue: WorkQueue) -> tuple[int | None, set[str]]:
    """The last limit of the queue, or else of the latest queue of the same account and model, and the causes of all its changes.
    ``None`` if there was no such queue.

    From another kind of batch only the causes are used, because its answers may be much longer.
    """
    own = queue
    if queue.limit is None:
        earlier = WorkQueue.objects.filter(name=queue.name, limit__isnull=False).select_related("batch")
        own = earlier.order_by("-pk").first() or queue
    limit = own.limit if own.batch.kind == queue.batch.kind else None
    return limit, set(own.limit_changes.order_by().values_list("cause", flat=True).distinct())


def has_open_attempts(batch_id: int) -> bool:
    """Whether any call of the batch is in progress, in any queue."""
    return Attempt.objects.filter(cell__batch=batch_id, end=Attempt.End.OPEN).exists()


def find_open_claims(runner: str) -> list[Attempt]:
    """The open attempts of ``runner``, with cell, arm and batch."""
    return list(Attempt.objects.select_related("cell__arm__batch").filter(runner=runner, end=Attempt.End.OPEN))


def make_leased_cell(attempt: Attempt) -> LeasedCell:
    """The ``LeasedCell`` of an attempt. Reads attempt.cell.arm.batch."""
    cell = attempt.cell
    return LeasedCell(
        attempt_id=attempt.pk,
        cell_id=cell.pk,
        arm_id=cell.arm_id,
        input_id=cell.input_id,
        fence=attempt.fence,
        tries=cell.tries,
        unknown_ends=cell.unknown_ends,
        reserved_nano=attempt.reserved_nano,
        price_in=cell.arm.price_in,
        price_out=cell.arm.price_out,
        lost_answers=cell.arm.batch.lost_answers,
    )


def find_expired_queues() -> list[WorkQueue]:
    """The queues whose runner has been silent for too long."""
    return list(
        WorkQueue.objects.exclude(runner="").filter(
            Q(heartbeat_at__isnull=True) | Q(heartbeat_at__lt=read_now() - QUEUE_DEAD_AFTER)
        )
    )


OPEN_JOBS = (ProviderJob.State.WRITTEN, ProviderJob.State.UPLOADED, ProviderJob.State.SUBMITTED)
FIRST_CHECK = datetime.timedelta(seconds=30)
MAX_WAIT = datetime.timedelta(minutes=10)
ENDING = (Batch.Control.CANCEL, Batch.Control.ABORT)


def find_due_queues(batch: Batch | None = None) -> list[int]:
    """The queues (of one batch, or of all) that have cells to submit or a job to check, and have no runner."""
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

    A submitted job is checked half a minute after it was created, then each time its age has doubled, but at least every ten
    minutes. A job that is not submitted yet continues unless people want nothing to be sent; if the batch is ended, the job is
    withdrawn. A job that people want to end is soon checked one last time.
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

    They are submitted all together, because a job takes hours, while waiting for the next attempt of a cell takes seconds. Jobs
    are made one after the other: while one waits to be submitted, no other is made. Conversations advance one question at a time:
    while jobs are at the provider no new conversations begin (``begins``), because each answer plans a further cell.
    """
    if not is_sending(queue.batch):
        return False
    if ProviderJob.objects.filter(queue=queue, state__in=OPEN_JOBS, submitted_at__isnull=True).exists():
        return False
    if (
        begins
        and queue.batch.has_conversations
        and ProviderJob.objects.filter(queue=queue, state__in=OPEN_JOBS).exists()
    ):
        return False
    account, _, model = queue.name.partition(":")
    cells = Cell.objects.filter(batch=queue.batch, arm__variant__account=int(account), arm__variant__model=model)
    cells = cells.filter(state=Cell.State.PLANNED)
    if queue.batch.state == Batch.State.PILOT:
        cells = cells.filter(pilot=True)
    if queue.batch.control == Batch.Control.DRAIN:
        cells = cells.filter(fence__gt=0)
    return cells.exists() and not cells.filter(not_before__gt=now).exists()


SILENT_AFTER = datetime.timedelta(seconds=20)
# After that, silence means nothing: the worker was ended, or another has taken its place.
FORMER_AFTER = datetime.timedelta(minutes=10)
FORGOTTEN_AFTER = datetime.timedelta(days=1)

DISK_FULL = "The disk of the data folder is nearly full. No calls are made until there is room."


def name_host() -> str:
    """The prefix of the names of this machine's (or container's) workers."""
    return socket.gethostname()[:150]


def name_worker() -> str:
    """The name of the worker that this process is."""
    return f"{name_host()}:{os.getpid()}"


def read_workers() -> list[WorkerSign]:
    """Every worker that has given a sign of life within a day, the latest first, and whether it is ``alive``. Two queries."""
    now = read_now()
    signs = list(WorkerSign.objects.order_by("-seen_at", "name"))
    for sign in signs:
        sign.alive = now - sign.seen_at < SILENT_AFTER
    return signs


def is_worker_alive() -> bool:
    """Whether any worker has given a sign of life within the last twenty seconds."""
    return WorkerSign.objects.filter(seen_at__gt=read_now() - SILENT_AFTER).exists()


def find_problem_here() -> str:
    """Why this machine's workers take no work: the latest problem of a living worker, or the fact that there is none."""
    own = [each for each in read_workers() if each.alive and each.name.startswith(f"{name_host()}:")]
    if not own:
        return "No worker on this machine has reported within the last twenty seconds."
    return own[0].problem


def write_sign(*, started_at: datetime.datetime, queues: int, problem: str) -> None:
    """Write this process's sign of life."""
    name = name_worker()
    sign = {"seen_at": read_now(), "started_at": started_at, "queues": queues, "problem": problem}
    if WorkerSign.objects.filter(name=name).update(**sign):
        return
    try:
        with transaction.atomic():
            WorkerSign.objects.create(name=name, **sign)
    except IntegrityError:
        WorkerSign.objects.filter(name=name).update(**sign)


def delete_sign() -> None:
    """Delete this process's sign of life: the worker has ended and must no longer seem to be alive."""
    WorkerSign.objects.filter(name=name_worker()).delete()


def forget_old_signs() -> None:
    """Delete the signs of life of workers that have been silent for a day."""
    WorkerSign.objects.filter(seen_at__lt=read_now() - FORGOTTEN_AFTER).delete()


def find_problem() -> str:
    """Why this process must make no calls at present, or an empty text. There must be room on the disk for a paid answer."""
    return DISK_FULL if find_disk_shortage(settings.DATA) else ""
