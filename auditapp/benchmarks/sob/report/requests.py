"""Read the report for pages, files and programs, and request a new one from a worker.

A worker is asked when a batch ends, when a reading changes, and when a page of a large batch needs a report. A sweep asks again
for batches that have ended; whatever reads a stale report does so too.
"""

from __future__ import annotations

from dataclasses import asdict

from django.db import transaction

from auditapp.batches.ledger.worker_signs import is_worker_alive
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import StoredReport
from auditapp.benchmarks.sob.pure.measures.report import REPORT_VERSION
from auditapp.benchmarks.sob.report import store
from auditapp.benchmarks.sob.report.computing import ReportChoice, ReportInputs, read_inputs

# So many answers make a report in about a second: a page computes it itself if no worker has.
MAX_IN_A_REQUEST = 100_000


def request_report(batch: Batch, choice: ReportChoice) -> bool:
    """Have a worker compute the report, at most one at a time per batch. Whether the broker took the message."""
    from kombu.exceptions import OperationalError

    from auditapp.batches.runner.tasks import connect_at_once
    from auditapp.benchmarks.sob.report import tasks  # loads Celery, which a page seldom needs

    if not store.take_lock(batch, choice):
        return True
    try:
        with connect_at_once() as connection:
            tasks.compute_report.apply_async((batch.pk, asdict(choice)), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        store.release_lock(batch, choice)
        return False
    return True


def request_after_change(batch: Batch) -> None:
    """After this transaction, have a worker compute the default report, if there is a worker."""
    # Robust: what the change is part of has been stored, and goes on whatever becomes of this.
    transaction.on_commit(lambda: _request_if_alive(batch), robust=True)


def request_after_formatting(formatting: Batch) -> None:
    """A formatter's batch has ended: the readings of its source batch have changed."""
    source = Batch.objects.select_related("project").filter(pk=formatting.parameters.get("source_batch")).first()
    if source is not None:
        request_after_change(source)


def _request_if_alive(batch: Batch) -> None:
    if is_worker_alive():
        request_report(batch, ReportChoice())


def request_missing_report() -> None:
    """A sweep: have a worker compute the report of a batch that ended while there was no worker or under older rules, or
    whose request was lost. One at each sweep, the newest batch first."""
    batch = store.find_unreported()
    if batch is not None:
        request_report(batch, ReportChoice())


def read_report(inputs: ReportInputs) -> StoredReport | None:
    """The report of a batch.

    If the stored report is stale, a small batch's is computed now. For a large one a worker is asked and the last report is
    returned, with ``is_current`` false, or ``None`` while the first is being computed. After a failure (``find_failure``)
    no worker is asked for a while. Without a worker it is computed here.
    """
    batch, choice = inputs.batch, inputs.choice
    stored = store.find_report(inputs)
    # One of other rules may lack what pages and files of today show.
    last = stored if stored.content is not None and stored.report["versions"]["report"] == REPORT_VERSION else None
    if last is not None and (last.is_current or store.is_recent(last, inputs)):
        return last
    if (
        inputs.n_answers > MAX_IN_A_REQUEST
        and is_worker_alive()
        and (store.find_failure(batch, choice) or request_report(batch, choice))
    ):
        return last
    has_lock = store.take_lock(batch, choice)
    if last is not None and not has_lock:
        return last
    try:
        return store.refresh_report(inputs)
    finally:
        if has_lock:
            store.release_lock(batch, choice)


def await_report(batch: Batch, *, options: ReportChoice | None = None) -> StoredReport:
    """As ``read_report``, but computes the first report here if there is none. For commands and the API. Reads batch.project.

    Raises ``UnknownTargets`` and ``UnknownMapping``.
    """
    inputs = read_inputs(batch, options)
    return read_report(inputs) or store.refresh_report(inputs)
