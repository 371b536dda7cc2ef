"""How workers come to know of imports."""

from __future__ import annotations

from auditapp.batches.runner.sweeps import register_sweep
from transcripts.jobs.runs import register_notifier


def notify_of_job(job_id: int) -> None:
    """Loads Celery only where a job is started."""
    from auditapp.import_worker import tasks

    tasks.notify_of_job(job_id)


def sweep_jobs() -> None:
    """A sweep that loads Celery only where one is done: in a worker."""
    from auditapp.import_worker import tasks

    tasks.sweep_jobs()


def remove_abandoned_imports() -> None:
    """A sweep that loads the readers of files only where one is done: in a worker."""
    from transcripts.corpus.storing import remove_abandoned

    remove_abandoned(seconds=1)


register_notifier(notify_of_job)
register_sweep("import jobs", sweep_jobs)
register_sweep("abandoned imports", remove_abandoned_imports)
