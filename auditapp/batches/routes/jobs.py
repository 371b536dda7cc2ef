"""The route over a provider's own batch service: what a worker does in a queue whose calls go out as jobs.

Each step is written down before the next is taken: cells claimed into a job, its file uploaded, its creation begun, its id,
its answers. After a crash the job is taken up where the ledger says it stood. What costs nothing is simply done again
(uploading, asking, collecting); a creation whose end is not known is looked for at the provider before there is another.

The database is used by this thread alone; the network's loop stands still meanwhile, and the queue shows life in between.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import AsyncGenerator, Coroutine
from datetime import timedelta
from typing import BinaryIO, TypeVar

from django.conf import settings

from auditapp.batches.ledger import leases
from auditapp.batches.ledger.batch_state import CAP_REACHED
from auditapp.batches.ledger.clock import read_now
from auditapp.batches.ledger.due import ENDING, find_due_queues, has_cells_to_submit, is_due, is_sending
from auditapp.batches.models import ProviderJob, WorkQueue
from auditapp.batches.pure.crashing import crash_point
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.routes import job_ledger
from auditapp.batches.routes.live import name_runner
from auditapp.llm.opening import describe_account
from auditapp.llm.providers.base import (
    Account,
    CallOutcome,
    ChatAnswer,
    ChatRequest,
    ErrorClass,
    NextStep,
    ProviderNotReady,
)
from auditapp.llm.providers.jobs_base import (
    JobService,
    JobState,
    JobStatus,
    Line,
    Trouble,
    open_job_service,
)
from auditapp.llm.providers.reasoning import SettingRefused

__all__ = ["find_due_queues", "run_job_queue"]

T = TypeVar("T")
logger = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
CLAIM_SIZE = 500
COLLECT_SIZE = 200
SETTLING = timedelta(seconds=60)
"""How long a creation that was cut off may take to show in the provider's list."""
JOB_FULL_WAIT = 600.0
REFUSED_JOB = (
    "The provider's batch service refused job {number}; its page has the provider's words. Resume to ask again."
)
STILL_LOOKING = "Whether the provider made this job is not known yet; it is looked for before another is made."
REFUSED_ACCOUNT = "The provider refused the account (status {status}); job {number} has its words."


class QueueLost(Exception):
    """The queue was given to another runner, which goes on with its jobs."""


def run_job_queue(queue_id: int) -> bool:
    """Look after a queue's jobs and submit what is planned. Returns whether it should be notified again at once.

    A second runner for the same queue returns at once, so a doubled message is harmless.
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
    """The queue's batch service; where there is none to be had, the batch pauses with the reason."""
    variant = next(arm.variant for arm in queue.batch.arms.all() if arm.variant.queue_name == queue.name)
    try:
        return loop.run(_open_within_loop(describe_account(variant.account, variant.parameters)))
    except ProviderNotReady as error:
        leases.pause_for(queue.batch_id, str(error))
        for job in job_ledger.find_open_jobs(queue):
            job_ledger.note_checked(job, str(error))
        return None


async def _open_within_loop(account: Account) -> JobService:
    return open_job_service(account)


class JobRun:
    """One stay of a runner in a queue of jobs."""

    def __init__(self, queue: WorkQueue, runner: str, service: JobService, loop: asyncio.Runner) -> None:
        self.queue, self.runner, self.service, self.loop = queue, runner, service, loop
        self.arms = {arm.pk: arm for arm in queue.batch.arms.all()}
        self.is_troubled = False

    def run(self) -> None:
        """Take every job that is due one step or more further, then make new ones of what is planned."""
        for job in job_ledger.find_open_jobs(self.queue):
            self._read_orders()
            if stopping.is_set():
                return
            if self._is_ending() or is_due(job, read_now()):
                self._go_on(job)
        while not stopping.is_set() and not self.is_troubled and self._may_send():
            if not has_cells_to_submit(self.queue, read_now()) or not self._make_job():
                return

    def _read_orders(self) -> None:
        """What people want now, and that this runner lives."""
        if not job_ledger.beat(self.queue, self.runner):
            raise QueueLost
        self.queue.batch.refresh_from_db(fields=["state", "control"])

    def _may_send(self) -> bool:
        self._read_orders()
        return is_sending(self.queue.batch)

    def _is_ending(self) -> bool:
        return self.queue.batch.control in ENDING

    def _do(self, step: Coroutine[None, None, T]) -> T:
        """Take a step on the network; the queue shows life as long as it lasts."""
        task = self.loop.get_loop().create_task(step)
        try:
            while not self.loop.run(_wait(task)):
                if not job_ledger.beat(self.queue, self.runner):
                    raise QueueLost
        finally:
            if not task.done():
                self.loop.run(_cancel(task))
        return task.result()

    def _go_on(self, job: ProviderJob) -> None:
        if job.provider_job_id:
            self._look_after(job)
        elif job.submitted_at:
            self._look_for(job)
        elif self._is_ending():
            self._withdraw(job)
        elif is_sending(self.queue.batch):
            self._submit(job)

    def _make_job(self) -> bool:
        """Claim calls into a new job, as many as it may hold, and submit it. ``False`` when there was nothing to claim."""
        job = None
        begin, between, end = self.service.framing
        size = len(begin) + len(end)
        while job is None or job.calls < self.service.most_calls:
            room = self.service.most_calls - (job.calls if job else 0)
            job, claim = job_ledger.claim_into_job(self.queue, self.runner, job, min(CLAIM_SIZE, room))
            if claim.settled and not claim.calls:
                continue
            if job is None:
                if claim.out_of_money and not leases.has_open_attempts(self.queue.batch_id):
                    leases.pause_for(self.queue.batch_id, CAP_REACHED)
                return False
            fitting = 0
            for call in claim.calls:
                try:
                    line = self._write_line(job, call.leased.cell_id, call.request)
                except SettingRefused as error:
                    leases.pause_for(self.queue.batch_id, str(error))
                    self._withdraw(job)
                    return False
                size += len(line) + len(between)
                fitting += size <= self.service.most_bytes
            if fitting < len(claim.calls):
                job_ledger.hand_back_from_job(job, [call.leased for call in claim.calls[fitting:]])
            if not claim.calls or fitting < len(claim.calls):
                break
            self._read_orders()
        crash_point("job_written")
        self._read_orders()
        self._go_on(job)
        return True

    def _write_line(self, job: ProviderJob, cell_id: int, request: ChatRequest) -> bytes:
        return self.service.write_line(self.service.name_call(str(job.token), cell_id), request)

    def _submit(self, job: ProviderJob) -> None:
        """Bring the file to the provider and order the job; one that holds what may not be sent any more is given up."""
        if job_ledger.has_lost_inputs(job, self.arms):
            self._withdraw(job)
            return
        settings.SPOOL_FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A file without a name: whatever becomes of this process, no text stays behind.
        with tempfile.TemporaryFile(dir=settings.SPOOL_FOLDER) as file:
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
        """A job could not be submitted: try later, ask a person, or end it."""
        self.is_troubled = True
        if was_created:
            job_ledger.note_checked(job, trouble.error)
        elif trouble.is_passing or trouble.next_step is NextStep.STOP_BATCH:
            job_ledger.note_not_submitted(job, trouble.error)
        else:
            self._fail(job, trouble.error, trouble.error_class)
        if trouble.next_step is NextStep.STOP_BATCH:
            # The provider's own words may quote a text; they stay with the job.
            reason = REFUSED_ACCOUNT.format(status=trouble.http_status, number=job.pk)
            leases.pause_for(self.queue.batch_id, reason)

    def _fail(self, job: ProviderJob, error: str, error_class: ErrorClass = ErrorClass.BAD_REQUEST) -> None:
        leases.pause_for(self.queue.batch_id, REFUSED_JOB.format(number=job.pk))
        self._delete_file(job)
        job_ledger.fail_job(
            job, ChatAnswer(CallOutcome.REFUSED, NextStep.STOP_BATCH, error_class=error_class, error=error)
        )

    def _look_for(self, job: ProviderJob) -> None:
        """Whether a job was created is not known: find it, or be sure that there is none, before there is another."""
        known = job_ledger.read_known_ids()
        found = self._do(self.service.find(str(job.token), job.calls, known, since=job.written_at))
        if isinstance(found, Trouble):
            job_ledger.note_checked(job, found.error)
            return
        job_id, undecided = found
        if job_id:
            if job_ledger.note_submitted(job, job_id):
                self._look_after(job)
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
        """Have the provider forget the texts of a job that is over. Before its end is written down: after a crash the job is
        taken up again, and this with it. A provider that does not do so holds up nothing; what came of it is told."""
        if job.provider_file_id:
            self._read_orders()
            trouble = self._do(self.service.delete_file(job.provider_file_id))
            job_ledger.tell_of_file(job, trouble)

    def _look_after(self, job: ProviderJob) -> None:
        """Ask how far a job is; cancel it where people want that; collect it when it has ended."""
        status = self._do(self.service.check(job.provider_job_id))
        if isinstance(status, Trouble):
            # A provider that cannot be reached, or a key that is refused, loses nothing: the answers wait there.
            job_ledger.note_checked(job, status.error)
            if status.next_step is NextStep.STOP_BATCH:
                reason = REFUSED_ACCOUNT.format(status=status.http_status, number=job.pk)
                leases.pause_for(self.queue.batch_id, reason)
        elif status.state is JobState.RUNNING and self._is_ending():
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
        """Store the answers as they come, a group at a time: the whole of them is never in memory.

        They are not spooled. The provider keeps them, so that after a crash they are fetched again at no cost.
        """
        lines = self.service.collect(status)
        foreign = 0
        try:
            while group := self._do(_take(lines, COLLECT_SIZE)):
                foreign += job_ledger.store_lines(job, [each for each in group if isinstance(each, Line)])
                crash_point("job_collecting")
                trouble = next((each for each in group if isinstance(each, Trouble)), None)
                if trouble is not None:
                    job_ledger.note_checked(job, trouble.error)
                    return
                if stopping.is_set():
                    return
                self._read_orders()
        finally:
            self.loop.run(_close(lines))
        if foreign:
            logger.warning("Job %s: %d lines of its answers belong to none of its calls", job.pk, foreign)
        self._delete_file(job)
        job_ledger.finish_job(job, cut_short=status.cut_short)


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
