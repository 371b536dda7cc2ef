"""What the end of a call means: for its attempt, its cell, and the money. Writes nothing."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from auditapp.batches.models import Cell
from auditapp.batches.money import compute_cost
from auditapp.batches.queries import AttemptEnd, CellEnd
from auditapp.llm.providers.base import ChatAnswer, End, Remedy

MOST_TRIES = 6
MOST_UNKNOWN_ENDS = 1
LONGEST_BACKOFF = 60.0
LONGEST_RETRY_AFTER = 600.0

PROVIDER_ERROR = "provider_error"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A cell under lease with its open attempt."""

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


class Finished(NamedTuple):
    """The end of a call."""

    claimed: Claimed
    answer: ChatAnswer
    done_at: datetime.datetime


def complete_attempt(each: Finished) -> AttemptEnd:
    """The columns that complete the attempt."""
    answer, claimed = each.answer, each.claimed
    return AttemptEnd(
        done_at=each.done_at,
        end=answer.end,
        http_status=answer.http_status,
        error=answer.error[:500],
        provider_request_id=answer.provider_request_id,
        served_model=answer.served_model,
        finish_reason=answer.finish_reason,
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        cost_nano=read_cost(each),
        raw=answer.raw,
        attempt_id=claimed.attempt_id,
    )


def read_cost(each: Finished) -> int | None:
    """What the call cost in nanodollars; ``None`` where that is not known."""
    claimed, answer = each.claimed, each.answer
    if answer.end is not End.ANSWERED:
        return 0 if answer.end in {End.UNSENT, End.REFUSED} else None
    return compute_cost(
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        price_in=claimed.price_in,
        price_out=claimed.price_out,
    )


def choose_cell_end(each: Finished, *, stopped: bool) -> CellEnd:
    """The next state of the cell. ``stopped`` frees a call at once that never left, for its runner ended."""
    claimed, answer = each.claimed, each.answer
    if answer.end is End.ANSWERED:
        return _end(claimed, Cell.State.DONE)
    if answer.remedy is Remedy.GIVE_UP:
        return _end(claimed, Cell.State.FAILED, PROVIDER_ERROR)
    if (stopped and answer.end is End.UNSENT) or answer.remedy is Remedy.STOP_BATCH:
        return _end(claimed, Cell.State.PLANNED)
    if answer.end is End.UNKNOWN:
        unknown_ends = claimed.unknown_ends + 1
        state = Cell.State.PLANNED if unknown_ends <= MOST_UNKNOWN_ENDS else Cell.State.FAILED
        outcome = "" if state == Cell.State.PLANNED else PROVIDER_ERROR
        return _end(claimed, state, outcome, unknown_ends=unknown_ends)
    if answer.remedy is Remedy.SLOW_DOWN:
        return _end(claimed, Cell.State.PLANNED, not_before=_when(each, claimed.tries))
    if answer.end is End.UNSENT:
        return _end(claimed, Cell.State.PLANNED, not_before=_when(each, claimed.tries + 1))
    tries = claimed.tries + 1
    if tries >= MOST_TRIES:
        return _end(claimed, Cell.State.FAILED, PROVIDER_ERROR, tries=tries)
    return _end(claimed, Cell.State.PLANNED, tries=tries, not_before=_when(each, tries))


def _end(
    claimed: Claimed,
    state: str,
    outcome: str = "",
    *,
    tries: int | None = None,
    unknown_ends: int | None = None,
    not_before: datetime.datetime | None = None,
) -> CellEnd:
    return CellEnd(
        state=state,
        outcome=outcome,
        not_before=not_before,
        tries=claimed.tries if tries is None else tries,
        unknown_ends=claimed.unknown_ends if unknown_ends is None else unknown_ends,
        cell_id=claimed.cell_id,
        fence=claimed.fence,
    )


def _when(each: Finished, tries: int) -> datetime.datetime:
    """When to try again: what the provider asked for, or exponential backoff with full jitter, from half a second."""
    if each.answer.retry_after is not None:
        seconds = min(each.answer.retry_after, LONGEST_RETRY_AFTER)
    else:
        seconds = random.uniform(0.25, min(LONGEST_BACKOFF, 0.5 * 2**tries))  # noqa: S311 - jitter
    return each.done_at + datetime.timedelta(seconds=seconds)
