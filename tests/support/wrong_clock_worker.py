"""A worker on a machine whose clock is wrong: ``python -m tests.support.wrong_clock_worker SECONDS``.

Every clock that Python asks for the time of day is ahead by that much, in the worker and in its children; the monotonic
clock and the clock of the database server are not.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any

from django.core.management import execute_from_command_line
from django.utils import timezone


def skew(seconds: float) -> None:
    """Put the time of day ahead by ``seconds`` wherever the program asks for it."""
    true_time: Callable[[], float] = time.time

    class SkewedDateTime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> SkewedDateTime:
            return cls.fromtimestamp(true_time() + seconds, tz)

        @classmethod
        def utcnow(cls) -> SkewedDateTime:
            return cls.fromtimestamp(true_time() + seconds, None)

    modules: Any = timezone
    modules.datetime = SkewedDateTime
    time.time = lambda: true_time() + seconds


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
    skew(float(sys.argv[1]))
    execute_from_command_line(["manage.py", "worker", "--skip-checks"])


if __name__ == "__main__":
    main()
