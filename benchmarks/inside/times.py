"""How long something takes by the clock, and how long a processor was at it: on a busy machine the two part."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


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
