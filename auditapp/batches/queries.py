"""The statements of the ledger: claims, endings, counts. Portable SQL; PostgreSQL adds row locks through the ORM."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Max, Min, Q, Sum
from django.utils import timezone

from auditapp.batches.models import Attempt, Batch, Cell, Lane, WorkerSign

CELL = Cell._meta.db_table
ATTEMPT = Attempt._meta.db_table

END_ATTEMPT = (
    f'UPDATE {ATTEMPT} SET sent_at = COALESCE(sent_at, written_at), done_at = %s, "end" = %s, http_status = %s, error = %s, '  # noqa: S608
    "provider_request_id = %s, served_model = %s, finish_reason = %s, tokens_in = %s, tokens_out = %s, cost_nano = %s, raw = %s "
    "WHERE id = %s AND \"end\" IN ('open', 'unknown')"
)
END_CELL = (
    f"UPDATE {CELL} SET state = %s, outcome = %s, lease_owner = '', lease_until = NULL, not_before = %s, tries = %s, "  # noqa: S608
    "unknown_ends = %s WHERE id = %s AND state NOT IN ('done', 'failed') AND (fence = %s OR %s = 'done')"
)


class AttemptEnd(NamedTuple):
    """The columns that complete an attempt, in the order of ``END_ATTEMPT``."""

    done_at: datetime.datetime
    end: str
    http_status: int | None
    error: str
    provider_request_id: str
    served_model: str
    finish_reason: str
    tokens_in: int | None
    tokens_out: int | None
    cost_nano: int | None
    raw: str
    attempt_id: int


class CellEnd(NamedTuple):
    """The columns that end a claim, in the order of ``END_CELL``; ``fence`` is that of the claim which ends."""

    state: str
    outcome: str
    not_before: datetime.datetime | None
    tries: int
    unknown_ends: int
    cell_id: int
    fence: int


def end_attempts(rows: Sequence[AttemptEnd]) -> None:
    """Complete attempts that are open, or whose end was thought lost; a completed one is never touched again."""
    with connection.cursor() as cursor:
        cursor.executemany(END_ATTEMPT, [tuple(row) for row in rows])


def end_cells(rows: Sequence[CellEnd]) -> None:
    """Give claimed cells their next state. An ended cell keeps its own; only an answer counts after the lease was lost."""
    with connection.cursor() as cursor:
        cursor.executemany(END_CELL, [(*row, row.state) for row in rows])


def find_claimable(batch: Batch, lane: Lane, count: int) -> list[Cell]:
    """Up to ``count`` planned cells of a lane whose waiting time is over, locked where the database locks rows."""
    due = Q(not_before__isnull=True) | Q(not_before__lte=timezone.now())
    cells = Cell.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        due, batch=batch, state=Cell.State.PLANNED, arm__in=lane_arm_ids(batch, lane)
    )
    return list(cells.order_by("id")[:count])


def lane_arm_ids(batch: Batch, lane: Lane) -> list[int]:
    """The arms whose calls go through ``lane``."""
    return [arm.pk for arm in batch.arms.select_related("variant") if arm.variant.lane == lane.name]


def read_seconds_until_due(batch: Batch, lane: Lane) -> float | None:
    """Seconds until the lane's earliest planned cell may be tried (0 for now); ``None`` when none is planned."""
    cells = Cell.objects.filter(batch=batch, state=Cell.State.PLANNED, arm__in=lane_arm_ids(batch, lane))
    found = cells.aggregate(due=Min("not_before"), free=Count("id", filter=Q(not_before__isnull=True)))
    if found["free"]:
        return 0.0
    return None if found["due"] is None else max(0.0, (found["due"] - timezone.now()).total_seconds())


class Progress(NamedTuple):
    """Where a batch stands, from the ledger alone. Money in nanodollars; rates per second; ``None`` is not known."""

    cells: int
    finished: int
    by_state: dict[str, int]
    outcomes: dict[str, int]
    calls: int
    unknown_calls: int
    unknown_nano: int
    throughput: float
    eta_seconds: float | None
    last_answer_at: datetime.datetime | None


FINISHED = (Cell.State.DONE, Cell.State.FAILED, Cell.State.CANCELLED)
RATE_WINDOW = datetime.timedelta(seconds=30)


def read_progress(batch: Batch) -> Progress:
    """Counts of ``batch`` in three queries, whatever its size."""
    by_state: dict[str, int] = {}
    outcomes: dict[str, int] = {}
    for row in Cell.objects.filter(batch=batch).values("state", "outcome").annotate(n=Count("id")).order_by():
        by_state[row["state"]] = by_state.get(row["state"], 0) + row["n"]
        if row["outcome"]:
            outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + row["n"]
    unknown = Q(end=Attempt.End.UNKNOWN)
    attempts = Attempt.objects.filter(cell__batch=batch)
    found = attempts.exclude(end=Attempt.End.UNSENT).aggregate(
        calls=Count("id"),
        unknown=Count("id", filter=unknown),
        unknown_nano=Sum("reserved_nano", filter=unknown),
        last=Max("done_at", filter=Q(end=Attempt.End.ANSWERED)),
    )
    total = sum(by_state.values())
    finished = sum(by_state.get(state, 0) for state in FINISHED)
    throughput = read_throughput(batch, found["last"])
    left = total - finished
    return Progress(
        cells=total,
        finished=finished,
        by_state=by_state,
        outcomes=outcomes,
        calls=found["calls"],
        unknown_calls=found["unknown"],
        unknown_nano=found["unknown_nano"] or 0,
        throughput=throughput,
        eta_seconds=0.0
        if not left
        else (left / throughput if throughput and batch.state == Batch.State.RUNNING else None),
        last_answer_at=found["last"],
    )


def read_throughput(batch: Batch, last: datetime.datetime | None) -> float:
    """Answers per second over the thirty seconds before the last answer (or since the launch, when that is shorter)."""
    if last is None:
        return 0.0
    since = max(last - RATE_WINDOW, batch.created_at)
    count = Attempt.objects.filter(cell__batch=batch, end=Attempt.End.ANSWERED, done_at__gt=since).count()
    return count / max((last - since).total_seconds(), 0.001)


def read_last_worker_sign() -> datetime.datetime | None:
    """When any worker was last heard from."""
    return WorkerSign.objects.order_by("-seen_at").values_list("seen_at", flat=True).first()


def find_lanes_to_ring(batch: Batch | None = None) -> list[int]:
    """Lanes of running batches (or of one) that have something to do now and nobody doing it."""
    lanes = Lane.objects.filter(runner="", batch__state=Batch.State.RUNNING, batch__control=Batch.Control.RUN)
    if batch is not None:
        lanes = lanes.filter(batch=batch)
    return [lane.pk for lane in lanes.select_related("batch") if read_seconds_until_due(lane.batch, lane) == 0.0]
