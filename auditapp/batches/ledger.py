"""The ledger's own transactions: claim and write, complete and store, hand back, settle what a dead runner left.

Called by runners and the sweeper only. Each function is one transaction; the ledger's rows are the workers' audit trail, so
only changes of a batch's state are audit events besides.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from auditapp.batches import queries
from auditapp.batches.endings import Claimed, Finished, choose_cell_end, complete_attempt, read_cost
from auditapp.batches.kinds import Answered, get_kind
from auditapp.batches.models import Arm, Attempt, Batch, Cell, Lane, Result
from auditapp.batches.money import compute_highest_cost
from auditapp.batches.prompts import hash_request, make_request
from auditapp.batches.queries import CellEnd
from auditapp.llm.providers.base import ChatAnswer, ChatRequest, End, Remedy
from transcripts.audit_trail import trail

LEASE = datetime.timedelta(seconds=60)
LANE_DEAD_AFTER = datetime.timedelta(seconds=30)
NO_INPUT = "no_input"
NOT_STORABLE = "not_storable"
ENDED = (Cell.State.DONE, Cell.State.FAILED)

logger = logging.getLogger(__name__)


class Call(NamedTuple):
    """A claimed cell and the request to send for it."""

    claimed: Claimed
    request: ChatRequest


class Claim(NamedTuple):
    """What a claim brought. ``out_of_money``: calls are left, and none fits under the cap at present."""

    calls: list[Call]
    stopped: bool = False
    out_of_money: bool = False


def acquire_lane(lane_id: int, runner: str) -> Lane | None:
    """The lane with its batch and arms, held by ``runner``; ``None`` when another runner holds it or it is not to run."""
    # A subquery, not a join: PostgreSQL then looks at the lane's own row again after waiting for another's update.
    to_run = Batch.objects.filter(state=Batch.State.RUNNING, control=Batch.Control.RUN)
    free = Lane.objects.filter(pk=lane_id, runner="", batch__in=to_run)
    held = free.update(runner=runner, heartbeat_at=timezone.now())
    if not held:
        return None
    return Lane.objects.select_related("batch").prefetch_related("batch__arms__variant").get(pk=lane_id)


def release_lane(lane: Lane, runner: str) -> None:
    """Let the lane go."""
    Lane.objects.filter(pk=lane.pk, runner=runner).update(runner="", heartbeat_at=None)


@transaction.atomic
def beat(lane: Lane, runner: str) -> str:
    """Extend the lane and its leases; the batch's control, or ``cancel`` when the lane was given to somebody else."""
    now = timezone.now()
    if not Lane.objects.filter(pk=lane.pk, runner=runner).update(heartbeat_at=now):
        return Batch.Control.CANCEL
    Cell.objects.filter(batch_id=lane.batch_id, state=Cell.State.LEASED, lease_owner=runner).update(
        lease_until=now + LEASE
    )
    return Batch.objects.values_list("control", flat=True).get(pk=lane.batch_id)


@transaction.atomic
def claim_calls(lane: Lane, runner: str, count: int) -> Claim:
    """Lease up to ``count`` cells and write their attempts, money reserved, all or nothing."""
    batch = Batch.objects.select_for_update().get(pk=lane.batch_id)
    mine = Lane.objects.filter(pk=lane.pk, runner=runner).exists()
    if not mine or batch.control != Batch.Control.RUN:
        return Claim([], stopped=True)
    cells = queries.find_claimable(batch, lane, count)
    if not cells:
        return Claim([])
    arms = {arm.pk: arm for arm in lane.batch.arms.all()}
    requests = _write_requests(batch, arms, cells)
    room = None if batch.cap_nano is None else batch.cap_nano - batch.spent_nano - batch.reserved_nano
    chosen: list[tuple[Cell, ChatRequest, int]] = []
    for cell in cells:
        request = requests.get(cell.pk)
        if request is None:
            continue
        arm = arms[cell.arm_id]
        highest = compute_highest_cost(
            prompt=request.system + request.user,
            max_tokens=request.max_tokens,
            price_in=arm.price_in,
            price_out=arm.price_out,
        )
        if room is not None:
            if highest > room:
                break
            room -= highest
        chosen.append((cell, request, highest))
    lost = [cell for cell in cells if cell.pk not in requests]
    _fail_without_input(batch, lost)
    if not chosen:
        finish_if_complete(batch)
        return Claim([], out_of_money=len(lost) < len(cells))
    return Claim(_write_attempts(batch, arms, chosen, runner))


def _write_requests(batch: Batch, arms: dict[int, Arm], cells: Sequence[Cell]) -> dict[int, ChatRequest]:
    kind = get_kind(batch.kind)
    requests: dict[int, ChatRequest] = {}
    for arm_id in {cell.arm_id for cell in cells}:
        own = [cell for cell in cells if cell.arm_id == arm_id]
        prompts = kind.write_prompts(arms[arm_id], [cell.input_id for cell in own])
        for cell in own:
            if cell.input_id in prompts:
                requests[cell.pk] = make_request(arms[arm_id], prompts[cell.input_id])
    return requests


def _fail_without_input(batch: Batch, cells: Sequence[Cell]) -> None:
    if cells:
        queries.end_cells(
            [
                CellEnd(Cell.State.FAILED, NO_INPUT, None, cell.tries, cell.unknown_ends, cell.pk, cell.fence)
                for cell in cells
            ]
        )


def _write_attempts(
    batch: Batch, arms: dict[int, Arm], chosen: Sequence[tuple[Cell, ChatRequest, int]], runner: str
) -> list[Call]:
    now = timezone.now()
    Cell.objects.filter(pk__in=[cell.pk for cell, _, _ in chosen]).update(
        state=Cell.State.LEASED, lease_owner=runner, lease_until=now + LEASE, fence=F("fence") + 1
    )
    attempts = Attempt.objects.bulk_create(
        Attempt(
            cell_id=cell.pk,
            fence=cell.fence + 1,
            request_id=request.request_id,
            runner=runner,
            request_hash=hash_request(request),
            reserved_nano=highest,
            written_at=now,
        )
        for cell, request, highest in chosen
    )
    reserved = sum(highest for _, _, highest in chosen)
    if reserved:
        Batch.objects.filter(pk=batch.pk).update(reserved_nano=F("reserved_nano") + reserved)
    return [
        Call(
            Claimed(
                attempt_id=attempt.pk,
                cell_id=cell.pk,
                arm_id=cell.arm_id,
                input_id=cell.input_id,
                fence=cell.fence + 1,
                tries=cell.tries,
                unknown_ends=cell.unknown_ends,
                reserved_nano=highest,
                price_in=arms[cell.arm_id].price_in,
                price_out=arms[cell.arm_id].price_out,
            ),
            request,
        )
        for attempt, (cell, request, highest) in zip(attempts, chosen, strict=True)
    ]


def hand_back(batch_id: int, claimed: Sequence[Claimed]) -> None:
    """Calls that were written and never sent: their cells are free again, at no cost."""
    unsent = ChatAnswer(End.UNSENT, Remedy.RETRY, error="the runner stopped before it was sent")
    now = timezone.now()
    store_finished(batch_id, [Finished(each, unsent, now) for each in claimed], stopped=True)


@transaction.atomic
def store_finished(batch_id: int, group: Sequence[Finished], *, stopped: bool = False) -> None:
    """Complete attempts, store results once per cell, move the cells on, settle the money: one transaction.

    Attempts that ended before are left out, so a repeated call changes nothing. May be called for a runner that lost its
    lease: a paid answer still counts when its cell has none yet.
    ``stopped`` marks calls handed back unsent, which may be claimed again at once.
    """
    batch = Batch.objects.select_for_update().get(pk=batch_id)
    group = _leave_out_ended(group)
    queries.end_attempts([complete_attempt(each) for each in group])
    ends = [choose_cell_end(each, stopped=stopped) for each in group]
    ids = [each.claimed.cell_id for each in group]
    ended = set(Cell.objects.filter(pk__in=ids, state__in=ENDED).values_list("pk", flat=True))
    if batch.control == Batch.Control.CANCEL:
        ends = [end._replace(state=Cell.State.CANCELLED) if end.state == Cell.State.PLANNED else end for end in ends]
    final: dict[int, Finished] = {}
    for each, end in zip(group, ends, strict=True):
        if end.state in ENDED and each.claimed.cell_id not in ended:
            final.setdefault(each.claimed.cell_id, each)
    outcomes = _store_results(batch, list(final.values()))
    queries.end_cells([end._replace(outcome=outcomes.get(end.cell_id, end.outcome)) for end in ends])
    _settle(batch, group)
    refused = next((each for each in group if each.answer.remedy is Remedy.STOP_BATCH), None)
    if refused is not None:
        # The provider's own words may quote a text; they stay with the attempt.
        status, attempt = refused.answer.http_status, refused.claimed.attempt_id
        _pause(batch, f"The provider refused the account (status {status}); attempt {attempt} has its words.")
    finish_if_complete(batch)


def _leave_out_ended(group: Sequence[Finished]) -> list[Finished]:
    ids = [each.claimed.attempt_id for each in group]
    live = set(
        Attempt.objects.filter(pk__in=ids, end__in=[Attempt.End.OPEN, Attempt.End.UNKNOWN]).values_list("pk", flat=True)
    )
    return [each for each in group if each.claimed.attempt_id in live]


def _store_results(batch: Batch, final: Sequence[Finished]) -> dict[int, str]:
    if not final:
        return {}
    now = timezone.now()
    answered = [each for each in final if each.answer.end is End.ANSWERED]
    Result.objects.bulk_create(
        Result(
            cell_id=each.claimed.cell_id,
            attempt_id=each.claimed.attempt_id,
            answer=each.answer.content,
            stored_at=now,
        )
        for each in answered
    )
    handed = [
        Answered(
            cell_id=each.claimed.cell_id,
            arm_id=each.claimed.arm_id,
            input_id=each.claimed.input_id,
            answer=each.answer.content if each.answer.end is End.ANSWERED else None,
            finish_reason=each.answer.finish_reason,
            error=each.answer.error,
        )
        for each in final
    ]
    return _hand_over(batch, handed)


def _hand_over(batch: Batch, handed: Sequence[Answered]) -> dict[int, str]:
    """Let the kind store what it understood. One answer it cannot store must not hold up the others, nor the engine: it
    keeps its result and counts as not storable."""
    kind = get_kind(batch.kind)
    try:
        with transaction.atomic():
            return dict(kind.store_answers(batch, handed))
    except Exception:
        logger.exception("Batch %s: a group of %d answers could not be stored together", batch.pk, len(handed))
    outcomes: dict[int, str] = {}
    for each in handed:
        try:
            with transaction.atomic():
                outcomes.update(kind.store_answers(batch, [each]))
        except Exception:
            logger.exception("Batch %s: the answer of cell %s could not be stored", batch.pk, each.cell_id)
            outcomes[each.cell_id] = NOT_STORABLE
    return outcomes


def _settle(batch: Batch, group: Sequence[Finished]) -> None:
    """Release what was reserved and book what was spent. A try with an unknown cost keeps its reservation."""
    released = spent = 0
    for each in group:
        cost = read_cost(each)
        priced = each.claimed.price_in is not None and each.claimed.price_out is not None
        if cost is None and priced:
            continue
        released += each.claimed.reserved_nano
        spent += cost or 0
    if released or spent:
        Batch.objects.filter(pk=batch.pk).update(
            reserved_nano=F("reserved_nano") - released, spent_nano=F("spent_nano") + spent
        )


def finish_if_complete(batch: Batch) -> bool:
    """Close a batch none of whose cells is planned or under way."""
    open_states = [Cell.State.PLANNED, Cell.State.LEASED]
    if Cell.objects.filter(batch=batch, state__in=open_states).exists():
        return False
    closed = Batch.objects.filter(pk=batch.pk, state__in=[Batch.State.RUNNING, Batch.State.PAUSED]).update(
        state=Batch.State.DONE, state_reason="", finished_at=timezone.now()
    )
    if closed:
        _tell(batch, "batch.finished", {})
    return True


@transaction.atomic
def pause_for(batch_id: int, reason: str) -> None:
    """Pause a running batch from the worker's side; the reason is shown on its page."""
    _pause(Batch.objects.select_for_update().get(pk=batch_id), reason)


def _pause(batch: Batch, reason: str) -> None:
    paused = Batch.objects.filter(pk=batch.pk, state=Batch.State.RUNNING).update(
        state=Batch.State.PAUSED, control=Batch.Control.PAUSE, state_reason=reason[:300]
    )
    if paused:
        _tell(batch, "batch.paused_by_worker", {"reason": reason[:300]})


def _tell(batch: Batch, action: str, details: dict[str, object]) -> None:
    trail.record(action, target=batch, by=trail.SYSTEM, stream=trail.project_stream(batch.project_id), details=details)


def has_open_attempts(batch_id: int) -> bool:
    """Whether any call of the batch is under way, in whichever lane."""
    return Attempt.objects.filter(cell__batch=batch_id, end=Attempt.End.OPEN).exists()


def find_open_claims(runner: str) -> list[Attempt]:
    """The open attempts of ``runner``, with cell and arm."""
    return list(Attempt.objects.select_related("cell__arm").filter(runner=runner, end=Attempt.End.OPEN))


def describe_claim(attempt: Attempt) -> Claimed:
    """A ``Claimed`` rebuilt from the ledger. Reads attempt.cell.arm."""
    cell = attempt.cell
    return Claimed(
        attempt_id=attempt.pk,
        cell_id=cell.pk,
        arm_id=cell.arm_id,
        input_id=cell.input_id,
        fence=attempt.fence,
        tries=cell.tries,
        unknown_ends=cell.unknown_ends,
        reserved_nano=attempt.reserved_nano,
        price_in=cell.arm.price_in,
        price_out=cell.arm.price_out,
    )


def find_expired_lanes() -> list[Lane]:
    """Lanes whose runner has not been heard from for longer than a runner may be silent."""
    return list(
        Lane.objects.exclude(runner="").filter(
            Q(heartbeat_at__isnull=True) | Q(heartbeat_at__lt=timezone.now() - LANE_DEAD_AFTER)
        )
    )
