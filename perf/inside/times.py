"""How long something takes by the clock, and how long a processor was at it: on a busy machine the two part."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection
from django.db.transaction import Atomic


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


@contextmanager
def watch_transactions() -> Iterator[list[float]]:
    """The seconds of each transaction that ends in the block: so long do others wait who want to write to SQLite."""
    seconds: list[float] = []
    enter, leave = Atomic.__enter__, Atomic.__exit__
    begun: list[float] = []

    def begin(self: Atomic) -> None:
        is_outermost = not connection.in_atomic_block
        enter(self)
        if is_outermost:
            begun.append(time.perf_counter())

    def end(self: Atomic, *error: object) -> None:
        leave(self, *error)  # type: ignore[arg-type]
        if begun and not connection.in_atomic_block:
            seconds.append(time.perf_counter() - begun.pop())

    Atomic.__enter__, Atomic.__exit__ = begin, end  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        Atomic.__enter__, Atomic.__exit__ = enter, leave  # type: ignore[method-assign]
