"""Audit how answers were read: draw a random sample, and mark what each of its answers says."""

from __future__ import annotations

import random
import uuid

from django.db import transaction
from django.utils import timezone

from auditapp.audits.actions import check_seed, store_mark, store_sample
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.audits.queries import list_frame, read_current
from auditapp.benchmarks.sob.models import MAX_ATTRIBUTES, MAX_ITEMS, Audit, AuditItem, AuditMark
from auditapp.benchmarks.sob.pure.parsing import Outcome
from auditapp.benchmarks.sob.queries import KIND
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused

FORMATTER_SIZE = 50
MARK_OUTCOMES = (Outcome.ATTRIBUTED, Outcome.UNKNOWN, Outcome.REFUSAL, Outcome.OFF_FORMAT)


@transaction.atomic
def draw_audit(*, batch: Batch, scope: str, seed: int, by: trail.Actor, size: int = FORMATTER_SIZE) -> Audit:
    """Draw a simple random sample of the current interpretations, and store them; all, where there are no more.

    The same scope, size and seed again give the audit that they made. Raises ``Refused``.
    """
    if batch.kind != KIND:
        raise Refused(f"Batch {batch.pk} is not a sob batch. Only the answers of a sob batch can be audited.")
    if scope not in Audit.Scope.values:
        raise Refused(f"The scope of an audit is {' or '.join(Audit.Scope.values)}.")
    if not 1 <= size <= MAX_ITEMS:
        raise Refused(f"An audit needs between 1 and {MAX_ITEMS:,} answers.")
    check_seed(seed)
    locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    at = timezone.now()
    frame = list_frame(locked, scope)
    if not frame:
        what = "a formatter read" if scope == Audit.Scope.FORMATTER else "was read"
        raise Refused(f"There is nothing to draw from. No answer of batch {batch.pk} {what} yet.")
    size = min(size, len(frame))
    drawn_before: Audit | None = Audit.objects.filter(batch=locked, scope=scope, size=size, seed=seed).first()
    if drawn_before is not None:
        return drawn_before
    audit = Audit(
        batch=locked,
        number=locked.sob_audits.count() + 1,
        scope=scope,
        size=size,
        seed=seed,
        frame=len(frame),
        made_by=by if isinstance(by, User) else None,
        made_by_name=by.get_username(),
        made_at=at,
    )
    drawn = random.Random(seed).sample(frame, size)  # noqa: S311 - a sample that can be drawn again, not a secret
    interpretations = read_current(drawn)
    details = {"batch": locked.pk, "scope": str(scope), "size": size, "seed": seed, "frame": len(frame)}
    store_sample(audit=audit, items=[AuditItem(**interpretations[pk]) for pk in drawn], by=by, details=details)
    return audit


def mark_item(
    *,
    item: AuditItem,
    outcome: str,
    number: int,
    idempotency_key: uuid.UUID,
    by: User,
    n_attributes: int = 0,
    n_warranted: int = 0,
    note: str = "",
) -> AuditMark:
    """Store a reviewer's own interpretation of an answer, and how many of its attributes the text itself warrants.

    See ``store_mark``. Reads item.audit.batch. Raises ``Refused``.
    """
    if outcome not in MARK_OUTCOMES:
        raise Refused("Choose what the answer says.")
    is_attributed = outcome == Outcome.ATTRIBUTED
    if is_attributed and not 1 <= n_attributes <= MAX_ATTRIBUTES:
        raise Refused("Enter how many characteristics the answer attributes: at least one, since it attributes any.")
    if not is_attributed and (n_attributes or n_warranted):
        raise Refused("Only “Attributed” has characteristics. Choose that, or set both numbers to 0.")
    if not 0 <= n_warranted <= n_attributes:
        raise Refused(
            "The number of warranted characteristics cannot be larger than the number that the answer attributes."
        )
    mark = AuditMark(
        item=item,
        parse_right=(outcome, n_attributes) == (item.outcome, item.n_attributes),
        outcome=outcome,
        n_attributes=n_attributes,
        n_warranted=n_warranted,
        note=note,
        number=number,
        idempotency_key=idempotency_key,
    )
    return store_mark(mark, by=by)
