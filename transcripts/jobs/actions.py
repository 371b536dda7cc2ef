"""Starting, cancelling and continuing jobs, removing their remains, and running a job in a worker.

A run may be killed at any moment. Another run then continues, and two runs never store at the same time.
"""

from __future__ import annotations

import datetime
import logging
import math
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.models import Case, F, PositiveSmallIntegerField, When
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.jobs.models import ImportJob, ResultPart, UploadPart
from transcripts.jobs.runs import (
    SILENT_AFTER,
    JobPaused,
    JobRun,
    JobStopped,
    delete_results,
    find_kind,
    is_free,
    notify_workers,
)
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.models import Study

PART_BYTES = 1 << 20
# An import of 30 MB took 110 MB of disk.
ROOM_PER_BYTE, ROOM_FOR_PEOPLE = 4, 16_000_000
MAX_OPEN_JOBS = 20
UPLOAD_LOST_AFTER = datetime.timedelta(minutes=10)
CHECKED_KEPT = datetime.timedelta(days=1)
State = ImportJob.State


def start_job(
    *,
    study: Study,
    kind: str,
    by: User,
    files: Sequence[UploadedFile[bytes]] = (),
    check_only: bool = False,
    options: Mapping[str, object] | None = None,
) -> ImportJob:
    """Store uploaded files and leave them to a worker. Raises ``Refused``.

    The files are stored in many short transactions, so that others can write meanwhile.
    """
    _refuse_without_room(sum(file.size or 0 for file in files))
    now = timezone.now()
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if study.import_jobs.filter(state__in=ImportJob.OPEN).count() >= MAX_OPEN_JOBS:
            raise Refused(
                f"This study has {MAX_OPEN_JOBS} imports and exports that have not ended. Wait for them, or cancel imports that "
                "were only checked."
            )
        job = ImportJob.objects.create(
            study=study,
            kind=kind,
            files=[{"name": file.name or "file", "size": file.size or 0} for file in files],
            options=dict(options or {}),
            check_only=check_only,
            asked_by=by,
            asked_by_name=by.get_username(),
            asked_at=now,
            touched_at=now,
        )
        _record(job, "started", by=by, kind=kind, bytes=sum(file.size or 0 for file in files), check_only=check_only)
    for number, file in enumerate(files):
        file.seek(0)
        for position, data in enumerate(iter(partial(file.read, PART_BYTES), b"")):
            with _short_transaction():
                UploadPart.objects.create(job=job, file=number, position=position, data=data)
                ImportJob.objects.filter(pk=job.pk).update(touched_at=timezone.now())
    with transaction.atomic():
        _let_wait(job, State.UPLOADING)
    job.refresh_from_db()
    return job


def _refuse_without_room(size: int) -> None:
    """Raise ``Refused`` if importing files of this size would fill SQLite's disk, because then nobody could save.

    The files, the rows and the log of both exist at the same time. The free space of a database server is not known here.
    """
    free, needed = find_room(), ROOM_PER_BYTE * size + ROOM_FOR_PEOPLE
    if size and free is not None and free < needed:
        raise Refused(
            f"There is too little space on the disk of the database: {math.ceil(needed / 1e6):,} MB are needed to import "
            f"{math.ceil(size / 1e6):,} MB, and {free // 1_000_000:,} MB are free. Nothing was stored. Ask the person who runs the "
            "site to make room, or import less at a time."
        )


def find_room() -> int | None:
    """The free bytes on the disk of a database that is a file; ``None`` for others."""
    place = Path(str(connection.settings_dict["NAME"]))
    return shutil.disk_usage(place.parent).free if connection.vendor == "sqlite" and place.is_file() else None


@transaction.atomic
def import_checked(
    *, job: ImportJob, by: User, choices: Mapping[str, object] | None = None, check_again: bool = False
) -> None:
    """Import the checked files of a job, with the choices made since, or only check them again with these.

    Raises ``Refused``.
    """
    asked = {"asked_by": by, "asked_by_name": by.get_username(), "options": {**job.options, **(choices or {})}}
    if not _let_wait(job, State.CHECKED, check_only=check_again, **asked):
        raise Refused("These files are no longer waiting to be imported. Reload the page to see their state.")
    _record(job, "resumed", by=by)


@transaction.atomic
def cancel_job(*, job: ImportJob, by: User) -> None:
    """Cancel a job; nothing of it is kept. Raises ``Refused`` if it has ended."""
    if not _end(job, State.CANCELLED, ImportJob.OPEN, problem=f"Cancelled by {by.get_username()}. Nothing was stored."):
        raise Refused("This has ended already. Reload the page to see how.")
    _record(job, "cancelled", by=by)


@transaction.atomic
def record_taking(*, job: ImportJob, by: User) -> None:
    """Record the download of a job's file."""
    _record(job, "taken", by=by, sha256=job.outcome["file"]["sha256"])


def delete_result(*, job: ImportJob, by: User) -> None:
    """Delete a job's file before it expires. Raises ``Refused`` if it is gone."""
    now = timezone.now()
    with transaction.atomic():
        if not ImportJob.objects.filter(pk=job.pk, expires_at__gt=now).update(expires_at=now, result_size=0):
            raise Refused("The file is no longer kept.")
        _record(job, "deleted", by=by)
    delete_results(job)


def clear_jobs() -> None:
    """Give up interrupted uploads and checks that nobody imports, and delete the files of ended jobs, and expired files. Safe to
    repeat."""
    now = timezone.now()
    for state, late, problem in (
        (State.UPLOADING, UPLOAD_LOST_AFTER, "The upload broke off. Nothing was stored; upload the files again."),
        (State.CHECKED, CHECKED_KEPT, "The files were checked and not imported within a day. Nothing was stored."),
    ):
        for job in ImportJob.objects.filter(state=state, touched_at__lt=now - late):
            with transaction.atomic():
                if _end(job, State.CANCELLED, [state], problem=problem):
                    _record(job, "cancelled", by=trail.SYSTEM)
    with_files = ImportJob.objects.filter(pk__in=UploadPart.objects.order_by().values("job"))
    for job in with_files.exclude(state__in=ImportJob.OPEN):
        delete_files(job)
    with_results = ImportJob.objects.filter(pk__in=ResultPart.objects.order_by().values("job"))
    for job in with_results.exclude(state__in=ImportJob.OPEN).exclude(expires_at__gt=now):
        delete_results(job)


def delete_files(job: ImportJob) -> None:
    """Delete the uploaded files of a job that has ended."""
    while ids := list(UploadPart.objects.filter(job=job).values_list("pk", flat=True)[:4]):
        with _short_transaction():
            UploadPart.objects.filter(pk__in=ids).delete()


def _let_wait(job: ImportJob, state: str, **others: object) -> bool:
    moved = ImportJob.objects.filter(pk=job.pk, state=state).update(
        state=State.WAITING, touched_at=timezone.now(), stage="", done=0, total=0, **others
    )
    if moved:
        transaction.on_commit(partial(notify_workers, job.pk))
    return bool(moved)


def _end(job: ImportJob, state: str, of: Sequence[str], *, problem: str) -> bool:
    now = timezone.now()
    found = ImportJob.objects.filter(pk=job.pk, state__in=of)
    return bool(found.update(state=state, problem=problem, touched_at=now, ended_at=now, runner=""))


def _record(job: ImportJob, what: str, *, by: trail.Actor, **details: object) -> None:
    trail.record(f"jobs.job.{what}", target=job, by=by, details=details)


@contextmanager
def _short_transaction() -> Iterator[None]:
    """A transaction after which other writers on SQLite get as much time as it took."""
    began = time.perf_counter()
    with transaction.atomic():
        yield
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(time.perf_counter() - began)


logger = logging.getLogger(__name__)

BEAT_SECONDS = SILENT_AFTER.total_seconds() / 6
# How soon the progress of a run within a transaction is written.
PULSE_SECONDS = 1.0
MAX_LOST_RUNS = 4
# Each may take half a gigabyte. Other jobs wait for the next sweep.
RUNS_AT_ONCE = 2


def run_job(job_id: int, *, should_pause: Callable[[], bool] = lambda: False) -> None:
    """Run a job, unless another run has it or it has ended."""
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
        delete_files(job)
        if not job.has_file:
            delete_results(job)


def _take(job_id: int, should_pause: Callable[[], bool]) -> JobRun | None:
    """Take a waiting job, or one whose run was killed; ``None`` if there is none."""
    now = timezone.now()
    runner = uuid.uuid4().hex
    alive = ImportJob.objects.filter(state=State.RUNNING, touched_at__gte=now - SILENT_AFTER)
    if alive.exclude(pk=job_id).count() >= RUNS_AT_ONCE:
        return None
    taken = (
        ImportJob.objects.filter(pk=job_id)
        .filter(is_free(now))
        .update(
            # A paused run has set its job to waiting, and is not counted.
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
    # If several start at the same moment, the latest give way.
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
                f"The worker died {job.lost_runs} times in a row during this {kind.noun}, so it was given up. Nothing was stored. "
                "The worker may have too little memory: import the files in parts."
            )
        if role is None or kind.permission(job) not in role.permissions or not job.asked_by.is_active:
            raise Refused(f"{job.asked_by_name} may no longer start this {kind.noun}. Nothing was stored.")
        kind.run(run)
    except Refused as error:
        with transaction.atomic():
            run.fail(State.REFUSED, str(error))
    except (JobStopped, JobPaused, OperationalError, InterfaceError):
        # When an unavailable database is back, the job is taken again like that of a killed run.
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
    """Show that the run is alive while files are read, by a thread with a separate connection."""
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
