"""The most memory this process has held, as Linux counts it; elsewhere since its start."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
FORGET_PEAK = "5"
BYTES_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024


def forget_peak() -> None:
    """Count the peak anew from here, where the system can do that."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text(FORGET_PEAK, encoding="ascii")


def read_peak() -> float:
    """Megabytes (10^6 bytes) of resident memory at its highest.

    Not from getrusage where it can be helped: that counts what the parent held when it started this process.
    """
    return _read_status("VmHWM:")


def read_memory() -> float:
    """Megabytes (10^6 bytes) of resident memory now; where the system does not say it, at its highest."""
    return _read_status("VmRSS:")


def _read_status(name: str) -> float:
    if STATUS.exists():
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_OF_MAXRSS / 1e6
