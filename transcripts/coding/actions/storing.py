"""Storing a row once: replays find it, races end on a constraint, and nothing is deleted."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.coding import queries
from transcripts.coding.actions.errors import UsedForAnother, WrongPlace
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.corpus.models import Sentence
from transcripts.corpus.queries import explain_retired

Row = TypeVar("Row", Coding, Decision, Memo)


def find_stored(model: type[Row], by: User, client_id: UUID, *, on: Sentence | None) -> Row | None:
    """The row that an earlier request with this idempotency key stored, if any. Locks the sentence. Raises ``WrongPlace``."""
    if on is None:
        pk = queries.find_stored(model, by.pk, client_id)
    else:
        pk, is_current = queries.lock_sentence(model, by.pk, client_id, sentence_id=on.pk)
        if pk is None and not is_current:
            raise WrongPlace(explain_retired(on.pk) or "This sentence is not part of this study.")
    return None if pk is None else model.objects.get(pk=pk)


def check_same(stored: Row, **expected: int | None) -> Row:
    """The row, when it is the one meant. Raises ``UsedForAnother``."""
    if any(getattr(stored, name) != value for name, value in expected.items()):
        raise UsedForAnother("This request carries the number of an earlier one. Reload the page and try again.")
    return stored


def find_winner(row: Row, **place: object) -> Row:
    """The row that stands where another request was quicker; the constraints leave room for one."""
    rows = type(row).objects.filter(**place)
    winner = rows.filter(client_id=row.client_id).first() or rows.filter(withdrawn_at__isnull=True).first()
    if winner is None:
        raise UsedForAnother("Two requests changed this place at the same moment. Reload the page and try again.")
    return winner


def withdraw(row: Coding | Decision | Memo, *, reason: str = "") -> bool:
    """Withdraw a row; ``False`` when it was withdrawn before."""
    row.withdrawn_at = max(timezone.now(), row.created_at)
    told: dict[str, object] = {} if isinstance(row, Memo) else {"withdrawal_reason": reason}
    standing = type(row).objects.filter(pk=row.pk, withdrawn_at__isnull=True)
    return bool(standing.update(withdrawn_at=row.withdrawn_at, **told))


def withdraw_decision(pk: int, *, reason: str) -> int:
    """Withdraw a decision as part of another act, whose audit event names it."""
    standing = Decision.objects.active().filter(pk=pk)
    standing.update(withdrawn_at=timezone.now(), withdrawal_reason=reason)
    return pk
