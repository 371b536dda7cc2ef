"""What else is looked after every few seconds: work of rooms above the engine that queues know nothing of."""

from __future__ import annotations

import logging
from collections.abc import Callable

from transcripts.projects.registrations import load_registrations

logger = logging.getLogger(__name__)

_sweeps: dict[str, Callable[[], object]] = {}


def register_sweep(name: str, sweep: Callable[[], object]) -> None:
    """Run a function at every sweep, in whichever worker sweeps. Called in an app's ``registrations``; it must be quick."""
    _sweeps[name] = sweep


def sweep_others() -> None:
    """One look at each; what fails keeps nothing else waiting, and is tried again at the next sweep."""
    load_registrations()
    for name, sweep in _sweeps.items():
        try:
            sweep()
        except Exception:
            logger.exception("Sweeping %s failed; the next sweep tries it again", name)
