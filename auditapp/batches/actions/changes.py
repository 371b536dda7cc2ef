"""What every action on an existing batch shares: the locked row, the refusal, the change with its audit event."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from django.db import transaction

from auditapp.batches.models import Batch, Cell, WorkQueue
from transcripts.audit_trail import trail

OPEN_CELLS = (Cell.State.PLANNED, Cell.State.LEASED)


class BatchError(Exception):
    """The request cannot be carried out; the message is for the person who made it."""


def lock_batch(batch: Batch) -> Batch:
    """The batch's row as it is now, locked until the transaction ends; claims and ends wait for it too."""
    return Batch.objects.select_for_update().get(pk=batch.pk)


def refuse_ended(batch: Batch, wish: str) -> None:
    """Raise ``BatchError`` for a batch that has ended."""
    if not batch.is_open:
        raise BatchError(f"Batch {batch.pk} has ended ({batch.get_state_display().lower()}); it cannot be {wish}.")


def choose_working_state(batch: Batch) -> str:
    """The state of a batch that continues: in its pilot, waiting for approval after it, or running."""
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
    """Write ``columns`` and the audit event; ``batch`` is read again."""
    if columns:
        Batch.objects.filter(pk=batch.pk).update(**columns)
    batch.refresh_from_db()
    trail.record(action, target=batch, by=by, stream=trail.project_stream(batch.project_id), details=details)


def notify_queues(queues: Iterable[WorkQueue]) -> None:
    """Notify the workers of these queues once the transaction is committed."""
    for queue in queues:
        transaction.on_commit(partial(_notify_workers, queue.pk))


def _notify_workers(queue_id: int) -> None:
    from auditapp.batches.runner import tasks  # loads Celery

    tasks.notify_queue(queue_id)
