"""How far batches are, counted from the ledger: no counter is kept that could drift from it.

A claim writes one attempt and raises its cell's ``fence`` by one in the same transaction, so a cell's fence is the number of its
attempts. Counting them there spares a live page the attempts' own rows, which are wide and many.
"""

from __future__ import annotations

import datetime
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db.models import Count, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from auditapp.batches.ledger.clock import read_now
from auditapp.batches.models import WORKING_STATES, Arm, Attempt, Batch, Cell
from auditapp.batches.pure.estimating import TimeEstimate, estimate_time

FINISHED = (Cell.State.DONE, Cell.State.FAILED, Cell.State.CANCELLED)
NO_CALLS = (Attempt.End.UNSENT, Attempt.End.CACHED)
PAID_BESIDE = (Attempt.End.UNKNOWN, Attempt.End.SURPLUS)
RARE_ENDS = (*NO_CALLS, *PAID_BESIDE)
ANSWERS = (Attempt.End.ANSWERED, Attempt.End.CACHED)
SHORT_WINDOW = datetime.timedelta(seconds=30)
LONG_WINDOW = datetime.timedelta(minutes=10)
ENOUGH_ANSWERS = 10
WATCH_SECONDS = 1.0


class ArmProgress(NamedTuple):
    """Where one arm stands."""

    cells: int
    finished: int
    outcomes: dict[str, int]
    calls: int
    cached: int
    unknown_calls: int
    cancelled: int

    @property
    def left(self) -> int:
        """Cells that have not come to an end."""
        return self.cells - self.completed

    @property
    def ended(self) -> int:
        """Cells that were answered or failed; a cancelled one has no outcome."""
        return self.completed - self.cancelled


class Progress(NamedTuple):
    """Where a batch stands. Money in nanodollars; rates per second; ``None`` is not known.

    ``finished`` cells are done, failed or cancelled; ``begun`` ones were asked at least once; ``held`` ones wait for a person.
    ``unknown_calls`` may have been paid beside the one that counts: their end is unknown, or their answer came too late.
    ``calls`` left this machine; ``cached`` answers were taken from an earlier call and paid nothing. ``eta_basis`` says what
    ``throughput`` and ``eta_seconds`` rest on; while a pilot runs, the end meant is the pilot's.
    """

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
    eta_basis: str
    begun: int
    held: int
    cached: int
    pilot_cells: int
    pilot_left: int
    by_arm: dict[int, ArmProgress]

    @property
    def cancelled(self) -> int:
        """Cells that nobody asks any more."""
        return self.by_state.get(Cell.State.CANCELLED, 0)

    @property
    def ended(self) -> int:
        """Cells that were answered or failed; a cancelled one has no outcome."""
        return self.completed - self.cancelled


class _CellCount(NamedTuple):
    arm_id: int
    state: str
    outcome: str
    pilot: bool
    cells: int
    begun: int
    claims: int


class _EndCount(NamedTuple):
    arm_id: int
    end: str
    attempts: int


class _Counts(NamedTuple):
    """What was read of one batch."""

    cells: list[_CellCount]
    ends: list[_EndCount]
    last: datetime.datetime | None


class _Window(NamedTuple):
    """A span of time, as a rate is read over it."""

    since: datetime.datetime
    until: datetime.datetime
    name: str


class _Rate(NamedTuple):
    answers: int
    window: _Window

    @property
    def seconds(self) -> float:
        return max((self.window.until - self.window.since).total_seconds(), 0.001)


def read_progress(batch: Batch) -> Progress:
    """Where ``batch`` stands now."""
    return read_progress_of([batch])[batch.pk]


_watched: dict[tuple[object, ...], tuple[float, Progress]] = {}


def watch_progress(batch: Batch, *, afresh: bool = False) -> Progress:
    """As ``read_progress``, at most a second old unless ``afresh``: for pages that many people look at. Never for a decision."""
    now = time.monotonic()
    key = (batch.pk, batch.created_at, batch.state, batch.control, batch.spent_nano)
    known = _watched.get(key)
    if known is not None and not afresh and now - known[0] < WATCH_SECONDS:
        return known[1]
    for old in [each for each, (at, _) in list(_watched.items()) if now - at >= WATCH_SECONDS]:
        _watched.pop(old, None)
    progress = read_progress(batch)
    _watched[key] = (time.monotonic(), progress)
    return progress


def read_progress_of(batches: Iterable[Batch]) -> dict[int, Progress]:
    """Where each batch stands, by its key: at most seven queries, however many they are and however large."""
    batches = list(batches)
    cells = _count_cells(batches)
    arms = {pk: {row.arm_id for row in rows} for pk, rows in cells.items()}
    ends = _count_ends(arms)
    last = _find_last_answers(arms)
    counts = {pk: _Counts(rows, ends.get(pk, []), last.get(pk)) for pk, rows in cells.items()}
    lost = _sum_lost(arms, ends)
    rates = _read_rates(batches, arms, last)
    nothing = _Counts([], [], None)
    return {
        batch.pk: _put_together(batch, counts.get(batch.pk, nothing), lost.get(batch.pk, 0), rates.get(batch.pk))
        for batch in batches
    }


def _count_cells(batches: Sequence[Batch]) -> dict[int, list[_CellCount]]:
    rows = (
        Cell.objects.filter(batch__in=[batch.pk for batch in batches])
        .values_list("batch_id", "arm_id", "state", "outcome", "pilot")
        .annotate(cells=Count("*"), begun=Count("pk", filter=Q(fence__gt=0)), claims=Sum("fence"))
        .order_by()
    )
    found: dict[int, list[_CellCount]] = defaultdict(list)
    for batch_id, *row in rows:
        found[batch_id].append(_CellCount(*row))
    return found


def _count_ends(arms: Mapping[int, set[int]]) -> dict[int, list[_EndCount]]:
    """Attempts by arm, of the ends that are few as a rule."""
    batch_of = {arm_id: batch_id for batch_id, ids in arms.items() for arm_id in ids}
    rows = (
        Attempt.objects.filter(arm__in=list(batch_of), end__in=RARE_ENDS)
        .values_list("arm_id", "end")
        .annotate(attempts=Count("*"))
        .order_by()
    )
    found: dict[int, list[_EndCount]] = defaultdict(list)
    for row in rows:
        found[batch_of[row[0]]].append(_EndCount(*row))
    return found


def _find_last_answers(arms: Mapping[int, set[int]]) -> dict[int, datetime.datetime]:
    """When each batch got its last answer: the end of an index for each arm, whatever the number of attempts."""

    def find_newest(end: str) -> Subquery:
        newest = Attempt.objects.filter(arm=OuterRef("pk"), end=end).order_by("-done_at")
        return Subquery(newest.values("done_at")[:1])

    batch_of = {arm_id: batch_id for batch_id, ids in arms.items() for arm_id in ids}
    rows = Arm.objects.filter(pk__in=list(batch_of)).order_by("pk")
    found: dict[int, datetime.datetime] = {}
    for batch_id, *times in rows.values_list("batch_id", *map(find_newest, ANSWERS)):
        for at in times:
            if at is not None:
                found[batch_id] = max(at, found.get(batch_id, at))
    return found


def _sum_lost(arms: Mapping[int, set[int]], ends: Mapping[int, Sequence[_EndCount]]) -> dict[int, int]:
    """What the calls paid beside those that count can have cost at most: an unknown end its reservation."""
    lossy = [pk for pk, rows in ends.items() if any(row.end in PAID_BESIDE for row in rows)]
    if not lossy:
        return {}
    batch_of = {arm_id: pk for pk in lossy for arm_id in arms[pk]}
    rows = Attempt.objects.filter(arm__in=list(batch_of), end__in=PAID_BESIDE).values_list("arm_id")
    found: Counter[int] = Counter()
    for arm_id, nano in rows.annotate(nano=Sum(Coalesce("cost_nano", "reserved_nano"))).order_by():
        found[batch_of[arm_id]] += nano or 0
    return dict(found)


def _read_rates(
    batches: Sequence[Batch], arms: Mapping[int, set[int]], last: Mapping[int, datetime.datetime]
) -> dict[int, _Rate]:
    """Answers per second: of a batch at work up to now, of any other up to its last answer. Where half a minute holds too few
    to say, ten minutes are looked at."""
    answered = [batch for batch in batches if batch.pk in last]
    if not answered:
        return {}
    now = read_now()
    until = {batch.pk: now if batch.state in WORKING_STATES else last[batch.pk] for batch in answered}
    rates = _count_answers(answered, arms, until, SHORT_WINDOW, "30 seconds")
    sparse = [batch for batch in answered if rates[batch.pk].answers < ENOUGH_ANSWERS]
    if sparse:
        rates |= _count_answers(sparse, arms, until, LONG_WINDOW, "10 minutes")
    return rates


def _count_answers(
    batches: Sequence[Batch],
    arms: Mapping[int, set[int]],
    until: Mapping[int, datetime.datetime],
    length: datetime.timedelta,
    name: str,
) -> dict[int, _Rate]:
    windows: dict[int, _Window] = {}
    wanted = Q()
    for batch in batches:
        end = until[batch.pk]
        since = max(end - length, batch.created_at)
        words = f"the last {name}" if batch.state in WORKING_STATES else f"the {name} before its last answer"
        windows[batch.pk] = _Window(since, end, words)
        wanted |= Q(arm__in=list(arms[batch.pk]), done_at__gt=since)
    rows = Attempt.objects.filter(wanted, end__in=ANSWERS).values_list("arm_id").annotate(n=Count("*")).order_by()
    counts = dict(rows)
    return {pk: _Rate(sum(counts.get(arm, 0) for arm in arms[pk]), window) for pk, window in windows.items()}


def _put_together(batch: Batch, counts: _Counts, lost: int, rate: _Rate | None) -> Progress:
    cells, ends = counts.cells, counts.ends
    by_state: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for row in cells:
        by_state[row.state] += row.cells
        if row.outcome:
            outcomes[row.outcome] += row.cells
    total = sum(row.cells for row in cells)
    finished = sum(by_state[state] for state in FINISHED)
    pilot_left = sum(row.cells for row in cells if row.pilot and row.state not in FINISHED)
    time_left = _estimate_time(batch, pilot_left if batch.state == Batch.State.PILOT else total - finished, rate)
    return Progress(
        cells=total,
        finished=finished,
        by_state=dict(by_state),
        outcomes=dict(outcomes),
        calls=_count_calls(cells, ends),
        unknown_calls=sum(row.attempts for row in ends if row.end in PAID_BESIDE),
        unknown_nano=lost,
        throughput=rate.answers / rate.seconds if rate else 0.0,
        eta_seconds=time_left.seconds,
        last_answer_at=counts.last,
        eta_basis=time_left.basis,
        begun=sum(row.begun for row in cells),
        held=by_state[Cell.State.HELD],
        cached=sum(row.attempts for row in ends if row.end == Attempt.End.CACHED),
        pilot_cells=sum(row.cells for row in cells if row.pilot),
        pilot_left=pilot_left,
        by_arm=_part_by_arm(cells, ends),
    )


def _count_calls(cells: Iterable[_CellCount], ends: Iterable[_EndCount]) -> int:
    """Attempts but those that were never sent, and those whose answer was taken from an earlier one."""
    return sum(row.claims for row in cells) - sum(row.attempts for row in ends if row.end in NO_CALLS)


def _estimate_time(batch: Batch, left: int, rate: _Rate | None) -> TimeEstimate:
    if not left:
        return estimate_time(0, answers=0, seconds=0, window="")
    if batch.state not in WORKING_STATES:
        return TimeEstimate(None, "nothing is being sent")
    if batch.route == Batch.Route.JOBS:
        return TimeEstimate(None, "the provider's batch service answers within a day")
    if batch.route == Batch.Route.FILE:
        return TimeEstimate(None, "answers come when somebody brings their file")
    if rate is None:
        return TimeEstimate(None, "no answer yet")
    return estimate_time(left, answers=rate.answers, seconds=rate.seconds, window=rate.window.name)


def _part_by_arm(cells: Sequence[_CellCount], ends: Sequence[_EndCount]) -> dict[int, ArmProgress]:
    parts: dict[int, ArmProgress] = {}
    for arm_id in sorted({row.arm_id for row in cells}):
        own = [row for row in cells if row.arm_id == arm_id]
        tries = [row for row in ends if row.arm_id == arm_id]
        outcomes: Counter[str] = Counter()
        for row in own:
            if row.outcome:
                outcomes[row.outcome] += row.cells
        parts[arm_id] = ArmProgress(
            cells=sum(row.cells for row in own),
            finished=sum(row.cells for row in own if row.state in FINISHED),
            outcomes=dict(outcomes),
            calls=_count_calls(own, tries),
            cached=sum(row.attempts for row in tries if row.end == Attempt.End.CACHED),
            unknown_calls=sum(row.attempts for row in tries if row.end in PAID_BESIDE),
            cancelled=sum(row.cells for row in own if row.state == Cell.State.CANCELLED),
        )
    return parts
