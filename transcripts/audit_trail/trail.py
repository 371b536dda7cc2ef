"""Writing to the audit trail. Actions call ``record`` inside their own transaction."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import Any, Never, Protocol, cast

from django.db import connection, models, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from transcripts.audit_trail.models import AuditEvent, AuditHead
from transcripts.audit_trail.pure.chain import Entry, Link, find_break, hash_link

SITE = "site"
# On the path of every write, and while the last runs, others wait: a query set takes five times as long to build as
# these to run.
HEAD = "SELECT sequence, hash FROM audit_trail_audithead WHERE stream = %s"
ADD_EVENT = """
INSERT INTO audit_trail_auditevent
    (stream, sequence, at, actor_id, actor_name, action, target, details, previous_hash, hash)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
READ_EVENTS = """
SELECT id, sequence, actor_id, actor_name, action, target, at, details, previous_hash, hash FROM audit_trail_auditevent
WHERE stream = %s AND (sequence, id) > (%s, %s) ORDER BY sequence, id LIMIT %s
"""
EVENTS_AT_A_TIME = 2_000
MOVE_HEAD = "UPDATE audit_trail_audithead SET sequence = %s, hash = %s WHERE stream = %s"


class Actor(Protocol):
    """Who acts: a signed-in person."""

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
    action: str,
    *,
    target: models.Model | str,
    by: Actor,
    stream: str = SITE,
    details: dict[str, object] | None = None,
) -> None:
    """Add one event to ``stream``. Must run inside the transaction of the write it records.

    ``details`` holds identifiers, whole numbers and short states (before, after, reason): never transcript text or
    secrets. A fraction goes in as text (``TypeError``), for a database may write it back in another form, which would
    no longer fit its hash.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(
            f"{action} was recorded outside a transaction. Record an event in the same transaction as the write it describes."
        )
    with connection.cursor() as cursor:
        sequence, previous_hash = _lock_head(cursor, stream)
        at = timezone.now()
        link = Link(
            stream=stream,
            sequence=sequence + 1,
            at=format_time(at),
            actor_id=str(by.pk),
            actor_name=by.get_username(),
            action=action,
            target=target if isinstance(target, str) else describe_target(target),
            details=_as_stored(action, details or {}),
        )
        digest = hash_link(link, previous_hash)
        columns = {**link._asdict(), "at": _prepare("at", at), "details": _prepare("details", link.details)}
        cursor.execute(ADD_EVENT, [*columns.values(), previous_hash, digest])
        cursor.execute(MOVE_HEAD, [link.sequence, digest, stream])


def _lock_head(cursor: CursorWrapper, stream: str) -> tuple[int, str]:
    """Sequence and hash of the head of a stream, made when it is the first event's, and held until the transaction ends."""
    lock = " FOR UPDATE" if connection.features.has_select_for_update else ""
    cursor.execute(HEAD + lock, [stream])
    row = cursor.fetchone()
    if row is None:
        AuditHead.objects.bulk_create([AuditHead(stream=stream)], ignore_conflicts=True)
        cursor.execute(HEAD + lock, [stream])
        row = cursor.fetchone()
    sequence, previous_hash = row
    return sequence, previous_hash


def _prepare(name: str, value: object) -> Any:
    """A value as the database at hand takes it for a column of an event."""
    field = cast("models.Field[Any, Any]", AuditEvent._meta.get_field(name))
    return field.get_db_prep_save(value, connection)


def format_time(at: datetime.datetime) -> str:
    """ISO 8601 in UTC with microseconds, the form that is hashed."""
    return at.astimezone(datetime.UTC).isoformat(timespec="microseconds")


def verify_streams() -> list[tuple[str, int, int | None]]:
    """Every stream of the trail, by name, each event checked: the name, its events, and where it stops fitting.

    The last is ``None`` when all of it fits.
    """
    named = AuditHead.objects.values_list("stream", flat=True).union(
        AuditEvent.objects.values_list("stream", flat=True)
    )
    return [
        (stream, AuditEvent.objects.filter(stream=stream).count(), find_first_break(stream)) for stream in sorted(named)
    ]


def find_first_break(stream: str) -> int | None:
    """First sequence number of ``stream`` that does not verify (the head included), or ``None`` when all do.

    Events may be added meanwhile: the head is read before and again after, for no event is ever ahead of its head.
    """
    head = _read_head(stream)
    events = AuditEvent.objects.filter(stream=stream).order_by("sequence")
    found = find_break(read_entries(stream))
    if found is not None:
        return found
    last = events.last()
    end = last.sequence if last else 0
    if end < head.sequence:
        return end + 1
    if head.sequence and events.get(sequence=head.sequence).hash != head.hash:
        return head.sequence
    now = _read_head(stream)
    return now.sequence + 1 if end > now.sequence else None


def _read_head(stream: str) -> AuditHead:
    return AuditHead.objects.filter(stream=stream).first() or AuditHead(stream=stream)


def _as_stored(action: str, details: dict[str, object]) -> object:
    """``details`` as a database gives them back: keys are text, tuples are lists."""

    def refuse_fraction(text: str) -> Never:
        raise TypeError(f"{action} was to be recorded with the fraction {text}: write it as text.")

    return json.loads(json.dumps(details, allow_nan=False), parse_float=refuse_fraction)


def read_entries(stream: str) -> Iterator[Entry]:
    """The events of a stream in order, a few thousand at a time. Without models and converters, in a third of their time: a trail
    is verified as a whole."""
    place = (-1, -1)
    with connection.cursor() as cursor:
        while True:
            cursor.execute(READ_EVENTS, [stream, *place, EVENTS_AT_A_TIME])
            rows = cursor.fetchall()
            for _, sequence, actor_id, actor_name, action, target, at, details, previous_hash, digest in rows:
                who_and_what = (_read_time(at), actor_id, actor_name, action, target)
                yield Link(stream, sequence, *who_and_what, json.loads(details)), previous_hash, digest
            if len(rows) < EVENTS_AT_A_TIME:
                return
            place = (rows[-1][1], rows[-1][0])


def _read_time(at: datetime.datetime | str) -> str:
    """A time as ``format_time`` writes it. SQLite gives out text, in UTC, without a fraction where it is zero."""
    if not isinstance(at, str):
        return format_time(at)
    return f"{at[:10]}T{at[11:]}{'' if len(at) > 19 else '.000000'}+00:00"
