"""The heartbeat of a worker: a thread of its parent process that shows that it lives, settles the dead, and notifies idle queues.

It needs no broker and no free queue: beats that arrive through the broker wait behind busy queues, or do not arrive at all.
It does not work on queues itself. While the broker is away, running queues go on where they are (``tasks.run_queue``), and new
ones wait for it: a thread of the parent has no process to run them in that a kill would not take the parent with.
"""

from __future__ import annotations

import datetime
import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Callable

from celery.worker import state as celery_state
from django.db import Error as DatabaseFailure
from django.db import connections

from auditapp.batches.ledger import worker_signs
from auditapp.batches.ledger.clock import read_now
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.runner import recovery, tasks

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 5.0
DEAF_AFTER_SECONDS = 60.0

fork_lock = threading.RLock()
"""Held during every beat, and by whoever forks: a new queue's process never inherits a database connection in use, or a lock
of a library that the thread was inside of, for no thread but the forking one lives on in it."""


def guard_forks() -> None:
    """Have forks wait for the beat under way, and keep what is there before them shared. Called once, before the first."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=fork_lock.release, after_in_child=fork_lock.release)


def _before_fork() -> None:
    fork_lock.acquire()
    # The collector would write to every page of what it looks at, and each queue's process would have its own copy.
    gc.collect()
    gc.freeze()


class Heartbeat(threading.Thread):
    """Beats every five seconds until the process ends. ``queues`` is how many the worker runs at once."""

    def __init__(self, *, queues: int, sweeps: bool = True, end_worker: Callable[[str], None] | None = None) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self.queues, self.sweeps = queues, sweeps
        self.end_worker = end_worker or end_this_worker
        self.started_at: datetime.datetime | None = None
        self.database_away = False
        self.hearing = Hearing()
        self.has_ended = False

    def run(self) -> None:
        while True:
            with fork_lock:
                if self.has_ended:
                    return
                self.beat()
            time.sleep(HEARTBEAT_SECONDS)

    def end(self) -> None:
        """The worker has ended its work: no beat comes any more, and its sign is gone. Without the database it stays."""
        if not fork_lock.acquire(timeout=HEARTBEAT_SECONDS):
            return
        try:
            self.has_ended = True
            worker_signs.delete_sign()
        except DatabaseFailure:
            logger.warning("The worker's sign of life could not be deleted; it is silent from now on.")
        finally:
            connections.close_all()
            fork_lock.release()

    def beat(self) -> None:
        """One beat; whatever fails, the next one comes."""
        try:
            self._beat()
            if self.database_away:
                logger.warning("The database answers again.")
            self.database_away = False
        except DatabaseFailure as error:
            if not self.database_away:
                logger.error("The database cannot be reached (%s); trying again until it can.", type(error).__name__)
            self.database_away = True
        except Exception:
            logger.exception("A beat of the worker's heartbeat failed; the next one comes all the same")
        finally:
            connections.close_all()

    def _beat(self) -> None:
        self.started_at = self.started_at or read_now()
        problem = worker_signs.find_problem()
        worker_signs.write_sign(started_at=self.started_at, queues=self.queues, problem=problem)
        if stopping.is_set():
            return
        settled = recovery.settle_dead_here()
        if settled:
            tasks.notify_queues(settled)
        if self.sweeps:
            tasks.sweep()
        if self.hearing.is_lost(queues=self.queues):
            self.end_worker("Messages wait, and this worker hears none of them")


class Hearing:
    """Whether the worker still takes messages. After the broker came back, some versions of Celery keep a connection that
    brings nothing: messages then wait while queues are free, which no working state of a worker does for a minute."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.monotonic = monotonic
        self.since: float | None = None

    def is_lost(self, *, queues: int) -> bool:
        """Look once; ``True`` when messages have waited before a free queue of this process at every look for a minute."""
        if len(celery_state.active_requests) >= queues or not tasks.count_waiting_messages():
            self.since = None
            return False
        now = self.monotonic()
        self.since = now if self.since is None else self.since
        return now - self.since >= DEAF_AFTER_SECONDS


def end_this_worker(reason: str) -> None:
    """End the process, so that whoever watches it starts another; calls under way come to their end."""
    logger.critical("%s. The worker ends itself, for whoever watches it to start another.", reason)
    # Celery ends with 1 after SIGINT, which tells a supervisor that something is wrong.
    os.kill(os.getpid(), signal.SIGINT)
