"""What people do with a batch: pause, resume, drain or cancel it, and decide about money and about cells without an answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Count, QuerySet, Sum

from auditapp.batches.grants import commit_money, needs_no_grant
from auditapp.batches.kinds import Answered, get_kind
from auditapp.batches.ledger.batch_state import describe_unreadable_pilot, finish_if_complete, is_paused_by_held
from auditapp.batches.ledger.conversations import advance_conversations, list_before, list_behind, take_up
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import (
    MAX_IN_FLIGHT,
    OPEN_STATES,
    SENDING_STATES,
    WORKING_STATES,
    Arm,
    Attempt,
    Batch,
    Cell,
    ProviderJob,
    WorkQueue,
)
from auditapp.batches.pure.estimates import to_dollars, to_nano
from auditapp.llm.models import Grant
from auditapp.llm.queries import is_open_ended
from auditapp.outbound.clock import read_now
from transcripts.audit_trail import trail
from transcripts.hooks import batch_ended, send
from transcripts.refusals import Refused
from transcripts.studies.models import Study

MAX_NAME_LENGTH = 200
OPEN_CELLS = (Cell.State.PLANNED, Cell.State.LEASED)

STILL_PLANNED = "The cells of batch {batch} are still being stored. Wait until its calls begin, or cancel it."


def lock_batch(batch: Batch) -> Batch:
    """The batch's current row, locked until the transaction ends. Claiming cells and ending calls also wait for this lock."""
    return Batch.objects.select_for_update().get(pk=batch.pk)


def refuse_ended(batch: Batch, wish: str) -> None:
    """Raise ``Refused`` for a batch that has ended."""
    if not batch.is_open:
        raise Refused(f"Batch {batch.pk} has ended ({batch.get_state_display().lower()}); it cannot be {wish}.")


def commit_cap(batch: Batch, cap_nano: int | None, by: trail.Actor) -> None:
    """Commit the cap against the study's grants before the batch can spend more. Raises ``Refused``."""
    commit_money(batch=batch, cap_nano=cap_nano, by=by)


def refuse_too_many(study: Study, by: trail.Actor) -> None:
    """Raise ``Refused`` if the study has too many open batches for another one. Two launches at the same moment may both
    pass."""
    if needs_no_grant(by):
        return
    count = Batch.objects.filter(study=study, state__in=OPEN_STATES).count()
    if count >= settings.MAX_OPEN_BATCHES:
        raise Refused(
            f"This study has {count:,} open batches; the limit of this site is {settings.MAX_OPEN_BATCHES:,}. Wait until some have "
            "ended, cancel those that are not needed, or ask the person who runs the server to raise MAX_OPEN_BATCHES."
        )


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
    trail.record(action, target=batch, by=by, details=details)


def notify_queues(queues: Iterable[WorkQueue]) -> None:
    """Notify the workers of these queues once the transaction is committed."""
    for queue in queues:
        transaction.on_commit(partial(_notify_workers, queue.pk))


def _notify_workers(queue_id: int) -> None:
    from auditapp.batches.runner import tasks  # loads Celery

    tasks.notify_queue(queue_id)


def _refuse_planning(batch: Batch) -> None:
    if batch.state == Batch.State.PLANNING:
        raise Refused(STILL_PLANNED.format(batch=batch.pk))


MAX_CAP = 1_000_000
UNREADABLE_UNDECIDED = (
    "Nothing could be read in the answers of the pilot. To send the rest anyway, tick the box or use --anyway."
)


class Unchanged(Enum):
    """Marks that the cap stays as it is; ``None`` would remove it."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED


def check_cap(cap_usd: Decimal | None, unpriced: Iterable[str], open_ended: Iterable[str]) -> int | None:
    """The cap in whole nanodollars. Raises ``Refused``.

    ``unpriced`` are the labels of models without a price, ``open_ended`` those of paid models whose answers have no limit: no
    reserved amount would be certain to be enough.
    """
    if cap_usd is None:
        return None
    if not cap_usd.is_finite() or not 0 < cap_usd <= MAX_CAP:
        raise Refused("A cap must be more than 0 and at most a million dollars; leave it empty for no cap.")
    labels = sorted(set(unpriced))
    if labels:
        raise Refused(
            f"A cap needs prices, and these models have none: {', '.join(labels)}. Give each one on the model's page, or "
            "with `python manage.py model set-price LABEL --price-in … --price-out …`."
        )
    labels = sorted(set(open_ended))
    if labels:
        raise Refused(
            f"A cap requires a known maximum cost per answer, but for {', '.join(labels)} no limit is set and the model's "
            "maximum is not recorded. Record it on the model's page or with `python manage.py model set-capabilities LABEL "
            "--max-output-tokens N`, add the model again with a longest answer, or launch without a cap."
        )
    return to_nano(cap_usd)


@transaction.atomic
def change_cap(*, batch: Batch, cap_usd: Decimal | None, by: trail.Actor) -> None:
    """Set the most the batch may cost; ``None`` removes the cap. A batch that was paused by its cap is not resumed."""
    locked = lock_batch(batch)
    refuse_ended(locked, "given a new cap")
    cap_nano = _check_new_cap(locked, cap_usd)
    if cap_nano == locked.cap_nano:
        batch.refresh_from_db()
        return
    commit_cap(locked, cap_nano, by)
    details: dict[str, object] = {"before_nano": locked.cap_nano, "after_nano": cap_nano}
    change_batch(batch, by, "batch.cap_changed", details, {"cap_nano": cap_nano})


def read_name(name: str) -> str:
    """The name of a batch as it is stored, on one line. Raises ``Refused``."""
    name = " ".join(name.split())
    if not name:
        raise Refused("A batch needs a name. Write one that distinguishes it from other batches.")
    if len(name) > MAX_NAME_LENGTH:
        raise Refused(f"The name has {len(name)} characters; it can have {MAX_NAME_LENGTH}.")
    # The two that join letters and emoji, or keep letters apart, belong to names in many scripts.
    if not name.replace("\u200c", "").replace("\u200d", "").isprintable():
        raise Refused("The name contains a character that cannot be shown. Type it again.")
    return name


@transaction.atomic
def rename_batch(*, batch: Batch, name: str, by: trail.Actor) -> None:
    """Give the batch another name. It may have ended. Raises ``Refused``."""
    name = read_name(name)
    before = lock_batch(batch).title
    if name == before:
        batch.refresh_from_db()
        return
    change_batch(batch, by, "batch.renamed", {"before": before, "after": name}, {"title": name})


@transaction.atomic
def confirm_batch(
    *, batch: Batch, by: trail.Actor, cap_usd: Decimal | Unchanged | None = UNCHANGED, anyway: bool = False
) -> None:
    """Approve a batch after its pilot, so that the rest is sent. Approving it twice changes nothing.

    ``anyway``: the person knows that nothing could be read in the pilot; needed only if that is the case.
    """
    locked = lock_batch(batch)
    refuse_ended(locked, "confirmed")
    if locked.confirmed_at is not None or not locked.pilot_cells:
        batch.refresh_from_db()
        return
    if locked.state != Batch.State.WAITING:
        raise Refused("The pilot has not ended yet. Wait until it has ended or resume it, then confirm its estimate.")
    is_unreadable = bool(describe_unreadable_pilot(locked))
    if is_unreadable and not anyway:
        raise Refused(UNREADABLE_UNDECIDED, field="anyway", status=409)
    cap_nano = locked.cap_nano if isinstance(cap_usd, Unchanged) else _check_new_cap(locked, cap_usd)
    commit_cap(locked, cap_nano, by)
    columns: dict[str, object] = {
        "state": Batch.State.RUNNING,
        "control": Batch.Control.RUN,
        "state_reason": "",
        "cap_nano": cap_nano,
        "confirmed_at": read_now(),
        "confirmed_by_name": by.get_username(),
    }
    details: dict[str, object] = {"spent_nano": locked.spent_nano, "cap_nano": cap_nano}
    if is_unreadable:
        details["although_unreadable"] = True
    change_batch(batch, by, "batch.confirmed", details, columns)
    notify_queues(batch.queues.all())


def refuse_cap_of_file(route: str, cap_nano: int | None) -> None:
    """Raise ``Refused`` for a cap on answers that are imported from a file."""
    if route == Batch.Route.FILE and cap_nano is not None:
        raise Refused(
            "Answers imported from a file were paid for elsewhere, so they cannot have a cap. Leave it empty."
        )


def _check_new_cap(batch: Batch, cap_usd: Decimal | None) -> int | None:
    arms = Arm.objects.filter(batch=batch).select_related("variant__account", "capabilities")
    cap_nano = check_cap(
        cap_usd,
        [arm.variant.label for arm in arms if arm.price_in is None],
        [arm.variant.label for arm in arms if arm.price_out and is_open_ended(arm.variant, arm.capabilities)],
    )
    refuse_cap_of_file(batch.route, cap_nano)
    if cap_nano is not None and cap_nano < batch.spent_nano + batch.reserved_nano:
        spent, reserved = to_dollars(batch.spent_nano), to_dollars(batch.reserved_nano)
        raise Refused(
            f"That cap is below the amount already used: ${spent:,.6f} is spent, and ${reserved:,.6f} is reserved for calls in "
            f"progress or with an unknown end. Enter at least ${_round_up(batch):,.2f}."
        )
    return cap_nano


def _round_up(batch: Batch) -> Decimal:
    """The lowest possible cap in whole cents."""
    cent = to_nano(Decimal("0.01"))
    return Decimal(-(-(batch.spent_nano + batch.reserved_nano) // cent)) / 100


@transaction.atomic
def pause_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Send no new calls; those in flight finish and are stored. A batch that waited for its server now waits for a person."""
    locked = lock_batch(batch)
    refuse_ended(locked, "paused")
    _refuse_planning(locked)
    if locked.state not in WORKING_STATES and not locked.awaits_server:
        batch.refresh_from_db()
        return
    _steer(batch, by, "batch.paused", before=locked, state=Batch.State.PAUSED, control=Batch.Control.PAUSE)


def pause_granted(*, grant: Grant, by: trail.Actor) -> int:
    """Pause every batch of the study that uses models of the grant's account. Returns how many."""
    arms = Arm.objects.filter(batch__study=grant.study_id, variant__account=grant.account_id)
    return pause_batches(batches=Batch.objects.filter(pk__in=arms.values("batch")), by=by)


@transaction.atomic
def pause_batches(*, batches: QuerySet[Batch], by: trail.Actor) -> int:
    """Pause each of ``batches`` that sends calls or would resume by itself when its server answers. Returns how many."""
    at_work = [
        batch
        for batch in batches.filter(state__in=SENDING_STATES).order_by("pk")
        if batch.state in WORKING_STATES or batch.awaits_server
    ]
    for batch in at_work:
        pause_batch(batch=batch, by=by)
    return len(at_work)


@transaction.atomic
def resume_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Continue a batch that is paused or draining."""
    locked = lock_batch(batch)
    refuse_ended(locked, "resumed")
    _refuse_planning(locked)
    if locked.state == Batch.State.WAITING:
        raise Refused("The pilot is done, and the batch is waiting for approval. Confirm or cancel it.")
    if locked.state in WORKING_STATES and locked.control == Batch.Control.RUN:
        batch.refresh_from_db()
        return
    cells = Cell.objects.filter(batch=batch)
    held = cells.filter(state=Cell.State.HELD).count()
    if held and not cells.filter(state__in=OPEN_CELLS).exists():
        raise Refused(f"Only held cells are left ({held:,}). Ask them again, or count them as failed.")
    _go_on(batch, locked, by, "batch.resumed", control=Batch.Control.RUN)


@transaction.atomic
def drain_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Start no new cells. Started cells are finished, then the batch pauses."""
    locked = lock_batch(batch)
    refuse_ended(locked, "drained")
    _refuse_planning(locked)
    if locked.state == Batch.State.WAITING:
        raise Refused("The batch is waiting for approval and has no calls in progress to finish.")
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

    Calls in flight finish and are stored, unless ``cut_off`` is set: then their end is unknown, and they may have been paid for.
    The calls of a cancelled batch can still be cut off.
    """
    locked = lock_batch(batch)
    control = Batch.Control.ABORT if cut_off else Batch.Control.CANCEL
    if locked.state == Batch.State.CANCELLED:
        if cut_off and locked.control != Batch.Control.ABORT:
            _steer(batch, by, "batch.aborted", before=locked, state=Batch.State.CANCELLED, control=control)
        batch.refresh_from_db()
        return
    refuse_ended(locked, "cancelled")
    waiting = Cell.objects.filter(batch=batch, state__in=[Cell.State.BLOCKED, Cell.State.PLANNED, Cell.State.HELD])
    cancelled = waiting.update(state=Cell.State.CANCELLED, not_before=None)
    Batch.objects.filter(pk=batch.pk).update(finished_at=read_now())
    action = "batch.aborted" if cut_off else "batch.cancelled"
    _steer(batch, by, action, before=locked, state=Batch.State.CANCELLED, control=control, cells=cancelled)
    if locked.route == Batch.Route.JOBS:
        notify_queues(batch.queues.all())
    send(batch_ended, batch=batch)


def sum_open_calls(job: ProviderJob) -> tuple[int, int]:
    """How many calls of a job have not ended yet, and the nanodollars reserved for them."""
    found = Attempt.objects.filter(job=job, end=Attempt.End.OPEN).aggregate(
        calls=Count("pk"), nano=Sum("reserved_nano")
    )
    return found["calls"], found["nano"] or 0


@transaction.atomic
def end_job(*, job: ProviderJob, by: trail.Actor) -> None:
    """Request the end of a job that its provider has not recognized for a day. A worker asks the provider once more; if it still
    does not recognize the job, the end of its calls is unknown. They may have been paid for, and they are asked again if the
    batch does so with lost answers."""
    locked = ProviderJob.objects.select_for_update().select_related("queue__batch").get(pk=job.pk)
    if locked.ended_at is not None:
        return
    if not locked.may_be_ended:
        raise Refused(
            f"Job {locked.pk} cannot be ended yet. A job can be ended only if its provider has not recognized it for a day. To "
            "stop a job in progress, cancel the batch."
        )
    calls, nano = sum_open_calls(locked)
    ProviderJob.objects.filter(pk=locked.pk).update(ended_at=read_now())
    details: dict[str, object] = {"job": locked.pk, "calls": calls, "reserved_usd": str(to_dollars(nano))}
    batch = locked.queue.batch
    trail.record("batch.job_ended", target=batch, by=by, details=details)
    notify_queues([locked.queue])


@transaction.atomic
def change_concurrency(*, batch: Batch, concurrency: int, by: trail.Actor) -> None:
    """Set the maximum number of calls in flight; running queues follow within a second."""
    locked = lock_batch(batch)
    refuse_ended(locked, "given a new number of calls in flight")
    check_concurrency(concurrency)
    if concurrency == locked.concurrency:
        batch.refresh_from_db()
        return
    details: dict[str, object] = {"before": locked.concurrency, "after": concurrency}
    change_batch(batch, by, "batch.concurrency_changed", details, {"concurrency": concurrency})


def check_concurrency(concurrency: int) -> None:
    """Raise ``Refused`` if the number of calls in flight is out of range."""
    if not 1 <= concurrency <= MAX_IN_FLIGHT:
        raise Refused(f"Calls in flight must be between 1 and {MAX_IN_FLIGHT:,}.")


def _go_on(batch: Batch, locked: Batch, by: trail.Actor, action: str, *, control: str) -> None:
    commit_cap(locked, locked.cap_nano, by)
    state = choose_working_state(locked)
    if state == Batch.State.WAITING:
        control = Batch.Control.PAUSE
    _steer(batch, by, action, before=locked, state=state, control=control)
    # A person who resumes does not want to wait for the next probe.
    batch.queues.filter(silent_since__isnull=False).update(silent_since=None, slow_until=None)
    if batch.state in WORKING_STATES:
        notify_queues(batch.queues.all())


def _steer(
    batch: Batch, by: trail.Actor, action: str, *, before: Batch, state: str, control: str, **counts: object
) -> None:
    details = {"before": before.state, "after": state, **counts}
    change_batch(batch, by, action, details, {"state": state, "control": control, "state_reason": ""})


GROUP = 1000
GIVEN_UP = "its end is unknown, and a person decided not to ask again"


@transaction.atomic
def retry_failed(*, batch: Batch, by: trail.Actor, only: Collection[int] | None = None) -> int:
    """Ask failed cells again, even in a batch that is done. Returns how many.

    Their earlier attempts are kept. ``only``: the cells to ask again, together with the failed cells that they continue, and the
    cells that failed because of any of these; without it, all failed cells. In a conversation, the first failed cell is asked and
    the others wait for it again.
    """
    locked = lock_batch(batch)
    if locked.state == Batch.State.CANCELLED:
        raise Refused("A cancelled batch stays cancelled. Launch a new one for the cells without an answer.")
    ids = _list_cells(locked, Cell.State.FAILED)
    if only is not None:
        chosen = {*only, *list_before(only)}
        chosen |= set(list_behind(chosen))
        ids = [pk for pk in ids if pk in chosen]
    if not ids:
        batch.refresh_from_db()
        return 0
    if not locked.is_open:
        refuse_too_many(locked.study, by)
    commit_cap(locked, locked.cap_nano, by)
    kind = get_kind(locked.kind)
    for group in _in_groups(ids):
        kind.reopen(group)
        take_up(group)
    _send_again(batch, locked, by, "batch.retried", len(ids))
    return len(ids)


@transaction.atomic
def release_held(*, batch: Batch, by: trail.Actor, again: bool) -> int:
    """Decide about every held cell: ask ``again``, which may mean paying twice, or count it as failed.

    Returns how many. An open batch that was paused because of held cells continues, unless its grant no longer covers it.
    """
    locked = lock_batch(batch)
    refuse_ended(locked, "changed")
    ids = _list_cells(locked, Cell.State.HELD)
    if not ids:
        batch.refresh_from_db()
        return 0
    if again:
        commit_cap(locked, locked.cap_nano, by)
        for group in _in_groups(ids):
            Cell.objects.filter(pk__in=group).update(state=Cell.State.PLANNED, outcome="", not_before=None)
        _send_again(batch, locked, by, "batch.held_asked_again", len(ids))
        return len(ids)
    for group in _in_groups(ids):
        _give_up(locked, group)
    change_batch(batch, by, "batch.held_given_up", {"before": locked.state, "cells": len(ids)}, {})
    if locked.stays_open and is_paused_by_held(locked):
        # Where the money is not granted any more it stays paused, and says why once somebody resumes it.
        with suppress(Refused), transaction.atomic():
            _go_on(batch, locked, by, "batch.resumed", control=Batch.Control.RUN)
    _end_work(batch)
    return len(ids)


def _end_work(batch: Batch) -> None:
    """When the last held cell is given up, the batch may be done or its pilot may have ended."""
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
    advance_conversations(batch, ids)


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
