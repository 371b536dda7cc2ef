"""One run of a queue of live calls: an event loop that sends, and one thread that writes to the database for it.

The route of live calls: a worker runs one queue of one batch, on one event loop, for about a minute.

The order of steps makes sure that a crash costs at most the calls in flight: cells are claimed and their attempts written
in one transaction; each call is written to the spool, then sent; its answer is written to the spool; answers are synced to
disk and stored in groups.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import os
import socket
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.db import Error, connections, transaction

from auditapp.batches.ledger import batch_state, claims, leases, results, statements
from auditapp.batches.ledger.batch_state import CAP_REACHED
from auditapp.batches.ledger.claims import Claim
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.models import Batch, LimitChange, WorkQueue
from auditapp.batches.pure.limiter import Change, Limiter, Outage
from auditapp.batches.pure.spool import Spool, find_disk_shortage
from auditapp.batches.pure.stopping import crash_point, stopping
from auditapp.batches.routes.sending import Sender
from auditapp.llm.credentials import build_account
from auditapp.llm.models import ModelVariant
from auditapp.llm.providers import Account, Provider, ProviderNotReady, open_provider
from auditapp.outbound.addresses import looks_private
from auditapp.outbound.clock import LedgerClock

T = TypeVar("T")

LIFE_SECONDS = 60.0
MAX_LIFE_SECONDS = 600.0
POLL_SECONDS = 0.5
BEAT_SECONDS = 2.0
LEASE_SECONDS = 10.0
FLUSH_SECONDS = 0.2
# The next question of a conversation waits until the answer before it is stored.
FLUSH_SECONDS_OF_CONVERSATIONS = 0.05
TICK_SECONDS = 0.1
FLUSH_ROWS = 100
MAX_AHEAD = 600
WAIT_AT_MOST = 15.0
CALL_PATIENCE = 900.0
PAUSE_AGAIN_SECONDS = 5.0
NOT_WRITABLE = (
    "The worker could not write to its data folder ({reason}), so nothing more is sent. Fix that, then resume."
)


def make_spool_failure(error: OSError) -> str:
    """Why a batch pauses when the spool cannot be written. The path is not named."""
    return NOT_WRITABLE.format(reason=error.strerror or type(error).__name__)


def is_served_privately(variant: ModelVariant) -> bool:
    """Whether a model's server has a private address. Such a server often answers only one call at a time."""
    account = variant.account
    return account.provider != "fake" and bool(account.base_url) and looks_private(account.base_url)


class QueueRun:
    """Claims, sends, stores and polls until nothing is left, a person stops the batch, or its time is up."""

    def __init__(self, queue: WorkQueue, runner: str, spool: Spool) -> None:
        self.queue, self.runner, self.spool = queue, runner, spool
        self.clock = LedgerClock()
        self.started_at = self.polled_at = self.beaten_at = self.leased_at = self.flushed_at = time.monotonic()
        self.paused_at = -PAUSE_AGAIN_SECONDS
        self.pace = 0
        self.is_claiming = True
        self.is_called_off = False
        self.is_exhausted = False
        self.is_out_of_money = False
        self.orders = leases.Orders(queue.batch.control, queue.batch.concurrency, queue.batch.state)
        self.writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")

    async def run(self) -> bool:
        """Run the queue. Returns whether the workers should be notified again at once."""
        try:
            provider = open_provider(await self._write(self._build_account))
            try:
                self.sender = await self._write(lambda: self._prepare(provider))
                return await self._send_and_store()
            finally:
                await provider.close()
        except ProviderNotReady as error:
            reason = str(error)
            await self._write(lambda: batch_state.pause_for(self.queue.batch_id, reason))
            return False
        finally:
            with suppress(Error):
                await self._write(connections.close_all)
            self.writer.shutdown()

    async def _send_and_store(self) -> bool:
        try:
            await self._work()
            await self._note_limit()
            return self.orders.may_claim and await self._write(self._read_due) == 0.0
        except Exception:
            await self._let_answers_arrive()
            raise
        finally:
            self.sender.leave_behind()

    def _prepare(self, provider: Provider) -> Sender:
        now = self.clock.learn()
        held, causes = leases.read_held_limit(self.queue)
        own = [arm.variant for arm in self.queue.batch.arms.all() if arm.variant.queue_name == self.queue.name]
        slow_until, silent_since = self.queue.slow_until, self.queue.silent_since
        wait = 0.0 if slow_until is None else (slow_until - now).total_seconds()
        self.limiter = Limiter(
            self.queue.batch.concurrency,
            held=held,
            was_limited=LimitChange.Cause.RATE_LIMITED in causes,
            is_careful=LimitChange.Cause.TIMED_OUT in causes or any(map(is_served_privately, own)),
            timeout=min(variant.timeout_seconds for variant in own),
            banned_for=wait if silent_since is None else 0.0,
        )
        self.outage = Outage(
            silent_for=None if silent_since is None else (now - silent_since).total_seconds(), wait=wait
        )
        return Sender(provider, self.spool, self.limiter, self.clock, self.outage)

    def _build_account(self) -> Account:
        arm = next(arm for arm in self.queue.batch.arms.all() if arm.variant.queue_name == self.queue.name)
        return build_account(arm.variant.account, arm.variant.parameters)

    async def _work(self) -> None:
        while True:
            await self._listen()
            missing = self._count_missing()
            if missing or self._is_flush_due():
                await self._turn(missing)
                self.sender.send()
            elif self.sender.is_idle and not self.sender.ready:
                if not self.is_claiming or not await self._await_due():
                    return
            else:
                self.sender.send()
                await self._wait()

    # --- What people want, and whether to continue ---

    async def _listen(self) -> None:
        now = time.monotonic()
        if now - self.polled_at >= POLL_SECONDS:
            await self._poll(now)
            if self.limiter.changes:
                # A runner that dies soon leaves its successor the limit.
                await self._note_limit()
        if now - self.beaten_at >= BEAT_SECONDS:
            await self._beat(now)
        sender = self.sender
        if sender.stopped:
            return
        if sender.failure is not None:
            await self._pause(make_spool_failure(sender.failure))
        elif self._is_to_pause(now):
            self.paused_at = now
            await self._note_limit()
            await self._write(lambda: batch_state.pause_for_outage(self.queue))
        elif sender.account_refused or (sender.is_idle and self._seconds_to_wait() > WAIT_AT_MOST):
            await self._stop()

    def _is_to_pause(self, now: float) -> bool:
        """Whether the server has been silent for so long that the batch pauses to inform people."""
        is_silent = self.outage.is_away and self.outage.silent_seconds() >= settings.OUTAGE_PAUSE_SECONDS
        is_working = self.orders.state != Batch.State.PAUSED
        return is_silent and is_working and now - self.paused_at >= PAUSE_AGAIN_SECONDS

    def _seconds_to_wait(self) -> float:
        return max(self.limiter.seconds_to_wait(), self.outage.seconds_to_wait())

    async def _poll(self, now: float) -> None:
        """Read what people want. A stop takes effect before anything else, and so does a resume while calls are still in flight.
        The age of the run only ends the claiming."""
        was_paused = self.orders.state == Batch.State.PAUSED
        self.orders = await self._write(lambda: leases.poll(self.queue, self.runner))
        if was_paused and self.orders.state != Batch.State.PAUSED:
            self.outage.try_now()
        self.polled_at = now
        if not self.orders.may_claim or stopping.is_set():
            await self._call_off()
        elif self.is_called_off:
            self.is_called_off = self.sender.stopped = self.is_exhausted = False
            self.is_claiming = True
        if self.orders.control == Batch.Control.ABORT:
            self.sender.cut_off()
        self.limiter.set_ceiling(self.orders.concurrency, self.sender.in_flight)

    async def _beat(self, now: float) -> None:
        if self.is_claiming and await self._is_to_make_room(now - self.started_at):
            self.is_claiming = False
        if now - self.leased_at >= LEASE_SECONDS:
            await self._write(lambda: leases.beat(self.queue, self.runner))
            self.leased_at = now
        await self._note_limit()
        self.beaten_at = self.sender.heard_at = now

    async def _is_to_make_room(self, age: float) -> bool:
        """Whether this run should end. Ending leaves slots empty until the slowest call has ended, so a run continues while no
        other queue waits for a process, but not for ever, because its spool keeps growing."""
        if age > MAX_LIFE_SECONDS:
            return True
        return age > LIFE_SECONDS and bool(await self._write(lambda: statements.find_queues_to_notify(talks=False)))

    async def _note_limit(self) -> None:
        changes, in_flight = self.limiter.take_changes(), self.sender.in_flight
        await self._write(lambda: self._store_limit(changes, in_flight))

    def _store_limit(self, changes: list[Change], in_flight: int) -> None:
        now = self.clock.learn()
        wait, since = self._seconds_to_wait(), self.outage.since
        leases.note_limit(
            self.queue,
            self.runner,
            limit=self.limiter.held,
            in_flight=in_flight,
            slow_until=now + datetime.timedelta(seconds=wait) if wait else None,
            silent_since=self.clock.at(since) if self.outage.is_away and since is not None else None,
            changes=[
                LimitChange(
                    queue=self.queue,
                    at=self.clock.at(at),
                    limit=limit,
                    in_flight=in_flight_then,
                    cause=cause,
                    wait_seconds=asked_wait,
                )
                for at, limit, in_flight_then, cause, asked_wait in changes
            ],
        )

    async def _pause(self, reason: str) -> None:
        self.sender.stopped = True
        await self._write(lambda: batch_state.pause_for(self.queue.batch_id, reason))
        await self._stop()

    async def _call_off(self) -> None:
        """Stop because people want nothing to be sent at present; they may resume."""
        self.is_called_off = self.is_called_off or not self.sender.stopped
        await self._stop()

    async def _stop(self) -> None:
        """Send and claim nothing more; return calls that were written but not sent."""
        self.sender.stopped, self.is_claiming = True, False
        unsent = self.sender.take_ready()
        if unsent:
            await self._write(lambda: results.hand_back(self.queue.batch_id, unsent))

    # --- Claiming and storing ---

    def _count_missing(self) -> int:
        """How many calls to claim. The number written in advance is the number that may be in flight, or twice the number sent
        during one database write if that is more, so that a free slot never waits for the database."""
        sender, limit = self.sender, self.limiter.limit
        ahead = min(max(2, limit, 2 * self.pace), MAX_AHEAD)
        missing = max(0, limit - sender.in_flight) + ahead - len(sender.ready)
        sender.wake_below, sender.wake_from = 0, FLUSH_ROWS
        if not self.is_claiming or self.is_exhausted:
            return 0
        sender.wake_below = ahead // 2
        if self.limiter.probing or self.outage.is_away:
            missing, ahead = 1 - len(sender.ready), 1
        return missing if missing > 0 and missing * 2 >= ahead else 0

    def _is_flush_due(self) -> bool:
        waiting = len(self.sender.completed)
        if not waiting:
            return False
        patience = FLUSH_SECONDS_OF_CONVERSATIONS if self.queue.batch.has_conversations else FLUSH_SECONDS
        late = time.monotonic() - self.flushed_at >= patience
        return late or waiting >= FLUSH_ROWS or self.sender.is_idle

    async def _turn(self, missing: int) -> None:
        """Store the ended calls and claim new ones in a single transaction, because each transaction waits for the disk."""
        sender = self.sender
        sender.flush()
        group = list(sender.take_completed())
        self.flushed_at = time.monotonic()
        waiting = len(sender.ready)
        claim = await self._write(lambda: self._store_and_claim(group, missing))
        left = waiting - len(sender.ready)
        self.pace = max(left if sender.ready else 2 * left, self.pace * 3 // 4)
        if group:
            self.is_exhausted = False
        if claim is None:
            return
        if isinstance(claim, str):
            await self._pause(claim)
            return
        self.is_exhausted = not claim.calls and not claim.settled
        self.is_out_of_money = claim.out_of_money
        sender.ready.extend(claim.calls)
        if claim.stopped:
            await self._call_off()
        elif sender.stopped:
            await self._stop()

    def _store_and_claim(self, group: list[CompletedCall], missing: int) -> Claim | str | None:
        if group:
            try:
                self.spool.sync()
            except OSError as error:
                # The database keeps what the spool cannot, and the failure pauses the batch.
                self.sender.failure = error
            crash_point("after_spool")
        shortage = find_disk_shortage(self.spool.path.parent) if missing else ""
        claim = None
        with transaction.atomic():
            if group:
                results.store_completed(self.queue.batch_id, group)
            if missing and not shortage:
                claim = claims.claim_calls(self.queue, self.runner, missing, is_probe=self.outage.is_away)
        if group:
            crash_point("after_commit")
        if claim is not None:
            crash_point("after_claim")
        return shortage or claim

    # --- Waiting ---

    async def _wait(self) -> None:
        """Wait until there is something to store or to claim, or a tenth of a second has passed."""
        self.sender.wake.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.sender.wake.wait(), TICK_SECONDS)

    def _read_due(self) -> float | None:
        self.queue.batch.control, self.queue.batch.state = self.orders.control, self.orders.state
        self.queue.slow_until = None
        self.queue.silent_since = self.clock.now() if self.outage.is_away else None
        seconds = statements.read_seconds_until_due(self.queue.batch, self.queue)
        return None if seconds is None else max(seconds, self._seconds_to_wait())

    async def _await_due(self) -> bool:
        """If there is nothing to send, wait for a retry that is due soon. ``False`` if there is nothing to wait for."""
        if not self.is_exhausted:
            return True
        if self.is_out_of_money:
            if not await self._write(lambda: leases.has_open_attempts(self.queue.batch_id)):
                await self._write(lambda: batch_state.pause_for(self.queue.batch_id, CAP_REACHED))
                return False
            # Another queue's calls reserve money that may be released.
            await asyncio.sleep(POLL_SECONDS)
            self.is_exhausted = False
            return True
        seconds = await self._write(self._read_due)
        if seconds is None or seconds > WAIT_AT_MOST:
            return False
        await asyncio.sleep(min(max(seconds, 0.01), POLL_SECONDS))
        self.is_exhausted = False
        return True

    async def _write(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.writer, act)

    async def _let_answers_arrive(self) -> None:
        """After a failure of the database, send nothing more, and spool the answers of calls in flight, because they are paid
        for.

        Heartbeats are written as soon as the database accepts them, so that no other machine considers the calls lost.
        """
        self.sender.stopped = True
        until = time.monotonic() + CALL_PATIENCE
        while not self.sender.is_idle and time.monotonic() < until:
            await self.sender.wait_for_answers(BEAT_SECONDS)
            with suppress(Error):
                await self._write(connections.close_all)
                await self._write(lambda: leases.beat(self.queue, self.runner))
        self.sender.flush()
        with suppress(OSError):
            self.spool.sync()


def name_machine() -> str:
    """A short name for this boot of this machine and its process namespace; two containers never have the same name."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def name_runner() -> str:
    """A new name for each run, which says where the runner is."""
    return f"{name_machine()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def run_queue(queue_id: int) -> bool:
    """Work on a queue until nothing is left to claim or the time is up. Returns whether the workers should be notified again.

    A second runner for the same queue returns at once, so a repeated message is harmless.
    """
    runner = name_runner()
    queue = leases.acquire_queue(queue_id, runner)
    if queue is None:
        return False
    try:
        spool = Spool(settings.SPOOL_FOLDER, runner)
    except OSError as error:
        batch_state.pause_for(queue.batch_id, make_spool_failure(error))
        leases.release_queue(queue, runner)
        return False
    try:
        again = asyncio.run(QueueRun(queue, runner, spool).run())
    except BaseException:
        # The sweeper reads the spool and settles what this runner leaves open.
        spool.close(keep=True)
        raise
    spool.close(keep=False)
    leases.release_queue(queue, runner)
    return again
