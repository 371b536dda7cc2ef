"""How long something takes by the clock and of the processor, which differ on a busy machine; and the most memory that this
process has held."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

STATUS = Path("/proc/self/status")
FORGET_PEAK = "5"
BYTES_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024


@dataclass
class Times:
    """Seconds of each round, and those of them that this process was being worked on."""

    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Note how long the block takes."""
        start, worked = time.perf_counter(), time.process_time()
        yield
        self.seconds.append(time.perf_counter() - start)
        self.processor_seconds.append(time.process_time() - worked)


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
