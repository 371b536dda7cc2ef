"""The ledger's SQL: claims, ends, counts. Portable; PostgreSQL adds row locks through the ORM."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from operator import attrgetter

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet

from auditapp.batches.ledger.leases import find_due_queues
from auditapp.batches.models import SENDING_CONTROLS, SENDING_STATES, Attempt, Batch, Cell, Result, WorkQueue
from auditapp.batches.pure.conversations import Message
from auditapp.outbound.clock import read_now

CELL = Cell._meta.db_table
ATTEMPT = Attempt._meta.db_table
RESULT = Result._meta.db_table

# The columns that complete an attempt, and those that end a claim, in the order of the statements.
ATTEMPT_END = (
    "sent_at",
    "first_byte_at",
    "done_at",
    "end",
    "http_status",
    "error_class",
    "error",
    "provider_request_id",
    "provider_answer_id",
    "served_route",
    "served_model",
    "finish_reason",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "tokens_reasoning",
    "cost_nano",
    "raw",
    "pk",
)
CELL_END = ("state", "outcome", "not_before", "tries", "unknown_ends", "answer_number", "pk", "fence", "state")
PLANNED = ("arm_id", "input_id", "repeat", "fence", "tries", "unknown_ends", "answer_number", "after_id")
"""The columns that are read from a cell that may be claimed."""

END_ATTEMPT = (
    f'UPDATE {ATTEMPT} SET sent_at = COALESCE(%s, sent_at), first_byte_at = %s, done_at = %s, "end" = %s, http_status = %s, '  # noqa: S608
    "error_class = %s, error = %s, provider_request_id = %s, provider_answer_id = %s, served_route = %s, served_model = %s, "
    "finish_reason = %s, tokens_in = %s, tokens_out = %s, tokens_cached = %s, tokens_reasoning = %s, cost_nano = %s, raw = %s "
    "WHERE id = %s AND \"end\" IN ('open', 'unknown')"
)
END_CELL = (
    f"UPDATE {CELL} SET state = %s, outcome = %s, lease_owner = '', lease_until = NULL, not_before = %s, tries = %s, "  # noqa: S608
    "unknown_ends = %s, answer_number = %s WHERE id = %s AND state NOT IN ('done', 'failed') AND (fence = %s OR %s = 'done')"
)

INSERT_ATTEMPTS = (
    f"INSERT INTO {ATTEMPT} (cell_id, arm_id, copied_from_id, prompt, history, fence, request_id, runner, request_hash, "  # noqa: S608
    'reserved_nano, written_at, "end", error_class, error, provider_request_id, provider_answer_id, served_route, served_model, '
    "finish_reason, raw) VALUES "
)
NEW_ATTEMPT = "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 'open', '', '', '', '', '', '', '', '')"
INSERT_RESULT = f"INSERT INTO {RESULT} (cell_id, attempt_id, answer, reasoning, stored_at) VALUES (%s, %s, %s, %s, %s)"  # noqa: S608


def end_attempts(attempts: Sequence[Attempt]) -> None:
    """Complete attempts that are open or whose end was considered lost. A completed attempt is never changed."""
    with connection.cursor() as cursor:
        cursor.executemany(END_ATTEMPT, list(map(attrgetter(*ATTEMPT_END), attempts)))


def end_cells(cells: Sequence[Cell]) -> None:
    """Give leased cells their next state. An ended cell keeps its state; after a lost lease only an answer counts.

    ``fence`` is that of the claim that ends. ``answer_number`` is set if the cell now has its answer.
    """
    with connection.cursor() as cursor:
        cursor.executemany(END_CELL, list(map(attrgetter(*CELL_END), cells)))


def find_claimable(batch: Batch, arm_ids: Sequence[int], count: int, now: datetime.datetime) -> list[Cell]:
    """Up to ``count`` cells of the arms that may be asked now, locked if the database locks rows.

    Arms are read one after the other, each by its index and in the order of planning: earlier cells come before new ones, and
    calls with the same instructions follow each other, which makes use of providers' caches.
    """
    due = Q(not_before__isnull=True) | Q(not_before__lte=now)
    found: list[Cell] = []
    for arm_id in arm_ids:
        cells = claimable_cells(batch, [arm_id]).filter(due).select_for_update(skip_locked=True, of=("self",))
        found += cells.order_by("id").only(*PLANNED)[: count - len(found)]
        if len(found) >= count:
            break
    return found


def find_probe(batch: Batch, arm_ids: Sequence[int]) -> list[Cell]:
    """The locked cell with which to probe a server that does not answer: a cell that has not been asked yet, or else the one
    asked longest ago.

    A cell that fails every time must not prevent another cell's answer from showing that the server is back.
    """
    cells = claimable_cells(batch, arm_ids).select_for_update(skip_locked=True, of=("self",))
    return list(cells.order_by(F("not_before").asc(nulls_first=True), "id").only(*PLANNED)[:1])


def insert_attempts(
    rows: Sequence[tuple[int, int, int | None, str, list[Message] | None, int, uuid.UUID, str, int]],
    *,
    runner: str,
    written_at: datetime.datetime,
) -> list[int]:
    """Write open attempts and return their keys in the same order.

    A row is cell, arm, the attempt copied from, prompt, history, fence, request id, request hash and reserved nanodollars. One
    statement: the model's own insert takes three times as long, thousands of times a minute.
    """
    at = connection.ops.adapt_datetimefield_value(written_at)
    is_text = connection.vendor != "postgresql"
    values: list[int | str | uuid.UUID | datetime.datetime | None] = []
    for *first, history, fence, request_id, request_hash, reserved in rows:
        messages = None if history is None else json.dumps(history, ensure_ascii=False)
        values += [
            *first,
            messages,
            fence,
            request_id.hex if is_text else request_id,
            runner,
            request_hash,
            reserved,
            at,
        ]
    with connection.cursor() as cursor:
        cursor.execute(INSERT_ATTEMPTS + ", ".join([NEW_ATTEMPT] * len(rows)) + " RETURNING cell_id, id", values)
        keys = dict(cursor.fetchall())
    return [keys[row[0]] for row in rows]


def insert_results(rows: Sequence[tuple[int, int, str, str]], stored_at: datetime.datetime) -> None:
    """Write results (cell, attempt, answer, reasoning) of cells that have none."""
    at = connection.ops.adapt_datetimefield_value(stored_at)
    with connection.cursor() as cursor:
        cursor.executemany(INSERT_RESULT, [(*row, at) for row in rows])


def read_last_answer_number(batch_id: int) -> int:
    """The number of the batch's latest answer, 0 if it has none. The next number may be assigned only while the batch is locked,
    so that numbers appear in order, whichever worker stores the answers."""
    numbered = Cell.objects.filter(batch=batch_id, answer_number__isnull=False)
    return numbered.order_by("-answer_number").values_list("answer_number", flat=True).first() or 0


def claimable_cells(batch: Batch, arm_ids: Sequence[int]) -> QuerySet[Cell]:
    """The planned cells that may be asked in the batch's state: only the pilot's, only those started, or all."""
    cells = Cell.objects.filter(arm__in=arm_ids, state=Cell.State.PLANNED)
    in_pilot = batch.awaits_server and batch.pilot_cells > 0 and batch.confirmed_at is None
    if batch.state == Batch.State.PILOT or in_pilot:
        cells = cells.filter(pilot=True)
    if batch.control == Batch.Control.DRAIN:
        cells = cells.filter(fence__gt=0)
    return cells


def queue_arm_ids(batch: Batch, queue: WorkQueue) -> list[int]:
    """The arms whose calls are made by ``queue``."""
    return [arm.pk for arm in batch.arms.select_related("variant") if arm.variant.queue_name == queue.name]


def read_seconds_until_due(batch: Batch, queue: WorkQueue) -> float | None:
    """Seconds until the queue's earliest planned cell may be tried and the queue's ban is over (0 for now); ``None`` if there is
    no cell to try. A server that does not answer is probed with any of the cells."""
    cells = claimable_cells(batch, queue_arm_ids(batch, queue))
    now = read_now()
    ban = 0.0 if queue.slow_until is None else max(0.0, (queue.slow_until - now).total_seconds())
    if queue.silent_since is not None:
        return ban if cells.exists() else None
    if cells.filter(Q(not_before__isnull=True) | Q(not_before__lte=now)).exists():
        return ban
    due = cells.aggregate(due=Min("not_before"))["due"]
    return None if due is None else max(ban, (due - now).total_seconds(), 0.0)


def find_answered(hashes: Collection[str], repeats: Collection[int]) -> dict[tuple[str, int], Result]:
    """The oldest stored answer to each request and repeat number, with its attempt: always a provider's answer, never a copy."""
    results = Result.objects.select_related("attempt", "cell").filter(
        attempt__request_hash__in=hashes, attempt__end=Attempt.End.ANSWERED, cell__repeat__in=repeats
    )
    results = results.defer("attempt__raw", "attempt__prompt", "attempt__history")
    found: dict[tuple[str, int], Result] = {}
    for result in results.order_by("attempt_id"):
        found.setdefault((result.attempt.request_hash, result.cell.repeat), result)
    return found


def find_queues_to_notify(batch: Batch | None = None, *, talks: bool | None = None) -> list[int]:
    """The queues that have something to do now and no runner, of batches that work or wait for their server, or of one batch.

    ``talks``: only queues of batches that stay open, or only those of other batches.
    """
    queues = WorkQueue.objects.filter(
        # Of the many talks that wait for their next question none is looked at.
        Exists(Cell.objects.filter(batch=OuterRef("batch"), state=Cell.State.PLANNED)),
        runner="",
        batch__state__in=SENDING_STATES,
        batch__control__in=SENDING_CONTROLS,
        batch__route=Batch.Route.LIVE,
    )
    if batch is not None:
        queues = queues.filter(batch=batch)
    if talks is not None:
        queues = queues.filter(batch__stays_open=talks)
    live = [queue.pk for queue in queues.select_related("batch") if read_seconds_until_due(queue.batch, queue) == 0.0]
    return live if talks else live + find_due_queues(batch)


INSERT_CELLS = (
    f"INSERT INTO {CELL} (batch_id, arm_id, input_id, repeat, pilot, state, outcome, fence, tries, unknown_ends, lease_owner) "  # noqa: S608
    "SELECT %s, arm.value, input.value, again.value, FALSE, 'planned', '', 0, 0, 0, '' "
    "FROM {list} AS arm {names} CROSS JOIN {list} AS again {names} CROSS JOIN {list} AS input {names} "
    "ORDER BY arm.place, again.place, input.place"
)
NUMBER_LISTS = {
    "postgresql": INSERT_CELLS.format(list="unnest(%s::bigint[]) WITH ORDINALITY", names="(value, place)"),
    "sqlite": INSERT_CELLS.format(list="(SELECT value, key AS place FROM json_each(%s))", names=""),
}
LINKED = ("id", "after_id", "arm_id", "repeat", "input_id", "batch_id", "state")
INSERT_LINKED = (
    f"INSERT INTO {CELL} ({', '.join(LINKED)}, pilot, outcome, fence, tries, unknown_ends, lease_owner) "
    "SELECT {columns}, FALSE, '', 0, 0, 0, '' {of}"
)
LINKED_CELLS = INSERT_LINKED.format(
    columns=", ".join(LINKED),
    of="FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[]) "
    f"AS cell ({', '.join(LINKED)})",
)
LINKED_CELL = INSERT_LINKED.format(columns=", ".join(["%s"] * len(LINKED)), of="")
NEW_KEYS = "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
LAST_KEY = "SELECT seq FROM sqlite_sequence WHERE name = %s"


def insert_cells(
    *,
    batch_id: int,
    arm_ids: Sequence[int],
    input_ids: Sequence[int],
    repeats: Sequence[int],
    after: Mapping[int, int] | None = None,
) -> None:
    """Plan the grid of a batch, or a part of it, in one statement, because 60,000 single inserts would keep a person waiting.
    ``after`` says which input continues which other input.

    Cells of such inputs wait for the cell of the same arm and repeat.
    """
    if after:
        _insert_linked(batch_id, list(product(arm_ids, repeats, input_ids)), after)
        return
    lists: list[list[int]] = [list(arm_ids), list(repeats), list(input_ids)]
    given = lists if connection.vendor == "postgresql" else [json.dumps(numbers) for numbers in lists]
    with connection.cursor() as cursor:
        cursor.execute(NUMBER_LISTS[connection.vendor], [batch_id, *given])


def _insert_linked(batch_id: int, grid: Sequence[tuple[int, int, int]], after: Mapping[int, int]) -> None:
    """Plan cells (arm, repeat, input), each with its previous call. Their keys are reserved first, because a later update would
    write every row and its index entries a second time."""
    with connection.cursor() as cursor:
        keys = dict(zip(grid, _take_keys(cursor, len(grid)), strict=True))
        rows = []
        for (arm, repeat, each), key in keys.items():
            previous = keys[arm, repeat, after[each]] if each in after else None
            state = Cell.State.PLANNED if previous is None else Cell.State.BLOCKED
            rows.append((key, previous, arm, repeat, each, batch_id, state.value))
        if connection.vendor == "postgresql":
            cursor.execute(LINKED_CELLS, [list(column) for column in zip(*rows, strict=True)])
        else:
            cursor.executemany(LINKED_CELL, rows)


def _take_keys(cursor: CursorWrapper, count: int) -> Sequence[int]:
    """Ascending keys for this number of new cells. On SQLite nobody else can write during the transaction, so the next keys are
    free."""
    if connection.vendor == "postgresql":
        cursor.execute(NEW_KEYS, [CELL, count])
        return [key for (key,) in cursor.fetchall()]
    cursor.execute(LAST_KEY, [CELL])
    last = (cursor.fetchone() or (0,))[0]
    return range(last + 1, last + 1 + count)
