"""Pause a batch when every call of a queue is refused: its address or its model's name is probably wrong, or its model's
context is too small for the requests."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.models import Arm, Attempt, Batch, Cell, WorkQueue
from auditapp.llm.providers.base import ErrorClass, NextStep

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

    It must if a queue has no answer and its first calls were refused: as many as may be in flight, or all if there are
    fewer. A paused batch is checked as a whole, because another queue's last answer must not end it as done.
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
    """How many calls may be in flight: quick refusals may return before the first of as many slow answers."""
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
