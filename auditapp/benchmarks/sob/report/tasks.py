"""The task in which a worker computes a report. Its message names a batch, and may be lost or repeated without harm."""

from __future__ import annotations

from typing import Any

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.report import stored_reports
from auditapp.benchmarks.sob.report.stored_reports import ReportChoice, read_inputs
from auditapp.celery import app


@app.task(name="sob.compute_report")
def compute_report(batch_id: int, choice: dict[str, Any]) -> None:
    """Compute and store the report of a batch unless it is current, and its tallies by text if the batch has ended. If the report
    fails, the reason is stored."""
    batch = Batch.objects.select_related("study").get(pk=batch_id)
    chosen = ReportChoice(**choice)
    stored_reports.begin_computing(batch, chosen)
    try:
        inputs = read_inputs(batch, chosen)
        if not stored_reports.find_report(inputs).is_current:
            stored_reports.refresh_report(inputs)
        stored_reports.forget_failures(batch, chosen)
    except Exception as error:
        stored_reports.note_failure(batch, chosen, error)
        raise
    finally:
        stored_reports.release_lock(batch, chosen)
    if not batch.is_open:
        stored_reports.read_texts(inputs)
