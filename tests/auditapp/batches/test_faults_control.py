"""People who change their mind half-way, and a disk that is full: nothing paid for is lost, nothing more is sent."""

import resource

import pytest

from auditapp.batches.routes import live_run
from tests.auditapp.batches.cast import ANSWER_NANO, IN_FLIGHT, TEXTS
from tests.support.instance import find_children, wait_until
from tests.support.services import database_kind, quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]


def wait_for_rest(ground, batch):
    """No call of the batch is under way any more."""
    under_way = f"end_state = 'open' AND c.batch_id = {batch}".replace("end_state", '"end"')
    sql = f"SELECT count(*) FROM batches_attempt a JOIN batches_cell c ON c.id = a.cell_id WHERE {under_way}"
    wait_until(lambda: ground.instance.query(sql) == [(0,)], what="no call was under way")


def launch_and_get_half_way(ground):
    """A batch of which a part is answered, and whose further calls take long enough for a person to act."""
    ground.hold_calls(after=TEXTS // 4)
    ground.instance.start_worker()
    batch = ground.launch()
    ground.wait_for_answers(TEXTS // 8)
    return batch


def test_a_pause_stops_new_calls_within_a_second_and_a_resume_goes_on(ground):
    # A runner asks so often what people want; how long a turn takes on the machine of a test says nothing of that.
    assert live_run.POLL_SECONDS <= 0.5
    batch = launch_and_get_half_way(ground)
    ground.instance.manage("batch", "pause", str(batch))
    ground.let_go_once_heard()
    sent = ground.provider.stats()["received"]
    wait_for_rest(ground, batch)
    assert ground.provider.stats()["received"] == sent
    assert ground.show(batch)["state"] == "paused"
    ground.check_books()
    ground.provider.order(latency=0.02, slow_after=0)
    ground.instance.manage("batch", "resume", str(batch))
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert ground.provider.stats()["received"] == TEXTS


@pytest.mark.full
def test_a_cancel_half_way_keeps_every_answer_that_was_paid_for(ground):
    batch = launch_and_get_half_way(ground)
    ground.instance.manage("batch", "cancel", str(batch))
    ground.let_go_once_heard()
    wait_for_rest(ground, batch)
    wait_until(lambda: ground.provider.stats()["in_flight"] == 0, what="the paid API is at rest")
    shown, billed = ground.show(batch), ground.provider.stats()["billed"]
    assert shown["state"] == "cancelled"
    assert TEXTS // 8 <= billed < TEXTS
    assert ground.count("result") == billed
    assert shown["spent"] == pytest.approx(billed * ANSWER_NANO / 1e9)
    assert ground.count("cell", "state = 'cancelled'") == TEXTS - billed
    assert shown["possibly_paid_twice"] == 0
    ground.check_books()


@pytest.mark.full
def test_an_abort_cuts_the_calls_off_and_tells_that_they_may_be_paid(ground):
    batch = launch_and_get_half_way(ground)
    wait_until(lambda: ground.provider.stats()["in_flight"] >= IN_FLIGHT // 2, what="calls are under way")
    ground.instance.manage("batch", "abort", str(batch))
    wait_for_rest(ground, batch)
    shown = ground.show(batch)
    assert shown["state"] == "cancelled"
    assert ground.count("attempt", "error_class = 'aborted' AND \"end\" = 'unknown'") > 0
    assert 0 < shown["possibly_paid_twice"] <= IN_FLIGHT
    assert ground.count("cell", "state IN ('planned', 'leased')") == 0


DELETE = """
import sys
from django.apps import apps
from django.db.models import ProtectedError
tables = {model._meta.db_table: model for model in apps.get_models()}
for table in sys.argv[1:]:
    try:
        tables[table].objects.get(pk=tables[table].objects.values_list("pk", flat=True)[0]).delete()
    except ProtectedError:
        print(table)
"""
STANDS_ON = (
    "batches_batch",
    "batches_cell",
    "studies_study",
    "sob_dataset",
    "llm_modelvariant",
    "llm_provideraccount",
)


@pytest.mark.full
def test_what_a_running_batch_stands_on_cannot_be_deleted(ground):
    """Deletion half-way is no case to survive, for there is none: the product refuses it."""
    ground.provider.order(latency=0.1)
    ground.instance.start_worker()
    ground.launch()
    ground.wait_for_results(10)
    assert ground.instance.run_code(DELETE, *STANDS_ON).split() == list(STANDS_ON)


@pytest.mark.full
def test_a_full_disk_stops_new_calls_and_the_batch_goes_on_once_there_is_room(ground):
    """No file of the worker may grow by an answer; then the limit is lifted, and nobody starts the worker again.

    On PostgreSQL that is the spool; on SQLite it is the database too, and an answer that neither takes is told of as lost.
    """
    ground.provider.order(latency=0.1, answer="A long answer. " * 1000)
    worker = ground.instance.start_worker("--queues", "1")
    wait_until(lambda: bool(find_children(worker)), what="the worker has its child")
    sizes = [file.stat().st_size for file in ground.instance.folder.iterdir() if file.is_file()]
    limit_files(worker, 10_000 if database_kind() == "postgres" else max(sizes) + 100_000)
    batch = ground.launch()
    wait_until(lambda: ground.provider.stats()["received"] > 0, what="calls were sent")
    wait_until(ground.is_at_rest, what="nothing more was sent into a full disk")
    sent = ground.provider.stats()["received"]
    assert sent < TEXTS
    limit_files(worker, resource.RLIM_INFINITY)
    if ground.read_state(batch) == "paused":
        ground.instance.manage("batch", "resume", str(batch))
    shown = ground.wait_for_end(batch)
    assert worker.poll() is None
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert shown["possibly_paid_twice"] <= IN_FLIGHT


def limit_files(worker, size):
    """What a process writes beyond ``size`` bytes of a file fails, as it does on a full disk."""
    limit = (size, resource.RLIM_INFINITY)
    # The worker first: a child that it makes from now on inherits the limit, one that it made before is found.
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, limit)
    for process in find_children(worker):
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limit)
