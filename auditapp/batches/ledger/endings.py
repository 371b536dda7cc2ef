"""What the end of a call means for its attempt, its cell and the money. Writes nothing."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.batches.pure.estimates import compute_cost
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep

MAX_TRIES = 6
MAX_UNKNOWN_ENDS = 1
# Where a call costs nothing, a second lost answer is no reason to give the cell up.
MAX_FREE_UNKNOWN_ENDS = 3
MAX_BACKOFF = 60.0
MAX_DELAY_AFTER_TIME_OUT = datetime.timedelta(seconds=60)
MAX_RETRY_AFTER = 600.0

PROVIDER_ERROR = "provider_error"
# Statuses of a server, or of the proxy before it, that has not processed the call.
TURNED_AWAY = (502, 503)
FREE = frozenset({CallOutcome.UNSENT, CallOutcome.REFUSED, CallOutcome.CACHED})


@dataclass(frozen=True, slots=True)
class LeasedCell:
    """A leased cell with its open attempt."""

    attempt_id: int
    cell_id: int
    arm_id: int
    input_id: int
    fence: int
    tries: int
    unknown_ends: int
    reserved_nano: int
    price_in: Decimal | None
    price_out: Decimal | None
    lost_answers: str = Batch.LostAnswers.RETRY


class CompletedCall(NamedTuple):
    """A call that has ended, with times by the ledger's clock. ``sent_at`` is ``None`` if it was never sent or if this is not
    known.

    ``in_outage``: its server answered no calls at that time. In an outage, a call that was turned away or whose end is unknown
    does not count against its cell. A server error or an unusable answer does count, because otherwise a few cells that always
    fail would never end.
    """

    leased: LeasedCell
    answer: ChatAnswer
    done_at: datetime.datetime
    sent_at: datetime.datetime | None = None
    in_outage: bool = False


def complete_attempt(each: CompletedCall) -> Attempt:
    """The attempt with the columns that complete it, not saved."""
    answer, leased = each.answer, each.leased
    return Attempt(
        pk=leased.attempt_id,
        sent_at=each.sent_at,
        first_byte_at=_find_first_byte(each),
        done_at=each.done_at,
        end=answer.end,
        http_status=answer.http_status,
        error_class=answer.error_class,
        error=answer.error[:500],
        provider_request_id=answer.provider_request_id[:200],
        provider_answer_id=answer.provider_answer_id[:200],
        served_route=answer.served_route[:100],
        served_model=answer.served_model[:200],
        finish_reason=answer.finish_reason[:50],
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        tokens_cached=answer.tokens_cached,
        tokens_reasoning=answer.tokens_reasoning,
        cost_nano=read_cost(each),
        raw=answer.raw,
    )


def _find_first_byte(each: CompletedCall) -> datetime.datetime | None:
    after = each.answer.first_byte_after
    if each.sent_at is None or after is None:
        return None
    return each.sent_at + datetime.timedelta(seconds=after)


def read_cost(each: CompletedCall) -> int | None:
    """The cost of the call in nanodollars; ``None`` if it is not known. The cost of a failed answer follows from its reported
    usage."""
    leased, answer = each.leased, each.answer
    if answer.end in FREE:
        return 0
    if answer.end is CallOutcome.UNKNOWN:
        return None
    return compute_cost(
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        price_in=leased.price_in,
        price_out=leased.price_out,
    )


def choose_cell_end(each: CompletedCall, *, stopped: bool) -> Cell:
    """The cell with its next state, not saved. ``stopped``: the runner ended, so the cell of a call that was never sent is free
    at once."""
    leased, answer = each.leased, each.answer
    if answer.end in {CallOutcome.ANSWERED, CallOutcome.CACHED}:
        return _end(leased, Cell.State.DONE)
    if answer.error_class is ErrorClass.ABORTED:
        return _end(leased, Cell.State.CANCELLED)
    if answer.next_step is NextStep.GIVE_UP:
        return _end(leased, Cell.State.FAILED, PROVIDER_ERROR)
    if answer.end is CallOutcome.UNSENT and (stopped or answer.next_step is NextStep.NONE):
        return _end(leased, Cell.State.PLANNED)
    if answer.next_step is NextStep.STOP_BATCH:
        return _end(leased, Cell.State.PLANNED)
    if answer.end is CallOutcome.UNKNOWN:
        unknown_ends = leased.unknown_ends + (not each.in_outage)
        if leased.lost_answers == Batch.LostAnswers.HOLD:
            return _end(leased, Cell.State.HELD, unknown_ends=unknown_ends)
        if unknown_ends > (MAX_FREE_UNKNOWN_ENDS if _is_free(leased) else MAX_UNKNOWN_ENDS):
            return _end(leased, Cell.State.FAILED, PROVIDER_ERROR, unknown_ends=unknown_ends)
        not_before = each.done_at if each.in_outage else _when_after_time_out(each)
        return _end(leased, Cell.State.PLANNED, unknown_ends=unknown_ends, not_before=not_before)
    if each.in_outage and answer.http_status in TURNED_AWAY:
        return _end(leased, Cell.State.PLANNED, not_before=each.done_at)
    if answer.next_step is NextStep.SLOW_DOWN:
        return _end(leased, Cell.State.PLANNED, not_before=_when(each, leased.tries))
    if answer.end is CallOutcome.UNSENT:
        return _end(leased, Cell.State.PLANNED, not_before=_when(each, leased.tries + 1))
    tries = leased.tries + 1
    if tries >= MAX_TRIES:
        return _end(leased, Cell.State.FAILED, PROVIDER_ERROR, tries=tries)
    # Probes ask the cell that was asked longest ago.
    not_before = each.done_at if each.in_outage else _when(each, tries)
    return _end(leased, Cell.State.PLANNED, tries=tries, not_before=not_before)


def _when_after_time_out(each: CompletedCall) -> datetime.datetime | None:
    """When to ask again after a time-out: other cells are asked first, so that they show whether the server hangs before this
    cell is given up. Other lost calls are asked again at once."""
    if each.answer.error_class is not ErrorClass.TIMEOUT or each.sent_at is None:
        return None
    return each.done_at + min(each.done_at - each.sent_at, MAX_DELAY_AFTER_TIME_OUT)


def _is_free(leased: LeasedCell) -> bool:
    return leased.price_in == 0 and leased.price_out == 0


def _end(
    leased: LeasedCell,
    state: str,
    outcome: str = "",
    *,
    tries: int | None = None,
    unknown_ends: int | None = None,
    not_before: datetime.datetime | None = None,
) -> Cell:
    return Cell(
        pk=leased.cell_id,
        fence=leased.fence,
        state=state,
        outcome=outcome,
        not_before=not_before,
        tries=leased.tries if tries is None else tries,
        unknown_ends=leased.unknown_ends if unknown_ends is None else unknown_ends,
    )


def _when(each: CompletedCall, tries: int) -> datetime.datetime:
    """When to try again: when the provider says, or after an exponential backoff with full jitter that starts at half a second."""
    if each.answer.retry_after is not None:
        seconds = min(each.answer.retry_after, MAX_RETRY_AFTER)
    else:
        seconds = random.uniform(0.25, min(MAX_BACKOFF, 0.5 * 2**tries))  # noqa: S311 - jitter
    return each.done_at + datetime.timedelta(seconds=seconds)
