"""What workers do every few seconds: once, by whichever process comes first, and also for rooms above the engine."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable

from auditapp.batches.models import Tick
from auditapp.outbound.clock import read_now
from transcripts.studies.registrations import load_registrations

logger = logging.getLogger(__name__)

SWEEP = "sweep"
LONG_AGO = datetime.timedelta(days=1)

_sweeps: dict[str, Callable[[], object]] = {}


def register_sweep(name: str, sweep: Callable[[], object]) -> None:
    """Call ``sweep`` in whichever worker sweeps. Called in an app's ``registrations``; the function is quick and safe to repeat."""
    _sweeps[name] = sweep


def sweep_others() -> None:
    """Call each once. One that fails does not stop the others, and is tried again at the next sweep."""
    load_registrations()
    for name, sweep in _sweeps.items():
        try:
            sweep()
        except Exception:
            logger.exception("Sweeping %s failed; the next sweep tries it again", name)


def take_tick(name: str, *, every: float) -> datetime.timedelta | None:
    """How long ago it was begun last, for the one caller that is to do it now; ``None`` when somebody began it within
    ``every`` seconds."""
    now = read_now()
    ticks = Tick.objects.filter(name=name)
    before = ticks.values_list("at", flat=True).first()
    if before is None:
        before = now - LONG_AGO
        Tick.objects.bulk_create([Tick(name=name, at=before)], ignore_conflicts=True)
    # A moment in the future is of a clock that was set back since: waiting for it could take hours.
    if datetime.timedelta(0) <= now - before < datetime.timedelta(seconds=every):
        return None
    # Another worker has moved it on meanwhile.
    return now - before if ticks.filter(at=before).update(at=now) else None
