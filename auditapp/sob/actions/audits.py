"""Audit how answers were read: draw a random sample, and mark what each of its answers says."""

from __future__ import annotations

import random
import uuid
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from auditapp.batches.models import Batch
from auditapp.sob.actions.errors import SobError
from auditapp.sob.audit_queries import find_standing_mark, has_opened, list_frame, read_standing
from auditapp.sob.kind import KIND
from auditapp.sob.models import Audit, AuditItem, AuditMark, AuditOpening
from auditapp.sob.pure.parsing import Outcome
from transcripts.accounts.models import User
from transcripts.audit_trail import trail

FORMATTER_SIZE = 50
MAX_ITEMS = 5_000
MAX_SEED = 2**31 - 1
MAX_ATTRIBUTES = 1_000
MAX_NOTE_LENGTH = 5_000
MARK_OUTCOMES = (Outcome.ATTRIBUTED, Outcome.UNKNOWN, Outcome.REFUSAL, Outcome.OFF_FORMAT)
INSERT_SIZE = 500


@transaction.atomic
def draw_audit(*, batch: Batch, scope: str, seed: int, by: trail.Actor, size: int = FORMATTER_SIZE) -> Audit:
    """Draw a simple random sample of the readings that stand, and freeze them; all, where there are no more.

    The same scope, size and seed again give the audit that they made. Raises ``SobError``.
    """
    _check_draw(batch, scope, size, seed)
    locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    at = timezone.now()
    frame = list_frame(locked, scope)
    if not frame:
        what = "a formatter read" if scope == Audit.Scope.FORMATTER else "was read"
        raise SobError(f"There is nothing to draw from: no answer of batch {batch.pk} {what} yet.")
    size = min(size, len(frame))
    standing = Audit.objects.filter(batch=locked, scope=scope, size=size, seed=seed).first()
    if standing is not None:
        return standing
    audit = Audit.objects.create(
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
    readings = read_standing(drawn)
    items = [
        AuditItem(audit=audit, position=position, **readings[pk]._asdict())
        for position, pk in enumerate(drawn, start=1)
    ]
    AuditItem.objects.bulk_create(items, batch_size=INSERT_SIZE)
    trail.record(
        "sob.audit.drawn",
        target=audit,
        by=by,
        stream=trail.project_stream(locked.project_id),
        details={"batch": locked.pk, "scope": str(scope), "size": size, "seed": seed, "frame": len(frame)},
    )
    return audit


class Finding(NamedTuple):
    """A reviewer's own reading of an answer, and how many of its attributes the text itself warrants."""

    outcome: str
    n_attributes: int = 0
    n_warranted: int = 0
    note: str = ""


@transaction.atomic
def mark_item(*, item: AuditItem, finding: Finding, number: int, client_id: uuid.UUID, by: User) -> AuditMark:
    """Store a reviewer's mark. A second thought gets the next ``number``; the first is kept, superseded.

    Made after she opened the results, it is kept and not blind. The same ``client_id`` again changes nothing. Reads
    item.audit.batch. Raises ``SobError``.
    """
    _check_finding(finding)
    AuditItem.objects.select_for_update(no_key=True).get(pk=item.pk)
    sent = AuditMark.objects.filter(client_id=client_id).first()
    if sent is not None:
        if (sent.item_id, sent.reviewer_id) != (item.pk, by.pk):
            raise SobError("This form was sent before, for another answer. Open the answer again and mark it there.")
        return sent
    standing = find_standing_mark(item, by)
    if number != (standing.number if standing else 0) + 1:
        raise SobError("You have marked this answer since the page was shown. Open it again to see your mark.")
    mark = AuditMark.objects.create(
        item=item,
        reviewer=by,
        parse_right=(finding.outcome, finding.n_attributes) == (item.outcome, item.n_attributes),
        outcome=finding.outcome,
        n_attributes=finding.n_attributes,
        n_warranted=finding.n_warranted,
        note=finding.note.strip(),
        number=number,
        after_opening=has_opened(item.audit, by),
        client_id=client_id,
        made_at=timezone.now(),
    )
    if standing is not None:
        AuditMark.objects.filter(pk=standing.pk).update(superseded_by=mark)
    trail.record(
        "sob.audit.marked",
        target=mark,
        by=by,
        stream=trail.project_stream(item.audit.batch.project_id),
        details={"audit": item.audit_id, "item": item.pk, "number": number},
    )
    return mark


@transaction.atomic
def open_results(*, audit: Audit, by: User) -> AuditOpening:
    """Open an audit's results to somebody who has not marked all of it. Once is enough; what she marks from then on is not
    blind. Reads audit.batch."""
    opening, is_new = AuditOpening.objects.get_or_create(
        audit=audit, opened_by=by, defaults={"opened_at": timezone.now()}
    )
    if is_new:
        trail.record(
            "sob.audit.opened",
            target=audit,
            by=by,
            stream=trail.project_stream(audit.batch.project_id),
            details={"audit": audit.pk},
        )
    return opening


def _check_draw(batch: Batch, scope: str, size: int, seed: int) -> None:
    if batch.kind != KIND:
        raise SobError(f"Batch {batch.pk} is no sob batch. Audit one whose answers were read here.")
    if scope not in Audit.Scope.values:
        raise SobError(f"An audit is of {' or of '.join(Audit.Scope.values)}.")
    if not 1 <= size <= MAX_ITEMS:
        raise SobError(f"An audit has between 1 and {MAX_ITEMS:,} answers.")
    if not 0 <= seed <= MAX_SEED:
        raise SobError(f"A seed is a whole number from 0 to {MAX_SEED:,}.")


def _check_finding(finding: Finding) -> None:
    if finding.outcome not in MARK_OUTCOMES:
        raise SobError("Choose what the answer says.")
    is_attributed = finding.outcome == Outcome.ATTRIBUTED
    if is_attributed and not 1 <= finding.n_attributes <= MAX_ATTRIBUTES:
        raise SobError("Say how many characteristics the answer ascribes: at least one, where it attributes.")
    if not is_attributed and (finding.n_attributes or finding.n_warranted):
        raise SobError("Characteristics belong to “Attributed” alone. Choose that, or set both numbers to 0.")
    if not 0 <= finding.n_warranted <= finding.n_attributes:
        raise SobError("No more characteristics can be warranted than the answer ascribes.")
    if len(finding.note) > MAX_NOTE_LENGTH:
        raise SobError(f"The note is longer than {MAX_NOTE_LENGTH:,} characters. Shorten it.")
