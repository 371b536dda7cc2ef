"""What the processes of a worker may work on at the same time: a number of queues of batches, and talks.

A talk is a batch that stays open because a person asks in it (``Batch.stays_open``). She waits for each answer, so a talk must not
wait until one of the large batches makes room, which takes minutes. A worker therefore has one process more than it runs queues,
and each process takes a slot before it begins: a file that it locks, which the system releases however the process
ends. Without files of a worker, as in a task that runs by itself, every slot is free.

One process runs all talks of a worker, each in a thread, because they only wait for answers.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from django.db import connections

from auditapp.batches.ledger import leases, statements
from auditapp.batches.pure.spool import try_lock
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.routes import live_run

logger = logging.getLogger(__name__)


TALKS = "talks"
# Processes of a worker in addition to those for its queues.
KEPT_FOR_TALKS = 1


class _Worker:
    """The folder of this worker's slots and the number of its queues. Set before the first fork."""

    folder: Path | None = None
    queues = 0


def keep_slots(queues: int) -> None:
    """Make the slots of a worker for its number of queues. Called once, before the first fork."""
    if os.name == "posix":
        _Worker.folder = Path(tempfile.mkdtemp(prefix="auditapp-worker-"))
        _Worker.queues = queues


def forget_slots() -> None:
    """Delete them, at the end of the worker."""
    if _Worker.folder is not None:
        for path in _Worker.folder.iterdir():
            path.unlink(missing_ok=True)
        _Worker.folder.rmdir()
        _Worker.folder = None


def are_kept() -> bool:
    """Whether this process belongs to a worker with slots."""
    return _Worker.folder is not None


@contextmanager
def take_queue_slot() -> Iterator[bool]:
    """Take a slot for a queue. Yields whether one was free."""
    with _take([f"queue-{number}" for number in range(_Worker.queues)]) as is_free:
        yield is_free


@contextmanager
def take_talks_slot() -> Iterator[bool]:
    """Take the slot for talks. Yields whether it was free."""
    with _take([TALKS]) as is_free:
        yield is_free


@contextmanager
def _take(names: Sequence[str]) -> Iterator[bool]:
    if _Worker.folder is None:
        yield True
        return
    for name in names:
        descriptor = os.open(_Worker.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if try_lock(descriptor):
                yield True
                return
        finally:
            os.close(descriptor)
    yield False


MAX_TALKS = 16
LOOK_SECONDS = 0.2


def run_talks(queue_id: int) -> None:
    """Run the talk of this queue, and those that begin meanwhile, until none has anything to do.

    If another process of the worker already does so, that process finds this queue within ``LOOK_SECONDS``.
    """
    wanted = [queue_id]
    while wanted and not stopping.is_set() and not leases.find_problem():
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
