"""Sessions through faults: every question has its answer or a named failure, and each call sent what was said before it."""

import random
import time

import pytest

from tests.auditapp.batches.cast import kill_a_child
from tests.auditapp.batches.trial_kinds import CELLS, count_hasty_calls, find_wrong_histories, launch_sessions
from tests.support.instance import kill_group, wait_until
from tests.support.services import quick_on

pytestmark = pytest.mark.processes


def check_sessions(ground, batch, *, cells):
    rows = ground.instance.query(CELLS.format(batch=batch))
    assert len(rows) == cells
    unnamed = [row for row in rows if (row[2] == "done") != (row[4] is not None) or not row[3]]
    assert unnamed == [], "every question has its answer, or a failure with a name"
    assert {row[2] for row in rows} <= {"done", "failed"}
    assert count_hasty_calls(ground.instance, batch) == 0
    assert find_wrong_histories(ground.instance, batch) == []
    ground.check_books()


def session_through_kills(ground, *, sessions, questions, in_flight, latency):
    """A process of the worker is killed, then the worker as a whole, while the paid API turns calls away."""
    chance, cells = random.Random(19), sessions * questions
    ground.provider.order(latency=latency, p429=0.05, p500=0.02, retry_after=1)
    worker = ground.instance.start("-m", "tests.support.conversation_worker")
    batch = launch_sessions(ground.instance, "m", sessions=sessions, questions=questions, in_flight=in_flight)
    ground.wait_for_results(cells // 4)
    time.sleep(chance.uniform(0, latency))
    kill_a_child(worker)
    ground.wait_for_results(cells // 2)
    time.sleep(chance.uniform(0, latency))
    kill_group(worker)
    ground.instance.start("-m", "tests.support.conversation_worker")
    wait_until(lambda: ground.read_state(batch) == "done", what="all sessions came to their end")
    check_sessions(ground, batch, cells=cells)


@pytest.mark.full
@quick_on("sqlite")
def test_a_few_sessions_come_through_kills_and_errors(ground):
    session_through_kills(ground, sessions=16, questions=3, in_flight=6, latency=0.15)


@pytest.mark.full
def test_two_hundred_sessions_of_five_questions_come_through_kills_and_errors(ground):
    session_through_kills(ground, sessions=200, questions=5, in_flight=30, latency=0.3)
