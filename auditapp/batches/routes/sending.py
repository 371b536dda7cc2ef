"""The calls in flight of one runner: sent as far as the limiter allows, and recorded in the spool before and after.

Everything here happens on the event loop and does not touch the database.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence

from auditapp.batches.ledger.claims import Call
from auditapp.batches.ledger.endings import TURNED_AWAY, CompletedCall, LeasedCell
from auditapp.batches.pure.limiter import Limiter, Outage
from auditapp.batches.pure.spool import Spool
from auditapp.batches.pure.stopping import crash_point, is_armed
from auditapp.llm.providers import Provider
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from auditapp.outbound.clock import LedgerClock

logger = logging.getLogger(__name__)

SILENCE_SECONDS = 20.0
TIME_TO_LEAVE = 0.1
CUT_OFF = ChatAnswer(
    CallOutcome.UNKNOWN,
    NextStep.RETRY,
    error_class=ErrorClass.ABORTED,
    error="the call was cut off when its batch was aborted; the provider may have charged for it",
)
STAYED = ChatAnswer(
    CallOutcome.UNSENT, NextStep.NONE, error_class=ErrorClass.ABORTED, error="its batch was aborted before it was sent"
)
UNNOTED = ChatAnswer(
    CallOutcome.UNSENT, NextStep.NONE, error="it could not be recorded in the spool, so it was not sent"
)


class Sender:
    """The calls that are ready to be sent, in flight, or ended but not stored yet.

    ``stopped`` prevents any further call from being sent. ``failure`` is an error of the spool: a call that cannot be recorded is
    not sent, and an answer that cannot be recorded is still in ``finished``.
    """

    def __init__(
        self, provider: Provider, spool: Spool, limiter: Limiter, clock: LedgerClock, outage: Outage | None = None
    ) -> None:
        self.provider, self.spool, self.limiter, self.clock = provider, spool, limiter, clock
        self.outage = outage or Outage()
        self.ready: deque[Call] = deque()
        self.completed: list[CompletedCall] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.in_flight = 0
        self.stopped = False
        self.account_refused = False
        self.failure: OSError | None = None
        self.heard_at = time.monotonic()
        self.wake = asyncio.Event()
        self.wake_below = 0
        self.wake_from = 1
        self._flushing = self._is_cutting_off = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight."""
        return not self.in_flight

    def send(self) -> None:
        """Fill the free slots. A runner that has been silent for too long sends nothing, because it may have lost its lease."""
        if self.stopped or self.account_refused or self.failure is not None:
            return
        if time.monotonic() - self.heard_at > SILENCE_SECONDS:
            return
        while self.ready and self.limiter.may_send(self.in_flight) and self.outage.may_send():
            call, left_at = self.ready.popleft(), time.monotonic()
            self.spool.note_sent(call.request.request_id, self.clock.at(left_at).isoformat())
            self._flush_soon()
            self.in_flight += 1
            self.limiter.note_sent(self.in_flight)
            self.outage.note_sent()
            task = asyncio.get_running_loop().create_task(self._call(call, left_at))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def flush(self) -> None:
        """Write to the spool now."""
        self._flushing = False
        try:
            self.spool.flush()
        except OSError as error:
            self.failure = error
            self.wake.set()

    def _flush_soon(self) -> None:
        """The loop runs callbacks in order, so the spool is written before calls that are scheduled later are sent."""
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self.flush)

    def take_ready(self) -> list[LeasedCell]:
        """The calls that were written but not sent; they will not be sent."""
        unsent = [call.leased for call in self.ready]
        self.ready.clear()
        return unsent

    def take_completed(self) -> Sequence[CompletedCall]:
        """The calls that ended since the last time."""
        group, self.completed = self.completed, []
        return group

    def cut_off(self) -> None:
        """Cut off the calls in flight; it is not known what the provider does with them.

        This happens in a later callback, because a task that is cancelled before its first step never reports its end. When the
        callback runs, tasks that were created before this call have begun.
        """
        self._is_cutting_off = True
        asyncio.get_running_loop().call_soon(self.leave_behind)

    async def wait_for_answers(self, seconds: float) -> None:
        """Wait until nothing is in flight, or the time is up."""
        if self.tasks:
            await asyncio.wait(set(self.tasks), timeout=seconds)

    def leave_behind(self) -> None:
        """Cancel the calls that are still in flight; their end is unknown."""
        for task in self.tasks:
            task.cancel()

    async def _call(self, call: Call, left_at: float) -> None:
        kept = STAYED if self._is_cutting_off else UNNOTED if self.failure is not None else None
        answer = kept or await self._ask(call)
        self.in_flight -= 1
        sent_at = self.clock.at(left_at)
        done_at = self.clock.at(time.monotonic())
        self._learn(call.leased.cell_id, answer, left_at)
        in_outage = self.outage.is_away and answer.next_step is NextStep.RETRY
        self.completed.append(
            CompletedCall(
                call.leased, answer, done_at, None if answer.end is CallOutcome.UNSENT else sent_at, in_outage
            )
        )
        self.spool.note_answer(call.request.request_id, answer, done_at.isoformat())
        self._flush_soon()
        self.send()
        if self._is_worth_waking():
            self.wake.set()

    async def _ask(self, call: Call) -> ChatAnswer:
        try:
            if is_armed("in_call"):
                asking = asyncio.ensure_future(self.provider.chat(call.request))
                await asyncio.sleep(TIME_TO_LEAVE)
                crash_point("in_call")
                return await asking
            return await self.provider.chat(call.request)
        except asyncio.CancelledError:
            if not self._is_cutting_off:
                raise
            return CUT_OFF
        except Exception as error:
            logger.exception("A provider raised an error on attempt %s", call.leased.attempt_id)
            return ChatAnswer(
                CallOutcome.UNKNOWN,
                NextStep.RETRY,
                error_class=ErrorClass.BROKEN_PROVIDER,
                error=f"the provider's code failed: {type(error).__name__}",
            )

    def _learn(self, cell_id: int, answer: ChatAnswer, left_at: float) -> None:
        if answer.next_step is NextStep.RETRY and answer.error_class is not ErrorClass.ABORTED:
            is_turned_away = answer.end is CallOutcome.UNSENT or answer.http_status in TURNED_AWAY
            self.outage.note_silence(cell_id, left_at, is_turned_away=is_turned_away, retry_after=answer.retry_after)
        elif answer.end is not CallOutcome.UNSENT:
            self.outage.note_life()
        if answer.end is CallOutcome.ANSWERED:
            self.limiter.note_answer(left_at, self.in_flight)
        elif answer.next_step is NextStep.SLOW_DOWN:
            self.limiter.note_rate_limit(answer.retry_after, left_at, self.in_flight)
        elif answer.error_class is ErrorClass.TIMEOUT:
            self.limiter.note_timeout(left_at, self.in_flight)
        elif answer.next_step is NextStep.RETRY:
            self.limiter.note_failure()
        # Every further call would be refused too: nothing more is sent, and storing this pauses the batch.
        self.account_refused = self.account_refused or answer.next_step is NextStep.STOP_BATCH

    def _is_worth_waking(self) -> bool:
        return (
            self.failure is not None
            or self.account_refused
            or not self.in_flight
            or len(self.ready) < self.wake_below
            or len(self.completed) >= self.wake_from
        )
