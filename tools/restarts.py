"""How often a child that keeps dying is started again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

MOST_RESTARTS = 5
WITHIN_SECONDS = 60.0


class Restarts:
    """Counts new starts: at most ``most`` within a minute, for what dies at once each time will not live by one more."""

    def __init__(self, *, most: int = MOST_RESTARTS, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.most, self.monotonic = most, monotonic
        self.at: deque[float] = deque()

    def may_restart(self) -> bool:
        """Whether one more is within the limit; if so it counts."""
        now = self.monotonic()
        while self.at and now - self.at[0] >= WITHIN_SECONDS:
            self.at.popleft()
        if len(self.at) >= self.most:
            return False
        self.at.append(now)
        return True
