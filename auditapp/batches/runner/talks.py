"""Run the talks of a worker: one process runs all of them, each in a thread, because they only wait for answers."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import connections

from auditapp.batches.ledger import statements, worker_signs
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.routes import live_run
from auditapp.batches.runner.slots import take_talks_slot

logger = logging.getLogger(__name__)

MAX_TALKS = 16
LOOK_SECONDS = 0.2


def run_talks(queue_id: int) -> None:
    """Run the talk of this queue, and those that begin meanwhile, until none has anything to do.

    Where another process of the worker does so already, it finds this one within ``LOOK_SECONDS``.
    """
    wanted = [queue_id]
    while wanted and not stopping.is_set() and not worker_signs.find_problem():
        with take_talks_slot() as is_free:
            if not is_free:
                return
            _run(wanted)
        # One that was asked for while this process was about to end was refused the slot.
        wanted = statements.find_queues_to_notify(talks=True)


def _run(queue_ids: list[int]) -> None:
    running: dict[int, Future[None]] = {}
    with ThreadPoolExecutor(MAX_TALKS, thread_name_prefix="talk") as threads:
        while True:
            for queue_id in queue_ids[: MAX_TALKS - len(running)]:
                running[queue_id] = threads.submit(_run_one, queue_id)
            time.sleep(LOOK_SECONDS)
            running = {key: each for key, each in running.items() if not each.done()}
            if stopping.is_set():
                return
            queue_ids = [each for each in statements.find_queues_to_notify(talks=True) if each not in running]
            if not running and not queue_ids:
                return


def _run_one(queue_id: int) -> None:
    try:
        while live_run.run_queue(queue_id) and not stopping.is_set():
            pass
    except Exception:
        # The sweeper settles what it left, and notifies its queue again.
        logger.exception("The talk of queue %s ended in an error", queue_id)
    finally:
        connections.close_all()
