"""The route through a provider's own batch service: what a worker does with a queue whose calls are sent as jobs.

Each step is recorded before the next one: cells claimed into a job, its file uploaded, its creation started, its id, its answers.
After a crash the job continues where the ledger says it was. Steps that cost nothing (uploading, checking, collecting) are simply
repeated.

If it is not known whether a job was created, it is searched for at the provider before another is created. Only this thread uses
the database. The network loop pauses meanwhile, and the queue's heartbeat is written between steps.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import BinaryIO, TypeVar, cast

from django.conf import settings

from auditapp.batches.ledger import batch_state, leases
from auditapp.batches.ledger.batch_state import CAP_REACHED
from auditapp.batches.ledger.leases import ENDING, find_due_queues, has_cells_to_submit, is_due, is_sending
from auditapp.batches.models import Batch, ProviderJob, WorkQueue
from auditapp.batches.pure.stopping import crash_point, stopping
from auditapp.batches.routes import job_ledger
from auditapp.batches.routes.live_run import name_runner
from auditapp.llm.credentials import build_account
from auditapp.llm.providers import open_job_service
from auditapp.llm.providers.base import (
    Account,
    CallOutcome,
    ChatAnswer,
    ChatRequest,
    ErrorClass,
    JobService,
    JobState,
    JobStatus,
    Line,
    NextStep,
    ProviderNotReady,
    SettingRefused,
    Trouble,
)
from auditapp.outbound.clock import read_now

__all__ = ["find_due_queues", "run_job_queue"]

T = TypeVar("T")
logger = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
CLAIM_SIZE = 500
COLLECT_SIZE = 200
SETTLING = timedelta(seconds=60)
"""How long a job whose creation was interrupted may take to appear in the provider's list."""
JOB_FULL_WAIT = 600.0
REFUSED_JOB = (
    "The provider's batch service refused job {number}; its page has the provider's message. Resume to ask again."
)
FAILED_JOB = (
    "Job {number} failed at the provider after some of its calls. Their answers are stored; its page has the provider's message. "
    "Resume to send the other calls again; they may already have been paid for."
)
# Not there, or not there any more.
MISSING = {404, 410}
STILL_LOOKING = (
    "It is not known yet whether the provider created this job. The program looks for it before it creates another."
)
REFUSED_ACCOUNT = "The provider refused the account (status {status}); job {number} has its message."


class QueueLost(Exception):
    """Another runner has the queue by now and continues its jobs."""


def run_job_queue(queue_id: int) -> bool:
    """Check a queue's jobs and submit planned cells. Returns whether the workers should be notified again at once.

    A second runner for the same queue returns at once, so a repeated message is harmless.
    """
    runner = name_runner()
    queue = job_ledger.hold_queue(queue_id, runner)
    if queue is None:
        return False
    try:
        with asyncio.Runner() as loop:
            service = _open(queue, loop)
            if service is None:
                return False
            try:
                JobRun(queue, runner, service, loop).run()
            finally:
                loop.run(service.close())
    except QueueLost:
        logger.warning("Queue %s was given to another runner", queue_id)
        return False
    finally:
        leases.release_queue(queue, runner)
    return False


def _open(queue: WorkQueue, loop: asyncio.Runner) -> JobService | None:
    """The queue's batch service. If it cannot be opened, the batch pauses with the reason."""
    variant = next(arm.variant for arm in queue.batch.arms.all() if arm.variant.queue_name == queue.name)
    try:
        return loop.run(_open_within_loop(build_account(variant.account, variant.parameters)))
    except ProviderNotReady as error:
        batch_state.pause_for(queue.batch_id, str(error))
        for job in job_ledger.find_open_jobs(queue):
            job_ledger.note_checked(job, str(error))
        return None


async def _open_within_loop(account: Account) -> JobService:
    return open_job_service(account)


@contextmanager
def open_nameless_file() -> Iterator[BinaryIO]:
    """A file without a name in the spool folder, so that no text is left on the disk, whatever happens to this process."""
    settings.SPOOL_FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = tempfile.TemporaryFile(dir=settings.SPOOL_FOLDER)  # noqa: SIM115 - its end is the point here
    try:
        yield cast("BinaryIO", file)
    finally:
        # The HTTP client closes what it was given to send, in a thread of its own and perhaps at this moment.
        with suppress(ValueError):
            file.close()


class JobRun:
    """One run of a queue of jobs."""

    def __init__(self, queue: WorkQueue, runner: str, service: JobService, loop: asyncio.Runner) -> None:
        self.queue, self.runner, self.service, self.loop = queue, runner, service, loop
        self.arms = {arm.pk: arm for arm in queue.batch.arms.all()}
        self.is_troubled = False

    def run(self) -> None:
        """Advance every job that is due, then create new jobs from planned cells."""
        for job in job_ledger.find_open_jobs(self.queue):
            self._read_orders()
            if stopping.is_set():
                return
            if self._is_ending() or is_due(job, read_now()):
                self._advance(job)
        begins = True
        while not stopping.is_set() and not self.is_troubled and self._may_send():
            if not has_cells_to_submit(self.queue, read_now(), begins=begins) or not self._make_job():
                return
            begins = False

    def _read_orders(self) -> None:
        """Read what people want now, and write this runner's heartbeat."""
        if not job_ledger.beat(self.queue, self.runner):
            raise QueueLost
        self.queue.batch.refresh_from_db(fields=["state", "control"])

    def _may_send(self) -> bool:
        self._read_orders()
        return is_sending(self.queue.batch)

    def _is_ending(self) -> bool:
        return self.queue.batch.control in ENDING

    def _do(self, step: Coroutine[None, None, T]) -> T:
        """Run a network step; the queue's heartbeat is written while it lasts."""
        task = self.loop.get_loop().create_task(step)
        try:
            while not self.loop.run(_wait(task)):
                if not job_ledger.beat(self.queue, self.runner):
                    raise QueueLost
        finally:
            if not task.done():
                self.loop.run(_cancel(task))
        return task.result()

    def _advance(self, job: ProviderJob) -> None:
        if job.provider_job_id:
            self._check(job)
        elif job.submitted_at:
            self._find_created(job)
        elif self._is_ending():
            self._withdraw(job)
        elif is_sending(self.queue.batch):
            self._submit(job)

    def _make_job(self) -> bool:
        """Claim as many calls for a new job as it may contain, and submit it. ``False`` if there was nothing to claim."""
        job = None
        begin, between, end = self.service.framing
        size = len(begin) + len(end)
        while job is None or job.calls < self.service.max_calls:
            room = self.service.max_calls - (job.calls if job else 0)
            job, claim = job_ledger.claim_into_job(self.queue, self.runner, job, min(CLAIM_SIZE, room))
            if claim.settled and not claim.calls:
                continue
            if job is None:
                if claim.out_of_money and not leases.has_open_attempts(self.queue.batch_id):
                    batch_state.pause_for(self.queue.batch_id, CAP_REACHED)
                return False
            fitting = 0
            for call in claim.calls:
                try:
                    line = self._write_line(job, call.leased.cell_id, call.request)
                except SettingRefused as error:
                    batch_state.pause_for(self.queue.batch_id, str(error))
                    self._withdraw(job)
                    return False
                size += len(line) + len(between)
                fitting += size <= self.service.max_bytes
            if fitting < len(claim.calls):
                job_ledger.hand_back_from_job(job, [call.leased for call in claim.calls[fitting:]])
            if not claim.calls or fitting < len(claim.calls):
                break
            self._read_orders()
        crash_point("job_written")
        self._read_orders()
        self._advance(job)
        return True

    def _write_line(self, job: ProviderJob, cell_id: int, request: ChatRequest) -> bytes:
        return self.service.write_line(self.service.name_call(str(job.token), cell_id), request)

    def _submit(self, job: ProviderJob) -> None:
        """Upload the file and create the job. A job with inputs that may no longer be sent is withdrawn."""
        if job_ledger.has_lost_inputs(job, self.arms):
            self._withdraw(job)
            return
        with open_nameless_file() as file:
            if not job.provider_file_id:
                sha256 = self._write_file(job, file)
                if self.service.uploads:
                    uploaded = self._do(self.service.upload(file, str(job.token)))
                    if isinstance(uploaded, Trouble):
                        self._note_trouble(job, uploaded)
                        return
                    crash_point("job_uploaded")
                    job_ledger.note_uploaded(job, uploaded, sha256)
                else:
                    job_ledger.note_written(job, sha256)
            if not self._may_send():
                return
            if not job_ledger.note_submitting(job, self.runner):
                raise QueueLost
            created = self._do(self.service.create(file, job.provider_file_id, str(job.token)))
        crash_point("job_created")
        if isinstance(created, Trouble):
            self._note_trouble(job, created, was_created=created.is_lost)
        elif not job_ledger.note_submitted(job, created):
            logger.error("Job %s was created twice; the second, %s, is cancelled", job.pk, created)
            self._do(self.service.cancel(created))

    def _write_file(self, job: ProviderJob, file: BinaryIO) -> str:
        """Write the job's requests, as the ledger has them, and return the file's SHA-256."""
        (before, between, end), digest = self.service.framing, hashlib.sha256()
        for cell_id, request in job_ledger.read_requests(job, self.arms):
            piece = before + self._write_line(job, cell_id, request)
            file.write(piece)
            digest.update(piece)
            before = between
        file.write(end)
        digest.update(end)
        file.seek(0)
        return digest.hexdigest()

    def _note_trouble(self, job: ProviderJob, trouble: Trouble, *, was_created: bool = False) -> None:
        """Handle a job that could not be submitted: try later, ask a person, or end it."""
        self.is_troubled = True
        if was_created:
            job_ledger.note_checked(job, trouble.error)
        elif trouble.is_passing or trouble.next_step is NextStep.STOP_BATCH:
            job_ledger.note_not_submitted(job, trouble.error)
        else:
            self._fail(job, trouble.error, trouble.error_class)
        if trouble.next_step is NextStep.STOP_BATCH:
            # The provider's own message may quote a text: it stays with the job.
            reason = REFUSED_ACCOUNT.format(status=trouble.http_status, number=job.pk)
            batch_state.pause_for(self.queue.batch_id, reason)

    def _fail(self, job: ProviderJob, error: str, error_class: ErrorClass = ErrorClass.BAD_REQUEST) -> None:
        batch_state.pause_for(self.queue.batch_id, REFUSED_JOB.format(number=job.pk))
        self._delete_file(job)
        job_ledger.fail_job(
            job, ChatAnswer(CallOutcome.REFUSED, NextStep.STOP_BATCH, error_class=error_class, error=error)
        )

    def _find_created(self, job: ProviderJob) -> None:
        """Used when it is not known whether the job was created: find it, or make sure that there is none, before another is
        created."""
        known = job_ledger.read_known_ids()
        found = self._do(self.service.find(str(job.token), job.calls, known, since=job.written_at))
        if isinstance(found, Trouble):
            job_ledger.note_checked(job, found.error)
            return
        job_id, undecided = found
        if job_id:
            if job_ledger.note_submitted(job, job_id):
                self._check(job)
        elif undecided or (job.submitted_at and read_now() - job.submitted_at < SETTLING):
            job_ledger.note_checked(job, STILL_LOOKING)
        elif self._is_ending():
            self._withdraw(job)
        elif is_sending(self.queue.batch):
            self._submit(job)
        else:
            job_ledger.note_checked(job, STILL_LOOKING)

    def _withdraw(self, job: ProviderJob) -> None:
        self._delete_file(job)
        job_ledger.withdraw_job(job)

    def _delete_file(self, job: ProviderJob) -> None:
        """Ask the provider to delete the texts of an ended job.

        This happens before its end is recorded, so that after a crash the job is continued and this step is repeated. A failure
        stops nothing; the outcome is recorded.
        """
        if job.provider_file_id:
            self._read_orders()
            trouble = self._do(self.service.delete_file(job.provider_file_id))
            job_ledger.record_file_deletion(job, trouble)

    def _check(self, job: ProviderJob) -> None:
        """Check the state of a job. Cancel it if people want that, and collect its answers if it has ended."""
        status = self._do(self.service.check(job.provider_job_id))
        if isinstance(status, Trouble):
            # Nothing is lost when a provider cannot be reached or refuses the key: the answers wait there.
            if self._note_missing(job, status):
                return
            if status.next_step is NextStep.STOP_BATCH:
                reason = REFUSED_ACCOUNT.format(status=status.http_status, number=job.pk)
                batch_state.pause_for(self.queue.batch_id, reason)
            return
        # Of one that has ended, its answers may be gone: that shows when they are collected.
        if status.state is not JobState.ENDED:
            job_ledger.note_found(job)
        if status.state is JobState.RUNNING and self._is_ending():
            trouble = self._do(self.service.cancel(job.provider_job_id))
            job_ledger.note_checked(job, trouble.error if trouble else "")
        elif status.state in {JobState.RUNNING, JobState.CANCELLING}:
            job_ledger.note_checked(job)
        elif status.state is JobState.REFUSED and status.is_passing:
            wait = ChatAnswer(
                CallOutcome.REFUSED,
                NextStep.SLOW_DOWN,
                error_class=ErrorClass.RATE_LIMITED,
                error=status.error,
                retry_after=JOB_FULL_WAIT,
            )
            self._delete_file(job)
            job_ledger.fail_job(job, wait)
        elif status.state is JobState.REFUSED:
            self._fail(job, status.error)
        else:
            self._collect(job, status)

    def _collect(self, job: ProviderJob, status: JobStatus) -> None:
        """Store the answers as they arrive, group by group, so that they are never all in memory.

        They are not spooled, because the provider keeps them, and after a crash they are fetched again at no cost.
        """
        lines = self.service.collect(status)
        foreign = 0
        try:
            while group := self._do(_take(lines, COLLECT_SIZE)):
                foreign += job_ledger.store_lines(job, [each for each in group if isinstance(each, Line)])
                crash_point("job_collecting")
                trouble = next((each for each in group if isinstance(each, Trouble)), None)
                if trouble is not None:
                    self._note_missing(job, trouble)
                    return
                if stopping.is_set():
                    return
                self._read_orders()
        finally:
            self.loop.run(_close(lines))
        if foreign:
            logger.warning("Job %s: %d lines of its answers belong to none of its calls", job.pk, foreign)
        self._delete_file(job)
        if status.error:
            batch_state.pause_for(self.queue.batch_id, FAILED_JOB.format(number=job.pk))
        job_ledger.finish_job(job, cut_short=status.cut_short, error=status.error)

    def _note_missing(self, job: ProviderJob, trouble: Trouble) -> bool:
        """Record why a job or its answers cannot be fetched; ``True`` if the job was ended for this reason. A job that the
        provider does not recognize is ended only if a person wants it, because the key may belong to another project."""
        if trouble.http_status not in MISSING:
            job_ledger.note_checked(job, trouble.error)
            return False
        job_ledger.note_gone(job, trouble.error)
        if job.ended_at is None and self.queue.batch.control != Batch.Control.ABORT:
            return False
        self._delete_file(job)
        job_ledger.end_gone_job(job)
        return True


async def _wait(task: asyncio.Task[T]) -> bool:
    done, _ = await asyncio.wait([task], timeout=BEAT_SECONDS)
    return bool(done)


async def _cancel(task: asyncio.Task[T]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def _take(lines: AsyncGenerator[Line | Trouble, None], count: int) -> list[Line | Trouble]:
    """The next lines, at most ``count``; empty at the end."""
    group: list[Line | Trouble] = []
    async for line in lines:
        group.append(line)
        if len(group) >= count:
            break
    return group


async def _close(lines: AsyncGenerator[Line | Trouble, None]) -> None:
    await lines.aclose()
