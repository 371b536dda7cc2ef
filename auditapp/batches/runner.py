"""What a worker does: one lane of one batch, on one event loop, for about a minute.

Order of things, so that a crash at any point costs at most the calls in flight: cells are claimed and their attempts
written in one transaction; each call is noted in the spool, then sent; its answer is noted in the spool; answers are
synced to disk and stored in groups. The database is written by one thread, so the loop never waits for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.db import connections
from django.utils import timezone

from auditapp.batches import ledger, queries
from auditapp.batches.endings import Finished
from auditapp.batches.ledger import Call
from auditapp.batches.models import Batch, Lane
from auditapp.batches.spool import Spool
from auditapp.llm.providers import Account, Provider, ProviderNotReady, open_provider
from auditapp.llm.providers.base import ChatAnswer, End, Remedy

T = TypeVar("T")
logger = logging.getLogger(__name__)

LIFE_SECONDS = 60.0
HEARTBEAT_SECONDS = 3.0
FLUSH_SECONDS = 0.1
FLUSH_ROWS = 50
WAIT_AT_MOST = 15.0
LONGEST_SLOWDOWN = 60.0
SILENCE_SECONDS = 20.0
CAP_REACHED = "The next call could pass the cap, so nothing more is sent. Cancel, or launch the rest as another batch."
NO_ANSWERS = "The provider does not answer: {count} tries in a row failed. Resume when it is back."
MISSES_IN_A_ROW = 20
CALL_PATIENCE = 900.0

stopping = threading.Event()
"""Set when the worker process shuts down: runners stop claiming and finish what is in flight."""


def name_machine() -> str:
    """A short name for this boot of this machine and its process numbers: two containers never share one."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def name_runner() -> str:
    """A name that says where the runner lives, so that its death can be seen from the same machine at once."""
    return f"{name_machine()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def run_lane(lane_id: int) -> bool:
    """Work on a lane until nothing is left to claim or the time is up. Returns whether it should be rung again.

    A second runner for the same lane returns at once, so a doubled message is harmless.
    """
    runner = name_runner()
    lane = ledger.acquire_lane(lane_id, runner)
    if lane is None:
        return False
    spool = Spool(settings.SPOOL_FOLDER, runner)
    try:
        again = asyncio.run(LaneRun(lane, runner, spool).run())
    except BaseException:
        # The sweeper reads the spool and settles what this runner leaves open.
        spool.close(keep=True)
        raise
    spool.close(keep=False)
    ledger.release_lane(lane, runner)
    return again


class LaneRun:
    """One stay of a runner in a lane."""

    def __init__(self, lane: Lane, runner: str, spool: Spool) -> None:
        self.lane, self.runner, self.spool = lane, runner, spool
        self.limit = max(1, lane.batch.concurrency)
        self.ahead = max(2, self.limit // 2)
        self.ready: deque[Call] = deque()
        self.finished: list[Finished] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.in_flight = 0
        self.draining = False
        self.exhausted = False
        self.out_of_money = False
        self.account_refused = False
        self.misses = 0
        self.failure: Exception | None = None
        self.slow_until = 0.0
        self.last_beat = time.monotonic()
        self.wake = asyncio.Event()
        self.writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")

    async def run(self) -> bool:
        """Run the lane; the answer says whether it should be rung again at once."""
        try:
            provider = open_provider(self._describe_account())
        except ProviderNotReady as error:
            reason = str(error)
            await self._write(lambda: ledger.pause_for(self.lane.batch_id, reason))
            await self._close_writer()
            return False
        try:
            await self._work(provider)
            return await self._write(lambda: queries.read_seconds_until_due(self.lane.batch, self.lane)) == 0.0
        except Exception as error:
            await self._let_answers_arrive(error)
            raise
        finally:
            for task in self.tasks:
                task.cancel()
            await provider.close()
            await self._close_writer()

    async def _let_answers_arrive(self, error: Exception) -> None:
        """The database or the disk failed: send nothing more, and spool what is under way, for it is paid for."""
        self.failure = error
        if self.tasks:
            await asyncio.wait(set(self.tasks), timeout=CALL_PATIENCE)
        self.spool.sync()

    async def _work(self, provider: Provider) -> None:
        started = time.monotonic()
        await self._beat(0.0)
        while True:
            if time.monotonic() - self.last_beat >= HEARTBEAT_SECONDS:
                await self._beat(time.monotonic() - started)
            if self.failure is not None:
                await self._flush()
                raise self.failure
            if self.misses >= max(MISSES_IN_A_ROW, self.limit) and not self.draining:
                await self._pause_for_silence()
            if self.account_refused and not self.draining:
                await self._drain()
            await self._fill()
            self._send(provider)
            idle = not self.in_flight
            if len(self.finished) >= FLUSH_ROWS or (self.finished and idle):
                await self._flush()
            elif idle and not self.ready:
                if self.draining or not await self._await_due():
                    return
            else:
                await self._wait()

    async def _write(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.writer, act)

    async def _close_writer(self) -> None:
        await self._write(connections.close_all)
        self.writer.shutdown()

    def _describe_account(self) -> Account:
        arm = next(arm for arm in self.lane.batch.arms.all() if arm.variant.lane == self.lane.name)
        variant = arm.variant
        return Account(variant.provider, variant.base_url, variant.key_env, variant.parameters)

    async def _beat(self, age: float) -> None:
        """Extend the leases and learn what people want; a lost lane, a stop or old age ends the claiming."""
        control = await self._write(lambda: ledger.beat(self.lane, self.runner))
        self.last_beat = time.monotonic()
        if control != Batch.Control.RUN or age > LIFE_SECONDS or stopping.is_set():
            await self._drain()

    async def _pause_for_silence(self) -> None:
        reason = NO_ANSWERS.format(count=self.misses)
        await self._write(lambda: ledger.pause_for(self.lane.batch_id, reason))
        await self._drain()

    async def _drain(self) -> None:
        """Claim nothing more; calls that were written but not sent go back unsent."""
        self.draining = True
        if self.ready:
            unsent = [call.claimed for call in self.ready]
            self.ready.clear()
            await self._write(lambda: ledger.hand_back(self.lane.batch_id, unsent))

    async def _fill(self) -> None:
        """Keep half a limit of written calls ahead, so that a free slot never waits for the database."""
        missing = self.limit - self.in_flight + self.ahead - len(self.ready)
        if self.draining or self.exhausted or missing * 2 < self.ahead or self._is_slowed():
            return
        claim = await self._write(lambda: ledger.claim_calls(self.lane, self.runner, missing))
        self.exhausted = not claim.calls
        self.out_of_money = claim.out_of_money
        if claim.stopped:
            await self._drain()
        self.ready.extend(claim.calls)

    def _is_slowed(self) -> bool:
        return time.monotonic() < self.slow_until

    def _send(self, provider: Provider) -> None:
        """Fill the free slots. A runner that was silent for long may have lost its lease and sends nothing."""
        if (
            self.account_refused
            or self.failure is not None
            or self._is_slowed()
            or time.monotonic() - self.last_beat > SILENCE_SECONDS
        ):
            return
        while self.ready and self.in_flight < self.limit:
            call = self.ready.popleft()
            try:
                self.spool.note_sent(call.request.request_id)
            except OSError as error:
                self.ready.appendleft(call)
                self.failure = error
                self.wake.set()
                return
            self.in_flight += 1
            task = asyncio.get_running_loop().create_task(self._call(provider, call))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _call(self, provider: Provider, call: Call) -> None:
        try:
            answer = await provider.chat(call.request)
        except Exception as error:
            logger.exception("A provider broke its promise on attempt %s", call.claimed.attempt_id)
            answer = ChatAnswer(End.UNKNOWN, Remedy.RETRY, error=f"the provider's code failed: {type(error).__name__}")
        self.in_flight -= 1
        done_at = timezone.now()
        self.finished.append(Finished(call.claimed, answer, done_at))
        try:
            self.spool.note_answer(call.request.request_id, answer, done_at.isoformat())
        except OSError as error:
            # The answer is kept in memory and stored before the failure is raised.
            self.failure = error
        self.misses = self.misses + 1 if answer.remedy is Remedy.RETRY else 0
        if answer.remedy is Remedy.SLOW_DOWN:
            self.slow_until = max(self.slow_until, time.monotonic() + min(answer.retry_after or 1.0, LONGEST_SLOWDOWN))
        # Every further call would be refused too: nothing more leaves, and the store pauses the batch.
        self.account_refused = self.account_refused or answer.remedy is Remedy.STOP_BATCH
        self._send(provider)
        if (
            self.failure is not None
            or self.account_refused
            or len(self.finished) >= FLUSH_ROWS
            or len(self.ready) * 2 < self.ahead
            or not self.in_flight
        ):
            self.wake.set()

    async def _flush(self) -> None:
        group, self.finished = self.finished, []
        await self._write(lambda: self._store(group))
        self.exhausted = False

    def _store(self, group: list[Finished]) -> None:
        self.spool.sync()
        ledger.store_finished(self.lane.batch_id, group)

    async def _wait(self) -> None:
        """Until there is something to store or to claim, or a tenth of a second has passed; then store what came."""
        self.wake.clear()
        try:
            await asyncio.wait_for(self.wake.wait(), FLUSH_SECONDS)
        except TimeoutError:
            if self.finished:
                await self._flush()

    async def _await_due(self) -> bool:
        """With nothing in hand: wait for a retry that is due soon. ``False`` when there is nothing to wait for here."""
        if self.out_of_money:
            if not await self._write(lambda: ledger.has_open_attempts(self.lane.batch_id)):
                await self._write(lambda: ledger.pause_for(self.lane.batch_id, CAP_REACHED))
                return False
            # Another lane's calls hold money that may come free.
            await asyncio.sleep(1.0)
            self.exhausted = False
            return True
        seconds = await self._write(lambda: queries.read_seconds_until_due(self.lane.batch, self.lane))
        if seconds is None or seconds > WAIT_AT_MOST:
            return False
        seconds = max(seconds, self.slow_until - time.monotonic(), 0.01)
        await asyncio.sleep(min(seconds, HEARTBEAT_SECONDS))
        self.exhausted = False
        return True
