"""What this program adds to a Celery worker: its heartbeat, how it forks, and how it ends."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from importlib import import_module

from billiard.process import active_children
from celery.signals import celeryd_after_setup, worker_process_init, worker_shutdown, worker_shutting_down
from django.conf import settings
from django.db import connections

from auditapp.batches.pure.stopping import stopping
from auditapp.batches.runner import heartbeat, slots
from transcripts.hooks import load_registrations

logger = logging.getLogger(__name__)

LAST_SECONDS = 5.0
SWITCH_SECONDS = 0.0005


def prepare(*, sweeps: bool, queues: int) -> None:
    """Set up the Celery worker that this process is about to become. It runs so many queues at once, and talks beside them."""
    heartbeat.guard_forks()
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
        own = heartbeat.Heartbeat(queues=queues, sweeps=sweeps)
        own.start()
        worker_shutdown.connect(lambda **_: own.end(), weak=False)
        worker_shutdown.connect(lambda **_: slots.forget_slots(), weak=False)

    celeryd_after_setup.connect(start_heartbeat, weak=False)
    worker_process_init.connect(end_with_worker, weak=False)
    worker_process_init.connect(keep_queue_through_sigterm, weak=False)
    worker_process_init.connect(let_calls_go_first, weak=False)
    worker_shutting_down.connect(stop_runners, weak=False)


def keep_queue_through_sigterm(**kwargs: object) -> None:
    """In a queue's process: a SIGTERM to the whole group (Ctrl-C, a launcher) must not cut off the calls in flight."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def let_calls_go_first(**kwargs: object) -> None:
    """In a queue's process: let the sending loop interrupt the thread that writes the ledger after 0.5 ms, not Python's 5 ms.

    With hundreds of calls in flight each such wait leaves slots empty; the gain is in docs/performance.md, batch throughput.
    """
    sys.setswitchinterval(SWITCH_SECONDS)


def stop_runners(**kwargs: object) -> None:
    """The worker has to end: no cell is claimed any more, and calls in flight get the time of a soft shutdown."""
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
