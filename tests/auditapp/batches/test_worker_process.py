"""A worker as a family of processes: how its queues live, and how it ends."""

import os
import signal

import psutil
import pytest

from tests.auditapp.batches.cast import IN_FLIGHT, TEXTS, kill_a_child
from tests.support.instance import PATIENCE, find_children, wait_until
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]


@pytest.mark.full
def test_a_worker_told_to_end_with_its_whole_group_lets_its_calls_come_to_their_end(ground):
    """As a launcher does it, and Ctrl-C: every process of the group gets the signal."""
    ground.hold_calls(after=TEXTS // 4)
    worker = ground.instance.start_worker()
    batch = ground.launch()
    wait_until(lambda: ground.provider.stats()["received"] > TEXTS // 4, what="calls are under way")
    os.killpg(worker.pid, signal.SIGTERM)
    ground.let_go_once_heard()
    assert worker.wait(PATIENCE) == 0
    assert ground.count("workersign") == 0, "a worker that ended does not count as alive"
    sent = ground.provider.stats()["received"]
    assert sent < TEXTS
    assert ground.count("attempt", "\"end\" IN ('open', 'unknown')") == 0
    assert ground.count("result") == sent
    ground.instance.start_worker()
    ground.check_whole(batch, cells=TEXTS, shown=ground.wait_for_end(batch))
    assert ground.provider.stats()["received"] == TEXTS


@pytest.mark.full
def test_queues_live_in_processes_that_end_with_their_worker(ground):
    worker = ground.instance.start_worker("--queues", "2")
    wait_until(lambda: len(find_children(worker)) == 3, what="the processes of two queues and of talks live")
    wait_until(lambda: ground.count("workersign", "queues = 2") == 1, what="the worker was heard from")
    children = find_children(worker)
    worker.kill()
    worker.wait()
    _, left = psutil.wait_procs(children, timeout=PATIENCE)
    assert left == []


@pytest.mark.full
def test_a_queue_s_process_that_is_killed_is_replaced_and_another_queue_goes_on(ground):
    ground.provider.order(latency=0.3)
    worker = ground.instance.start_worker("--queues", "2")
    batches = [ground.launch(), ground.launch(model="other")]
    ground.wait_for_answers(IN_FLIGHT)
    before = {child.pid for child in find_children(worker)}
    kill_a_child(worker)
    shown = [ground.wait_for_end(batch) for batch in batches]
    assert [sum(each["outcomes"].values()) for each in shown] == [TEXTS, TEXTS]
    assert min(each["possibly_paid_twice"] for each in shown) == 0, "one queue was not touched"
    after = {child.pid for child in find_children(worker)}
    assert len(after) == 3
    assert len(before & after) == 2
    ground.check_books()


@pytest.mark.full
def test_queues_may_live_in_threads_where_nothing_forks(ground):
    worker = ground.instance.start_worker("--pool", "threads")
    shown = ground.wait_for_end(ground.launch("--limit", "20"))
    ground.check_whole(shown["batch"], cells=20, shown=shown)
    assert find_children(worker) == []
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(PATIENCE) == 0
