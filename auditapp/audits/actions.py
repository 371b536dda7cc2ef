"""Store a sample, a mark of one of its items, and that somebody opened the results early."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from django.db import transaction
from django.utils import timezone

from auditapp.audits.models import BaseAudit, BaseItem, BaseMark
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.ui.typed_text import MAX_NOTE, MAX_SEED, check_text

INSERT_SIZE = 500
Mark = TypeVar("Mark", bound=BaseMark)


def check_seed(seed: int) -> None:
    """Raises ``Refused``."""
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"A seed is a whole number from 0 to {MAX_SEED:,}.")


@transaction.atomic
def store_sample(
    *, audit: BaseAudit, items: Iterable[BaseItem], by: trail.Actor, details: Mapping[str, object]
) -> None:
    """Store a new audit and its items, in the order drawn. Reads audit.study_id."""
    audit.save(force_insert=True)
    items = list(items)
    for position, item in enumerate(items, start=1):
        item.audit, item.position = audit, position
    audit.items.bulk_create(items, batch_size=INSERT_SIZE)
    _record(audit, "drawn", audit, by, details)


@transaction.atomic
def store_mark(mark: Mark, *, by: User) -> Mark:
    """Store a new mark of ``by``. It supersedes the reviewer's former one, after which its ``number`` comes next.

    The same ``idempotency_key`` again changes nothing. Reads mark.item.audit.study_id. Raises ``Refused``.
    """
    mark.note = check_text(mark.note, field="note", max_length=MAX_NOTE)
    item, marks = mark.item, type(mark).objects
    item.audit.items.select_for_update(no_key=True).get(pk=item.pk)
    sent: Mark | None = marks.filter(idempotency_key=mark.idempotency_key).first()
    if sent is not None:
        if (sent.item_id, sent.reviewer_id) != (item.pk, by.pk):
            raise Refused("This form was already sent for another item. Open the item again and mark it there.")
        return sent
    former = item.marks.active().filter(reviewer=by).first()
    if mark.number != (former.number if former else 0) + 1:
        raise Refused("You have marked this item since the page was shown. Open it again to see your mark.")
    mark.reviewer, mark.made_at = by, timezone.now()
    mark.after_opening = item.audit.has_opened(by)
    mark.save(force_insert=True)
    if former is not None:
        marks.filter(pk=former.pk).update(superseded_by=mark)
    _record(item.audit, "marked", mark, by, {"audit": item.audit_id, "item": item.pk, "number": mark.number})
    return mark


@transaction.atomic
def open_results(*, audit: BaseAudit, by: User) -> None:
    """Record that ``by`` opens the results before having marked everything: later marks are not blind.

    Nothing is recorded twice, nor for somebody who has marked everything. Reads audit.study_id.
    """
    marked = audit.count_own(by)
    if marked >= audit.items.count():
        return
    _, is_new = audit.openings.get_or_create(opened_by=by, defaults={"opened_at": timezone.now()})
    if is_new:
        _record(audit, audit.opened_event, audit, by, {"audit": audit.pk, "marked": marked})


def _record(
    audit: BaseAudit, event: str, target: BaseAudit | BaseMark, by: trail.Actor, details: Mapping[str, object]
) -> None:
    stream = trail.study_stream(audit.study_id)
    trail.record(f"{audit.events}.{event}", target=target, by=by, stream=stream, details=dict(details))
