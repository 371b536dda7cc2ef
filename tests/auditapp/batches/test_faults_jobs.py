"""Kills in the middle of a provider's job, with real processes: no second job, no second payment, every answer stored."""

import pytest

from tests.auditapp.batches.queues import Shop
from tests.support.instance import PATIENCE, kill_group, wait_until
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]

CALLS = 30
# One sweep of an impatient worker: dead queues are let go at once, jobs are asked about each time.
SWEEP = """
import datetime
from auditapp.batches.ledger import leases
from auditapp.batches.routes import jobs
from auditapp.batches.runner import recovery
at_once = datetime.timedelta(0)
leases.FIRST_CHECK = leases.MAX_WAIT = jobs.SETTLING = leases.QUEUE_DEAD_AFTER = at_once
recovery.recover_queues()
for queue_id in leases.find_due_queues():
    jobs.run_job_queue(queue_id)
"""


@pytest.fixture
def shop(ground):
    shop = Shop(ground.provider)
    shop.order(reset=True)
    yield shop
    shop.order(reset=True)


def launch(ground):
    ground.instance.manage("model", "set-capabilities", "m", "--offers-batches")
    return ground.launch("--route", "jobs", "--limit", str(CALLS))


def start_sweep(ground, **environment):
    return ground.instance.start_code(SWEEP, **environment)


def sweep_to_the_end(ground, batch):
    for _ in range(4):
        assert start_sweep(ground).wait(PATIENCE) == 0
        if ground.read_state(batch) == "done":
            return
    raise AssertionError(f"batch {batch} is {ground.read_state(batch)}")


def check(ground, shop, batch):
    stats = shop.stats()
    assert (stats["jobs"], stats["billed"], stats["billed_twice"], stats["jobs_by_cell"]) == (1, CALLS, 0, 1)
    assert ground.count("result") == CALLS
    assert ground.count("attempt", "\"end\" = 'answered'") == ground.count("attempt") == CALLS
    assert ground.instance.ask("batch", "verify", "--billed", str(CALLS))["breaks"] == []


@pytest.mark.full
def test_a_runner_killed_while_its_job_is_being_created_makes_no_second_one(ground, shop):
    shop.order(create_seconds=60)
    batch = launch(ground)
    process = start_sweep(ground)
    wait_until(lambda: shop.stats()["jobs"] == 1, what="the job was made, and nobody was told")
    kill_group(process)
    shop.order(create_seconds=0)
    assert ground.count("providerjob", "submitted_at IS NOT NULL AND provider_job_id = ''") == 1
    sweep_to_the_end(ground, batch)
    check(ground, shop, batch)


@pytest.mark.full
@pytest.mark.parametrize("place", ["job_created", "in_commit"])
def test_a_runner_that_dies_with_an_answer_in_its_hand_fetches_it_again(ground, shop, place):
    batch = launch(ground)
    mark = ground.instance.folder / "crashed"
    for _ in range(3):
        process = start_sweep(ground, CRASH_AT=place, CRASH_ONCE=str(mark))
        if process.wait(PATIENCE) == 137:
            break
    assert mark.exists()
    sweep_to_the_end(ground, batch)
    check(ground, shop, batch)
