"""Store the ends of calls of every route: attempt, result, cell and money in one transaction.

A batch pauses when every call of a queue is refused: its address or its model's name is probably wrong, or its model's context is
too small for the requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction
from django.db.models import F, QuerySet

from auditapp.batches.kinds import NO_ROOM, Answered, hand_over
from auditapp.batches.ledger import statements
from auditapp.batches.ledger.batch_state import (
    finish_if_complete,
    make_refusal_reason,
    pause_locked,
    resume_after_outage,
)
from auditapp.batches.ledger.conversations import advance_conversations
from auditapp.batches.ledger.endings import CompletedCall, LeasedCell, choose_cell_end, complete_attempt, read_cost
from auditapp.batches.models import Arm, Attempt, Batch, Cell, WorkQueue
from auditapp.batches.pure.stopping import crash_point
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from auditapp.outbound.clock import read_now

ENDED = (Cell.State.DONE, Cell.State.FAILED)
USABLE = (CallOutcome.ANSWERED, CallOutcome.CACHED)
# OpenAI's and Anthropic's words for an answer that reached the output limit.
CUT_OFF_REASONS = ("length", "max_tokens", "MAX_TOKENS")
ENDS_OF_BATCH = (Batch.Control.CANCEL, Batch.Control.ABORT)


def hand_back(batch_id: int, leased: Sequence[LeasedCell]) -> None:
    """Return calls that were written but never sent: their cells are free again, at no cost."""
    unsent = ChatAnswer(CallOutcome.UNSENT, NextStep.RETRY, error="the runner stopped before it was sent")
    now = read_now()
    store_completed(batch_id, [CompletedCall(each, unsent, now) for each in leased], stopped=True)


@transaction.atomic
def store_completed(batch_id: int, group: Sequence[CompletedCall], *, stopped: bool = False) -> None:
    """Complete attempts, store one result per cell, update the cells and settle the money in one transaction.

    Attempts that have already ended are skipped, so repeating this changes nothing. A runner that has lost its lease may call it:
    a paid answer still counts if its cell has no answer yet. ``stopped`` marks calls that were returned unsent and may be claimed
    again at once.
    """
    batch = Batch.objects.select_for_update().get(pk=batch_id)
    group = _leave_out_ended(group)
    ends = _choose_ends(batch, group, stopped=stopped)
    ids = [each.leased.cell_id for each in group]
    ended = set(Cell.objects.filter(pk__in=ids, state__in=ENDED).values_list("pk", flat=True))
    final: dict[int, CompletedCall] = {}
    for each, end in zip(group, ends, strict=True):
        if end.state in ENDED and each.leased.cell_id not in ended:
            final.setdefault(each.leased.cell_id, each)
    statements.end_attempts([_complete(each, final.get(each.leased.cell_id)) for each in group])
    outcomes = _store_results(batch, list(final.values()))
    for end in ends:
        end.outcome = outcomes.get(end.pk, end.outcome)
    _number_answers(batch, [end for each, end in zip(group, ends, strict=True) if _is_result(each, final)])
    statements.end_cells(ends)
    advance_conversations(batch, ids)
    _settle(batch, group)
    if batch.awaits_server and any(map(_is_sign_of_life, group)):
        resume_after_outage(batch)
    refused = next((each for each in group if each.answer.next_step is NextStep.STOP_BATCH), None)
    if refused is not None:
        answer = refused.answer
        pause_locked(batch, make_refusal_reason(answer.error_class, answer.http_status, refused.leased.attempt_id))
    reason = find_refusal(batch, group)
    if reason:
        # Paused, not done, though nothing may be left: with a corrected address everything is asked again.
        pause_locked(batch, reason)
    else:
        finish_if_complete(batch)
    crash_point("in_commit")


def _is_sign_of_life(each: CompletedCall) -> bool:
    """Whether a server answered or refused the call, which shows that the server is reachable."""
    is_sent = each.answer.end not in {CallOutcome.UNSENT, CallOutcome.CACHED}
    return is_sent and each.answer.next_step is not NextStep.RETRY


def _complete(each: CompletedCall, counting: CompletedCall | None) -> Attempt:
    """The completed attempt. A second answer to a cell was also paid for, and is counted as surplus."""
    completed = complete_attempt(each)
    if each.answer.end is CallOutcome.ANSWERED and each is not counting:
        completed.end = Attempt.End.SURPLUS
    return completed


def _leave_out_ended(group: Sequence[CompletedCall]) -> list[CompletedCall]:
    ids = [each.leased.attempt_id for each in group]
    live = set(
        Attempt.objects.filter(pk__in=ids, end__in=[Attempt.End.OPEN, Attempt.End.UNKNOWN]).values_list("pk", flat=True)
    )
    return [each for each in group if each.leased.attempt_id in live]


def _choose_ends(batch: Batch, group: Sequence[CompletedCall], *, stopped: bool) -> list[Cell]:
    ends = [choose_cell_end(each, stopped=stopped) for each in group]
    if batch.control in ENDS_OF_BATCH:
        for end in ends:
            if end.state in {Cell.State.PLANNED, Cell.State.HELD}:
                end.state, end.not_before = Cell.State.CANCELLED, None
    return ends


def _store_results(batch: Batch, final: Sequence[CompletedCall]) -> dict[int, str]:
    if not final:
        return {}
    usable = [each for each in final if each.answer.end in USABLE]
    if usable:
        rows = [
            (each.leased.cell_id, each.leased.attempt_id, each.answer.content, each.answer.reasoning) for each in usable
        ]
        statements.insert_results(rows, read_now())
    handed = [
        Answered(
            cell_id=each.leased.cell_id,
            arm_id=each.leased.arm_id,
            input_id=each.leased.input_id,
            answer=each.answer.content if each.answer.end in USABLE else None,
            finish_reason=each.answer.finish_reason,
            error=each.answer.error,
        )
        for each in final
    ]
    return hand_over(batch, handed) | {each.cell_id: NO_ROOM for each in handed if _has_no_room(each)}


def _is_result(each: CompletedCall, final: Mapping[int, CompletedCall]) -> bool:
    """Whether the call's answer is stored as its cell's result."""
    return each.answer.end in USABLE and final.get(each.leased.cell_id) is each


def _number_answers(batch: Batch, answered: Sequence[Cell]) -> None:
    """Number the answers of a batch, which is locked."""
    if answered:
        for number, cell in enumerate(answered, start=statements.read_last_answer_number(batch.pk) + 1):
            cell.answer_number = number


def _has_no_room(each: Answered) -> bool:
    """Whether the output limit was used up before the answer began, usually by thinking."""
    return each.answer is not None and not each.answer.strip() and each.finish_reason in CUT_OFF_REASONS


def _settle(batch: Batch, group: Sequence[CompletedCall]) -> None:
    """Release what was reserved and book what was spent. An attempt with an unknown cost keeps its reservation."""
    released = spent = 0
    for each in group:
        cost = read_cost(each)
        priced = each.leased.price_in is not None and each.leased.price_out is not None
        if cost is None and priced:
            continue
        released += each.leased.reserved_nano
        spent += cost or 0
    if released or spent:
        Batch.objects.filter(pk=batch.pk).update(
            reserved_nano=F("reserved_nano") - released, spent_nano=F("spent_nano") + spent
        )


REFUSED_IN_A_ROW = 20
REFUSED_IN_A_SMALL_QUEUE = 5
ALL_REFUSED = (
    "{which} was refused with {status} (bad_request); attempt {attempt} has the provider's message. "
    "Check the address and the model's name, then resume and retry."
)
ALL_TOO_LONG = (
    "{which} was too long for the model's context; attempt {attempt} says how many tokens it needs and how many the server "
    "accepts. Start the server with a larger context, then resume and retry."
)
EVERY = "Every call so far"
NONE_ANSWERED = "No call has been answered yet, and {count:,}"
End = Attempt.End
REFUSALS = (ErrorClass.BAD_REQUEST, ErrorClass.CONTEXT_OVERFLOW)
UNDER_WAY = (Cell.State.PLANNED, Cell.State.LEASED)
WITH_ANSWER = (End.ANSWERED, End.SURPLUS)
WITHOUT_END = (End.OPEN, End.UNSENT, End.CACHED)


def find_refusal(batch: Batch, group: Sequence[CompletedCall]) -> str:
    """Why a live batch must pause after ``group`` was stored, or an empty text.

    It must pause if a queue has no answer and its first calls were refused: as many calls as may be in flight, or all if there
    are fewer. A paused batch is checked as a whole, because the last answer of another queue must not end it as done.
    """
    if batch.route != Batch.Route.LIVE:
        return ""
    touched = {each.leased.arm_id for each in group if _is_refused(each)}
    if not touched and batch.state != Batch.State.PAUSED:
        return ""
    queues: dict[str, list[int]] = {}
    for arm in Arm.objects.filter(batch=batch).select_related("variant"):
        queues.setdefault(arm.variant.queue_name, []).append(arm.pk)
    for name, arms in queues.items():
        if batch.state == Batch.State.PAUSED or touched.intersection(arms):
            reason = _judge_queue(batch, name, arms)
            if reason:
                return reason
    return ""


def _is_refused(each: CompletedCall) -> bool:
    answer = each.answer
    return answer.next_step is NextStep.GIVE_UP and answer.error_class in REFUSALS


def _judge_queue(batch: Batch, name: str, arms: Sequence[int]) -> str:
    tries = Attempt.objects.order_by().filter(arm__in=arms)
    # A refusal by moderation is about a text: the address and the model's name are right.
    if tries.filter(end__in=WITH_ANSWER).exists() or tries.filter(error_class=ErrorClass.MODERATION).exists():
        return ""
    refused = tries.filter(end=End.REFUSED, error_class__in=REFUSALS)
    count = refused.count()
    if count < REFUSED_IN_A_SMALL_QUEUE:
        return ""
    if count < _count_in_flight(batch, name) and _is_left(batch, arms):
        return ""
    return _make_reason(refused, count, others=tries.exclude(end__in=WITHOUT_END).count() - count)


def _count_in_flight(batch: Batch, name: str) -> int:
    """How many calls may be in flight, because as many quick refusals may arrive before the first slow answer."""
    held = WorkQueue.objects.filter(batch=batch, name=name).values_list("limit", flat=True).first()
    return max(REFUSED_IN_A_ROW, held or batch.concurrency // 3)


def _is_left(batch: Batch, arms: Sequence[int]) -> bool:
    left = Cell.objects.filter(batch=batch, arm__in=arms, state__in=UNDER_WAY)
    return (left.filter(pilot=True) if batch.state == Batch.State.PILOT else left).exists()


def _make_reason(refused: QuerySet[Attempt], count: int, *, others: int) -> str:
    latest, kind = refused.order_by("-pk").values_list("pk", "error_class")[0]
    statuses = sorted({str(status) for status in refused.values_list("http_status", flat=True).distinct() if status})
    named = f"status{'es' if len(statuses) > 1 else ''} {' and '.join(statuses)}"
    which = NONE_ANSWERED.format(count=count) if others > 0 else EVERY
    if kind == ErrorClass.CONTEXT_OVERFLOW:
        return ALL_TOO_LONG.format(which=which, attempt=latest)
    return ALL_REFUSED.format(which=which, status=named, attempt=latest)
