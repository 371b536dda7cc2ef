"""What is read of jobs."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from django.db.models import Q
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.imports.models import ImportJob, ResultPart, UploadPart
from transcripts.projects.models import Project

# A run shows that it is alive every ten seconds.
SILENT_AFTER = datetime.timedelta(seconds=60)
# A worker looks every five seconds, so a job that waits longer waits for a worker, or for others to be finished.
LONG_WAIT = datetime.timedelta(seconds=30)
RECENT = 10


def is_free(now: datetime.datetime) -> Q:
    """Jobs that a run may take: those that wait, and those whose run was killed."""
    return Q(state=ImportJob.State.WAITING) | Q(state=ImportJob.State.RUNNING, touched_at__lt=now - SILENT_AFTER)


def find_free_jobs() -> list[int]:
    """The jobs that a run may take, oldest first."""
    return list(ImportJob.objects.filter(is_free(timezone.now())).order_by("pk").values_list("pk", flat=True))


def list_recent_jobs(project: Project, kind: str) -> list[ImportJob]:
    """The last jobs of a kind in a study, newest first."""
    return list(ImportJob.objects.filter(project=project, kind=kind).select_related("project")[:RECENT])


def list_own_files(project: Project, user: User) -> list[ImportJob]:
    """The last jobs that were to make a file for a person in a study, newest first."""
    jobs = ImportJob.objects.filter(project=project, asked_by=user, files=[])
    return list(jobs.select_related("project")[:RECENT])


def waits_long(job: ImportJob) -> bool:
    """Whether no worker has taken the job although it has waited for a while."""
    return job.state == ImportJob.State.WAITING and job.touched_at < timezone.now() - LONG_WAIT


def read_file(job: ImportJob, number: int) -> bytes:
    """The contents of one of the job's files."""
    return b"".join(read_parts(job, number))


def read_parts(job: ImportJob, number: int) -> Iterator[bytes]:
    """The contents of one of the job's files, piece by piece."""
    parts = UploadPart.objects.filter(job=job, file=number)
    for position in range(parts.count()):
        yield bytes(parts.values_list("data", flat=True).get(position=position))


def read_result(job: ImportJob) -> Iterator[bytes]:
    """The file that a job made, piece by piece."""
    parts = ResultPart.objects.filter(job=job).order_by("position")
    for position in range(parts.count()):
        yield bytes(parts.values_list("data", flat=True).get(position=position))
