"""A batch in numbers, as commands and the API give it out."""

from __future__ import annotations

from auditapp.batches.models import Batch
from auditapp.batches.money import to_dollars
from auditapp.batches.queries import Progress


def summarise_batch(batch: Batch, progress: Progress) -> dict[str, object]:
    """State, counts, money in US dollars (``None``: not known), throughput per second and seconds left."""
    cap, spent = to_dollars(batch.cap_nano), to_dollars(batch.spent_nano)
    if batch.arms.filter(price_in__isnull=True).exists():
        spent = None
    return {
        "batch": batch.pk,
        "kind": batch.kind,
        "title": batch.title,
        "state": batch.state,
        "state_reason": batch.state_reason,
        "cells": progress.cells,
        "finished": progress.finished,
        "states": progress.by_state,
        "outcomes": progress.outcomes,
        "calls": progress.calls,
        "spent": None if spent is None else float(spent),
        "cap": None if cap is None else float(cap),
        "possibly_paid_twice": progress.unknown_calls,
        "possibly_paid_twice_at_most": float(to_dollars(progress.unknown_nano) or 0),
        "throughput": round(progress.throughput, 2),
        "eta_seconds": None if progress.eta_seconds is None else round(progress.eta_seconds, 1),
    }
