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


def list_recent_jobs(project: Project, kind: str, user: User) -> list[ImportJob]:
    """The last jobs of a kind in a study as a person may see them, newest first."""
    jobs = list(ImportJob.objects.filter(project=project, kind=kind).select_related("project")[:RECENT])
    for job in jobs:
        cover(job, user)
    return jobs


def name_masked_files(job: ImportJob) -> list[dict[str, object]]:
    """The files of a job under names that tell nothing."""
    return [{**file, "name": f"Masked file {number}"} for number, file in enumerate(job.files, 1)]


def cover(job: ImportJob, user: User) -> None:
    """Take from a job, as it is shown, what is closed to a person. It is not to be saved afterwards."""
    if not job.is_closed_to(user.pk):
        return
    job.files, job.outcome = name_masked_files(job), {}
    if job.state == ImportJob.State.REFUSED:
        job.problem = f"Nothing was stored. {job.asked_by_name} sees why: these files were to come in masked."


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
