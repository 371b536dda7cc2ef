"""The report of a large batch is computed by a worker. A message names a batch, and may be lost or repeated without harm."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any

from celery import shared_task
from django.core.cache import cache
from django.db import DatabaseError
from kombu.exceptions import OperationalError

from auditapp.batches.models import Batch
from auditapp.batches.tasks import connect_at_once
from auditapp.sob.reporting import ReportChoice, find_kept, fingerprint_report, refresh_report

# After that, whoever was at it is taken for dead.
LONGEST_SECONDS = 300


@shared_task(name="sob.compute_report")
def compute_report(batch_id: int, choice: dict[str, Any]) -> None:
    """Compute and keep the report of a batch, unless it was kept meanwhile."""
    batch = Batch.objects.select_related("project").get(pk=batch_id)
    chosen = ReportChoice(**choice)
    try:
        kept = find_kept(batch, chosen, fingerprint_report(batch, chosen))
        if kept is None or not kept.stored.is_current:
            refresh_report(batch, chosen)
    finally:
        end_turn(batch)


def ask_for_report(batch: Batch, choice: ReportChoice) -> bool:
    """See to it that a worker computes the report: at most one at a time per batch. Whether it was heard."""
    if not take_turn(batch):
        return True
    try:
        with connect_at_once() as connection:
            compute_report.apply_async((batch.pk, asdict(choice)), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        end_turn(batch)
        return False
    return True


def take_turn(batch: Batch) -> bool:
    """Whether the caller is the one to compute a batch's report now."""
    return cache.add(_name_turn(batch), 1, LONGEST_SECONDS)


def end_turn(batch: Batch) -> None:
    """The next may compute: at once, or where the database is too busy to hear it when the turn lapses."""
    with suppress(DatabaseError):
        cache.delete(_name_turn(batch))


def _name_turn(batch: Batch) -> str:
    return f"sob-report-turn:{batch.pk}"
