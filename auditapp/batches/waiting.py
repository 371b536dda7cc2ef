"""Waiting for a batch from the command line; where no worker lives, the waiting command does the work itself."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable

from django.utils import timezone

from auditapp.batches import queries, recovery, runner
from auditapp.batches.models import Batch

WORKER_SILENT_AFTER = datetime.timedelta(seconds=20)
POLL_SECONDS = 0.3


def is_worker_alive() -> bool:
    """Whether any worker was heard from within the last twenty seconds."""
    seen = queries.read_last_worker_sign()
    return seen is not None and timezone.now() - seen < WORKER_SILENT_AFTER


def wait_for_batch(batch: Batch, *, tell: Callable[[str], None]) -> Batch:
    """Return the batch once it is done, paused or cancelled. ``tell`` gets a line when this process works itself."""
    told = False
    while True:
        batch.refresh_from_db()
        if batch.state != Batch.State.RUNNING:
            return batch
        if not is_worker_alive():
            if not told:
                tell("No worker is running; this command makes the calls itself.")
                told = True
            recovery.recover_lanes()
            for lane_id in queries.find_lanes_to_ring(batch):
                runner.run_lane(lane_id)
        time.sleep(POLL_SECONDS)
