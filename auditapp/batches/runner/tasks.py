"""The Celery tasks. A message only names a work queue: it may be lost or repeated without harm."""

from __future__ import annotations

import datetime
import logging
import random
import time
from collections.abc import Sequence

from kombu import Connection
from kombu.exceptions import OperationalError

from auditapp.batches.ledger import leases, statements
from auditapp.batches.models import Batch, WorkQueue
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.routes import live_run
from auditapp.batches.runner import recovery, slots
from auditapp.batches.runner.recovery import SWEEP, take_tick
from auditapp.celery import app

logger = logging.getLogger(__name__)

# Celery's own queues of messages. Ours are the rows of ``WorkQueue``.
WORK, SWEEPS = "work", "sweeps"
SWEEP_SECONDS = 4.5
MAX_PAUSE = datetime.timedelta(seconds=20)
NOTIFY_SECONDS = 1.0
AWAY_SECONDS = 5.0
# Web requests notify too: they never wait for a broker that is away. The sweeper repeats what was not delivered.
AT_ONCE = {"max_retries": 0, "socket_timeout": NOTIFY_SECONDS, "socket_connect_timeout": NOTIFY_SECONDS}


class _Broker:
    """Whether the broker could not be reached at the last try. This process then does not try again for a few seconds; it is
    logged once."""

    is_away = False
    away_until = 0.0


@app.task(name="batches.run_queue")
def run_queue(queue_id: int) -> None:
    """Work on one queue, then on another one that waits, until none waits. Talks have a separate slot (``slots``).

    A queue for which no slot is free is left to the processes that have the slots: each of them looks for waiting queues when it
    has finished its own.
    """
    problem = leases.find_problem()
    if problem:
        logger.warning("Queue %s is left alone: %s", queue_id, problem)
        return
    if WorkQueue.objects.filter(pk=queue_id, batch__stays_open=True).exists():
        slots.run_talks(queue_id)
        return
    wanted: int | None = queue_id
    while wanted is not None:
        with slots.take_queue_slot() as is_free:
            if not is_free:
                return
            _run_to_end(wanted)
        wanted = _find_other(wanted)


def _run_to_end(queue_id: int) -> None:
    """Work on a queue, then notify the workers again if something is left. While the broker cannot be reached no message arrives,
    so this process continues with the queue itself."""
    while work_on_queue(queue_id) and not stopping.is_set() and not leases.find_problem():
        if notify_queue(queue_id):
            return


def _find_other(queue_id: int) -> int | None:
    """Another queue that waits because all slots of this worker were taken when its message arrived. It is chosen at random, so
    that each gets its turn."""
    if not slots.are_kept() or stopping.is_set() or leases.find_problem():
        return None
    waiting = [each for each in statements.find_queues_to_notify(talks=False) if each != queue_id]
    return random.choice(waiting) if waiting else None  # noqa: S311 - a turn, not a secret


def work_on_queue(queue_id: int) -> bool:
    """Run a queue once, by the route of its batch. Returns whether the workers should be notified again at once."""
    route = WorkQueue.objects.values_list("batch__route", flat=True).get(pk=queue_id)
    if route == Batch.Route.LIVE:
        return live_run.run_queue(queue_id)
    if route == Batch.Route.JOBS:
        from auditapp.batches.routes import jobs

        return jobs.run_job_queue(queue_id)
    return False


@app.task(name="batches.sweep")
def sweep() -> None:
    """Settle dead runners and notify queues that have work and no runner; once in five seconds, however often it is called."""
    pause = take_tick(SWEEP, every=SWEEP_SECONDS)
    if pause is not None:
        # Nobody swept for a while: the database was away, or the machine slept. Live runners show it within seconds.
        recovery.recover_queues(trust_silence=pause < MAX_PAUSE)
        leases.forget_old_signs()
        notify_idle_queues()
        recovery.sweep_others()


def notify_queue(queue_id: int) -> bool:
    """Notify the workers that a queue has work. Returns whether the message was sent. The sweeper repeats a lost message."""
    return notify_queues([queue_id])


def notify_idle_queues() -> None:
    """Notify the workers of every queue that has work and no runner, unless that many messages are already waiting."""
    queue_ids = statements.find_queues_to_notify()
    if queue_ids and count_waiting_messages() < len(queue_ids):
        notify_queues(queue_ids)


def notify_queues(queue_ids: Sequence[int]) -> bool:
    """Notify the workers of several queues over one connection, within a second or two. Returns whether all messages were sent."""
    if time.monotonic() < _Broker.away_until:
        return False
    try:
        with connect_at_once() as connection:
            for queue_id in queue_ids:
                run_queue.apply_async((queue_id,), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError) as error:
        _note_absence(error)
        return False
    if _Broker.is_away:
        logger.warning("The broker answers again.")
        _Broker.is_away = False
    return True


def count_waiting_messages() -> int:
    """How many messages no worker has taken yet; 0 if this is not known."""
    if time.monotonic() < _Broker.away_until:
        return 0
    connection = connect_at_once()
    away: tuple[type[BaseException], ...] = (OperationalError, *connection.connection_errors)
    try:
        with connection:
            declared = connection.default_channel.queue_declare(queue=WORK, passive=True)  # type: ignore[attr-defined]
            return int(declared.message_count)
    except connection.channel_errors:
        return 0  # an empty queue of Redis does not exist
    except away as error:
        _note_absence(error)
        return 0


def connect_at_once() -> Connection:
    """A connection to the broker that gives up after a second instead of trying again."""
    return app.connection_for_write(connect_timeout=NOTIFY_SECONDS, transport_options=AT_ONCE)


def _note_absence(error: BaseException) -> None:
    _Broker.away_until = time.monotonic() + AWAY_SECONDS
    if not _Broker.is_away:
        logger.warning("The broker cannot be reached (%s); queues wait for the sweeper.", type(error).__name__)
        _Broker.is_away = True
