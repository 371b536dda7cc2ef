"""A server that is killed and comes back: the batch waits, pauses, and goes on without a person."""

import json

import pytest

from auditapp.batches.pure.limiter import CELLS_IN_A_ROW
from tests.auditapp.batches.cast import IN_FLIGHT, TEXTS, add_model
from tests.support.instance import FakeProvider, kill_group, wait_until
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]


def start_worker(ground):
    """A worker that loads the settings anew, with an outage that pauses after two seconds."""
    return ground.instance.start("manage.py", "worker", "--skip-checks", OUTAGE_PAUSE_SECONDS="2")


@pytest.mark.full
def test_a_batch_outlives_its_server_and_its_worker_without_a_person(ground):
    server = FakeProvider()
    try:
        add_model(ground.instance, server, "mortal")
        server.order(latency=0.5)
        worker = start_worker(ground)
        batch = ground.launch(model="mortal", in_flight=IN_FLIGHT)
        ground.wait_for_results(TEXTS // 6)
        server.stop()
        wait_until(lambda: ground.read_state(batch) == "paused", what="the outage paused the batch")
        shown = ground.show(batch)
        assert "resumes automatically" in shown["state_reason"]
        assert "provider_error" not in shown["outcomes"]
        kill_group(worker)
        server = FakeProvider(port=server.port)
        start_worker(ground)
        wait_until(lambda: ground.read_state(batch) == "done", what="the batch went on by itself")
    finally:
        server.stop()
    shown = ground.show(batch)
    assert sum(shown["outcomes"].values()) == TEXTS
    assert "provider_error" not in shown["outcomes"], shown
    # Three kinds of calls may have been paid for: those in flight when the server died; those sent into the slots of the first
    # lost ones, before enough in a row were lost for an outage; and the one trial call that the worker died with.
    assert shown["possibly_paid_twice"] <= IN_FLIGHT + (CELLS_IN_A_ROW - 1) + 1
    events = ground.instance.query("SELECT action FROM audit_trail_auditevent WHERE action LIKE 'batch.%' ORDER BY id")
    actions = [action for (action,) in events]
    assert "batch.paused_for_outage" in actions
    assert "batch.resumed_after_outage" in actions
    assert "batch.resumed" not in actions
    assert json.loads(ground.instance.run("batch", "verify", "--json").stdout)["breaks"] == []
