"""Runs that need no provider, carried out by a worker. A message names a run, and may be lost or repeated without harm."""

from __future__ import annotations

import logging

from django.core.cache import cache
from kombu.exceptions import OperationalError

from auditapp.annotators.offline import find_idle_runs, run_offline
from auditapp.batches.ledger import leases
from auditapp.batches.runner.tasks import connect_at_once
from auditapp.celery import app
from auditapp.outbound.clock import read_now

logger = logging.getLogger(__name__)

# Where every queue is busy a message waits; it is not to be followed by another at each sweep.
RING_AGAIN_SECONDS = 20


@app.task(name="annotators.run_offline")
def work_on_run(run_id: int) -> None:
    """Do what is left of a run."""
    problem = leases.find_problem()
    if problem:
        logger.warning("Run %s is left alone: %s", run_id, problem)
        return
    run_offline(run_id)


def ring_run(run_id: int) -> bool:
    """Notify the workers of a run. Returns whether a message could be sent. The sweeper repeats lost ones."""
    try:
        with connect_at_once() as connection:
            work_on_run.apply_async((run_id,), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        return False
    return True


def ring_idle_runs() -> None:
    """Notify the workers of every run that no worker has, because it was never started or its worker died."""
    for run_id in find_idle_runs(read_now()):
        if cache.add(f"offline-run-rung:{run_id}", 1, RING_AGAIN_SECONDS):
            ring_run(run_id)
