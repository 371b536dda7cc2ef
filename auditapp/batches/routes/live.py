"""The route of live calls: a worker runs one queue of one batch, on one event loop, for about a minute.

The order of steps makes sure that a crash costs at most the calls in flight: cells are claimed and their attempts written
in one transaction; each call is written to the spool, then sent; its answer is written to the spool; answers are synced to
disk and stored in groups.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import uuid
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from auditapp.batches.ledger import batch_state, leases
from auditapp.batches.pure.spool import Spool
from auditapp.batches.routes.live_run import QueueRun, make_spool_failure


def name_machine() -> str:
    """A short name for this boot of this machine and its process namespace: two containers never share one."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def name_runner() -> str:
    """A new name for each run, which says where the runner lives."""
    return f"{name_machine()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def run_queue(queue_id: int) -> bool:
    """Work on a queue until nothing is left to claim or the time is up. Returns whether the workers should be notified again.

    A second runner for the same queue returns at once, so a repeated message is harmless.
    """
    runner = name_runner()
    queue = leases.acquire_queue(queue_id, runner)
    if queue is None:
        return False
    try:
        spool = Spool(settings.SPOOL_FOLDER, runner)
    except OSError as error:
        batch_state.pause_for(queue.batch_id, make_spool_failure(error))
        leases.release_queue(queue, runner)
        return False
    try:
        again = asyncio.run(QueueRun(queue, runner, spool).run())
    except BaseException:
        # The sweeper reads the spool and settles what this runner leaves open.
        spool.close(keep=True)
        raise
    spool.close(keep=False)
    leases.release_queue(queue, runner)
    return again
