"""Decisions about cells without an answer: ask failed ones again, release held ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db import transaction

from auditapp.batches.actions.changes import (
    BatchError,
    change_batch,
    choose_working_state,
    lock_batch,
    notify_queues,
    refuse_ended,
)
from auditapp.batches.kinds import Answered, get_kind
from auditapp.batches.ledger.batch_state import finish_if_complete
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Batch, Cell
from transcripts.audit_trail import trail

GROUP = 1000
GIVEN_UP = "its end is unknown, and a person decided not to ask again"


@transaction.atomic
def retry_failed(*, batch: Batch, by: trail.Actor) -> int:
    """Ask every failed cell again, even in a batch that is done; returns their number. Their earlier attempts stay."""
    locked = lock_batch(batch)
    if locked.state == Batch.State.CANCELLED:
        raise BatchError("A cancelled batch stays cancelled. Launch a new one for the cells without an answer.")
    ids = _list_cells(locked, Cell.State.FAILED)
    if not ids:
        batch.refresh_from_db()
        return 0
    kind = get_kind(locked.kind)
    for group in _in_groups(ids):
        kind.reopen(group)
        Cell.objects.filter(pk__in=group).update(
            state=Cell.State.PLANNED, outcome="", tries=0, unknown_ends=0, not_before=None
        )
    _send_again(batch, locked, by, "batch.retried", len(ids))
    return len(ids)


@transaction.atomic
def release_held(*, batch: Batch, by: trail.Actor, again: bool) -> int:
    """Decide about every held cell: ask ``again``, which may pay twice, or count it as failed; returns their number."""
    locked = lock_batch(batch)
    refuse_ended(locked, "changed")
    ids = _list_cells(locked, Cell.State.HELD)
    if not ids:
        batch.refresh_from_db()
        return 0
    if again:
        for group in _in_groups(ids):
            Cell.objects.filter(pk__in=group).update(state=Cell.State.PLANNED, outcome="", not_before=None)
        _send_again(batch, locked, by, "batch.held_asked_again", len(ids))
        return len(ids)
    for group in _in_groups(ids):
        _give_up(locked, group)
    change_batch(batch, by, "batch.held_given_up", {"before": locked.state, "cells": len(ids)}, {})
    _settle_standing(batch)
    return len(ids)


def _settle_standing(batch: Batch) -> None:
    """When the last held cell is given up, a batch may be done, or its pilot over."""
    finish_if_complete(batch)
    batch.refresh_from_db()
    if batch.state == Batch.State.PAUSED and choose_working_state(batch) == Batch.State.WAITING:
        change_batch(
            batch, trail.SYSTEM, "batch.pilot_finished", {}, {"state": Batch.State.WAITING, "state_reason": ""}
        )


def _give_up(batch: Batch, ids: Sequence[int]) -> None:
    """Fail the cells as if no provider had answered, so that their kind counts them."""
    cells = Cell.objects.filter(pk__in=ids).order_by("pk")
    handed = [Answered(cell.pk, cell.arm_id, cell.input_id, None, "", GIVEN_UP) for cell in cells]
    outcomes = get_kind(batch.kind).store_answers(batch, handed)
    cells.update(state=Cell.State.FAILED, outcome=PROVIDER_ERROR)
    for cell_id, outcome in outcomes.items():
        if outcome != PROVIDER_ERROR:
            Cell.objects.filter(pk=cell_id).update(outcome=outcome)


def _send_again(batch: Batch, locked: Batch, by: trail.Actor, action: str, cells: int) -> None:
    columns: dict[str, object] = {
        "state": choose_working_state(locked),
        "control": Batch.Control.RUN,
        "state_reason": "",
        "finished_at": None,
    }
    change_batch(batch, by, action, {"before": locked.state, "cells": cells}, columns)
    notify_queues(batch.queues.all())


def _list_cells(batch: Batch, state: str) -> list[int]:
    return list(Cell.objects.filter(batch=batch, state=state).order_by("pk").values_list("pk", flat=True))


def _in_groups(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), GROUP):
        yield ids[start : start + GROUP]
