"""What must hold of chains: a call is sent when what was said before it is stored, and sends exactly that."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F, Q, QuerySet

from auditapp.batches.ledger.chains import FAILED_FOR_GOOD, read_exchanges
from auditapp.batches.ledger.endings import Break, list_breaks
from auditapp.batches.models import Attempt, Cell
from auditapp.batches.pure.chaining import revive_conversation

READ_AT_ONCE = 500
State = Cell.State


def check_chains() -> Iterator[Break]:
    """Every break of I9. A cell without a previous is in none of these queries."""
    chained = Cell.objects.order_by().filter(after__isnull=False)
    elsewhere = chained.filter(~Q(after__batch=F("batch")) | ~Q(after__arm=F("arm")))
    yield from list_breaks("I9", elsewhere, "the cell they continue is of another batch or model")
    yield from list_breaks("I9", Cell.objects.filter(after=None, state=State.WAITS), "they wait for no other cell")
    left = chained.filter(state=State.WAITS, after__state__in=[State.DONE, *FAILED_FOR_GOOD])
    yield from list_breaks("I9", left, "they still wait although the cell before them has ended")
    early = chained.filter(state__in=[State.PLANNED, State.LEASED, State.DONE, State.HELD]).exclude(
        after__state=State.DONE
    )
    yield from list_breaks("I9", early, "they did not wait for the answer before them")
    calls = Attempt.objects.order_by().filter(cell__after__isnull=False)
    hasty = calls.filter(Q(cell__after__result=None) | Q(written_at__lt=F("cell__after__result__stored_at")))
    yield from list_breaks(
        "I9", hasty, "their call was written before the answer it continues was stored", of_cell="cell__"
    )
    wrong = _find_other_histories(calls)
    yield from list_breaks(
        "I9", calls.filter(pk__in=wrong), "their call sent another history than is stored", of_cell="cell__"
    )


def _find_other_histories(calls: QuerySet[Attempt]) -> list[int]:
    """The attempts whose history is not what the ledger says was said before. They are read a part at a time."""
    lean = calls.filter(cell__after__result__isnull=False).select_related("cell").defer("raw", "prompt")
    found: list[int] = []
    for part in _in_parts(lean):
        exchanges = read_exchanges(attempt.cell for attempt in part)
        for attempt in part:
            sent = revive_conversation(attempt.history, "", "").history
            if list(sent) != list(exchanges[attempt.cell_id]):
                found.append(attempt.pk)
    return found


def _in_parts(calls: QuerySet[Attempt]) -> Iterator[list[Attempt]]:
    last = 0
    ordered = calls.order_by("pk")
    while part := list(ordered.filter(pk__gt=last)[:READ_AT_ONCE]):
        last = part[-1].pk
        yield part
