"""Writing to the audit trail, recording rows in events, and erasing typed text.

Actions call ``record`` inside their own transaction. A room registers its models with ``register_rows``; its actions hand
``row_made`` and ``row_changed`` to ``record``, so that rows of evidence can be rebuilt from the trail and compared with it.
Typed text is personal and may have to be erased one day, but events are permanent. So the event has a salted hash, and
``AuditText`` has the text with its salt. If somebody has a right to it, the text is erased. The trail still shows that there
was a text, and when it was erased.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, NamedTuple, Never, Protocol, cast
from uuid import UUID

from django.db import connection, models, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from transcripts.audit_trail.models import AuditEvent, AuditHead, AuditText
from transcripts.audit_trail.pure import CANONICAL, Entry, Link, find_break, hash_written

EMPTY: tuple[object, ...] = (None, "", [], {})
"""The values that are left out of a new row."""
ROWS = "rows"
"""The detail of an event that records changes of rows."""
ERASED = "[erased]"
"""The value of a column whose text was erased."""


class RecordedModel(NamedTuple):
    """A model whose rows can be rebuilt from the trail.

    ``columns`` are the names in events, each with the attribute of the row ("code_id", "code.identifier"); ``texts`` are
    columns with typed text. ``study`` is the attribute with the number of the study.
    """

    model: type[models.Model]
    columns: Mapping[str, str]
    texts: Sequence[str]
    study: str
    read: Callable[[Any], tuple[Any, ...]]

    @property
    def label(self) -> str:
        """``app.model``, as in the targets of events."""
        return self.model._meta.label_lower


class RowChange(NamedTuple):
    """The change of one row in an act: ``made`` with all its values, or ``set`` for some of its columns."""

    row: str
    kind: str
    columns: Mapping[str, object]
    texts: Mapping[str, object]


_REGISTERED: dict[type[models.Model], RecordedModel] = {}


def register_rows(
    model: type[models.Model], names: str, /, *, texts: Sequence[str] = (), study: str, **attributes: str
) -> None:
    """Register ``model``, so that its rows can be rebuilt from the trail; every action that writes them records this.

    ``names`` are the columns as events call them, divided by blanks: the names of fields, unless ``attributes`` has another
    attribute of the row. ``study`` is the attribute with the number of the study.
    """
    columns = {
        name: attributes.get(name) or cast("models.Field[Any, Any]", model._meta.get_field(name)).attname
        for name in names.split()
    }
    read = attrgetter(*columns.values(), *texts)
    _REGISTERED[model] = RecordedModel(model, columns, tuple(texts), study, read)


def list_recorded() -> list[RecordedModel]:
    """The registered models, by label."""
    return sorted(_REGISTERED.values(), key=lambda recorded: recorded.label)


def row_made(row: models.Model) -> RowChange:
    """The record of a new row with all its values. Reads its relations: load them first if there are many rows."""
    recorded = _REGISTERED[type(row)]
    held = {
        name: as_json(value)
        for name, value in zip((*recorded.columns, *recorded.texts), recorded.read(row), strict=True)
        if value not in EMPTY and value != ERASED
    }
    texts = {name: held.pop(name) for name in recorded.texts if name in held}
    return RowChange(f"{recorded.label}:{row.pk}", "made", held, texts)


def row_changed(model: type[models.Model], pk: int, **values: object) -> RowChange:
    """The record of changed columns of a stored row, by the names in ``register_rows``."""
    recorded = _REGISTERED[model]
    columns = {name: as_json(value) for name, value in values.items() if name in recorded.columns}
    texts = {
        name: as_json(value)
        for name, value in values.items()
        if name in recorded.texts and value not in (*EMPTY, ERASED)
    }
    if unknown := values.keys() - recorded.columns.keys() - set(recorded.texts):
        raise ValueError(f"{recorded.label} has no recorded column {min(unknown)!r}.")
    return RowChange(f"{recorded.label}:{pk}", "set", columns, texts)


def seal(rows: Sequence[RowChange]) -> tuple[list[dict[str, object]], list[tuple[str, str, str]]]:
    """The rows for an event, and the texts to store separately: hash, salt and content."""
    said, kept = list[dict[str, object]](), list[tuple[str, str, str]]()
    for change in rows:
        hashes = {}
        for name, value in change.texts.items():
            content, salt = as_content(value), secrets.token_hex(16)
            hashes[name] = hash_text(salt, content)
            kept.append((hashes[name], salt, content))
        texts = {"texts": hashes} if hashes else {}
        said.append({"row": change.row, change.kind: change.columns, **texts})
    return said, kept


def hash_text(salt: str, content: str) -> str:
    """The hash of a text in an event."""
    return hashlib.sha256(f"{salt}\n{content}".encode()).hexdigest()


def as_content(value: object) -> str:
    """A text in the form that is stored apart from its event; answers to a code's questions as JSON."""
    return value if isinstance(value, str) else CANONICAL.encode(value)


def as_json(value: object) -> object:
    """A value of a column in the form of an event."""
    if isinstance(value, datetime.datetime):
        return format_time(value)
    return value.hex if isinstance(value, UUID) else value


def format_time(at: datetime.datetime) -> str:
    """ISO 8601 in UTC with microseconds, the form that is hashed."""
    return at.astimezone(datetime.UTC).isoformat(timespec="microseconds")


def list_changes(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The changes of rows in the details of an event. In other events this name is a count: the rows of a file or backup."""
    told = details.get(ROWS)
    return told if isinstance(told, list) else []


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
    """The record of many rows, prepared before the transaction: ``parts`` are JSON, one per event, and ``texts`` are separate."""

    parts: Sequence[str]
    texts: Sequence[tuple[str, str, str]]


class Actor(Protocol):
    """The signed-in person who acts."""

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


def find_stream(target: models.Model | str) -> str:
    """The stream of the study to which the row ``target`` belongs (by itself or `register_rows`), or else that of the site."""
    study: int | None = getattr(target, "owning_study_id", None) or getattr(target, "study_id", None)
    if study is None and isinstance(target, models.Model) and (recorded := _REGISTERED.get(type(target))):
        study = attrgetter(recorded.study)(target)
    return study_stream(study) if study else SITE


def record(
    action: str,
    *,
    target: models.Model | str,
    by: Actor,
    stream: str | None = None,
    details: dict[str, object] | None = None,
    rows: Sequence[RowChange] | SealedRows = (),
) -> None:
    """Add one event to ``stream`` or, if none is given, to that of ``target`` by `find_stream`. Must run inside the transaction
    of the write that it records. Pass the stream if following the row to its study would cost a query.

    ``details`` are identifiers, whole numbers and short states (before, after, reason): never transcript text or secrets. A
    fraction must be text (otherwise ``TypeError``), because a database may return it in another form that no longer matches its
    hash. ``rows`` are the changes of evidence in this act, so that it can be rebuilt; if there are many, events ``trail.rows``
    have the rest. For thousands of rows, ``seal_rows`` prepares them in advance.
    """
    if rows and details and ROWS in details:
        raise ValueError(f"{action} has a detail named {ROWS!r}, which is reserved for rows. Choose another name.")
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(
            f"{action} was recorded outside a transaction. Record an event in the same transaction as the write it describes."
        )
    stream = stream or find_stream(target)
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
    """An event before its place in the chain is known."""

    at: datetime.datetime
    by: Actor
    action: str
    target: str
    details: Any
    texts: Sequence[tuple[str, str, str]]


_GATHERED: ContextVar[tuple[str, list[_Event]] | None] = ContextVar("gathered", default=None)


@contextmanager
def gather(stream: str) -> Iterator[list[_Event]]:
    """Write the events that are recorded for ``stream`` inside the block together at its end, in their order.

    For many acts in one transaction, which must last until then. It yields the events so far: a caller that undoes an act by
    its savepoint removes the act's events from the list. So the head of the stream is locked last and only for a short time.
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
        # A trigger makes a head advance by one event at a time.
        heads = [[row[1], row[-1], stream] for row in rows]
        for statement, parameters in ((ADD_EVENT, rows), (MOVE_HEAD, heads)):
            if len(parameters) == 1:
                cursor.execute(statement, parameters[0])
            else:
                cursor.executemany(statement, parameters)


def seal_rows(rows: Sequence[RowChange]) -> SealedRows:
    """Prepare rows for events. Their texts are stored separately, so that they can be erased; the events have hashes."""
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
    """The sequence number and hash of the head of a stream, created for the first event and locked until the transaction ends."""
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
    """A value in the form that this database needs for a column of an event."""
    field = cast("models.Field[Any, Any]", AuditEvent._meta.get_field(name))
    return field.get_db_prep_save(value, connection)


def list_streams() -> list[str]:
    """The streams that have a head or events, by name."""
    return sorted(
        AuditHead.objects.values_list("stream", flat=True).union(AuditEvent.objects.values_list("stream", flat=True))
    )


def verify_streams(streams: Iterable[str] | None = None) -> list[tuple[str, int, int | None]]:
    """Each stream, or every stream there is, with all its events verified: its name, the number of events, and the first that
    does not fit.

    The last is ``None`` if all fit.
    """
    return [
        (stream, AuditEvent.objects.filter(stream=stream).count(), find_first_break(stream))
        for stream in (list_streams() if streams is None else streams)
    ]


def find_first_break(stream: str) -> int | None:
    """The first sequence number of ``stream`` that does not verify (including the head), or ``None`` if all do.

    Events may be added at the same time: the head is read before and after, because no event is ever ahead of its head.
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
    """The details of an event in the form in which a database returns them: keys are text, tuples are lists."""

    def refuse_fraction(text: str) -> Never:
        raise TypeError(f"{action} was to be recorded with the fraction {text}: write it as text.")

    return json.loads(json.dumps(content, allow_nan=False), parse_float=refuse_fraction)


def read_entries(stream: str, after: int = -1) -> Iterator[Entry]:
    """The events of a stream in order, a few thousand at a time, their details as JSON text.

    Reading without models and converters takes a third of the time, because a whole trail is verified. ``after``: a sequence
    number.
    """
    place = (after, sys.maxsize)
    # SQLite stores text, which is used directly, because converting it to a time takes as long as hashing the event.
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
    """A time in the form of ``format_time``. SQLite returns text, in UTC, without a fraction if it is zero."""
    if not isinstance(at, str):
        return format_time(at)
    return f"{at[:10]}T{at[11:]}{'' if len(at) > 19 else '.000000'}+00:00"


ACTION = "audit.texts.erased"


class NothingToErase(Exception):
    """There is no text to erase; the message is for the person who asked."""


@transaction.atomic
def erase_texts(row: str, *, reason: str, by: Actor) -> list[str]:
    """Erase the texts of a row ("coding.memo:12") and their copies that belong to events; returns the columns.

    Other rows stay as they are, even those with the same text: earlier versions of a memo, or a coding that a boundary edit
    made from another. Raises ``NothingToErase``.
    """
    recorded, stored = _find(row)
    held = [
        name for name in recorded.texts if getattr(stored, name) not in ("", ERASED, {})
    ]  # a dict is no member of a set
    if not held:
        raise NothingToErase(f"{row} holds no text.")
    emptied = {name: ERASED if isinstance(getattr(stored, name), str) else {} for name in held}
    recorded.model._base_manager.filter(pk=stored.pk).update(**emptied)  # noqa: SLF001
    stream = find_stream(stored)
    hashes = _find_hashes(stream, row)
    AuditText.objects.filter(hash__in=list(hashes)).update(salt="", content="")
    details: dict[str, object] = {"columns": held, "hashes": sorted(hashes), "reason": reason}
    record(ACTION, target=row, by=by, stream=stream, details=details)
    return held


def _find(row: str) -> tuple[RecordedModel, models.Model]:
    label, _, key = row.partition(":")
    recorded = next((each for each in list_recorded() if each.label == label), None)
    if recorded is None:
        labels = ", ".join(each.label for each in list_recorded())
        raise NothingToErase(f"{row} is not a row with a text. Name one as MODEL:NUMBER, with a model of {labels}.")
    stored = recorded.model._base_manager.filter(pk=key).first() if key.isdecimal() else None  # noqa: SLF001
    if stored is None:
        raise NothingToErase(f"There is no {row}.")
    return recorded, stored


def _find_hashes(stream: str, row: str) -> set[str]:
    """The hashes of all texts of a row in events. Reads the whole stream."""
    hashes: set[str] = set()
    for link, _, _ in read_entries(stream):
        if row in (details := str(link.details)):
            for change in list_changes(json.loads(details)):
                texts: Mapping[str, str] = change.get("texts", {}) if change["row"] == row else {}
                hashes.update(texts.values())
    return hashes
