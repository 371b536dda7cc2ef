"""The doorbell's tasks: each carries an id at most, and may be lost or repeated without harm."""

from __future__ import annotations

import logging
import socket

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone
from kombu.exceptions import OperationalError

from auditapp.batches import queries, recovery, runner
from auditapp.batches.models import WorkerSign

logger = logging.getLogger(__name__)


@shared_task(name="batches.run_lane")
def run_lane(lane_id: int) -> None:
    """Work on one lane, then ring it again when something is left."""
    if runner.run_lane(lane_id):
        ring(lane_id)


def ring(lane_id: int) -> None:
    """Tell the workers that a lane has work. A doorbell that cannot be rung is no loss: the sweeper rings it again."""
    try:
        run_lane.delay(lane_id)
    except OperationalError:
        logger.warning("The broker could not be reached; lane %s waits for the sweeper", lane_id)


@shared_task(name="batches.sweep")
def sweep() -> None:
    """Show that a worker is alive, settle dead runners, ring lanes that have work and no runner."""
    WorkerSign.objects.update_or_create(name=socket.gethostname()[:200], defaults={"seen_at": timezone.now()})
    recovery.recover_lanes()
    for lane_id in queries.find_lanes_to_ring():
        ring(lane_id)


@worker_shutting_down.connect
def stop_runners(**kwargs: object) -> None:
    """A worker that is told to stop claims no more cells and finishes the calls in flight."""
    runner.stopping.set()
