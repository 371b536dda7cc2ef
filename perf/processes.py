"""What running processes use, children included."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psutil


def read_processor_seconds(pid: int) -> float:
    """Processor time a process and its children have used so far, in user and system mode."""
    total = 0.0
    for process in find_family(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            # What children that are gone had used is kept with their parent.
            total += times.user + times.system + times.children_user + times.children_system
    return total


def read_memory(pid: int) -> float:
    """Megabytes (10^6 bytes) a process and its children hold; what they share counts once (PSS)."""
    total = 0
    for process in find_family(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss
    return total / 1e6


def find_family(pid: int) -> Iterator[psutil.Process]:
    """A process and its children, those that are left of them."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        yield process
        yield from process.children(recursive=True)
