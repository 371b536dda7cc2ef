"""Workers that die at the worst moment: no cell is lost, and what may be paid twice is counted and told."""

import random
import time

import pytest

from tests.auditapp.batches.cast import IN_FLIGHT, TEXTS, kill_a_child
from tests.support.instance import find_children, kill_group, wait_until
from tests.support.services import database_kind, quick_on

pytestmark = pytest.mark.processes

CELLS = 30
# Which time a point is reached is the bad one, and how many calls may then be paid twice with one call in flight: none after
# the first claim, for nothing has left yet; elsewhere the call that follows those whose answers are spooled.
POINTS = {
    "after_claim": (1, 0),
    "in_call": (3, 1),
    "after_spool": (3, 1),
    "in_commit": (3, 1),
    "after_commit": (3, 1),
}
# While the answer is being stored. `make test` lets workers die in a call in tests/browser/test_batches.py, and in threads at
# every point in test_runner.
CANONICAL = ("in_commit",)


@quick_on("sqlite")
@pytest.mark.parametrize(
    "point", [point if point in CANONICAL else pytest.param(point, marks=pytest.mark.full) for point in POINTS]
)
def test_a_worker_that_dies_at_a_bad_moment_costs_at_most_the_call_under_way(ground, tmp_path, point):
    """Twice: the process that runs the queue dies and its worker lives; then the worker dies with it."""
    nth, most = POINTS[point]
    ground.provider.order(latency=0.01)
    mark = tmp_path / "crashed"
    worker = ground.instance.start_worker(CRASH_AT=f"{point}:{nth}", CRASH_ONCE=str(mark))
    once = ("--limit", str(CELLS))
    first = ground.launch(*once, in_flight=1)
    wait_until(mark.exists, what=f"a runner crashed {point}")
    ground.check_whole(first, cells=CELLS, shown=ground.wait_for_end(first))
    assert worker.poll() is None, "the worker outlives its child"
    assert ground.provider.stats()["paid_twice"] <= most
    mark.unlink()
    # Another model, so that the paid API tells its calls from the first batch's.
    second = ground.launch(*once, model="other", in_flight=1)
    wait_until(mark.exists, what=f"a runner crashed {point}")
    kill_group(worker)
    ground.instance.start_worker()
    shown = ground.wait_for_end(second)
    ground.check_books()
    stats = ground.provider.stats()
    assert sum(shown["outcomes"].values()) == CELLS
    assert stats["calls"] == 2 * CELLS
    # The killed worker may have had the next call under way besides.
    assert stats["paid_twice"] <= 2 * most + 1
    assert shown["possibly_paid_twice"] <= most + 1


LOST_ONCE = "SELECT 1 FROM batches_cell WHERE unknown_ends > 0 AND state <> 'done' LIMIT 1"


@quick_on("postgres")
def test_children_and_workers_killed_at_any_time_lose_nothing(ground):
    chance = random.Random(4)
    ground.provider.order(latency=0.3)
    worker = ground.instance.start_worker()
    batch = ground.launch()
    in_flight_at_kills = 0
    for number, share in enumerate((0.15, 0.4, 0.6)):
        ground.wait_for_results(int(TEXTS * share))
        # A cell that was lost in two kills fails, as it should: this is about those that were lost in one.
        wait_until(lambda: not ground.instance.query(LOST_ONCE), what="cells of the last kill are answered")
        time.sleep(chance.uniform(0, 0.25))
        in_flight_at_kills += IN_FLIGHT
        if number == 1:
            kill_group(worker)
            worker = ground.instance.start_worker()
        else:
            kill_a_child(worker)
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert ground.provider.stats()["paid_twice"] <= in_flight_at_kills
    assert shown["possibly_paid_twice"] <= in_flight_at_kills


@quick_on("postgres")
@pytest.mark.full
def test_repeated_messages_two_workers_and_two_beats_make_each_call_once(ground):
    ground.provider.order(latency=0.1)
    workers = [ground.instance.start_worker(), ground.instance.start_worker()]
    wait_until(lambda: all(find_children(worker) for worker in workers), what="two workers have children")
    batch = ground.launch()
    [(queue,)] = ground.instance.query(f"SELECT id FROM batches_workqueue WHERE batch_id = {batch}")
    ground.instance.notify(queue, times=5)
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert all(worker.poll() is None for worker in workers), "both workers, each with its own beat, live"
    assert ground.provider.stats()["received"] == TEXTS
    assert shown["calls"] == TEXTS
    assert shown["possibly_paid_twice"] == 0
    assert ground.count("attempt") == ground.count("attempt", "\"end\" = 'answered'")


@pytest.mark.full
@pytest.mark.skipif(database_kind() != "postgres", reason="SQLite means one machine, which has one clock")
def test_a_worker_whose_clock_is_an_hour_off_claims_nothing_twice(ground):
    """It can neither think the other's leases over, nor hold its own for an hour."""
    ground.provider.order(latency=0.2, faults={"500": 0.1})
    ahead = ground.instance.start("-m", "tests.support.wrong_clock_worker", "3600")
    behind = ground.instance.start("-m", "tests.support.wrong_clock_worker", "-3600")
    batch = ground.launch()
    other = ground.launch(model="other")
    ground.wait_for_results(TEXTS // 3)
    for worker in (ahead, behind):
        kill_a_child(worker)
    shown = [ground.wait_for_end(batch), ground.wait_for_end(other)]
    stats = ground.provider.stats()
    assert [sum(each["outcomes"].values()) for each in shown] == [TEXTS, TEXTS]
    assert stats["paid_twice"] <= sum(each["possibly_paid_twice"] for each in shown) <= 2 * IN_FLIGHT
    ground.check_books()
    hours = "SELECT count(*) FROM batches_attempt WHERE done_at < written_at"
    assert ground.instance.query(hours) == [(0,)]
