"""Wait for a batch on the command line; where no worker is alive, the waiting command does the work itself."""

from __future__ import annotations

import time
from collections.abc import Callable

from auditapp.batches.ledger import statements
from auditapp.batches.ledger.worker_signs import is_worker_alive
from auditapp.batches.models import WORKING_STATES, Batch
from auditapp.batches.runner import recovery, tasks

__all__ = ["is_worker_alive", "wait_for_batch"]

POLL_SECONDS = 0.3


def wait_for_batch(batch: Batch, *, report: Callable[[str], None]) -> Batch:
    """Return the batch once it does nothing more by itself: it is done, paused, cancelled, or waits for approval.

    ``report`` gets a line when this process does the work itself.
    """
    is_reported = False
    while True:
        batch.refresh_from_db()
        if batch.state not in WORKING_STATES:
            return batch
        if not is_worker_alive():
            if not is_reported:
                report("No worker is running; this command makes the calls itself.")
                is_reported = True
            recovery.recover_queues()
            for queue_id in statements.find_queues_to_notify(batch):
                tasks.work_on_queue(queue_id)
        time.sleep(POLL_SECONDS)
