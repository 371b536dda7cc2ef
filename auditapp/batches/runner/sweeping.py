"""What else is looked after every few seconds: work of rooms above the engine that lanes know nothing of."""

from __future__ import annotations

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

_sweeps: dict[str, Callable[[], object]] = {}


def register_sweep(name: str, sweep: Callable[[], object]) -> None:
    """Have something looked after by whichever worker sweeps. Called in ``AppConfig.ready``; to be quick, and idle-safe."""
    _sweeps[name] = sweep


def sweep_others() -> None:
    """One look at each; what fails keeps nothing else waiting, and is tried again at the next sweep."""
    for name, sweep in _sweeps.items():
        try:
            sweep()
        except Exception:
            logger.exception("Sweeping %s failed; the next sweep tries it again", name)
