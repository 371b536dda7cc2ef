"""A flag that a worker is shutting down, shared by all of its processes.

A worker forks its runners, and only the parent gets the signal to stop. The flag is one byte of memory that the forked
processes share, created when this module is imported (before any fork).
"""

from __future__ import annotations

import mmap


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
"""Set when the worker shuts down: runners send nothing more, return what they did not send, finish what is in flight."""
