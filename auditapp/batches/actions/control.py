"""Pause, resume, drain, cancel or abort a batch, and change its number of calls in flight.

Asking for what is already the case changes nothing: it is no error and leaves no event.
"""

from __future__ import annotations

from django.db import transaction

from auditapp.batches.actions.changes import (
    OPEN_CELLS,
    BatchError,
    change_batch,
    choose_working_state,
    lock_batch,
    notify_queues,
    refuse_ended,
)
from auditapp.batches.kinds import announce_end
from auditapp.batches.ledger.batch_state import finish_if_complete
from auditapp.batches.ledger.clock import read_now
from auditapp.batches.models import WORKING_STATES, Batch, Cell
from auditapp.batches.pure.launch_options import MAX_IN_FLIGHT
from transcripts.audit_trail import trail


@transaction.atomic
def pause_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Send no new calls; those in flight finish and are stored."""
    locked = lock_batch(batch)
    refuse_ended(locked, "paused")
    if locked.state not in WORKING_STATES:
        batch.refresh_from_db()
        return
    _steer(batch, by, "batch.paused", before=locked, state=Batch.State.PAUSED, control=Batch.Control.PAUSE)


@transaction.atomic
def resume_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Continue a batch that is paused or draining."""
    locked = lock_batch(batch)
    refuse_ended(locked, "resumed")
    if locked.state == Batch.State.WAITING:
        raise BatchError("The pilot is done and the batch waits for approval: confirm it, or cancel it.")
    if locked.state in WORKING_STATES and locked.control == Batch.Control.RUN:
        batch.refresh_from_db()
        return
    cells = Cell.objects.filter(batch=batch)
    held = cells.filter(state=Cell.State.HELD).count()
    if held and not cells.filter(state__in=OPEN_CELLS).exists():
        raise BatchError(f"Only held cells are left ({held:,}). Release them: ask again, or count them as failed.")
    _go_on(batch, locked, by, "batch.resumed", control=Batch.Control.RUN)


@transaction.atomic
def drain_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Start no new cell; those started are finished, then the batch pauses."""
    locked = lock_batch(batch)
    refuse_ended(locked, "drained")
    if locked.state == Batch.State.WAITING:
        raise BatchError("The batch waits for approval and has no calls in progress to finish.")
    if locked.control == Batch.Control.DRAIN:
        batch.refresh_from_db()
        return
    _go_on(batch, locked, by, "batch.drained", control=Batch.Control.DRAIN)
    # Where no cell has been started, no runner would notice that the batch is drained.
    finish_if_complete(batch)
    batch.refresh_from_db()


@transaction.atomic
def cancel_batch(*, batch: Batch, by: trail.Actor, cut_off: bool = False) -> None:
    """End a batch for good: waiting cells are cancelled.

    Calls in flight finish and are stored, unless they are ``cut_off``: then their end is unknown, and they may have been
    paid for. A cancelled batch can still be cut off.
    """
    locked = lock_batch(batch)
    control = Batch.Control.ABORT if cut_off else Batch.Control.CANCEL
    if locked.state == Batch.State.CANCELLED:
        if cut_off and locked.control != Batch.Control.ABORT:
            _steer(batch, by, "batch.aborted", before=locked, state=Batch.State.CANCELLED, control=control)
        batch.refresh_from_db()
        return
    refuse_ended(locked, "cancelled")
    waiting = Cell.objects.filter(batch=batch, state__in=[Cell.State.PLANNED, Cell.State.HELD])
    cancelled = waiting.update(state=Cell.State.CANCELLED, not_before=None)
    Batch.objects.filter(pk=batch.pk).update(finished_at=read_now())
    action = "batch.aborted" if cut_off else "batch.cancelled"
    _steer(batch, by, action, before=locked, state=Batch.State.CANCELLED, control=control, cells=cancelled)
    if locked.route == Batch.Route.JOBS:
        notify_queues(batch.queues.all())
    announce_end(batch)


@transaction.atomic
def change_concurrency(*, batch: Batch, concurrency: int, by: trail.Actor) -> None:
    """Set the maximum number of calls in flight; running queues follow within a second."""
    locked = lock_batch(batch)
    refuse_ended(locked, "given another number of calls in flight")
    check_concurrency(concurrency)
    if concurrency == locked.concurrency:
        batch.refresh_from_db()
        return
    details: dict[str, object] = {"before": locked.concurrency, "after": concurrency}
    change_batch(batch, by, "batch.concurrency_changed", details, {"concurrency": concurrency})


def check_concurrency(concurrency: int) -> None:
    """Raise ``BatchError`` for a number of calls in flight that is out of range."""
    if not 1 <= concurrency <= MAX_IN_FLIGHT:
        raise BatchError(f"Calls in flight must be between 1 and {MAX_IN_FLIGHT:,}.")


def _go_on(batch: Batch, locked: Batch, by: trail.Actor, action: str, *, control: str) -> None:
    state = choose_working_state(locked)
    if state == Batch.State.WAITING:
        control = Batch.Control.PAUSE
    _steer(batch, by, action, before=locked, state=state, control=control)
    if batch.state in WORKING_STATES:
        notify_queues(batch.queues.all())


def _steer(
    batch: Batch, by: trail.Actor, action: str, *, before: Batch, state: str, control: str, **counts: object
) -> None:
    details = {"before": before.state, "after": state, **counts}
    change_batch(batch, by, action, details, {"state": state, "control": control, "state_reason": ""})
