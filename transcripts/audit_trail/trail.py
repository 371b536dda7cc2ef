"""Writing to the audit trail. Actions call ``record`` inside their own transaction."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Never, Protocol, cast

from django.db import connection, models, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from transcripts.audit_trail.models import AuditEvent, AuditHead
from transcripts.audit_trail.pure.chain import CANONICAL, Entry, Link, find_break, hash_written
from transcripts.audit_trail.rows import ROWS, RowChange, format_time, seal

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
SELECT id, sequence, actor_id, actor_name, action, target, {at}, details, previous_hash, hash FROM audit_trail_auditevent
WHERE stream = %s AND (sequence, id) > (%s, %s) ORDER BY sequence, id LIMIT %s
"""
ADD_TEXTS = "INSERT INTO audit_trail_audittext (hash, salt, content) VALUES "
EVENTS_AT_A_TIME = 2_000
ROWS_IN_AN_EVENT = 200
TEXTS_AT_A_TIME = 300
MORE_ROWS = "trail.rows"
MOVE_HEAD = "UPDATE audit_trail_audithead SET sequence = %s, hash = %s WHERE stream = %s"


class SealedRows(NamedTuple):
    """What events are to say of many rows, made ready before the transaction that records it: ``parts`` are JSON, one for
    each event, and ``texts`` are stored beside the trail."""

    parts: Sequence[str]
    texts: Sequence[tuple[str, str, str]]


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


def study_stream(study_id: int) -> str:
    """The stream of one study."""
    return f"study:{study_id}"


def describe_target(target: models.Model) -> str:
    """``app.model:key`` of a row, as stored in an event."""
    return f"{target._meta.label_lower}:{target.pk}"


def record(
    action: str,
    *,
    target: models.Model | str,
    by: Actor,
    stream: str | None = None,
    details: dict[str, object] | None = None,
    rows: Sequence[RowChange] | SealedRows = (),
) -> None:
    """Add one event to ``stream``: if none is given, to that of the study whose row ``target`` is, or to that of the site. Must
    run inside the transaction of the write it records.

    ``details`` holds identifiers, whole numbers and short states (before, after, reason): never transcript text or
    secrets. A fraction goes in as text (``TypeError``), for a database may write it back in another form, which would
    no longer fit its hash. ``rows`` are what became of evidence by this act (rows.py), so that it can be rebuilt; of many
    rows, events ``trail.rows`` take up the rest. Where there are thousands, ``seal_rows`` makes them ready beforehand.
    """
    if rows and details and ROWS in details:
        raise ValueError(
            f"{action} has a detail named {ROWS!r}, which is for what is told of rows. Choose another name."
        )
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(
            f"{action} was recorded outside a transaction. Record an event in the same transaction as the write it describes."
        )
    if stream is None:
        study: int | None = getattr(target, "owning_study_id", None) or getattr(target, "study_id", None)
        stream = study_stream(study) if study else SITE
    own, texts, more = dict(details or {}), list[tuple[str, str, str]](), list[Any]()
    if isinstance(rows, SealedRows) or len(rows) > ROWS_IN_AN_EVENT:
        sealed = rows if isinstance(rows, SealedRows) else seal_rows(rows)
        more, texts = [json.loads(part) for part in sealed.parts], list(sealed.texts)
        if more:
            own[ROWS] = more.pop(0)
    elif rows:
        own[ROWS], texts = seal(rows)
    what = target if isinstance(target, str) else describe_target(target)
    first = _Event(timezone.now(), by, action, what, _as_stored(action, own), texts)
    events = [first, *(first._replace(action=MORE_ROWS, details={"of": action, ROWS: part}, texts=[]) for part in more)]
    gathered = _GATHERED.get()
    if gathered is not None and gathered[0] == stream:
        gathered[1].extend(events)
    else:
        _write(stream, events)


class _Event(NamedTuple):
    """What is recorded, before its place in the chain is known."""

    at: datetime.datetime
    by: Actor
    action: str
    target: str
    details: Any
    texts: Sequence[tuple[str, str, str]]


_GATHERED: ContextVar[tuple[str, list[_Event]] | None] = ContextVar("gathered", default=None)


@contextmanager
def gather(stream: str) -> Iterator[list[_Event]]:
    """Write the events that are recorded for ``stream`` inside, in their order, at the end and all at once.

    For many acts in one transaction, which must go on until then. It yields the events so far: the caller that undoes an act,
    by its savepoint, takes its events out of the list. So the head of the stream is held last and for a short time.
    """
    events: list[_Event] = []
    before = _GATHERED.set((stream, events))
    try:
        yield events
    finally:
        _GATHERED.reset(before)
    if events:
        _write(stream, events)


def _write(stream: str, events: Sequence[_Event]) -> None:
    """Add the next events of a stream, and move its head to the last."""
    rows = []
    with connection.cursor() as cursor:
        _store_texts(cursor, [text for event in events for text in event.texts])
        sequence, previous_hash = _lock_head(cursor, stream)
        for event in events:
            sequence += 1
            link = Link(
                stream=stream,
                sequence=sequence,
                at=format_time(event.at),
                actor_id=str(event.by.pk),
                actor_name=event.by.get_username(),
                action=event.action,
                target=event.target,
                details=event.details,
            )
            # In the form that is hashed, so that verifying an event on SQLite, which keeps JSON as it is written, need
            # not parse it.
            written = CANONICAL.encode(link.details)
            digest = hash_written(link, written, previous_hash)
            columns = {**link._asdict(), "at": _prepare("at", event.at), "details": written}
            rows.append([*columns.values(), previous_hash, digest])
            previous_hash = digest
        # A head moves on by one event at a time: a trigger sees to it.
        heads = [[row[1], row[-1], stream] for row in rows]
        for statement, parameters in ((ADD_EVENT, rows), (MOVE_HEAD, heads)):
            if len(parameters) == 1:
                cursor.execute(statement, parameters[0])
            else:
                cursor.executemany(statement, parameters)


def seal_rows(rows: Sequence[RowChange]) -> SealedRows:
    """Make ready what events are to say of rows. Their texts are stored beside the trail, where they can be erased; the
    events have hashes."""
    parts, texts = list[str](), list[tuple[str, str, str]]()
    for first in range(0, len(rows), ROWS_IN_AN_EVENT):
        said, kept = seal(rows[first : first + ROWS_IN_AN_EVENT])
        parts.append(json.dumps(_as_stored(MORE_ROWS, said)))
        texts += kept
    return SealedRows(parts, texts)


def _store_texts(cursor: CursorWrapper, texts: Sequence[tuple[str, str, str]]) -> None:
    for first in range(0, len(texts), TEXTS_AT_A_TIME):
        some = texts[first : first + TEXTS_AT_A_TIME]
        cursor.execute(ADD_TEXTS + ", ".join(["(%s, %s, %s)"] * len(some)), [value for row in some for value in row])


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


def list_streams() -> list[str]:
    """The streams that have a head or events, by name."""
    return sorted(
        AuditHead.objects.values_list("stream", flat=True).union(AuditEvent.objects.values_list("stream", flat=True))
    )


def verify_streams(streams: Iterable[str] | None = None) -> list[tuple[str, int, int | None]]:
    """Each stream, or every stream there is, with all of its events checked: its name, how many, and where it stops fitting.

    The last is ``None`` when all of it fits.
    """
    return [
        (stream, AuditEvent.objects.filter(stream=stream).count(), find_first_break(stream))
        for stream in (list_streams() if streams is None else streams)
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


def _as_stored(action: str, content: object) -> Any:
    """What an event says as a database gives it back: keys are text, tuples are lists."""

    def refuse_fraction(text: str) -> Never:
        raise TypeError(f"{action} was to be recorded with the fraction {text}: write it as text.")

    return json.loads(json.dumps(content, allow_nan=False), parse_float=refuse_fraction)


def read_entries(stream: str, after: int = -1) -> Iterator[Entry]:
    """The events of a stream in order, a few thousand at a time, their details as JSON text.

    Without models and converters, in a third of their time: a trail is verified as a whole. ``after``: a sequence number.
    """
    place = (after, sys.maxsize)
    # SQLite stores text; as text it is used, because making a time of it takes as long as hashing the event.
    statement = READ_EVENTS.format(at="CAST(at AS text)" if connection.vendor == "sqlite" else "at")
    with connection.cursor() as cursor:
        while True:
            cursor.execute(statement, [stream, *place, EVENTS_AT_A_TIME])
            rows = cursor.fetchall()
            for _, sequence, actor_id, actor_name, action, target, at, details, previous_hash, digest in rows:
                link = Link(stream, sequence, _read_time(at), actor_id, actor_name, action, target, details)
                yield link, previous_hash, digest
            if len(rows) < EVENTS_AT_A_TIME:
                return
            place = (rows[-1][1], rows[-1][0])


def _read_time(at: datetime.datetime | str) -> str:
    """A time as ``format_time`` writes it. SQLite gives out text, in UTC, without a fraction where it is zero."""
    if not isinstance(at, str):
        return format_time(at)
    return f"{at[:10]}T{at[11:]}{'' if len(at) > 19 else '.000000'}+00:00"
