"""The stored report of a batch: whether it is current, who may compute the next one, and why the last attempt failed.

Read the report for pages, files and programs, and request a new one from a worker.

A worker is asked when a batch ends, when an interpretation changes, and when a page of a large batch needs a report. A sweep asks
again for batches that have ended; whatever reads a stale report does so too.
"""

from __future__ import annotations

import datetime
import os
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Exists, F, OuterRef, Q

from auditapp.batches.ledger.leases import SILENT_AFTER, is_worker_alive, name_host
from auditapp.batches.models import OPEN_STATES, Batch, WorkerSign
from auditapp.benchmarks.sob.models import StoredReport
from auditapp.benchmarks.sob.pure.measures.report import REPORT_VERSION
from auditapp.benchmarks.sob.queries import KIND
from auditapp.benchmarks.sob.report.computing import (
    ReportChoice,
    ReportInputs,
    compute_report,
    fingerprint_versions,
    read_inputs,
    tally_texts,
)
from auditapp.benchmarks.sob.tables.queries import UnknownMapping, UnknownTargets
from auditapp.outbound.clock import read_now

# A batch that still gets answers has a new report this often at most.
OPEN_SECONDS = 10
# After that, the process that holds the lock is taken for dead.
LOCK_TIME = datetime.timedelta(seconds=300)
FIRST_WAIT = datetime.timedelta(seconds=10)
MAX_WAIT = datetime.timedelta(minutes=10)
# After this number of failures in a row only a person asks for the report again.
MAX_FAILURES = 3
# In the place of a choice: not a report, but the tallies by text that comparisons are made of.
TEXTS = "texts"
WORKER_ENDED = "The worker that was computing it has ended, perhaps because it ran out of memory."


def find_report(inputs: ReportInputs) -> StoredReport:
    """The stored report with ``is_current`` set. Its ``content`` is ``None`` if there is none yet."""
    found = StoredReport.objects.filter(batch=inputs.batch, choice=inputs.choice.digest).first()
    if found is None:
        return StoredReport(batch=inputs.batch, choice=inputs.choice.digest)
    found.is_current = found.content is not None and (found.rules, found.answers) == (inputs.rules, inputs.answers)
    return found


def is_recent(stored: StoredReport, inputs: ReportInputs) -> bool:
    """Whether the report of a batch that still gets answers is recent enough to be shown as it is."""
    if stored.as_of is None or not inputs.batch.is_open or stored.rules != inputs.rules:
        return False
    return 0 <= (read_now() - stored.as_of).total_seconds() < OPEN_SECONDS


def refresh_report(inputs: ReportInputs) -> StoredReport:
    """Compute the report and store it. ``inputs`` were read before: what arrives meanwhile makes the report stale."""
    stored = compute_report(inputs.batch, inputs.choice)
    stored.rules, stored.answers, stored.is_current = inputs.rules, inputs.answers, True
    stored.set_report(stored.report)
    values = {name: getattr(stored, name) for name in ("rules", "answers", "as_of", "n_answers", "content")}
    # What failed before can be computed again.
    values |= {"failures": 0, "retry_at": None}
    StoredReport.objects.update_or_create(batch=inputs.batch, choice=inputs.choice.digest, defaults=values)
    return stored


def read_texts(inputs: ReportInputs) -> dict[str, Any]:
    """The tallies of a batch by text (``tally_texts``), for comparisons: as they are stored while no answer of the batch changes,
    else computed, and stored if the batch has ended."""
    rules = fingerprint_versions()
    found = StoredReport.objects.filter(batch=inputs.batch, choice=TEXTS).first()
    if found is not None and (found.rules, found.answers) == (rules, inputs.answers):
        return found.report
    found = StoredReport(batch=inputs.batch, choice=TEXTS, as_of=read_now())
    found.set_report(tally_texts(inputs.arms))
    if not inputs.batch.is_open:
        values = {"rules": rules, "answers": inputs.answers, "as_of": found.as_of, "content": found.content}
        StoredReport.objects.update_or_create(batch=inputs.batch, choice=TEXTS, defaults=values)
    return found.report


def find_unreported() -> Batch | None:
    """The newest batch that has ended and has no default report of its end by the versions of today, with its study.

    Left out are those whose report is being computed, may not be tried again yet, or failed ``MAX_FAILURES`` times. One query, for
    a sweep.
    """
    reports = StoredReport.objects.filter(batch=OuterRef("pk"), choice=ReportChoice().digest)
    of_end = reports.filter(as_of__gte=OuterRef("finished_at"), rules__startswith=fingerprint_versions())
    now = read_now()
    failed = reports.filter(Q(locked_until__gt=now) | Q(retry_at__gt=now) | Q(failures__gte=MAX_FAILURES))
    ended = Batch.objects.filter(kind=KIND, finished_at__isnull=False).exclude(state__in=OPEN_STATES)
    found = ended.filter(~Exists(of_end.exclude(content=None)), ~Exists(failed))
    return found.select_related("study").order_by("-pk").first()


def outdate_reports() -> None:
    """No stored report is current any more, because stored interpretations were counted again."""
    StoredReport.objects.update(rules="")


def take_lock(batch: Batch, choice: ReportChoice) -> bool:
    """Whether the caller may compute a report of this batch now. A lock whose worker has ended is released as a failure."""
    now = read_now()
    reports = StoredReport.objects.filter(batch=batch)
    own, _ = StoredReport.objects.get_or_create(batch=batch, choice=choice.digest)
    held = reports.filter(locked_until__gt=now)
    holder = held.exclude(pk=own.pk).first()
    if holder is None:
        free = reports.filter(pk=own.pk).filter(Q(locked_until=None) | Q(locked_until__lte=now))
        if free.update(locked_until=now + LOCK_TIME, locked_by=""):
            return True
        holder = held.filter(pk=own.pk).first()
    alive = WorkerSign.objects.filter(seen_at__gt=now - SILENT_AFTER)
    if holder is not None and holder.locked_by and not alive.filter(name=holder.locked_by).exists():
        _store_failure(holder, WORKER_ENDED)
        _release(holder)
    return False


def find_start(batch: Batch, choice: ReportChoice) -> datetime.datetime | None:
    """Since when a report is being computed, or waits for a worker to begin; ``None`` where nobody was asked."""
    locked = StoredReport.objects.filter(batch=batch, choice=choice.digest, locked_until__gt=read_now())
    until = locked.values_list("locked_until", flat=True).first()
    return until - LOCK_TIME if until else None


def begin_computing(batch: Batch, choice: ReportChoice) -> None:
    """Take over the lock as a worker; it lasts as long as that worker's heartbeat."""
    values = {"locked_until": read_now() + LOCK_TIME, "locked_by": _find_own_worker()}
    StoredReport.objects.update_or_create(batch=batch, choice=choice.digest, defaults=values)


def release_lock(batch: Batch, choice: ReportChoice) -> None:
    """Release the lock: at once, or when it expires if the database is too busy."""
    with suppress(DatabaseError):
        _release(StoredReport.objects.get(batch=batch, choice=choice.digest))


def _release(stored: StoredReport) -> None:
    StoredReport.objects.filter(pk=stored.pk).update(locked_until=None, locked_by="")


def note_failure(batch: Batch, choice: ReportChoice, error: Exception) -> None:
    """Store why a report could not be computed. Only the type of an unexpected error is shown."""
    is_known = isinstance(error, UnknownMapping | UnknownTargets)
    reason = str(error) if is_known else f"It ended with {type(error).__name__}; the worker’s log says where."
    _store_failure(StoredReport.objects.get_or_create(batch=batch, choice=choice.digest)[0], reason)


def _store_failure(stored: StoredReport, reason: str) -> None:
    wait = min(MAX_WAIT, FIRST_WAIT * 2 ** min(stored.failures, 10))
    StoredReport.objects.filter(pk=stored.pk).update(
        failures=F("failures") + 1, failure_reason=reason, retry_at=read_now() + wait
    )


def find_failure(batch: Batch, choice: ReportChoice) -> StoredReport | None:
    """The report that could not be computed, while it is too early to ask again."""
    return StoredReport.objects.filter(batch=batch, choice=choice.digest, retry_at__gt=read_now()).first()


def forget_failures(batch: Batch, choice: ReportChoice | None = None) -> None:
    """Clear failures so that a report can be requested again: for one choice, or for all of a batch."""
    reports = StoredReport.objects.filter(batch=batch)
    if choice is not None:
        reports = reports.filter(choice=choice.digest)
    reports.update(failures=0, failure_reason="", retry_at=None)


def _find_own_worker() -> str:
    """The name this process's worker gives its heartbeat: its own, or that of the process it was started by."""
    names = [f"{name_host()}:{pid}" for pid in (os.getpid(), os.getppid())]
    return WorkerSign.objects.filter(name__in=names).values_list("name", flat=True).first() or ""


# So many answers make a report in about a second: a page computes it itself if no worker has.
MAX_IN_A_REQUEST = 100_000


def request_report(batch: Batch, choice: ReportChoice) -> bool:
    """Have a worker compute the report, at most one at a time per batch. Whether the broker took the message."""
    from kombu.exceptions import OperationalError

    from auditapp.batches.runner.tasks import connect_at_once
    from auditapp.benchmarks.sob.report import tasks  # loads Celery, which a page seldom needs

    if not take_lock(batch, choice):
        return True
    try:
        with connect_at_once() as connection:
            tasks.compute_report.apply_async((batch.pk, asdict(choice)), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        release_lock(batch, choice)
        return False
    return True


def request_after_change(batch: Batch) -> None:
    """After this transaction, have a worker compute the default report, if there is a worker."""
    # Robust: what the change is part of has been stored, and goes on whatever becomes of this.
    transaction.on_commit(lambda: _request_if_alive(batch), robust=True)


def request_after_formatting(formatting: Batch) -> None:
    """A formatter's batch has ended: the interpretations of its source batch have changed."""
    source = Batch.objects.select_related("study").filter(pk=formatting.parameters.get("source_batch")).first()
    if source is not None:
        request_after_change(source)


def _request_if_alive(batch: Batch) -> None:
    if is_worker_alive():
        request_report(batch, ReportChoice())


def request_missing_report() -> None:
    """A sweep: have a worker compute the report of a batch that ended while there was no worker or under older rules, or
    whose request was lost. One at each sweep, the newest batch first."""
    batch = find_unreported()
    if batch is not None:
        request_report(batch, ReportChoice())


def read_report(inputs: ReportInputs) -> StoredReport | None:
    """The report of a batch.

    If the stored report is stale, a small batch's is computed now. For a large one a worker is asked and the last report is
    returned, with ``is_current`` false, or ``None`` while the first is being computed. After a failure (``find_failure``)
    no worker is asked for a while. Without a worker it is computed here.
    """
    batch, choice = inputs.batch, inputs.choice
    stored = find_report(inputs)
    # One of other rules may lack what pages and files of today show.
    last = stored if stored.content is not None and stored.report["versions"]["report"] == REPORT_VERSION else None
    if last is not None and (last.is_current or is_recent(last, inputs)):
        return last
    if (
        inputs.n_answers > MAX_IN_A_REQUEST
        and is_worker_alive()
        and (find_failure(batch, choice) or request_report(batch, choice))
    ):
        return last
    has_lock = take_lock(batch, choice)
    if last is not None and not has_lock:
        return last
    try:
        return refresh_report(inputs)
    finally:
        if has_lock:
            release_lock(batch, choice)


def await_report(batch: Batch, *, options: ReportChoice | None = None) -> StoredReport:
    """As ``read_report``, but computes the first report here if there is none. For commands and the API. Reads batch.study.

    Raises ``UnknownTargets`` and ``UnknownMapping``.
    """
    inputs = read_inputs(batch, options)
    return read_report(inputs) or refresh_report(inputs)
