"""Places where a test can kill a runner.

``CRASH_AT=name`` (or ``name:3``, the third time the place is reached) ends the process at once; with ``CRASH_ONCE=path`` only
where that file does not exist yet, so that one process of many dies, once. Without them nothing happens.
"""

from __future__ import annotations

import os
from collections import Counter

POINTS = ("after_claim", "in_call", "after_spool", "in_commit", "after_commit")

_reached: Counter[str] = Counter()


def is_armed(name: str) -> bool:
    """Whether the environment asks for a crash at ``name``."""
    return os.environ.get("CRASH_AT", "").partition(":")[0] == name


def crash_point(name: str) -> None:
    """End the process here, without any clean-up, when the environment asks for it: a stand-in for SIGKILL."""
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
