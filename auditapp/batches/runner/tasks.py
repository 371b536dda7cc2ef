"""The doorbell: a message names a lane, and may be lost or repeated without harm."""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Sequence

from kombu import Connection
from kombu.exceptions import OperationalError

from auditapp.batches.ledger import statements, worker_signs
from auditapp.batches.models import Batch, Lane
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.routes import live
from auditapp.batches.runner import recovery, sweeping
from auditapp.batches.runner.ticks import SWEEP, take_tick
from auditapp.celery import app

logger = logging.getLogger(__name__)

LANES, SWEEPS = "lanes", "sweeps"
SWEEP_SECONDS = 4.5
MOST_PAUSE = datetime.timedelta(seconds=20)
RING_SECONDS = 1.0
AWAY_SECONDS = 5.0
# A web request rings too: it is never to wait for a broker that is away, and the sweeper rings again what was not heard.
AT_ONCE = {"max_retries": 0, "socket_timeout": RING_SECONDS, "socket_connect_timeout": RING_SECONDS}


class _Doorbell:
    """Whether the broker was last found away: for a few seconds nobody in this process tries again, and it is told once."""

    is_away = False
    away_until = 0.0


@app.task(name="batches.run_lane")
def run_lane(lane_id: int) -> None:
    """Work on one lane, then ring it again when something is left.

    While the broker is away nobody would hear it, so the lane is worked on here until it is back.
    """
    problem = worker_signs.find_problem()
    if problem:
        logger.warning("Lane %s is left alone: %s", lane_id, problem)
        return
    while work_on_lane(lane_id) and not stopping.is_set() and not worker_signs.find_problem():
        if ring(lane_id):
            return


def work_on_lane(lane_id: int) -> bool:
    """One stay in a lane, by the route its batch's calls take. Returns whether it should be rung again at once."""
    route = Lane.objects.values_list("batch__route", flat=True).get(pk=lane_id)
    if route == Batch.Route.LIVE:
        return live.run_lane(lane_id)
    if route == Batch.Route.JOBS:
        from auditapp.batches.routes import jobs

        return jobs.run_job_lane(lane_id)
    return False


@app.task(name="batches.sweep")
def sweep() -> None:
    """Settle dead runners, and ring lanes that have work and no runner; once in five seconds, however often it is asked."""
    pause = take_tick(SWEEP, every=SWEEP_SECONDS)
    if pause is not None:
        # Nobody swept for a while: the database was away, or the machine slept. Runners that live show it within seconds.
        recovery.recover_lanes(silence_tells=pause < MOST_PAUSE)
        worker_signs.forget_old_signs()
        ring_idle_lanes()
        sweeping.sweep_others()


def ring(lane_id: int) -> bool:
    """Tell the workers that a lane has work; whether it was heard. A ring that is lost is repeated by the sweeper."""
    return ring_lanes([lane_id])


def ring_idle_lanes() -> None:
    """Ring every lane that has work and no runner. Where as many messages wait as there are such lanes, they were rung."""
    lane_ids = statements.find_lanes_to_ring()
    if lane_ids and count_waiting_messages() < len(lane_ids):
        ring_lanes(lane_ids)


def ring_lanes(lane_ids: Sequence[int]) -> bool:
    """Ring several lanes over one connection, within a second or two; whether all were heard."""
    if time.monotonic() < _Doorbell.away_until:
        return False
    try:
        with connect_at_once() as connection:
            for lane_id in lane_ids:
                run_lane.apply_async((lane_id,), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError) as error:
        _note_absence(error)
        return False
    if _Doorbell.is_away:
        logger.warning("The broker answers again.")
        _Doorbell.is_away = False
    return True


def count_waiting_messages() -> int:
    """How many messages no worker has taken yet; 0 when that cannot be known."""
    if time.monotonic() < _Doorbell.away_until:
        return 0
    connection = connect_at_once()
    away: tuple[type[BaseException], ...] = (OperationalError, *connection.connection_errors)
    try:
        with connection:
            declared = connection.default_channel.queue_declare(queue=LANES, passive=True)  # type: ignore[attr-defined]
            return int(declared.message_count)
    except connection.channel_errors:
        return 0  # an empty queue of Redis does not exist
    except away as error:
        _note_absence(error)
        return 0


def connect_at_once() -> Connection:
    """A connection to the broker that gives up after a second instead of trying again."""
    return app.connection_for_write(connect_timeout=RING_SECONDS, transport_options=AT_ONCE)


def _note_absence(error: BaseException) -> None:
    _Doorbell.away_until = time.monotonic() + AWAY_SECONDS
    if not _Doorbell.is_away:
        logger.warning("The broker cannot be reached (%s); lanes wait for the sweeper.", type(error).__name__)
        _Doorbell.is_away = True
