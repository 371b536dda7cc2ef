"""One run of a job, in a worker. A run may be killed at any moment: another goes on, and the two never store together."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.models import Case, F, PositiveSmallIntegerField, When
from django.utils import timezone

from transcripts.jobs import actions
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import SILENT_AFTER, JobPaused, JobRun, JobStopped, delete_results, find_kind, is_free
from transcripts.refusals import Refused
from transcripts.studies.access import find_role

logger = logging.getLogger(__name__)

BEAT_SECONDS = SILENT_AFTER.total_seconds() / 6
# How soon it writes what a run tells within a transaction.
PULSE_SECONDS = 1.0
MAX_LOST_RUNS = 4
# Each may take half a gigabyte. Others wait for the next sweep.
RUNS_AT_ONCE = 2
State = ImportJob.State


def run_job(job_id: int, *, should_pause: Callable[[], bool] = lambda: False) -> None:
    """Carry out a job, unless another run has it or it has ended."""
    run = _take(job_id, should_pause)
    if run is None:
        return
    try:
        with _show_life(run):
            _carry_out(run)
    except JobPaused:
        with transaction.atomic():
            run.pause()
    except JobStopped:
        logger.info("Import %s was cancelled, or another run has it.", job_id)
    job = ImportJob.objects.get(pk=job_id)
    if not job.is_open:
        actions.delete_files(job)
        if not job.has_file:
            delete_results(job)


def _take(job_id: int, should_pause: Callable[[], bool]) -> JobRun | None:
    """Take a job that waits, or whose run was killed; ``None`` when there is nothing to take."""
    now = timezone.now()
    runner = uuid.uuid4().hex
    alive = ImportJob.objects.filter(state=State.RUNNING, touched_at__gte=now - SILENT_AFTER)
    if alive.exclude(pk=job_id).count() >= RUNS_AT_ONCE:
        return None
    taken = (
        ImportJob.objects.filter(pk=job_id)
        .filter(is_free(now))
        .update(
            # A run that paused has set its job to wait, and is not counted.
            lost_runs=Case(
                When(state=State.RUNNING, then=F("lost_runs") + 1),
                default=F("lost_runs"),
                output_field=PositiveSmallIntegerField(),
            ),
            state=State.RUNNING,
            runner=runner,
            touched_at=now,
        )
    )
    if not taken:
        return None
    # Several may have come at the same moment: the latest of them give way.
    if alive.filter(pk__lt=job_id).count() >= RUNS_AT_ONCE:
        ImportJob.objects.filter(pk=job_id, runner=runner).update(state=State.WAITING, runner="")
        return None
    job = ImportJob.objects.select_related("study", "asked_by").get(pk=job_id)
    return JobRun(job, should_pause=should_pause) if job.runner == runner else None


def _carry_out(run: JobRun) -> None:
    job = run.job
    role = find_role(job.asked_by, job.study)
    kind = find_kind(job.kind)
    try:
        if job.lost_runs > MAX_LOST_RUNS:
            raise Refused(
                f"The worker died {job.lost_runs} times in a row over this {kind.noun}, and it was given up. Nothing was stored. "
                "Perhaps the worker has too little memory: import files in parts."
            )
        if role is None or kind.permission(job) not in role.permissions or not job.asked_by.is_active:
            raise Refused(f"{job.asked_by_name} may no longer start this {kind.noun}. Nothing was stored.")
        kind.run(run)
    except Refused as error:
        with transaction.atomic():
            run.fail(State.REFUSED, str(error))
    except (JobStopped, JobPaused, OperationalError, InterfaceError):
        # A database that is away comes back, and the job is then taken again like that of a killed run.
        raise
    except Exception:
        logger.exception("Import %s failed", job.pk)
        with transaction.atomic():
            run.fail(
                State.FAILED,
                f"An unexpected error stopped the {kind.noun}. Nothing was stored. The worker's log has details; look there for "
                f"import {job.pk}.",
            )


@contextmanager
def _show_life(run: JobRun) -> Iterator[None]:
    """Show that the run is alive while files are read, by a thread with a connection of its own."""
    over = threading.Event()

    def beat() -> None:
        last = time.monotonic()
        try:
            while not over.wait(min(PULSE_SECONDS, BEAT_SECONDS)):
                if not run.has_untold and time.monotonic() - last < BEAT_SECONDS:
                    continue
                last = time.monotonic()
                try:
                    run.beat()
                except JobStopped:
                    return
                except DatabaseError:
                    logger.warning(
                        "A sign of life of import %s could not be written; the next one follows.", run.job.pk
                    )
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name=f"import {run.job.pk}", daemon=True)
    thread.start()
    run.has_pulse = True
    try:
        yield
    finally:
        run.has_pulse = False
        over.set()
        thread.join()
