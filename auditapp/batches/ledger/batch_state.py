"""How workers change the state of a batch: it waits after its pilot, pauses with a reason, or is done.

Each change is an audit event. The caller holds the lock of the batch's row.
"""

from __future__ import annotations

from django.db import transaction

from auditapp.batches.kinds import NO_ROOM, NOT_STORABLE, get_kind
from auditapp.batches.models import SENDING_CONTROLS, WORKING_STATES, Batch, Cell, WorkQueue
from auditapp.llm.providers.base import ErrorClass
from auditapp.outbound.clock import read_now
from transcripts.audit_trail import trail
from transcripts.hooks import batch_ended, send

UNDER_WAY = (Cell.State.PLANNED, Cell.State.LEASED)
UNREADABLE_EVERYWHERE = (NOT_STORABLE, NO_ROOM)
CAP_REACHED = (
    "The next call could exceed the cap, so nothing more is sent. Raise the cap and resume, or cancel the batch."
)
PILOT_UNREADABLE = (
    "Nothing could be read in {answers} of the pilot. The rest would probably end the same way, so nothing more is sent until you "
    "decide. Look at the answers. Another model, a higher output limit or structured answers may help."
)
DRAINED = "The batch is drained: every started cell has ended. Resume to ask the remaining cells."
HELD_REASON = " held: sent, but with an unknown end, so asking again may cost twice. Decide whether to ask again."
HELD = "{cells}" + HELD_REASON
REFUSALS = {
    ErrorClass.QUOTA: "The provider reports that the account has no credit left ({status}); attempt {attempt} has its message.",
    ErrorClass.ADDRESS_REFUSED: "The model's address is private or does not use https, and it is not on the list of allowed "
    "addresses (attempt {attempt}).",
    ErrorClass.REDIRECT: "The model's address answered with a redirect ({status}), which is not followed (attempt {attempt}).",
    ErrorClass.CONNECTION: "The certificate of the model's address was not accepted, so nothing was sent (attempt {attempt}).",
}
SETTING_REFUSED = (
    "The model cannot be asked with its settings, so nothing was sent; attempt {attempt} gives the reason. Cancel the batch, and "
    "launch it with a model that has other settings."
)
SERVER_AWAY = (
    "The server does not answer. About once a minute one call is sent to it, which may still be charged. The batch resumes "
    "automatically when the server answers."
)
ACCOUNT_REFUSED = "The provider refused the account ({status}); attempt {attempt} has its message."


def finish_if_complete(batch: Batch) -> bool:
    """Update the state of a batch that has nothing to do at present.

    Returns whether no cell is planned or in progress. After its pilot the batch waits for approval; after a drain it pauses; held
    cells pause it until a person decides; and if nothing is left it is done, unless it stays open for further cells. Cells that
    wait follow others that are counted here.
    """
    cells = Cell.objects.filter(batch=batch)
    if cells.filter(state__in=UNDER_WAY).exists():
        if batch.state == Batch.State.PILOT and not cells.filter(state__in=UNDER_WAY, pilot=True).exists():
            _move(batch, Batch.State.WAITING, "batch.pilot_finished", describe_unreadable_pilot(batch))
        elif batch.control == Batch.Control.DRAIN and not cells.filter(state__in=UNDER_WAY, fence__gt=0).exists():
            pause_locked(batch, DRAINED)
        return False
    held = cells.filter(state=Cell.State.HELD).count()
    if held:
        pause_locked(batch, HELD.format(cells="1 cell is" if held == 1 else f"{held:,} cells are"))
        return True
    if batch.stays_open:
        if batch.control == Batch.Control.DRAIN:
            pause_locked(batch, DRAINED)
        return True
    closed = Batch.objects.filter(pk=batch.pk, state__in=[*WORKING_STATES, Batch.State.PAUSED]).update(
        state=Batch.State.DONE, state_reason="", finished_at=read_now()
    )
    if closed:
        _record(batch, "batch.finished", {})
        send(batch_ended, batch=batch)
    return True


def is_paused_by_held(batch: Batch) -> bool:
    """Whether this batch was paused because of held cells, not by a person."""
    return batch.state == Batch.State.PAUSED and batch.state_reason.endswith(HELD_REASON)


def describe_unreadable_pilot(batch: Batch) -> str:
    """Why a batch should not go on after its pilot (there were answers, but nothing could be read), or an empty text."""
    unreadable = get_kind(batch.kind).unreadable
    if not unreadable:
        return ""
    answered = Cell.objects.filter(batch=batch, pilot=True, state=Cell.State.DONE)
    if answered.exclude(outcome__in=[*unreadable, *UNREADABLE_EVERYWHERE]).exists():
        return ""
    count = answered.count()
    return (
        PILOT_UNREADABLE.format(answers="the one answer" if count == 1 else f"any of the {count:,} answers")
        if count
        else ""
    )


def make_refusal_reason(error_class: ErrorClass, status: int | None, attempt_id: int) -> str:
    """Why a batch pauses when the provider refuses its account. The provider's own message is kept only with the attempt, because
    it may quote a text."""
    if error_class is ErrorClass.BAD_REQUEST and status is None:
        return SETTING_REFUSED.format(attempt=attempt_id)
    sentence = REFUSALS.get(error_class, ACCOUNT_REFUSED)
    named = "no status" if status is None else f"status {status}"
    return sentence.format(status=named, attempt=attempt_id) + " Fix that, then resume."


@transaction.atomic
def pause_for(batch_id: int, reason: str) -> None:
    """Pause a working batch; its page shows the reason."""
    pause_locked(Batch.objects.select_for_update().get(pk=batch_id), reason)


def pause_locked(batch: Batch, reason: str) -> None:
    """As ``pause_for``, for a batch whose row is locked."""
    _move(batch, Batch.State.PAUSED, "batch.paused_by_worker", reason[:300])


@transaction.atomic
def pause_for_outage(queue: WorkQueue) -> bool:
    """Pause a working batch until a server answers. Returns whether it is paused.

    It is not paused while another of its queues has work and gets answers. The control remains run or drain, which distinguishes
    this pause from one that waits for a person.
    """
    batch = Batch.objects.select_for_update().get(pk=queue.batch_id)
    if batch.state not in WORKING_STATES or batch.control not in SENDING_CONTROLS:
        return False
    waiting = batch.queues.exclude(pk=queue.pk).filter(silent_since=None)
    accounts = [each.name for each in waiting]
    arms = [arm.pk for arm in batch.arms.select_related("variant") if arm.variant.queue_name in accounts]
    left = Cell.objects.filter(batch=batch, arm__in=arms, state__in=UNDER_WAY)
    if (left.filter(pilot=True) if batch.state == Batch.State.PILOT else left).exists():
        return False
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.PAUSED, state_reason=SERVER_AWAY)
    _record(batch, "batch.paused_for_outage", {"queue": queue.pk})
    return True


def resume_after_outage(batch: Batch) -> None:
    """Continue a batch that waited for a server which now answers. Its row is locked, and ``batch`` is changed too."""
    in_pilot = batch.pilot_cells > 0 and batch.confirmed_at is None
    batch.state, batch.state_reason = (Batch.State.PILOT if in_pilot else Batch.State.RUNNING), ""
    batch.save(update_fields=["state", "state_reason"])
    _record(batch, "batch.resumed_after_outage", {})


def _move(batch: Batch, state: str, action: str, reason: str = "") -> None:
    movable = Batch.objects.filter(pk=batch.pk)
    if batch.awaits_server:
        movable = movable.filter(state=Batch.State.PAUSED, control__in=SENDING_CONTROLS)
    else:
        movable = movable.filter(state__in=WORKING_STATES)
    moved = movable.update(state=state, control=Batch.Control.PAUSE, state_reason=reason)
    if moved:
        _record(batch, action, {"reason": reason} if reason else {})


def _record(batch: Batch, action: str, details: dict[str, object]) -> None:
    trail.record(action, target=batch, by=trail.SYSTEM, details=details)
