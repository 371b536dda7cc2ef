"""The ledger's transactions for provider jobs: claim cells into a job, record each step, store what was collected.

Cells of a job are claimed like those of live calls: money is reserved and attempts are written in one transaction. The runner of
these cells is the job (``job:5``) and not the process that runs the queue, so that a crash does not free them. Their lease lasts
longer than any provider keeps a job.
"""

from __future__ import annotations

import datetime
import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from django.db import transaction
from django.db.models import F

from auditapp.batches.ledger import claims, leases, results
from auditapp.batches.ledger.endings import CompletedCall, LeasedCell
from auditapp.batches.ledger.leases import OPEN_JOBS
from auditapp.batches.ledger.prompts import rewrite_request, write_requests
from auditapp.batches.models import Arm, Attempt, Batch, Cell, ProviderJob, WorkQueue
from auditapp.llm.providers.base import (
    CallOutcome,
    ChatAnswer,
    ChatRequest,
    ErrorClass,
    Line,
    NextStep,
    Trouble,
    read_call_name,
    shorten_token,
)
from auditapp.outbound.clock import read_now
from transcripts.audit_trail import trail

logger = logging.getLogger(__name__)

JOB_LEASE = datetime.timedelta(days=60)
WITHDRAWN = "the job was withdrawn before it was submitted"
NOT_MADE = "the provider's job ended before this call was made"
GONE = "the provider no longer recognizes the job of this call; it may have been paid for"
NO_LINE = "the provider's job ended without a result for this call; it may have been paid for"
READ_SIZE = 500


def hold_queue(queue_id: int, runner: str) -> WorkQueue | None:
    """The queue with its batch and arms, whatever the state of the batch, because a paused or cancelled batch still collects
    answers."""
    free = WorkQueue.objects.filter(pk=queue_id, runner="", batch__route=Batch.Route.JOBS)
    if not free.update(runner=runner, heartbeat_at=read_now()):
        return None
    related = ("batch__arms__variant__account", "batch__arms__capabilities")
    return WorkQueue.objects.select_related("batch").prefetch_related(*related).get(pk=queue_id)


def beat(queue: WorkQueue, runner: str) -> bool:
    """Write the heartbeat; ``False`` if another runner has the queue by now."""
    return bool(WorkQueue.objects.filter(pk=queue.pk, runner=runner).update(heartbeat_at=read_now()))


def name_job_runner(job: ProviderJob) -> str:
    """The owner of the leases of a job's cells."""
    return f"job:{job.pk}"


def find_open_jobs(queue: WorkQueue) -> list[ProviderJob]:
    """The queue's jobs that are not collected yet, oldest first."""
    return list(
        ProviderJob.objects.filter(queue=queue, state__in=OPEN_JOBS).select_related("queue__batch").order_by("pk")
    )


def read_known_ids() -> frozenset[str]:
    """The providers' ids of all jobs of all batches."""
    known = ProviderJob.objects.exclude(provider_job_id="").values_list("provider_job_id", flat=True)
    return frozenset(known)


@transaction.atomic
def claim_into_job(
    queue: WorkQueue, runner: str, job: ProviderJob | None, count: int
) -> tuple[ProviderJob | None, claims.Claim]:
    """Claim up to ``count`` calls for a job, which is recorded with its first ones."""
    claim = claims.claim_calls(queue, runner, count)
    if not claim.calls:
        return job, claim
    now = read_now()
    if job is None:
        job = ProviderJob.objects.create(queue=queue, token=uuid.uuid4(), calls=0, written_at=now)
    owner = name_job_runner(job)
    Attempt.objects.filter(pk__in=[call.leased.attempt_id for call in claim.calls]).update(runner=owner, job=job)
    Cell.objects.filter(pk__in=[call.leased.cell_id for call in claim.calls]).update(
        lease_owner=owner, lease_until=now + JOB_LEASE
    )
    ProviderJob.objects.filter(pk=job.pk).update(calls=F("calls") + len(claim.calls))
    job.refresh_from_db(fields=["calls"])
    return job, claim


@transaction.atomic
def hand_back_from_job(job: ProviderJob, leased: Sequence[LeasedCell]) -> None:
    """Return calls of a job that is not submitted yet, because they did not fit."""
    results.hand_back(job.queue.batch_id, leased)
    ProviderJob.objects.filter(pk=job.pk).update(calls=F("calls") - len(leased))
    job.refresh_from_db(fields=["calls"])


def read_requests(job: ProviderJob, arms: Mapping[int, Arm]) -> Iterator[tuple[int, ChatRequest]]:
    """The cells of a job and their requests, rebuilt from the ledger. The result is always the same, in the same order."""
    last = 0
    attempts = Attempt.objects.filter(job=job, end=Attempt.End.OPEN).order_by("pk")
    while group := list(attempts.filter(pk__gt=last)[:READ_SIZE]):
        last = group[-1].pk
        for attempt in group:
            request = rewrite_request(attempt, arms[attempt.arm_id])
            yield attempt.cell_id, replace(request, request_id=str(attempt.request_id))


def has_lost_inputs(job: ProviderJob, arms: Mapping[int, Arm]) -> bool:
    """Whether an input of the job may no longer be sent, because it is gone or because consent was withdrawn since it was
    claimed, which may be long ago."""
    attempts = Attempt.objects.filter(job=job, end=Attempt.End.OPEN).select_related("cell").order_by("pk")
    last = 0
    while group := list(attempts.filter(pk__gt=last)[:READ_SIZE]):
        last = group[-1].pk
        requests, _ = write_requests(job.queue.batch, arms, [attempt.cell for attempt in group])
        if len(requests) < len(group):
            return True
    return False


def note_uploaded(job: ProviderJob, file_id: str, sha256: str) -> None:
    """Record that the job's file is at the provider."""
    _change(job, state=ProviderJob.State.UPLOADED, provider_file_id=file_id[:200], file_sha256=sha256, error="")


def note_written(job: ProviderJob, sha256: str) -> None:
    """Record the job's file, which needs no separate upload."""
    _change(job, file_sha256=sha256)


@transaction.atomic
def note_submitting(job: ProviderJob, runner: str) -> bool:
    """Record that the job is about to be created; from now on it may exist. ``False`` if the runner has lost the queue."""
    if not beat(job.queue, runner):
        return False
    _change(job, submitted_at=read_now(), checked_at=None, error="")
    return True


def note_not_submitted(job: ProviderJob, error: str) -> None:
    """Record that the provider has certainly not created the job."""
    _change(job, submitted_at=None, checked_at=read_now(), error=error[:500])


@transaction.atomic
def note_submitted(job: ProviderJob, job_id: str) -> bool:
    """Record the provider's id of the job. ``False`` if another id is already stored: then this job is a duplicate."""
    new = ProviderJob.objects.filter(pk=job.pk, provider_job_id="")
    if not new.update(state=ProviderJob.State.SUBMITTED, provider_job_id=job_id[:200], checked_at=None, error=""):
        return False
    Attempt.objects.filter(job=job, end=Attempt.End.OPEN).update(sent_at=job.submitted_at)
    job.refresh_from_db()
    return True


def note_checked(job: ProviderJob, error: str = "") -> None:
    """Record that the job was checked; ``error`` says why the check had no result."""
    _change(job, checked_at=read_now(), error=error[:500])


def note_gone(job: ProviderJob, error: str) -> None:
    """Record that the provider does not recognize the job or its answers, and since when."""
    now = read_now()
    _change(job, checked_at=now, gone_since=job.gone_since or now, error=error[:500])


def note_found(job: ProviderJob) -> None:
    """Record that the provider has the job: it is not gone, and a person's request to end it for that reason no longer counts."""
    if job.gone_since is not None or job.ended_at is not None:
        _change(job, gone_since=None, ended_at=None)


def _change(job: ProviderJob, **columns: object) -> None:
    ProviderJob.objects.filter(pk=job.pk).update(**columns)
    for name, value in columns.items():
        setattr(job, name, value)


def store_lines(job: ProviderJob, lines: Sequence[Line]) -> int:
    """Store a group of collected answers.

    Returns how many of the lines belong to no cell of this job. No spool is needed here, because the provider keeps the answers
    and fetching them again costs nothing. Attempts that were stored before are skipped, so the same lines may be passed any
    number of times.
    """
    answers: dict[int, ChatAnswer] = {}
    foreign = 0
    for line in lines:
        name = read_call_name(line.call_name)
        if name is None or name[1] not in {"", shorten_token(str(job.token))}:
            foreign += 1
        else:
            answers.setdefault(name[0], line.answer)
    attempts = _read_open(job, list(answers))
    foreign += len(set(answers) - set(Attempt.objects.filter(job=job, cell__in=answers).values_list("cell", flat=True)))
    _store(job, [(attempt, answers[attempt.cell_id]) for attempt in attempts])
    if attempts:
        note_found(job)
    return foreign


def _read_open(job: ProviderJob, cell_ids: Sequence[int] | None = None) -> list[Attempt]:
    attempts = Attempt.objects.filter(job=job, end=Attempt.End.OPEN).select_related("cell__arm__batch").order_by("pk")
    return list(attempts[:READ_SIZE] if cell_ids is None else attempts.filter(cell__in=cell_ids))


def _store(job: ProviderJob, ends: Sequence[tuple[Attempt, ChatAnswer]], *, stopped: bool = False) -> None:
    if ends:
        now = read_now()
        group = [CompletedCall(leases.make_leased_cell(attempt), answer, now) for attempt, answer in ends]
        results.store_completed(job.queue.batch_id, group, stopped=stopped)


def finish_job(job: ProviderJob, *, cut_short: bool, error: str = "") -> None:
    """Record that everything was collected. If the job was cut short, a call without an answer was never made; otherwise its end
    is unknown. ``error`` is the provider's message about a job that failed half-way."""
    if cut_short:
        answer = ChatAnswer(CallOutcome.REFUSED, NextStep.RETRY, error_class=ErrorClass.EXPIRED, error=NOT_MADE)
    else:
        answer = ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error_class=ErrorClass.BAD_ANSWER, error=NO_LINE)
    _end_rest(job, answer)
    now = read_now()
    collected = ProviderJob.State.COLLECTED
    _change(job, state=collected, ended_at=now, checked_at=now, gone_since=None, error=error[:500])


def end_gone_job(job: ProviderJob) -> None:
    """Record the end of a job that the provider no longer recognizes: the end of its calls is unknown."""
    _end_rest(job, ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error_class=ErrorClass.BAD_ANSWER, error=GONE))
    _change(job, state=ProviderJob.State.FAILED, ended_at=read_now())


def fail_job(job: ProviderJob, answer: ChatAnswer) -> None:
    """Record that the provider refused the job: every call ends with the same answer."""
    _end_rest(job, answer)
    _change(job, state=ProviderJob.State.FAILED, ended_at=read_now(), error=answer.error[:500])


def withdraw_job(job: ProviderJob) -> None:
    """Withdraw a job that will not be submitted. Its cells are free again, or are cancelled with their batch."""
    _end_rest(job, ChatAnswer(CallOutcome.UNSENT, NextStep.RETRY, error=WITHDRAWN), stopped=True)
    _change(job, state=ProviderJob.State.FAILED, ended_at=read_now(), error=WITHDRAWN)


@transaction.atomic
def record_file_deletion(job: ProviderJob, trouble: Trouble | None) -> None:
    """Record in the audit trail whether the provider deleted the file, which contained people's words."""
    details: dict[str, object] = {"job": job.pk}
    if trouble is not None:
        logger.warning(
            "Job %s: its file %s is still at the provider (%s, status %s)",
            job.pk,
            job.provider_file_id,
            trouble.error_class or "refused",
            trouble.http_status,
        )
        details["status"] = trouble.http_status
    action = "batch.job_file_deleted" if trouble is None else "batch.job_file_not_deleted"
    batch = job.queue.batch
    trail.record(action, target=batch, by=trail.SYSTEM, details=details)


def _end_rest(job: ProviderJob, answer: ChatAnswer, *, stopped: bool = False) -> None:
    while attempts := _read_open(job):
        _store(job, [(attempt, answer) for attempt in attempts], stopped=stopped)
