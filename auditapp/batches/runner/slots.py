"""What the processes of a worker may work on at the same time: so many queues of batches, and beside them the talks.

A talk is a batch that stays open because a person asks in it (``Batch.stays_open``). She waits for each answer, so a talk must not
wait until one of the large batches makes room, which takes minutes. A worker therefore has one process more than it runs queues,
and each process takes a slot before it begins: a file that it holds a lock on, which the system releases however the process
ends. Without files of a worker, as in a task that runs by itself, every slot is free.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from auditapp.batches.pure.spool import try_lock

TALKS = "talks"
# Processes of a worker beside those for the queues that it is told to run.
KEPT_FOR_TALKS = 1


class _Worker:
    """The folder of this worker's slots and the number of its queues. Set before the first fork."""

    folder: Path | None = None
    queues = 0


def keep_slots(queues: int) -> None:
    """Make the slots of a worker that runs so many queues. Called once, before the first fork."""
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
    """Hold a slot for a queue; gives whether one was free."""
    with _take([f"queue-{number}" for number in range(_Worker.queues)]) as is_free:
        yield is_free


@contextmanager
def take_talks_slot() -> Iterator[bool]:
    """Hold the slot for talks; gives whether it was free."""
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
