"""How often a child that keeps dying is started again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

MAX_RESTARTS = 5
WITHIN_SECONDS = 60.0


class Restarts:
    """Allows at most ``limit`` starts within a minute: what stops at once every time is not started again."""

    def __init__(self, *, limit: int = MAX_RESTARTS, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.monotonic = limit, monotonic
        self.at: deque[float] = deque()

    def may_restart(self) -> bool:
        """Whether one more is within the limit; if so it counts."""
        now = self.monotonic()
        while self.at and now - self.at[0] >= WITHIN_SECONDS:
            self.at.popleft()
        if len(self.at) >= self.limit:
            return False
        self.at.append(now)
        return True
