"""The progress of batches, counted from the ledger, because a separate counter could drift from it. And its tables as files.

A claim writes one attempt and raises its cell's ``fence`` by one in the same transaction, so a cell's fence is the number of its
attempts. So a live page can count attempts without reading their rows, which are large and numerous.
"""

from __future__ import annotations

import datetime
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Count, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpResponse

from auditapp.batches.grants import Left, find_asked_at, find_grants, find_left, needs_no_grant, round_down
from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import WORKING_STATES, Arm, Attempt, Batch, Cell, ProviderJob
from auditapp.batches.pure.estimates import estimate_time, to_dollars
from auditapp.llm.models import Grant
from auditapp.llm.queries import find_prices
from auditapp.outbound.clock import read_now
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.report_tables import ReportTable, Source
from transcripts.statistics.figures import round_percent
from transcripts.studies.downloads import send_report_table
from transcripts.studies.models import Study

FINISHED = (Cell.State.DONE, Cell.State.FAILED, Cell.State.CANCELLED)
NO_CALLS = (Attempt.End.UNSENT, Attempt.End.CACHED)
PAID_BESIDE = (Attempt.End.UNKNOWN, Attempt.End.SURPLUS)
RARE_ENDS = (*NO_CALLS, *PAID_BESIDE)
ANSWERS = (Attempt.End.ANSWERED, Attempt.End.CACHED)
SHORT_WINDOW = datetime.timedelta(seconds=30)
LONG_WINDOW = datetime.timedelta(minutes=10)
ENOUGH_ANSWERS = 10
WATCH_SECONDS = 1.0
# Fewer calls would reveal by their sum what single ones cost.
ENOUGH_CALLS = 20


class ArmProgress(NamedTuple):
    """The progress of one arm."""

    cells: int
    finished: int
    outcomes: dict[str, int]
    calls: int
    cached: int
    unknown_calls: int
    cancelled: int

    @property
    def left(self) -> int:
        """Cells that have not ended."""
        return self.cells - self.finished

    @property
    def ended(self) -> int:
        """Cells that were answered or failed; a cancelled one has no outcome."""
        return self.finished - self.cancelled


class Progress(NamedTuple):
    """The progress of a batch. Money in nanodollars; rates per second; ``None`` is not known.

    ``finished`` cells are done, failed or cancelled; ``begun`` cells were asked at least once; ``held`` cells wait for a person.
    ``unknown_calls`` may have been paid for in addition: their end is unknown, or their answer came too late. ``calls`` were
    sent; ``cached`` answers came from an earlier call and cost nothing. ``eta_basis`` says what ``throughput`` and
    ``eta_seconds`` are based on; during a pilot they are about the end of the pilot.
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
        """Cells that will not be asked."""
        return self.by_state.get(Cell.State.CANCELLED, 0)

    @property
    def ended(self) -> int:
        """Cells that were answered or failed; a cancelled one has no outcome."""
        return self.finished - self.cancelled


def read_progress(batch: Batch) -> Progress:
    """The progress of ``batch`` now."""
    return read_progress_of([batch])[batch.pk]


_watched: dict[tuple[object, ...], tuple[float, Progress]] = {}


def watch_progress(batch: Batch, *, afresh: bool = False) -> Progress:
    """Like ``read_progress``, but at most a second old unless ``afresh``. For pages that many people look at, never for a
    decision."""
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
    """The progress of each batch, by its key: at most seven queries, however many and however large they are."""
    batches = list(batches)
    cells = _count_cells(batches)
    arms = {pk: {row["arm_id"] for row in rows} for pk, rows in cells.items()}
    ends = _count_ends(arms)
    last = _find_last_answers(arms)
    lost = _sum_lost(arms, ends)
    rates = _read_rates(batches, arms, last)
    return {
        batch.pk: _put_together(
            batch,
            cells.get(batch.pk, []),
            ends=ends,
            last_answer_at=last.get(batch.pk),
            lost=lost.get(batch.pk, 0),
            rate=rates.get(batch.pk),
        )
        for batch in batches
    }


def _count_cells(batches: Sequence[Batch]) -> dict[int, list[dict[str, Any]]]:
    """Counts of each batch's cells by arm, state, outcome and pilot."""
    rows = (
        Cell.objects.filter(batch__in=[batch.pk for batch in batches])
        .values("batch_id", "arm_id", "state", "outcome", "pilot")
        .annotate(cells=Count("*"), begun=Count("pk", filter=Q(fence__gt=0)), claims=Sum("fence"))
        .order_by()
    )
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["batch_id"]].append(dict(row))
    return found


def _count_ends(arms: Mapping[int, set[int]]) -> dict[int, Counter[str]]:
    """For each arm, how many attempts had each of the rare ends."""
    ids = [arm_id for own in arms.values() for arm_id in own]
    rows = Attempt.objects.filter(arm__in=ids, end__in=RARE_ENDS).values_list("arm_id", "end").annotate(n=Count("*"))
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for arm_id, end, count in rows.order_by():
        found[arm_id][end] = count
    return found


def _find_last_answers(arms: Mapping[int, set[int]]) -> dict[int, datetime.datetime]:
    """When each batch got its last answer, read from the end of an index for each arm."""

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


def _sum_lost(arms: Mapping[int, set[int]], ends: Mapping[int, Counter[str]]) -> dict[int, int]:
    """The most that calls may have cost in addition to those that count: for a call with an unknown end, its reservation."""
    lossy = [pk for pk, own in arms.items() if _count(ends, own, PAID_BESIDE)]
    if not lossy:
        return {}
    batch_of = {arm_id: pk for pk in lossy for arm_id in arms[pk]}
    rows = Attempt.objects.filter(arm__in=list(batch_of), end__in=PAID_BESIDE).values_list("arm_id")
    found: Counter[int] = Counter()
    for arm_id, nano in rows.annotate(nano=Sum(Coalesce("cost_nano", "reserved_nano"))).order_by():
        found[batch_of[arm_id]] += nano or 0
    return dict(found)


def _count(ends: Mapping[int, Counter[str]], arm_ids: Iterable[int], wanted: Iterable[str]) -> int:
    return sum(ends[arm_id][end] for arm_id in arm_ids if arm_id in ends for end in wanted)


def _read_rates(
    batches: Sequence[Batch], arms: Mapping[int, set[int]], last: Mapping[int, datetime.datetime]
) -> dict[int, tuple[int, float, str]]:
    """For each batch with answers: how many answers came in how many seconds, and in which period.

    The period ends now for a working batch, and at the last answer for any other. If there were too few answers in half a minute,
    ten minutes are counted.
    """
    answered = [batch for batch in batches if batch.pk in last]
    if not answered:
        return {}
    now = read_now()
    until = {batch.pk: now if batch.state in WORKING_STATES else last[batch.pk] for batch in answered}
    rates = _count_answers(answered, arms, until, SHORT_WINDOW, "30 seconds")
    sparse = [batch for batch in answered if rates[batch.pk][0] < ENOUGH_ANSWERS]
    if sparse:
        rates |= _count_answers(sparse, arms, until, LONG_WINDOW, "10 minutes")
    return rates


def _count_answers(
    batches: Sequence[Batch],
    arms: Mapping[int, set[int]],
    until: Mapping[int, datetime.datetime],
    length: datetime.timedelta,
    name: str,
) -> dict[int, tuple[int, float, str]]:
    since = {batch.pk: max(until[batch.pk] - length, batch.created_at) for batch in batches}
    wanted = Q()
    for batch in batches:
        wanted |= Q(arm__in=list(arms[batch.pk]), done_at__gt=since[batch.pk])
    rows = Attempt.objects.filter(wanted, end__in=ANSWERS).values_list("arm_id").annotate(n=Count("*")).order_by()
    counts = dict(rows)
    return {
        batch.pk: (
            sum(counts.get(arm, 0) for arm in arms[batch.pk]),
            max((until[batch.pk] - since[batch.pk]).total_seconds(), 0.001),
            f"the last {name}" if batch.state in WORKING_STATES else f"the {name} before its last answer",
        )
        for batch in batches
    }


def _put_together(
    batch: Batch,
    cells: Sequence[Mapping[str, Any]],
    *,
    ends: Mapping[int, Counter[str]],
    last_answer_at: datetime.datetime | None,
    lost: int,
    rate: tuple[int, float, str] | None,
) -> Progress:
    by_state: Counter[str] = Counter()
    for row in cells:
        by_state[row["state"]] += row["cells"]
    total = by_state.total()
    finished = sum(by_state[state] for state in FINISHED)
    pilot_left = sum(row["cells"] for row in cells if row["pilot"] and row["state"] not in FINISHED)
    eta_seconds, eta_basis = _estimate_time(
        batch, pilot_left if batch.state == Batch.State.PILOT else total - finished, rate
    )
    by_arm = {
        arm_id: _read_arm([row for row in cells if row["arm_id"] == arm_id], ends.get(arm_id, Counter()))
        for arm_id in sorted({row["arm_id"] for row in cells})
    }
    return Progress(
        cells=total,
        finished=finished,
        by_state=dict(by_state),
        outcomes=_count_outcomes(cells),
        calls=sum(arm.calls for arm in by_arm.values()),
        unknown_calls=sum(arm.unknown_calls for arm in by_arm.values()),
        unknown_nano=lost,
        throughput=rate[0] / rate[1] if rate else 0.0,
        eta_seconds=eta_seconds,
        last_answer_at=last_answer_at,
        eta_basis=eta_basis,
        begun=sum(row["begun"] for row in cells),
        held=by_state[Cell.State.HELD],
        cached=sum(arm.cached for arm in by_arm.values()),
        pilot_cells=sum(row["cells"] for row in cells if row["pilot"]),
        pilot_left=pilot_left,
        by_arm=by_arm,
    )


def _read_arm(cells: Sequence[Mapping[str, Any]], ends: Counter[str]) -> ArmProgress:
    return ArmProgress(
        cells=sum(row["cells"] for row in cells),
        finished=sum(row["cells"] for row in cells if row["state"] in FINISHED),
        outcomes=_count_outcomes(cells),
        # Every claim wrote an attempt; some were never sent, or took an earlier answer.
        calls=sum(row["claims"] for row in cells) - sum(ends[end] for end in NO_CALLS),
        cached=ends[Attempt.End.CACHED],
        unknown_calls=sum(ends[end] for end in PAID_BESIDE),
        cancelled=sum(row["cells"] for row in cells if row["state"] == Cell.State.CANCELLED),
    )


def _count_outcomes(cells: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    outcomes: Counter[str] = Counter()
    for row in cells:
        if row["outcome"]:
            outcomes[row["outcome"]] += row["cells"]
    return dict(outcomes)


def _estimate_time(batch: Batch, left: int, rate: tuple[int, float, str] | None) -> tuple[float | None, str]:
    """Seconds until the remaining cells will have ended, and what this estimate is based on."""
    if not left:
        return estimate_time(0, answers=0, seconds=0, window="")
    if batch.state not in WORKING_STATES:
        return None, "nothing is being sent"
    if batch.route == Batch.Route.JOBS:
        return None, "the provider's batch service answers within a day"
    if batch.route == Batch.Route.FILE:
        return None, "answers come when their file is imported"
    if rate is None:
        return None, "no answer yet"
    answers, seconds, window = rate
    return estimate_time(left, answers=answers, seconds=seconds, window=window)


def close_progress(progress: Progress) -> Progress:
    """What people may see who may not see the calls: no outcomes, arms, calls or speed.

    What a call cost, how long it took and how it ended can reveal what a model answered. So can a sum over few calls, or a sum
    that grows while a person watches.
    """
    return progress._replace(
        outcomes={},
        by_arm={},
        calls=0,
        cached=0,
        unknown_calls=0,
        unknown_nano=0,
        throughput=0.0,
        eta_seconds=None,
        eta_basis="",
        last_answer_at=None,
    )


def count_percent(progress: Progress) -> int:
    """The share of cells that have ended, in whole per cent; it does not reveal their number."""
    return round_percent(progress.ended, progress.cells)


def is_sum_shown(batch: Batch, progress: Progress) -> bool:
    """Whether people who may run batches see the total cost of all calls although the calls are hidden from them."""
    return batch.state not in WORKING_STATES and progress.ended >= ENOUGH_CALLS


def read_silence(batch: Batch) -> dict[str, Any] | None:
    """Since when a server of the batch has not answered (``since``), and when it is tried again (``next_try``); ``None`` if all
    servers answer."""
    if batch.state not in WORKING_STATES and not batch.awaits_server:
        return None
    silent = [queue for queue in batch.queues.all() if queue.silent_since is not None]
    if not silent:
        return None
    waits = [queue.slow_until for queue in silent if queue.slow_until is not None]
    return {
        "since": min(queue.silent_since for queue in silent if queue.silent_since),
        "next_try": min(waits, default=None),
    }


def send_batch_table(
    table: ReportTable[Source],
    source: Source,
    format: str,
    action: str,
    *,
    batch: Batch,
    report: str,
    by: User,
    caption: str = "",
) -> HttpResponse:
    """The file of a table, named for its ``report``, its batch and the table. ``action`` is the audit event that records the
    export. Raises ``Http404`` for an unknown format."""
    return send_report_table(
        table,
        source,
        format,
        action,
        stem=f"{report}-{batch.pk}-{table.name}",
        study=batch.study,
        target=batch,
        by=by,
        details={"what": table.name},
        caption=caption,
        label=f"{report}-{table.name}",
    )


# What reveals something about calls, single or summed.
OF_CALLS = (
    *("cells", "finished", "states", "outcomes", "begun", "held", "pilot_cells", "pilot_left", "calls", "cached"),
    *("spent", "reserved", "possibly_paid_twice", "possibly_paid_twice_at_most"),
    *("in_flight", "throughput", "eta_seconds", "eta_basis"),
)


def summarise_batch(batch: Batch, progress: Progress, *, is_whole: bool) -> dict[str, object]:
    """State, counts, money in US dollars (``None``: not known), answers per second and seconds left, which are unknown while a
    server does not answer. A query for the arms and one or two for the queues, unless they are loaded. Unless ``is_whole``, what
    reveals something about calls is ``None``."""
    arms = list(batch.arms.all())
    percent = count_percent(progress)
    silence = read_silence(batch)
    is_priced = all(arm.price_in is not None for arm in arms)
    if not is_whole:
        progress = close_progress(progress)
    summary: dict[str, object] = {
        "batch": batch.pk,
        "kind": batch.kind,
        "title": batch.title,
        "state": batch.state,
        "state_reason": batch.state_reason,
        "server_silent_since": silence and silence["since"].isoformat(),
        "next_try_at": silence and silence["next_try"] and silence["next_try"].isoformat(),
        "control": batch.control,
        "route": batch.route,
        "percent": percent,
        "closed": not is_whole,
        "cells": progress.cells,
        "finished": progress.finished,
        "states": progress.by_state,
        "outcomes": progress.outcomes,
        "begun": progress.begun,
        "held": progress.held,
        "pilot_cells": progress.pilot_cells,
        "pilot_left": progress.pilot_left,
        "calls": progress.calls,
        "in_flight": sum(queue.in_flight for queue in batch.queues.all())
        if batch.state in WORKING_STATES or silence
        else 0,
        "cached": progress.cached,
        "concurrency": batch.concurrency,
        "lost_answers": batch.lost_answers,
        "uses_cache": batch.uses_cache,
        "spent": _in_dollars(batch.spent_nano) if is_priced else None,
        "reserved": _in_dollars(batch.reserved_nano) if is_priced else None,
        "cap": _in_dollars(batch.cap_nano),
        "possibly_paid_twice": progress.unknown_calls,
        "possibly_paid_twice_at_most": _in_dollars(progress.unknown_nano)
        if is_priced or not progress.unknown_calls
        else None,
        "throughput": round(progress.throughput, 2),
        "eta_seconds": None if silence or progress.eta_seconds is None else round(progress.eta_seconds, 1),
        "eta_basis": "a server does not answer" if silence else progress.eta_basis,
    }
    return summary if is_whole else summary | dict.fromkeys(OF_CALLS)


def list_gone_jobs(batch: Batch) -> list[dict[str, object]]:
    """The jobs of a batch that its provider no longer recognizes, since when, and whether a person may end them or has already
    asked for that. One query if calls go through a provider's batch service."""
    if batch.route != Batch.Route.JOBS:
        return []
    gone = ProviderJob.objects.filter(queue__batch=batch, gone_since__isnull=False, state=ProviderJob.State.SUBMITTED)
    return [
        {
            "job": job.pk,
            "gone_since": job.gone_since and job.gone_since.isoformat(),
            "may_be_ended": job.may_be_ended,
            "is_being_ended": job.ended_at is not None,
        }
        for job in gone.order_by("pk")
    ]


def _in_dollars(nano: int | None) -> float | None:
    amount = to_dollars(nano)
    return None if amount is None else float(amount)


def describe_grants(grants: Iterable[Grant], by: trail.Actor) -> list[dict[str, object]]:
    """Each grant with what is left of it for ``by``; ``None`` if it has no limits or was revoked."""
    return [{"grant": grant, "left": _find_shown(grant, by)} for grant in grants]


def describe_money(plan: LaunchPlan, study: Study, by: trail.Actor) -> list[dict[str, object]]:
    """The grants that a launch would commit its cap to, in the same form; none for a person who needs no grant."""
    if needs_no_grant(by):
        return []
    variants = {arm.variant.pk: arm.variant for arm in plan.arms}.values()
    paid = [each for each in find_asked_at(variants, find_prices(variants)) if each.is_paid]
    grants = find_grants(study, paid)
    return describe_grants((grants[each.account.pk] for each in paid if each.account.pk in grants), by)


def _find_shown(grant: Grant, by: trail.Actor) -> Left | None:
    if grant.is_revoked or not grant.has_limits:
        return None
    return Left(*(round_down(nano) for nano in find_left(grant, by)))
