"""A flag that a worker is shutting down, shared by all of its processes.

A worker forks its runners, but only the parent gets the signal to stop. The flag is one byte of memory that the forked processes
share. It is created when this module is imported, before any fork.

Places where a test can kill a runner.

``CRASH_AT=name`` (or ``name:3``, the third time the place is reached) ends the process at once; with ``CRASH_ONCE=path`` only
where that file does not exist yet, so that one process of many dies, once. Without them nothing happens.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter


class SharedFlag:
    """Like ``threading.Event`` without waiting, for a process and all it forks later."""

    def __init__(self) -> None:
        self._byte = mmap.mmap(-1, 1)

    def set(self) -> None:
        self._byte[0] = 1

    def clear(self) -> None:
        self._byte[0] = 0

    def is_set(self) -> bool:
        return self._byte[0] == 1


stopping = SharedFlag()
"""Set when the worker shuts down: runners send nothing more, return unsent calls, and finish calls in flight."""


POINTS = ("after_claim", "in_call", "after_spool", "in_commit", "after_commit")

_reached: Counter[str] = Counter()


def is_armed(name: str) -> bool:
    """Whether the environment asks for a crash at ``name``."""
    return os.environ.get("CRASH_AT", "").partition(":")[0] == name


def crash_point(name: str) -> None:
    """End the process here without any clean-up if the environment asks for it, as SIGKILL would."""
    wanted = os.environ.get("CRASH_AT")
    if not wanted:
        return
    place, _, nth = wanted.partition(":")
    if place != name:
        return
    _reached[name] += 1
    if _reached[name] >= int(nth or 1) and _is_first():
        os._exit(137)


def _is_first() -> bool:
    path = os.environ.get("CRASH_ONCE")
    if not path:
        return True
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True
