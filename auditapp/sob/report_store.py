"""The report of a batch as pages read it: the kept one where it holds, else a new one, computed here or by a worker."""

from __future__ import annotations

from auditapp.batches.ledger.worker_signs import is_worker_alive
from auditapp.batches.models import Batch
from auditapp.sob.report_turns import Failure, end_turn, find_failure, forget_failure, take_turn
from auditapp.sob.reporting import (
    ReportChoice,
    StoredReport,
    count_answers,
    find_kept,
    fingerprint_report,
    refresh_report,
)

__all__ = ["Failure", "ReportChoice", "StoredReport", "await_report", "find_failure", "forget_failure", "read_report"]

# So many answers make a report in about a second: nobody minds waiting for that.
MOST_AT_ONCE = 100_000


def read_report(batch: Batch, *, options: ReportChoice | None = None) -> StoredReport | None:
    """The report of a batch. Reads batch.project.

    A small batch's is computed at once when the kept one is old. For a large one a worker is asked, and what is known so
    far is given: the last report, with ``is_current`` false, or ``None`` while the first is being computed. After a try
    that failed (``find_failure``) nobody is asked for a while. Where no worker lives it is computed here. Raises
    ``UnknownTargets`` and ``UnknownMapping``.
    """
    choice = options or ReportChoice()
    fingerprint = fingerprint_report(batch, choice)
    kept = find_kept(batch, choice, fingerprint)
    if kept is not None and kept.will_do:
        return kept.stored
    is_large = count_answers(batch) > MOST_AT_ONCE
    if is_large and is_worker_alive() and (find_failure(batch, choice) or _ask_worker(batch, choice)):
        return kept and kept.stored
    return _compute_here(batch, choice, kept and kept.stored)


def await_report(batch: Batch, *, options: ReportChoice | None = None) -> StoredReport:
    """As ``read_report``, for a program, which rather waits for the first report than asks again."""
    return read_report(batch, options=options) or refresh_report(batch, options or ReportChoice())


def _compute_here(batch: Batch, choice: ReportChoice, kept: StoredReport | None) -> StoredReport:
    """Compute now; while somebody else does, the last report will do."""
    has_turn = take_turn(batch, choice)
    if kept is not None and not has_turn:
        return kept
    try:
        return refresh_report(batch, choice)
    finally:
        if has_turn:
            end_turn(batch)


def _ask_worker(batch: Batch, choice: ReportChoice) -> bool:
    from auditapp.sob import tasks  # loads Celery

    return tasks.ask_for_report(batch, choice)
