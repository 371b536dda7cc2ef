"""The engine in real processes: a worker over the broker of this session, and a provider that counts what it answers."""

import pytest

from tests.auditapp.batches.cast import ANSWER_NANO, IN_FLIGHT, TEXTS
from tests.support.instance import kill_group
from tests.support.services import quick_on

pytestmark = pytest.mark.processes


def test_a_worker_makes_every_call_once_and_stores_every_answer(ground):
    ground.provider.order(latency=0.02)
    ground.instance.start_worker()
    batch = ground.launch()
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert set(shown["outcomes"]) <= {"attributed", "unknown"}
    assert ground.provider.stats()["received"] == TEXTS
    assert shown["spent"] == pytest.approx(TEXTS * ANSWER_NANO / 1e9)
    report = ground.instance.ask("sob", "report", "--batch", str(shown["batch"]))
    assert report["cells"][0]["n_responses"] == TEXTS


@quick_on("sqlite")
def test_a_killed_worker_loses_no_cell_and_tells_what_may_be_paid_twice(ground):
    ground.provider.order(latency=0.4)
    worker = ground.instance.start_worker()
    batch = ground.launch()
    ground.wait_for_answers(TEXTS // 3)
    kill_group(worker)
    ground.provider.order(latency=0.02)
    ground.instance.start_worker()
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    stats = ground.provider.stats()
    assert stats["calls"] == TEXTS
    assert stats["paid_twice"] <= IN_FLIGHT
    assert shown["possibly_paid_twice"] <= IN_FLIGHT


@pytest.mark.full
def test_rate_limits_and_server_errors_leave_no_cell_without_an_answer(ground):
    ground.provider.order(latency=0.01, p429=0.05, p500=0.05)
    ground.instance.start_worker()
    batch = ground.launch()
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    stats = ground.provider.stats()
    assert stats["refused"] > 0
    assert stats["paid_twice"] == 0
    assert shown["calls"] == stats["received"]


@quick_on("sqlite")
@pytest.mark.full
def test_without_a_worker_the_waiting_command_does_the_work(ground):
    asked = ("--dataset", "texts", "--model", "m", "--task", "acceptability", "--limit", "10", "--wait")
    shown = ground.instance.ask("sob", "launch", *asked, "--confirm-terms")
    assert shown["state"] == "done"
    assert shown["cells"] == 10
    assert ground.provider.stats()["answered"] == 10
    ground.check_books()
