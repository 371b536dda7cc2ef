"""What this program adds to a Celery worker: its heartbeat, how it forks, and how it ends.

The heartbeat is a thread of the worker's parent process that shows that the worker is alive, settles dead runners and notifies
idle queues. It needs neither the broker nor a free process: a heartbeat sent through the broker would wait for busy queues, or be
lost. It does not run queues itself, because killing a queue that ran in this thread would kill the whole worker. While the broker
cannot be reached, running queues continue (``tasks.run_queue``) and new ones wait.
"""

from __future__ import annotations

import datetime
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module

from billiard.process import active_children
from celery.signals import celeryd_after_setup, worker_process_init, worker_shutdown, worker_shutting_down
from celery.worker import state as celery_state
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import connections

from auditapp.batches.ledger import leases
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.runner import recovery, slots, tasks
from auditapp.outbound.clock import read_now
from transcripts.hooks import load_registrations

logger = logging.getLogger(__name__)


HEARTBEAT_SECONDS = 5.0
DEAF_AFTER_SECONDS = 60.0

fork_lock = threading.RLock()
"""Held during every beat and every fork. Only the forking thread lives on in a new process: it must not inherit a database
connection in use, or a library's lock that the heartbeat was holding."""


def guard_forks() -> None:
    """Make forks wait for the beat in progress, and keep memory shared after them. Called once, before the first fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=fork_lock.release, after_in_child=fork_lock.release)


def _before_fork() -> None:
    fork_lock.acquire()
    # The collector writes to every object it visits, so that each forked process would get its own copy of the memory:
    # frozen, a queue's process needs about 10 MB of its own (docs/guide/deployment.md,
    # tests/auditapp/batches/test_worker_process.py).
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
        """End with the worker: there is no further heartbeat, and the sign of life is deleted. If the database cannot be reached,
        the sign of life remains."""
        if not fork_lock.acquire(timeout=HEARTBEAT_SECONDS):
            return
        try:
            self.has_ended = True
            leases.delete_sign()
        except DatabaseFailure:
            logger.warning("The worker's sign of life could not be deleted; it will look silent.")
        finally:
            connections.close_all()
            fork_lock.release()

    def beat(self) -> None:
        """One beat; whatever fails, the next one follows."""
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
            logger.exception("A beat of the worker's heartbeat failed; the next one follows")
        finally:
            connections.close_all()

    def _beat(self) -> None:
        self.started_at = self.started_at or read_now()
        problem = leases.find_problem()
        leases.write_sign(started_at=self.started_at, queues=self.queues, problem=problem)
        if stopping.is_set():
            return
        settled = recovery.settle_dead_here()
        if settled:
            tasks.notify_queues(settled)
        if self.sweeps:
            tasks.sweep()
        if self.hearing.is_lost(queues=self.queues + slots.KEPT_FOR_TALKS):
            self.end_worker("Messages wait, and this worker receives none of them")


class Hearing:
    """Whether the worker still receives messages.

    After the broker has come back, some versions of Celery keep a connection that delivers nothing. Messages then wait although
    the worker is free, which in a working worker never lasts a minute.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.monotonic = monotonic
        self.since: float | None = None

    def is_lost(self, *, queues: int) -> bool:
        """Check once; ``True`` if messages have waited at every check for a minute while this worker was free."""
        if len(celery_state.active_requests) >= queues or not tasks.count_waiting_messages():
            self.since = None
            return False
        now = self.monotonic()
        self.since = now if self.since is None else self.since
        return now - self.since >= DEAF_AFTER_SECONDS


def end_this_worker(reason: str) -> None:
    """End the process, so that its supervisor starts another; calls in flight finish."""
    logger.critical("%s. The worker ends itself, so that its supervisor starts another.", reason)
    # Celery ends with 1 after SIGINT, which a supervisor takes for a failure.
    os.kill(os.getpid(), signal.SIGINT)


LAST_SECONDS = 5.0
SWITCH_SECONDS = 0.0005


def prepare(*, sweeps: bool, queues: int) -> None:
    """Set up the Celery worker that this process is about to become. It runs ``queues`` queues at once, and talks in addition."""
    guard_forks()
    slots.keep_slots(queues)
    # What every process of a queue needs is loaded before they are forked, so that they share its memory and start at once.
    import_module("auditapp.llm.providers.openai_compatible")
    load_registrations()

    worker = os.getpid()

    def end_with_worker(**kwargs: object) -> None:
        # The system ends a queue's process when its worker dies, but not if the worker died before the process could ask for
        # that. `os._exit`, because Celery's own handlers would wait for a parent that is gone.
        if os.getppid() != worker:
            os._exit(1)

    def start_heartbeat(**kwargs: object) -> None:
        connections.close_all()
        own = Heartbeat(queues=queues, sweeps=sweeps)
        own.start()
        worker_shutdown.connect(lambda **_: own.end(), weak=False)
        worker_shutdown.connect(lambda **_: slots.forget_slots(), weak=False)

    celeryd_after_setup.connect(start_heartbeat, weak=False)
    worker_process_init.connect(end_with_worker, weak=False)
    worker_process_init.connect(keep_queue_through_sigterm, weak=False)
    worker_process_init.connect(let_calls_go_first, weak=False)
    worker_shutting_down.connect(stop_runners, weak=False)


def keep_queue_through_sigterm(**kwargs: object) -> None:
    """Called in a queue's process: a SIGTERM to the whole group (Ctrl-C, a launcher) must not cut off the calls in flight."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def let_calls_go_first(**kwargs: object) -> None:
    """Called in a queue's process: let the sending loop interrupt the thread that writes the ledger after 0.5 ms instead of
    Python's 5 ms.

    With hundreds of calls in flight each such wait leaves slots empty; the gain is in docs/performance.md, batch throughput.
    """
    sys.setswitchinterval(SWITCH_SECONDS)


def stop_runners(**kwargs: object) -> None:
    """The worker has to end: no more cells are claimed, and calls in flight get the time of a soft shutdown."""
    if not stopping.is_set():
        stopping.set()
        threading.Thread(target=_end_in_time, name="deadline", daemon=True).start()


def _end_in_time() -> None:
    """End the process after the soft shutdown: a call may take ten minutes. Calls in flight then count as unknown, unless
    their answer was spooled. `os._exit`, because the main thread may be waiting for exactly these calls."""
    time.sleep(settings.CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT)
    logger.warning("Calls were still in flight at the end of the time given; another worker settles them.")
    for pid in [child.pid for child in active_children() if child.pid]:
        os.kill(pid, signal.SIGKILL)
    time.sleep(LAST_SECONDS)
    os._exit(1)
