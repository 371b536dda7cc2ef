"""Claim cells: lease them, write their attempts and reserve their money, all before anything is sent."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from django.db import transaction
from django.db.models import F

from auditapp.batches.ledger import statements
from auditapp.batches.ledger.batch_state import finish_if_complete, pause_locked
from auditapp.batches.ledger.conversations import advance_conversations
from auditapp.batches.ledger.endings import CompletedCall, LeasedCell
from auditapp.batches.ledger.leases import LEASE
from auditapp.batches.ledger.prompts import compute_highest_price, hash_request, keep_history, write_requests
from auditapp.batches.ledger.results import store_completed
from auditapp.batches.models import SENDING_CONTROLS, SENDING_STATES, Arm, Batch, Cell, WorkQueue
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ChatRequest
from auditapp.outbound.clock import read_now

NO_INPUT = "no_input"
NOT_WRITTEN = "not_written"
# When this number of messages in a row cannot be written, single inputs are not the reason.
BROKEN_IN_A_ROW = 5
BROKEN = (
    "The messages of {task} cannot be written: each of the {count} just tried ended in an error ({error}), and nothing was sent "
    "for them. The worker's log shows where. Fix the error, then resume; or cancel the batch, which keeps the answers so far."
)


class Call(NamedTuple):
    """A claimed cell and the request to send for it."""

    leased: LeasedCell
    request: ChatRequest


class Claim(NamedTuple):
    """The result of a claim.

    ``out_of_money``: calls are left, but none fits under the cap at present. ``settled`` counts the cells that needed no call
    because an earlier answer was used, their input is gone, or no message could be written.
    """

    calls: list[Call]
    stopped: bool = False
    out_of_money: bool = False
    settled: int = 0


class Chosen(NamedTuple):
    """A cell to be leased, with its request and the most it can cost.

    If an earlier answer to the same request is reused, nothing is sent: ``answer``, from the attempt ``copied_from``.
    """

    cell: Cell
    request: ChatRequest
    request_hash: str
    highest: int = 0
    copied_from: int | None = None
    answer: ChatAnswer | None = None


@transaction.atomic
def claim_calls(queue: WorkQueue, runner: str, count: int, *, is_probe: bool = False) -> Claim:
    """Lease up to ``count`` cells, reserve their money and write their attempts, all or nothing.

    ``is_probe``: the server does not answer, so a single cell is asked, whether it is due or not, and a different one each time.
    """
    batch = Batch.objects.select_for_update().get(pk=queue.batch_id)
    mine = WorkQueue.objects.filter(pk=queue.pk, runner=runner).exists()
    if not mine or batch.control not in SENDING_CONTROLS or batch.state not in SENDING_STATES:
        return Claim([], stopped=True)
    arms = {arm.pk: arm for arm in queue.batch.arms.all() if arm.variant.queue_name == queue.name}
    now = read_now()
    if is_probe or batch.awaits_server:
        cells = statements.find_probe(batch, sorted(arms))
    else:
        cells = statements.find_claimable(batch, sorted(arms), count, now)
    if not cells:
        finish_if_complete(batch)
        return Claim([])
    requests, broken = write_requests(batch, arms, cells)
    reason = _find_broken_arm(arms, cells, requests, broken)
    if reason:
        pause_locked(batch, reason)
        return Claim([], stopped=True)
    unasked = [cell for cell in cells if cell.pk not in requests]
    _fail_unasked(batch, unasked, broken)
    asked = [
        Chosen(cell, request, hash_request(request, arms[cell.arm_id].variant.account))
        for cell in cells
        if (request := requests.get(cell.pk)) is not None
    ]
    chosen = _reserve(batch, arms, _take_answered(asked) if batch.uses_cache else asked)
    calls = _write_attempts(batch, arms, chosen, runner, now) if chosen else []
    to_send = _store_copied(batch, chosen, calls, now)
    if not to_send:
        finish_if_complete(batch)
    settled = len(unasked) + len(calls) - len(to_send)
    return Claim(to_send, out_of_money=not to_send and len(chosen) < len(asked), settled=settled)


def _find_broken_arm(
    arms: Mapping[int, Arm], cells: Sequence[Cell], requests: Container[int], broken: Mapping[int, str]
) -> str:
    """Why the batch must pause, or an empty text.

    It must pause if no message of an arm could be written: failing the cells one by one would use up the whole arm for nothing.
    """
    for arm_id in sorted({cell.arm_id for cell in cells}):
        own = [cell.pk for cell in cells if cell.arm_id == arm_id]
        errors = [broken[pk] for pk in own if pk in broken]
        if len(errors) >= BROKEN_IN_A_ROW and not any(pk in requests for pk in own):
            return BROKEN.format(task=arms[arm_id].task, count=len(errors), error=", ".join(sorted(set(errors))))
    return ""


def _fail_unasked(batch: Batch, cells: Sequence[Cell], broken: Mapping[int, str]) -> None:
    for cell in cells:
        cell.state, cell.not_before = Cell.State.FAILED, None
        cell.outcome = NOT_WRITTEN if cell.pk in broken else NO_INPUT
    if cells:
        statements.end_cells(cells)
        advance_conversations(batch, [cell.pk for cell in cells])


def _take_answered(asked: Sequence[Chosen]) -> list[Chosen]:
    """The same cells, with stored answers to identical requests with the same repeat number."""
    stored = statements.find_answered({each.request_hash for each in asked}, {each.cell.repeat for each in asked})
    found = []
    for each in asked:
        result = stored.get((each.request_hash, each.cell.repeat))
        if result is None:
            found.append(each)
            continue
        answer = ChatAnswer(
            CallOutcome.CACHED,
            content=result.answer,
            reasoning=result.reasoning,
            finish_reason=result.attempt.finish_reason,
            served_model=result.attempt.served_model,
        )
        found.append(each._replace(copied_from=result.attempt_id, answer=answer))
    return found


def _reserve(batch: Batch, arms: dict[int, Arm], asked: Sequence[Chosen]) -> list[Chosen]:
    """As many of the cells as fit under the cap, each at its maximum cost. A copied answer costs nothing."""
    room = None if batch.cap_nano is None else batch.cap_nano - batch.spent_nano - batch.reserved_nano
    chosen: list[Chosen] = []
    for each in asked:
        highest = 0 if each.answer else compute_highest_price(each.request, arms[each.cell.arm_id])
        if room is not None:
            if highest > room:
                break
            room -= highest
        chosen.append(each._replace(highest=highest))
    return chosen


def _write_attempts(
    batch: Batch, arms: dict[int, Arm], chosen: Sequence[Chosen], runner: str, now: datetime.datetime
) -> list[Call]:
    Cell.objects.filter(pk__in=[each.cell.pk for each in chosen]).update(
        state=Cell.State.LEASED, lease_owner=runner, lease_until=now + LEASE, fence=F("fence") + 1
    )
    keys = statements.insert_attempts(
        [
            (
                each.cell.pk,
                each.cell.arm_id,
                each.copied_from,
                each.request.user,
                keep_history(each.request, arms[each.cell.arm_id]),
                each.cell.fence + 1,
                uuid.UUID(each.request.request_id),
                each.request_hash,
                each.highest,
            )
            for each in chosen
        ],
        runner=runner,
        written_at=now,
    )
    reserved = sum(each.highest for each in chosen)
    if reserved:
        Batch.objects.filter(pk=batch.pk).update(reserved_nano=F("reserved_nano") + reserved)
    return [
        Call(_describe(batch, arms[each.cell.arm_id], each, key), each.request)
        for key, each in zip(keys, chosen, strict=True)
    ]


def _describe(batch: Batch, arm: Arm, chosen: Chosen, attempt_id: int) -> LeasedCell:
    cell = chosen.cell
    return LeasedCell(
        attempt_id=attempt_id,
        cell_id=cell.pk,
        arm_id=cell.arm_id,
        input_id=cell.input_id,
        fence=cell.fence + 1,
        tries=cell.tries,
        unknown_ends=cell.unknown_ends,
        reserved_nano=chosen.highest,
        price_in=arm.price_in,
        price_out=arm.price_out,
        lost_answers=batch.lost_answers,
    )


def _store_copied(batch: Batch, chosen: Sequence[Chosen], calls: Sequence[Call], now: datetime.datetime) -> list[Call]:
    """Store the copied answers; return the calls that have to be sent."""
    copied = [
        CompletedCall(call.leased, each.answer, now)
        for each, call in zip(chosen, calls, strict=True)
        if each.answer is not None
    ]
    if copied:
        store_completed(batch.pk, copied)
    return [call for each, call in zip(chosen, calls, strict=True) if each.answer is None]
