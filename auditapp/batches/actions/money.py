"""Decisions about a batch's money: its cap, and the approval after its pilot."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum

from django.db import transaction

from auditapp.batches.actions.changes import BatchError, change_batch, lock_batch, notify_queues, refuse_ended
from auditapp.batches.ledger.clock import read_now
from auditapp.batches.models import Arm, Batch
from auditapp.batches.pure.money import to_dollars, to_nano
from transcripts.audit_trail import trail

MAX_CAP = 1_000_000


class Unchanged(Enum):
    """Leaves the cap as it is, where ``None`` removes it."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED


def check_cap(cap_usd: Decimal | None, unpriced: Iterable[str]) -> int | None:
    """The cap in whole nanodollars. Raises ``BatchError``; ``unpriced`` are the labels of models without a price."""
    if cap_usd is None:
        return None
    if not cap_usd.is_finite() or not 0 < cap_usd <= MAX_CAP:
        raise BatchError("A cap must be more than 0 and at most a million dollars; leave it out for no cap.")
    labels = sorted(set(unpriced))
    if labels:
        raise BatchError(
            f"A cap needs prices, and these models have none: {', '.join(labels)}. Give each one on the model's page, or "
            "with `python manage.py set_price LABEL --price-in … --price-out …`."
        )
    return to_nano(cap_usd)


@transaction.atomic
def change_cap(*, batch: Batch, cap_usd: Decimal | None, by: trail.Actor) -> None:
    """Set the most the batch may cost; ``None`` removes the cap. A batch that was paused by its cap is not resumed."""
    locked = lock_batch(batch)
    refuse_ended(locked, "given another cap")
    cap_nano = _check_new_cap(locked, cap_usd)
    if cap_nano == locked.cap_nano:
        batch.refresh_from_db()
        return
    details: dict[str, object] = {"before_nano": locked.cap_nano, "after_nano": cap_nano}
    change_batch(batch, by, "batch.cap_changed", details, {"cap_nano": cap_nano})


@transaction.atomic
def confirm_batch(*, batch: Batch, by: trail.Actor, cap_usd: Decimal | Unchanged | None = UNCHANGED) -> None:
    """Approve a batch after its pilot: the rest is sent. Approving it twice changes nothing."""
    locked = lock_batch(batch)
    refuse_ended(locked, "confirmed")
    if locked.confirmed_at is not None or not locked.pilot_cells:
        batch.refresh_from_db()
        return
    if locked.state != Batch.State.WAITING:
        raise BatchError(
            "The pilot has not ended yet. Wait for it, or resume it; then there is an estimate to confirm."
        )
    cap_nano = locked.cap_nano if isinstance(cap_usd, Unchanged) else _check_new_cap(locked, cap_usd)
    columns: dict[str, object] = {
        "state": Batch.State.RUNNING,
        "control": Batch.Control.RUN,
        "state_reason": "",
        "cap_nano": cap_nano,
        "confirmed_at": read_now(),
        "confirmed_by_name": by.get_username(),
    }
    details: dict[str, object] = {"spent_nano": locked.spent_nano, "cap_nano": cap_nano}
    change_batch(batch, by, "batch.confirmed", details, columns)
    notify_queues(batch.queues.all())


def refuse_cap_of_file(route: str, cap_nano: int | None) -> None:
    """Raise ``BatchError`` for a cap on answers that are imported from a file."""
    if route == Batch.Route.FILE and cap_nano is not None:
        raise BatchError("Answers imported from a file were paid elsewhere, so no cap can apply to them: leave it out.")


def _check_new_cap(batch: Batch, cap_usd: Decimal | None) -> int | None:
    unpriced = Arm.objects.filter(batch=batch, price_in__isnull=True).values_list("variant__label", flat=True)
    cap_nano = check_cap(cap_usd, unpriced)
    refuse_cap_of_file(batch.route, cap_nano)
    if cap_nano is not None and cap_nano < batch.spent_nano + batch.reserved_nano:
        spent, reserved = to_dollars(batch.spent_nano), to_dollars(batch.reserved_nano)
        raise BatchError(
            f"That cap is lower than what is used already: ${spent:,.6f} is spent, and ${reserved:,.6f} is reserved for calls "
            f"in progress or whose end is not known. Enter at least ${_round_up(batch):,.2f}."
        )
    return cap_nano


def _round_up(batch: Batch) -> Decimal:
    """The lowest possible cap in whole cents."""
    cent = to_nano(Decimal("0.01"))
    return Decimal(-(-(batch.spent_nano + batch.reserved_nano) // cent)) / 100
