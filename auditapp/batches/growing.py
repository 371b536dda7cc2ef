"""Batches that grow: a person asks one question at a time, and the next one only when she has read the answer.

Such a batch is launched with ``stays_open`` (``LaunchPlan``), with or without first cells. ``add_cell`` adds one and sends it at
once; ``close_batch`` ends the batch with its last cell. In between everything holds that holds of any batch: cap, pause, cancel,
recovery. Workers keep room for these batches beside the largest others (``runner.slots``).
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from auditapp.batches.actions import change_batch, lock_batch, notify_queues, refuse_ended
from auditapp.batches.ledger.batch_state import finish_if_complete
from auditapp.batches.ledger.chains import FAILED_FOR_GOOD, fail_cells, fail_followers
from auditapp.batches.ledger.prompts import compute_highest_price, write_requests
from auditapp.batches.models import WORKING_STATES, Arm, Batch, Cell
from auditapp.batches.pure.money import to_dollars
from transcripts.audit_trail import trail
from transcripts.refusals import Refused

CLOSED = "Batch {batch} is closed: nothing more can be asked in it."
PAUSED = "Batch {batch} is {state}, so nothing is sent. {reason} Resume it, then ask again."
OTHERWISE = "Input {input} was already asked in batch {batch}, behind another cell. Reload the page to see it."
NO_ANSWER = (
    "The question before has no answer, so this one cannot continue it. Ask that question again, or continue behind the last one "
    "that was answered."
)
UNDER_WAY = (
    "Its call is under way, and the answer is paid for, so it cannot be given up. Wait until the call has ended."
)
GIVEN_UP = "given_up"
OVER_CAP = (
    "This call could cost as much as ${highest:,.6f}, and of the cap ${left:,.6f} are left. Raise the cap of batch {batch}, or "
    "end here."
)


@transaction.atomic
def add_cell(
    *, batch: Batch, arm: Arm, input_id: int, by: trail.Actor, after: Cell | None = None, repeat: int = 1
) -> Cell:
    """Add a cell to a batch that stays open, and have it asked at once, or as soon as ``after`` is answered. Raises ``Refused``.

    The same input and repeat again give the cell that the first call made: a feature that stores its question once for each
    ``client_id`` and asks for it here in the same transaction asks it once. ``after`` is a cell of the same arm, whose
    conversation is continued. A further ``repeat`` asks the same question another time, behind the same cell, when its answer was
    cut off, say; what failed is asked again by ``retry_failed(only=[cell.pk])``.

    Nothing is added where the call could exceed the cap, with everything that was said before it. What a cell costs that waits
    for ``after`` is not known before that is answered: its turn comes then, and the cap pauses the batch before it is sent.
    """
    locked = lock_batch(batch)
    known = Cell.objects.filter(arm=arm, batch=locked, input_id=input_id, repeat=repeat).first()
    if known is not None:
        if known.after_id != (after.pk if after else None):
            raise Refused(OTHERWISE.format(input=input_id, batch=batch.pk))
        return known
    _refuse_shut(locked)
    own = Arm.objects.select_related("variant__account", "capabilities", "batch").get(pk=arm.pk, batch=locked)
    cell = Cell(batch=locked, arm=own, input_id=input_id, repeat=repeat)
    if after is not None:
        cell.after = Cell.objects.get(pk=after.pk, arm=own)
        cell.state = _choose_state(cell.after)
        locked.has_chains = True
    cell.save(force_insert=True)
    if cell.state == Cell.State.PLANNED:
        _check_room(locked, own, cell)
    details: dict[str, object] = {"cell": cell.pk, "input": input_id, "after": cell.after_id}
    change_batch(batch, by, "batch.cell_added", details, {"has_chains": locked.has_chains})
    notify_queues(batch.queues.filter(name=own.variant.queue_name))
    return cell


@transaction.atomic
def give_up_cells(*, batch: Batch, cells: Collection[int], by: trail.Actor) -> int:
    """Ask cells without an answer no more, because somebody will not wait any longer: they fail as ``given_up``; their number.

    They are between two tries, or wait for a batch that has stopped. Raises ``Refused`` for a cell whose call is under way or
    held. What has ended already stays as it is.
    """
    locked = lock_batch(batch)
    open_cells = Cell.objects.filter(batch=locked, pk__in=cells).exclude(state__in=(Cell.State.DONE, *FAILED_FOR_GOOD))
    given_up = list(open_cells.order_by("pk"))
    if any(cell.state not in {Cell.State.PLANNED, Cell.State.WAITS} for cell in given_up):
        raise Refused(UNDER_WAY)
    if given_up:
        keys = [cell.pk for cell in given_up]
        fail_cells(locked, given_up, GIVEN_UP)
        fail_followers(locked, keys)
        change_batch(batch, by, "batch.cells_given_up", {"cells": keys}, {})
        finish_if_complete(batch)
    batch.refresh_from_db()
    return len(given_up)


@transaction.atomic
def close_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Let nothing more be added: the batch is done when its last cell has ended, which may be now. Closing it again changes
    nothing."""
    locked = lock_batch(batch)
    if locked.stays_open and locked.is_open:
        cells = Cell.objects.filter(batch=batch).count()
        change_batch(batch, by, "batch.closed", {"cells": cells}, {"stays_open": False})
        finish_if_complete(batch)
    batch.refresh_from_db()


def _refuse_shut(batch: Batch) -> None:
    refuse_ended(batch, "given another call")
    if not batch.stays_open:
        raise Refused(CLOSED.format(batch=batch.pk))
    if batch.state not in WORKING_STATES and not batch.awaits_server:
        state = batch.get_state_display().lower()
        raise Refused(PAUSED.format(batch=batch.pk, state=state, reason=batch.state_reason).replace("  ", " "))


def _choose_state(forerunner: Cell) -> str:
    if forerunner.state in FAILED_FOR_GOOD:
        raise Refused(NO_ANSWER)
    return Cell.State.PLANNED if forerunner.state == Cell.State.DONE else Cell.State.WAITS


def _check_room(batch: Batch, arm: Arm, cell: Cell) -> None:
    """Refuse a call that cannot be sent within the cap. What cannot be written at all fails when its turn comes."""
    if batch.cap_nano is None:
        return
    requests, _ = write_requests(batch, {arm.pk: arm}, [cell])
    left = batch.cap_nano - batch.spent_nano - batch.reserved_nano
    highest = max((compute_highest_price(request, arm) for request in requests.values()), default=0)
    if highest > left:
        raise Refused(OVER_CAP.format(highest=to_dollars(highest), left=to_dollars(left), batch=batch.pk))
