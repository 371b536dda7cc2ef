"""Writing to the audit trail. Actions call ``record`` inside their own transaction."""

from __future__ import annotations

import datetime
from typing import Protocol

from django.db import models, transaction
from django.utils import timezone

from transcripts.audit_trail.chain import Entry, Link, find_break, hash_link
from transcripts.audit_trail.models import AuditEvent, AuditHead

SITE = "site"


class Actor(Protocol):
    """Whoever acts: a signed-in person."""

    @property
    def pk(self) -> object: ...
    def get_username(self) -> str: ...


class _System:
    """The program itself: sweepers, the demo, commands without a person."""

    pk = "system"

    def get_username(self) -> str:
        return "system"


SYSTEM: Actor = _System()


def project_stream(project_id: int) -> str:
    """The stream of one study."""
    return f"project:{project_id}"


def describe_target(target: models.Model) -> str:
    """``app.model:key`` of a row, as stored in an event."""
    return f"{target._meta.label_lower}:{target.pk}"


def record(
    action: str, *, target: models.Model | str, by: Actor, stream: str = SITE, details: dict[str, object] | None = None
) -> None:
    """Add one event to ``stream``. Must run inside the transaction of the write it tells of.

    ``details`` holds identifiers, numbers and short states (before, after, reason): never transcript text or secrets.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"{action} was recorded outside a transaction; an event and its write stand or fall together.")
    head = AuditHead.objects.select_for_update().filter(stream=stream).first()
    if head is None:
        AuditHead.objects.bulk_create([AuditHead(stream=stream)], ignore_conflicts=True)
        head = AuditHead.objects.select_for_update().get(stream=stream)
    at = timezone.now()
    link = Link(
        stream=stream,
        sequence=head.sequence + 1,
        at=format_time(at),
        actor_id=str(by.pk),
        actor_name=by.get_username(),
        action=action,
        target=target if isinstance(target, str) else describe_target(target),
        details=details or {},
    )
    digest = hash_link(link, head.hash)
    event = AuditEvent(**{**link._asdict(), "at": at}, previous_hash=head.hash, hash=digest)
    event.save(force_insert=True)
    AuditHead.objects.filter(stream=stream).update(sequence=link.sequence, hash=digest)


def format_time(at: datetime.datetime) -> str:
    """ISO 8601 in UTC with microseconds, the form that is hashed."""
    return at.astimezone(datetime.UTC).isoformat(timespec="microseconds")


def find_first_break(stream: str) -> int | None:
    """First sequence number of ``stream`` that does not verify (the head included), or ``None`` when all do."""
    events = AuditEvent.objects.filter(stream=stream).order_by("sequence")
    found = find_break(_as_entry(event) for event in events.iterator(chunk_size=2000))
    if found is not None:
        return found
    head = AuditHead.objects.filter(stream=stream).first()
    last = events.last()
    if head is not None and (last is None or (head.sequence, head.hash) != (last.sequence, last.hash)):
        return (last.sequence if last else 0) + 1
    return None


def _as_entry(event: AuditEvent) -> Entry:
    link = Link(
        stream=event.stream,
        sequence=event.sequence,
        at=format_time(event.at),
        actor_id=event.actor_id,
        actor_name=event.actor_name,
        action=event.action,
        target=event.target,
        details=event.details,
    )
    return Entry(link, event.previous_hash, event.hash)
