"""How a worker carries out an import or export. A message names a job, and may be lost or repeated without harm."""

from __future__ import annotations

import logging
import os
import threading

from django.core.cache import cache
from django.db import connections
from kombu.exceptions import OperationalError

from auditapp.batches.pure.stopping import stopping
from auditapp.batches.runner.tasks import connect_at_once
from auditapp.celery import app
from transcripts.jobs.actions import clear_jobs, run_job
from transcripts.jobs.runs import find_free_jobs

logger = logging.getLogger(__name__)

# Requests of people go first.
NICENESS = 10
# Where every process is busy a message waits; it is not to be followed by another at each sweep.
NOTIFY_AGAIN_SECONDS = 20


@app.task(name="jobs.run_job")
def work_on_job(job_id: int) -> None:
    """Do what is left of a job. If the system can fork, this happens in a separate process, for two reasons: reading a large file
    takes half a gigabyte, which a process of the worker would not give back, and a process whose priority was lowered cannot
    raise it again."""
    # Not where the worker's queues are threads: a fork of one would carry the locks and connections of the others.
    if not hasattr(os, "fork") or threading.current_thread() is not threading.main_thread():
        run_job(job_id, should_pause=stopping.is_set)
        return
    connections.close_all()
    worker = os.getpid()
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        if status:
            logger.warning("The process of import %s died (%s).", job_id, os.waitstatus_to_exitcode(status))
        return
    status = 1
    try:
        os.nice(NICENESS)
        run_job(job_id, should_pause=lambda: stopping.is_set() or os.getppid() != worker)
        status = 0
    except BaseException:
        logger.exception("Import %s stopped", job_id)
    finally:
        connections.close_all()
        os._exit(status)


def notify_of_job(job_id: int) -> bool:
    """Notify the workers of a job. Returns whether a message could be sent. The sweep repeats lost ones."""
    try:
        with connect_at_once() as connection:
            work_on_job.apply_async((job_id,), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        return False
    return True


def sweep_jobs() -> None:
    """Notify the workers of every job that no worker has, and delete what ended jobs have left."""
    for job_id in find_free_jobs():
        if cache.add(f"import-job-told:{job_id}", 1, NOTIFY_AGAIN_SECONDS):
            notify_of_job(job_id)
    clear_jobs()
