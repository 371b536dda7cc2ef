"""Settle what dead runners left: store answered calls from the spool, and find out how the other calls ended if possible.

A runner keeps a lock on its spool as long as it lives, so every machine knows at once which of its own runners died. A runner on
another machine is given up when its queue was silent for too long, by the database's clock; a worker of that machine stores what
its spool says later. This one mechanism covers a killed worker, a lost machine and a deployment.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from auditapp.batches.ledger import batch_state, leases, results
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.models import Attempt, Batch, Cell, Tick, WorkQueue
from auditapp.batches.pure.spool import SpoolContent, is_abandoned, read_spool, spool_path
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, NextStep
from auditapp.outbound.clock import read_now
from transcripts.hooks import send_to_each, worker_swept

logger = logging.getLogger(__name__)

HUNG_AFTER = datetime.timedelta(minutes=3)
LOST = "the runner died before the answer came; the provider may have charged for it"
NEVER_LEFT = "the runner died before it was sent"


def recover_queues(*, trust_silence: bool = True) -> int:
    """Settle what can be settled from this machine. Returns the number of released queues. Without ``trust_silence``, only
    runners that are known to be dead are settled."""
    settled = settle_dead_here() + (settle_silent() if trust_silence else [])
    free_forgotten_cells()
    return len(settled)


def settle_dead_here() -> list[int]:
    """Settle the dead runners of this machine, and stray spools; returns the released queues."""
    # The files first: a runner holds its queue before it has a file, so a file without a queue was given up.
    paths = [path for path in sorted(settings.SPOOL_FOLDER.glob("*.jsonl")) if is_abandoned(path)]
    if not paths:
        return []
    held = {spool_path(settings.SPOOL_FOLDER, queue.runner): queue for queue in WorkQueue.objects.exclude(runner="")}
    settled = []
    for path in paths:
        queue = held.get(path)
        if queue is None:
            _try(partial(settle_stray_spool, path), path.name)
        elif _try(partial(settle_runner, queue, is_dead=True), path.name):
            settled.append(queue.pk)
    return settled


def settle_silent() -> list[int]:
    """Release queues whose runner was silent for too long, on whichever machine; returns them. A runner whose process is
    alive on this machine may only be waiting for the database, and gets more time."""
    long_ago = read_now() - HUNG_AFTER
    silent = [
        queue
        for queue in leases.find_expired_queues()
        if queue.heartbeat_at is None
        or queue.heartbeat_at < long_ago
        or is_abandoned(spool_path(settings.SPOOL_FOLDER, queue.runner)) is not False
    ]
    return [queue.pk for queue in silent if _try(partial(settle_runner, queue), queue.runner)]


def _try(settle: Callable[[], None], name: str) -> bool:
    """Settle a runner. If that fails, the others are settled all the same, and the next sweep tries again."""
    try:
        settle()
    except Exception:
        logger.exception("What runner %s left could not be settled", name)
        return False
    return True


def settle_runner(queue: WorkQueue, *, is_dead: bool = False) -> None:
    """Store what is known of a dead or silent runner in the ledger, then release its queue. Safe to repeat."""
    runner = queue.runner
    path = spool_path(settings.SPOOL_FOLDER, runner)
    content = _read(path)
    ends: list[CallOutcome] = []
    with transaction.atomic():
        if not _is_still_held(queue, is_dead=is_dead):
            return
        if queue.batch.route == Batch.Route.LIVE:
            ends = _settle_calls(queue.batch_id, leases.find_open_claims(runner), content, is_dead=is_dead)
        leases.release_queue(queue, runner)
    if is_dead:
        path.unlink(missing_ok=True)
    logger.warning(
        "Runner %s is gone: %d answers taken from its spool, %d calls never sent, %d with unknown end",
        runner,
        sum(end not in {CallOutcome.UNSENT, CallOutcome.UNKNOWN} for end in ends),
        ends.count(CallOutcome.UNSENT),
        ends.count(CallOutcome.UNKNOWN),
    )


def _is_still_held(queue: WorkQueue, *, is_dead: bool) -> bool:
    """Whether the queue still has to be released: not if another sweeper has released it meanwhile, or if its runner has shown
    life.

    The queue's row is locked from here on. A runner's heartbeat also locks queue and cells in this order.
    """
    held = WorkQueue.objects.select_for_update(no_key=True).filter(pk=queue.pk, runner=queue.runner)
    if not is_dead:
        held = held.filter(heartbeat_at=queue.heartbeat_at)
    return held.first() is not None


def settle_stray_spool(path: Path) -> None:
    """Use the spool of a dead runner whose queue was already released, for calls with an unknown end."""
    content = _read(path)
    if content is not None:
        may_change = Attempt.objects.filter(end__in=[Attempt.End.OPEN, Attempt.End.UNKNOWN], job__isnull=True)
        names = may_change.order_by().values_list("runner", flat=True).distinct()
        own = [name for name in names if spool_path(settings.SPOOL_FOLDER, name) == path]
        attempts = list(may_change.select_related("cell__arm__batch").filter(runner__in=own))
        for batch_id in sorted({attempt.cell.batch_id for attempt in attempts}):
            _settle_calls(
                batch_id, [each for each in attempts if each.cell.batch_id == batch_id], content, is_dead=True
            )
    path.unlink(missing_ok=True)


def _read(path: Path) -> SpoolContent | None:
    """A spool's content; ``None`` if it is not on this machine. A spool that cannot be parsed is set aside for people."""
    try:
        return read_spool(path)
    except (ValueError, KeyError, TypeError, AttributeError):
        logger.exception("Spool %s cannot be parsed; it is kept with the suffix .unreadable", path.name)
        path.rename(path.with_suffix(".unreadable"))
        return None


def _settle_calls(
    batch_id: int, attempts: Sequence[Attempt], content: SpoolContent | None, *, is_dead: bool
) -> list[CallOutcome]:
    """Store the ends of calls that are open, or whose unknown end is known now; returns these ends."""
    now = read_now()
    group = []
    for attempt in attempts:
        found = _find_end(attempt, content, now, is_dead=is_dead)
        if attempt.end == Attempt.End.OPEN or found.answer.end is not CallOutcome.UNKNOWN:
            group.append(found)
    if group:
        results.store_completed(batch_id, group, stopped=True)
    return [found.answer.end for found in group]


def _find_end(
    attempt: Attempt, content: SpoolContent | None, now: datetime.datetime, *, is_dead: bool
) -> CompletedCall:
    """The end of a call by its runner's spool. A call that a dead runner never wrote there was never sent; a runner that is
    only silent may still send it."""
    leased, request_id = leases.make_leased_cell(attempt), str(attempt.request_id)
    if content is None:
        return CompletedCall(leased, ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error=LOST), now)
    sent, answers = content
    sent_at = _read_time(sent.get(request_id, ""))
    if request_id in answers:
        answer, done_at = answers[request_id]
        return CompletedCall(leased, answer, _read_time(done_at) or now, sent_at)
    if is_dead and request_id not in sent:
        return CompletedCall(leased, ChatAnswer(CallOutcome.UNSENT, NextStep.RETRY, error=NEVER_LEFT), now)
    return CompletedCall(leased, ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error=LOST), now, sent_at)


def _read_time(text: str) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text) if text else None


def free_forgotten_cells() -> None:
    """Free leased cells of live calls whose lease has ended and that belong to no runner. The engine leaves no such cells, but if
    there were any, they would wait for ever. Their open calls are settled like those of a silent runner."""
    now = read_now()
    runs = WorkQueue.objects.filter(runner=OuterRef("lease_owner"), batch=OuterRef("batch"))
    forgotten = Cell.objects.filter(
        ~Exists(runs), state=Cell.State.LEASED, lease_until__lt=now, batch__route=Batch.Route.LIVE
    )
    for batch_id, runner in sorted(forgotten.order_by().values_list("batch_id", "lease_owner").distinct()):
        _try(partial(_free_cells, batch_id, runner, now), runner)


@transaction.atomic
def _free_cells(batch_id: int, runner: str, now: datetime.datetime) -> None:
    batch = Batch.objects.select_for_update().get(pk=batch_id)
    own = Cell.objects.filter(batch=batch, lease_owner=runner, state=Cell.State.LEASED, lease_until__lt=now)
    claims = Attempt.objects.select_related("cell__arm__batch").filter(
        cell__in=own, end=Attempt.End.OPEN, job__isnull=True
    )
    content = _read(spool_path(settings.SPOOL_FOLDER, runner))
    ends = _settle_calls(batch_id, list(claims), content, is_dead=False)
    ends_batch = batch.control in {Batch.Control.CANCEL, Batch.Control.ABORT}
    state = Cell.State.CANCELLED if ends_batch else Cell.State.PLANNED
    freed = own.update(state=state, lease_owner="", lease_until=None)
    batch_state.finish_if_complete(batch)
    logger.warning(
        "Batch %s: %d cells without a runner are free again, %d of them were asked", batch_id, freed, len(ends)
    )


SWEEP = "sweep"
LONG_AGO = datetime.timedelta(days=1)


def sweep_others() -> None:
    """Let every room sweep. One that fails does not stop the others, and is tried again at the next sweep."""
    send_to_each(worker_swept)


def take_tick(name: str, *, every: float) -> datetime.timedelta | None:
    """How long ago the task was last begun, returned only to the one caller that is to do it now; ``None`` if it was begun within
    the last ``every`` seconds."""
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
