"""A worker carries out an import. A message names a job, and may be lost or repeated without harm."""

from __future__ import annotations

from django.core.cache import cache
from kombu.exceptions import OperationalError

from auditapp.batches.pure.stopping import stopping
from auditapp.batches.runner.tasks import connect_at_once
from auditapp.celery import app
from transcripts.imports.actions import clear_jobs
from transcripts.imports.queries import find_free_jobs
from transcripts.imports.running import run_job

# Where every process is busy a message waits; it is not to be followed by another at each sweep.
NOTIFY_AGAIN_SECONDS = 20


@app.task(name="imports.run_job")
def work_on_job(job_id: int) -> None:
    """Do what is left of a job."""
    run_job(job_id, should_pause=stopping.is_set)


def notify_of_job(job_id: int) -> bool:
    """Tell the workers of a job; whether a message could be sent. The sweep repeats lost ones."""
    try:
        with connect_at_once() as connection:
            work_on_job.apply_async((job_id,), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        return False
    return True


def sweep_jobs() -> None:
    """Tell the workers of every job that none of them has, and clear away what ended jobs have left."""
    for job_id in find_free_jobs():
        if cache.add(f"import-job-told:{job_id}", 1, NOTIFY_AGAIN_SECONDS):
            notify_of_job(job_id)
    clear_jobs()
