"""A broker that delivers every message many times over: no call is made twice for it."""

import pytest

from tests.auditapp.batches.cast import TEXTS
from tests.support.instance import find_children, wait_until
from tests.support.redelivering_worker import TIMES
from tests.support.services import database_kind

pytestmark = [
    pytest.mark.processes,
    pytest.mark.full,
    pytest.mark.skipif(database_kind() != "postgres", reason="the broker of files delivers a message once"),
]


def test_messages_delivered_five_times_and_again_while_worked_on_make_each_call_once(ground, tmp_path):
    """Two workers, and with each its own sweeper. Redis gives a message out again after two seconds."""
    deliveries = tmp_path / "deliveries"
    ground.provider.order(latency=0.8)
    workers = [ground.instance.start("-m", "tests.support.redelivering_worker", str(deliveries)) for _ in range(2)]
    wait_until(lambda: all(find_children(worker) for worker in workers), what="two workers have children")
    batch = ground.launch(in_flight=4)
    [(queue,)] = ground.instance.query(f"SELECT id FROM batches_workqueue WHERE batch_id = {batch}")
    ground.instance.notify(queue, times=TIMES)
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert all(worker.poll() is None for worker in workers)
    stats = ground.provider.stats()
    assert (stats["received"], stats["paid_twice"], stats["request_ids_used_twice"]) == (TEXTS, 0, 0)
    assert (shown["calls"], shown["possibly_paid_twice"]) == (TEXTS, 0)
    delivered = deliveries.read_text(encoding="ascii").splitlines()
    # One message of the launch, and those sent here. Whoever is given the long one again finds its queue taken.
    assert len(delivered) > 1 + TIMES, "the broker gave out a message again while it was being worked on"
    assert len({line.partition(" ")[0] for line in delivered}) > 1, "more than one process was told of the queue"
