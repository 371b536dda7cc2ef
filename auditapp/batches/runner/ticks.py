"""What is to be done every few seconds, by whichever process comes first: it may be called twice, or in many processes."""

from __future__ import annotations

import datetime

from auditapp.batches.ledger.clock import read_now
from auditapp.batches.models import Tick

SWEEP = "sweep"
LONG_AGO = datetime.timedelta(days=1)


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
    # Whoever came first has moved it on meanwhile.
    return now - before if ticks.filter(at=before).update(at=now) else None
