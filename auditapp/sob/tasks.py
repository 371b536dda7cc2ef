"""The report of a large batch is computed by a worker. A message names a batch, and may be lost or repeated without harm."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kombu.exceptions import OperationalError

from auditapp.batches.models import Batch
from auditapp.batches.runner.tasks import connect_at_once
from auditapp.celery import app
from auditapp.sob.report_turns import begin_turn, end_turn, forget_failure, note_failure, take_turn
from auditapp.sob.reporting import ReportChoice, find_kept, fingerprint_report, refresh_report


@app.task(name="sob.compute_report")
def compute_report(batch_id: int, choice: dict[str, Any]) -> None:
    """Compute and keep the report of a batch, unless it was kept meanwhile. Why it failed is kept too."""
    batch = Batch.objects.select_related("project").get(pk=batch_id)
    chosen = ReportChoice(**choice)
    begin_turn(batch, chosen)
    try:
        kept = find_kept(batch, chosen, fingerprint_report(batch, chosen))
        if kept is None or not kept.stored.is_current:
            refresh_report(batch, chosen)
        forget_failure(batch)
    except Exception as error:
        note_failure(batch, chosen, error)
        raise
    finally:
        end_turn(batch)


def ask_for_report(batch: Batch, choice: ReportChoice) -> bool:
    """See to it that a worker computes the report: at most one at a time per batch. Whether it was heard."""
    if not take_turn(batch, choice):
        return True
    try:
        with connect_at_once() as connection:
            compute_report.apply_async((batch.pk, asdict(choice)), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        end_turn(batch)
        return False
    return True
