"""What every action on a standing batch shares: the locked row, the refusal, the change with its audit event."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from django.db import transaction

from auditapp.batches.models import Batch, Cell, WorkQueue
from transcripts.audit_trail import trail

OPEN_CELLS = (Cell.State.PLANNED, Cell.State.LEASED)


class BatchError(Exception):
    """A sentence for the person who asked."""


def lock_batch(batch: Batch) -> Batch:
    """The batch's row as it is now, held until the transaction ends; claims and endings wait for it too."""
    return Batch.objects.select_for_update().get(pk=batch.pk)


def refuse_ended(batch: Batch, wish: str) -> None:
    """Raise ``BatchError`` for a batch in which nothing happens any more."""
    if not batch.is_open:
        raise BatchError(f"Batch {batch.pk} has ended ({batch.get_state_display().lower()}); it cannot be {wish}.")


def choose_working_state(batch: Batch) -> str:
    """Where a batch stands that goes on: in its pilot, waiting for the yes that ends it, or running."""
    if not batch.pilot_cells or batch.confirmed_at is not None:
        return Batch.State.RUNNING
    is_left = Cell.objects.filter(batch=batch, pilot=True, state__in=OPEN_CELLS).exists()
    return Batch.State.PILOT if is_left else Batch.State.WAITING


def change_batch(
    batch: Batch,
    by: trail.Actor,
    action: str,
    details: dict[str, object],
    columns: dict[str, object],
) -> None:
    """Write ``columns`` and the event that tells of it; ``batch`` is read again."""
    if columns:
        Batch.objects.filter(pk=batch.pk).update(**columns)
    batch.refresh_from_db()
    trail.record(action, target=batch, by=by, stream=trail.project_stream(batch.project_id), details=details)


def notify_queues(queues: Iterable[WorkQueue]) -> None:
    """Tell the workers of these queues once the transaction stands."""
    for queue in queues:
        transaction.on_commit(partial(_notify_workers, queue.pk))


def _notify_workers(queue_id: int) -> None:
    from auditapp.batches.runner import tasks  # loads Celery

    tasks.notify_queue(queue_id)
