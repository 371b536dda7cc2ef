"""The invariants of the ledger, which must hold in any database after any fault.

I1 every cell of an ended batch has ended in one state · I2 one result per cell, of its own answer · I3 money and calls in the
ledger agree with what was charged · I4 no call was repeated whose answer was known · I5 no cap was exceeded · I6 acknowledged
work is stored · I7 the audit trail is intact · I8 nothing is stuck · I9 each call of a conversation sent what was said before it.
I6 cannot be read from a database: it needs the list of what was acknowledged to browsers (``tests/browser``). I9 in full: a call of
a conversation is sent only after the conversation before it is stored, and sends exactly that conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum

from auditapp.batches.ledger.conversations import FAILED_FOR_GOOD, read_exchanges
from auditapp.batches.ledger.leases import LEASE, read_workers
from auditapp.batches.models import WORKING_STATES, Attempt, Batch, Cell, ProviderJob, Result, WorkQueue
from auditapp.batches.pure.conversations import revive_conversation
from auditapp.outbound.clock import read_now
from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import verify_streams

WORDS = {
    "I1": "Ends",
    "I2": "Results",
    "I3": "Money and calls",
    "I4": "Repeats",
    "I5": "Caps",
    "I6": "Acknowledged work",
    "I7": "Audit trail",
    "I8": "Nothing stuck",
    "I9": "Conversations",
}
UNPAID_PROVIDERS = ("fake", "file")
FROM_FILE = "file:"
PATIENCE = LEASE  # beyond the lease itself
End, State = Attempt.End, Cell.State
USABLE = (End.ANSWERED, End.CACHED)
MAX_NUMBERS = 10
# The invariant that is broken, the batch or ``None`` where it does not belong to one, and what is wrong.
Break = tuple[str, int | None, str]


def verify_batches(billed: int | None = None, account: str = "", *, with_trail: bool = True) -> list[Break]:
    """Every violation of I1 to I5 and I7 to I9. ``billed`` is the number of calls that providers charged for, if known; with
    ``account``, only those of the account with this name. Without ``with_trail``, I7 is not checked."""
    return [
        *_check_ends(),
        *_check_results(),
        *_check_money(),
        *([] if billed is None else _check_billed(billed, account)),
        *_check_repeats(),
        *_check_caps(),
        *(_check_trail() if with_trail else []),
        *_check_claims(),
        *_check_idle_batches(),
        *_check_progress(),
        *check_conversations(),
    ]


def _check_ends() -> Iterator[Break]:
    cells = Cell.objects.order_by()
    is_open = Q(state__in=[State.BLOCKED, State.PLANNED, State.LEASED, State.HELD])
    left = cells.filter(is_open, batch__state=Batch.State.DONE)
    yield from list_breaks("I1", left, "the batch is done, but these cells have not ended")
    is_left = Q(state__in=[State.BLOCKED, State.PLANNED, State.HELD])
    left = cells.filter(is_left, batch__state=Batch.State.CANCELLED)
    yield from list_breaks("I1", left, "the batch is cancelled, but these cells still wait, or are planned or held")
    without = cells.filter(~Exists(Result.objects.filter(cell=OuterRef("pk"))), state=State.DONE)
    yield from list_breaks("I1", without, "done without a result")
    yield from list_breaks("I1", cells.filter(state=State.FAILED, outcome=""), "failed without an outcome")
    yield from list_breaks("I1", cells.filter(state=State.DONE, outcome=""), "done without an outcome")


def _check_results() -> Iterator[Break]:
    results = Result.objects.order_by()
    wrong = ~Q(attempt__cell=F("cell")) | ~Q(attempt__end__in=USABLE) | ~Q(cell__state=State.DONE)
    yield from list_breaks(
        "I2", results.filter(wrong), "their result is not from a usable answer of their own", of_cell="cell__"
    )
    unused = Attempt.objects.order_by().filter(end__in=USABLE, result__isnull=True, cell__result__isnull=False)
    yield from list_breaks("I2", unused, "a second answer is counted as their result", of_cell="cell__")
    unnumbered = results.filter(cell__answer_number__isnull=True)
    yield from list_breaks("I2", unnumbered, "their answer has no number, so that no stream shows it", of_cell="cell__")


def _check_money() -> Iterator[Break]:
    """An attempt keeps its reservation if it is open, or if its cost is not known although its price is."""
    priced = Q(arm__price_in__isnull=False, arm__price_out__isnull=False)
    keeps = Q(end=End.OPEN) | (priced & Q(cost_nano__isnull=True))
    sums = {
        row["arm__batch"]: (row["spent"] or 0, row["reserved"] or 0)
        for row in Attempt.objects.order_by()
        .values("arm__batch")
        .annotate(spent=Sum("cost_nano"), reserved=Sum("reserved_nano", filter=keeps))
    }
    for batch, spent, reserved in Batch.objects.order_by("pk").values_list("pk", "spent_nano", "reserved_nano"):
        by_calls = sums.get(batch, (0, 0))
        if (spent, reserved) != by_calls:
            sentence = (
                f"Batch {batch}: spent and reserved are {spent} and {reserved} nanodollars, but its calls add up to "
                f"{by_calls[0]} and {by_calls[1]}."
            )
            yield "I3", batch, sentence


def _find_billable(account: str) -> QuerySet[Attempt]:
    """The calls that a provider can have charged for: no calls of the fake provider, and no answers imported from a file."""
    calls = Attempt.objects.order_by().exclude(arm__variant__account__provider__in=UNPAID_PROVIDERS)
    calls = calls.exclude(runner__startswith=FROM_FILE)
    return calls.filter(arm__variant__account__name=account) if account else calls


def list_counted_accounts(account: str = "") -> str:
    """The accounts whose calls are compared with what was charged."""
    names = _find_billable(account).values_list("arm__variant__account__name", flat=True).distinct()
    counted = ", ".join(sorted(names)) or "none"
    return f"accounts counted: {counted}, without the fake provider and answers imported from files"


def _check_billed(billed: int, account: str) -> Iterator[Break]:
    ends = dict(_find_billable(account).values_list("end").annotate(Count("id")))
    certain = sum(ends.get(end, 0) for end in (End.ANSWERED, End.SURPLUS, End.FAILED))
    possible = certain + ends.get(End.UNKNOWN, 0)
    if not certain <= billed <= possible:
        counted = f"{certain}" if certain == possible else f"{certain} to {possible}"
        sentence = f"The providers charged for {billed} calls; the ledger has {counted} paid ones"
        yield "I3", None, f"{sentence} ({list_counted_accounts(account)})."


def _check_repeats() -> Iterator[Break]:
    """Besides the answer of a cell, only an attempt whose end was at first unknown may have been answered. In failed cells that a
    person asked again, such attempts are no longer counted."""
    retried = {target.rpartition(":")[2] for target in _events("batch.retried").values_list("target", flat=True)}
    cells = Cell.objects.annotate(answers=Count("attempts", filter=Q(attempts__end__in=[End.ANSWERED, End.SURPLUS])))
    repeated = cells.order_by().filter(answers__gt=1 + F("unknown_ends"))
    repeated = repeated.exclude(batch__in=[int(batch) for batch in retried])
    yield from list_breaks("I4", repeated, "asked again although they had been answered")


def _check_caps() -> Iterator[Break]:
    crossed = Batch.objects.filter(cap_nano__lt=F("spent_nano") + F("reserved_nano")).order_by("pk")
    for batch in crossed:
        gone = batch.spent_nano + batch.reserved_nano
        sentence = f"Batch {batch.pk}: {gone} nanodollars are spent or reserved, but its cap is {batch.cap_nano}."
        yield ("I5", batch.pk, sentence)


def _check_trail() -> Iterator[Break]:
    for stream, _, first_break in verify_streams():
        if first_break is not None:
            yield ("I7", None, f"The audit trail was changed: stream {stream} from event {first_break}.")
    launched = dict(_events("batch.launched").values_list("target").annotate(Count("id")))
    for batch in Batch.objects.order_by("pk"):
        events = launched.get(f"{Batch._meta.label_lower}:{batch.pk}", 0)
        if events != 1:
            yield ("I7", batch.pk, f"Batch {batch.pk}: the audit trail has its launch {events} times.")


def _events(action: str) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(action=action).order_by()


def _check_claims() -> Iterator[Break]:
    """A leased cell has one open call, that of its latest claim. Other cells have none, and neither do provider jobs that have
    ended."""
    cells, calls = Cell.objects.order_by(), Attempt.objects.order_by().filter(end=End.OPEN)
    mine = calls.filter(cell=OuterRef("pk"), fence=OuterRef("fence"))
    yield from list_breaks("I8", cells.filter(~Exists(mine), state=State.LEASED), "in progress without a call")
    stray = calls.filter(~Q(cell__state=State.LEASED) | ~Q(fence=F("cell__fence")))
    yield from list_breaks("I8", stray, "they have an open call that no runner waits for", of_cell="cell__")
    left = calls.filter(job__state__in=[ProviderJob.State.COLLECTED, ProviderJob.State.FAILED])
    yield from list_breaks("I8", left, "they have an open call in a provider job that has ended", of_cell="cell__")


def _check_idle_batches() -> Iterator[Break]:
    """A working batch has a planned or leased cell: the end of the last one changes the batch's state, unless it stays open."""
    under_way = Cell.objects.filter(batch=OuterRef("pk"), state__in=[State.PLANNED, State.LEASED])
    is_idle = ~Exists(under_way) | Q(~Exists(under_way.filter(pilot=True)), state=Batch.State.PILOT)
    for batch in Batch.objects.filter(is_idle, state__in=WORKING_STATES, stays_open=False).order_by("pk"):
        yield ("I8", batch.pk, f"Batch {batch.pk}: it is {batch.state}, but no cell is left to ask.")


def _check_progress() -> Iterator[Break]:
    """If a worker has had time for repairs, no lease and no queue is long overdue; and every arm has a queue."""
    queues = {(queue.batch_id, queue.name) for queue in WorkQueue.objects.all()}
    working = Batch.objects.filter(state__in=WORKING_STATES).exclude(route=Batch.Route.FILE)
    for batch in working.order_by("pk").prefetch_related("arms__variant"):
        missing = [arm.pk for arm in batch.arms.all() if (batch.pk, arm.variant.queue_name) not in queues]
        if missing:
            yield (
                "I8",
                batch.pk,
                f"Batch {batch.pk}: arms {list_numbers(missing)} have no queue, so no runner asks for them.",
            )
    now = read_now()
    if not any(each.alive and each.started_at and now - each.started_at > PATIENCE for each in read_workers()):
        return
    overdue = Cell.objects.order_by().filter(state=State.LEASED, lease_until__lt=now - PATIENCE)
    yield from list_breaks("I8", overdue, "in progress although their lease ended more than a minute ago")
    for queue in WorkQueue.objects.exclude(runner="").filter(heartbeat_at__lt=now - LEASE - PATIENCE).order_by("pk"):
        yield (
            "I8",
            queue.batch_id,
            f"Batch {queue.batch_id}: queue {queue.pk} belongs to a runner that has been silent for minutes.",
        )


def list_breaks(invariant: str, rows: QuerySet[Any], what: str, *, of_cell: str = "") -> Iterator[Break]:
    """One violation for each batch that has such rows, with the numbers of the first cells. One statement."""
    found: dict[int, list[int]] = {}
    for batch, cell in rows.values_list(f"{of_cell}batch", f"{of_cell}pk"):
        found.setdefault(batch, []).append(cell)
    for batch in sorted(found):
        cells = sorted(found[batch])
        yield (
            invariant,
            batch,
            f"Batch {batch}, {len(cells)} cell{'s'[: len(cells) > 1]} ({list_numbers(cells)}): {what}.",
        )


def list_numbers(numbers: Sequence[int]) -> str:
    """The first few numbers, to keep the sentence short."""
    more = ", …" if len(numbers) > MAX_NUMBERS else ""
    return ", ".join(map(str, numbers[:MAX_NUMBERS])) + more


READ_AT_ONCE = 500


def check_conversations() -> Iterator[Break]:
    """Every violation of I9. These queries find only cells with a previous call."""
    linked = Cell.objects.order_by().filter(after__isnull=False)
    elsewhere = linked.filter(~Q(after__batch=F("batch")) | ~Q(after__arm=F("arm")))
    yield from list_breaks("I9", elsewhere, "the cell they continue is of another batch or model")
    yield from list_breaks("I9", Cell.objects.filter(after=None, state=State.BLOCKED), "they wait for no other cell")
    left = linked.filter(state=State.BLOCKED, after__state__in=[State.DONE, *FAILED_FOR_GOOD])
    yield from list_breaks("I9", left, "they still wait although the cell before them has ended")
    early = linked.filter(state__in=[State.PLANNED, State.LEASED, State.DONE, State.HELD]).exclude(
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
    """The attempts whose history differs from what was said before according to the ledger. They are read in parts."""
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
