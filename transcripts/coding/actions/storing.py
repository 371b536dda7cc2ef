"""Storing a row once: replays find it, races end on a constraint, and nothing is deleted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail.rows import RowChange, row_changed, row_made
from transcripts.coding import queries
from transcripts.coding.actions.errors import UsedForAnother, WrongPlace
from transcripts.coding.models import Coding, Decision, Link, Memo
from transcripts.corpus.models import Sentence
from transcripts.corpus.queries import explain_retired

Row = TypeVar("Row", Coding, Decision, Link, Memo)
Replaced = TypeVar("Replaced", Coding, Memo)


def find_stored(model: type[Row], by: User, idempotency_key: UUID, *, on: Sentence | None) -> Row | None:
    """The row that an earlier request with this idempotency key stored, if any. Locks the sentence. Raises ``WrongPlace``."""
    if on is None:
        pk = queries.find_stored(model, by.pk, idempotency_key)
    else:
        pk, is_current = queries.lock_sentence(model, by.pk, idempotency_key, sentence_id=on.pk)
        if pk is None and not is_current:
            raise WrongPlace(explain_retired(on.pk) or "This sentence is not part of this study.")
    return None if pk is None else model.objects.get(pk=pk)


def check_same(stored: Row, **expected: int | None) -> Row:
    """The row, when it is the one meant. Raises ``UsedForAnother``."""
    if any(getattr(stored, name) != value for name, value in expected.items()):
        raise UsedForAnother(
            "This request has the same idempotency key as an earlier one. Reload the page and try again."
        )
    return stored


def insert_once(row: Row) -> bool:
    """Insert a row, unless a unique constraint shows that another request was quicker; says whether it was inserted.

    One plain statement, on the path of every code: an insert by the ORM inside a savepoint takes a sixth of the time
    that it takes to save a code (benchmarks/saving.py).
    """
    statement, fields = _build_insert(type(row))
    values = [
        prepare(value, connection) if prepare and value is not None else value
        for value, prepare in ((getattr(row, name), prepare) for name, prepare in fields)
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found = cursor.fetchone()
    if found is not None:
        row.pk = found[0]
        row._state.adding = False  # noqa: SLF001
    return found is not None


Prepare = Callable[[object, BaseDatabaseWrapper], Any]


@cache
def _build_insert(model: type[Row]) -> tuple[str, list[tuple[str, Prepare | None]]]:
    """The statement for a model, and the attributes that it takes; some are stored in another form."""
    fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]
    columns, places = ", ".join(str(field.column) for field in fields), ", ".join(["%s"] * len(fields))
    # Names come from the models, values go in as parameters.
    statement = f"INSERT INTO {model._meta.db_table} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING RETURNING id"  # noqa: S608
    converted = (models.DateTimeField, models.UUIDField, models.JSONField)
    return statement, [
        (field.attname, field.get_db_prep_save if isinstance(field, converted) else None) for field in fields
    ]


def replace_once(row: Replaced, before_id: int | None, **changes: object) -> list[RowChange] | None:
    """Insert a row, after ``changes`` to the one it supersedes; what its audit event says of them.

    ``None`` when another request was quicker; the changes are undone then. A row that another request withdrew in the
    meantime stays as it is: it is not superseded, and no event may say that it was.
    """
    if before_id is None:
        return [row_made(row)] if insert_once(row) else None
    model = type(row)
    savepoint = transaction.savepoint()
    ended = model.objects.filter(pk=before_id, withdrawn_at__isnull=True).update(**changes)
    if not insert_once(row):
        transaction.savepoint_rollback(savepoint)
        return None
    transaction.savepoint_commit(savepoint)
    if not ended:
        return [row_made(row)]
    model.objects.filter(pk=before_id).update(superseded_by=row)
    return [row_made(row), row_changed(model, before_id, **changes, superseded_by=row.pk)]


def find_winner(row: Row, **place: object) -> Row:
    """The active row where another request was quicker; the constraints leave room for one."""
    rows = type(row).objects.filter(**place)
    winner = rows.filter(idempotency_key=row.idempotency_key).first() or rows.filter(withdrawn_at__isnull=True).first()
    if winner is None:
        raise UsedForAnother("Two requests changed the same thing at the same moment. Reload the page and try again.")
    return winner


def withdraw(row: Coding | Decision | Memo, *, reason: str = "") -> bool:
    """Withdraw a row; ``False`` when it was withdrawn before."""
    row.withdrawn_at = max(timezone.now(), row.created_at)
    changes: dict[str, object] = {} if isinstance(row, Memo) else {"withdrawal_reason": reason}
    active = type(row).objects.filter(pk=row.pk, withdrawn_at__isnull=True)
    return bool(active.update(withdrawn_at=row.withdrawn_at, **changes))


def withdraw_decision(pk: int, *, reason: str) -> list[RowChange]:
    """Withdraw a decision as part of another act; what its audit event says of it, nothing if it was withdrawn before."""
    changes = {"withdrawn_at": timezone.now(), "withdrawal_reason": reason}
    if not Decision.objects.active().filter(pk=pk).update(**changes):
        return []
    return [row_changed(Decision, pk, **changes)]
