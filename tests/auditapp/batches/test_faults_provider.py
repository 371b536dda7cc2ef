"""A provider that fails in every way: each cell ends, each answer it charges for is in the ledger, the worker stays small."""

import threading
from collections import Counter
from contextlib import contextmanager

import psutil
import pytest

from tests.auditapp.batches.cast import ANSWER_NANO, IN_FLIGHT, TEXTS, add_model
from tests.support.instance import PATIENCE, find_children, wait_until
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("postgres")]

# Faults that pass: what each makes of its first call in the ledger, and whether the paid API charged for that.
PASSING = {
    "429": "refused",
    "500": "refused",
    "503": "refused",
    "529": "refused",
    "garbage": "failed",
    "empty": "failed",
    "error200": "failed",
    "choice200": "failed",
    "drop": "unknown",
    "cut": "unknown",
    "hang": "unknown",
    "drip": "unknown",
}
# Faults that stay: how many calls a cell is worth at most.
LASTING = {"garbage": 6, "500": 6, "400": 1, "hang": 2, "cut": 2, "huge": 1, "bomb": 1}


@pytest.mark.full
def test_every_passing_fault_ends_in_an_answer_and_every_lasting_one_in_a_reason(ground):
    # Long enough for a busy machine to answer in, short enough to wait for.
    add_model(ground.instance, ground.provider, "hasty", "--timeout-seconds", "5")
    ground.provider.order(latency=0.02, retry_after=0.5, drip_seconds=0.3, huge_bytes=8 * 1024 * 1024)
    passing = [f"Passing {fault} {number} [[{fault}:1]]" for fault in PASSING for number in range(2)]
    lasting = [f"Lasting {fault} [[{fault}]]" for fault in LASTING]
    # Without answers in between, so many failures in a row would be an outage.
    faulty = passing + lasting
    ground.load("faults", [text for number, fault in enumerate(faulty) for text in (f"Fine {number}", fault)])
    ground.instance.start_worker()
    batch = ground.launch(model="hasty", dataset="faults")
    # The last cells are those that always fail: for a while they pass for an outage, with its waits.
    shown = ground.wait_for_end(batch, patience=3 * PATIENCE)
    assert shown["state"] == "done", shown
    assert sum(shown["outcomes"].values()) == 2 * len(faulty)
    assert shown["outcomes"]["provider_error"] == len(lasting)
    first_ends = ground.instance.query(
        "SELECT a.prompt, a.\"end\" FROM batches_attempt a WHERE a.prompt LIKE '%Passing%' AND a.fence = 1"
    )
    found = {(fault, end) for prompt, end in first_ends for fault in PASSING if f"Passing {fault} " in prompt}
    assert found == set(PASSING.items())
    tries = Counter(prompt.split("[[")[1].split("]]")[0] for (prompt,) in read_prompts(ground, "Lasting"))
    # A call or two more where five cells failed in a row, as in an outage: such a call does not count.
    assert all(tries[fault] <= most + 2 for fault, most in LASTING.items()), tries
    ground.check_books()


def read_prompts(ground, word):
    return [
        (str(row[0]),)
        for row in ground.instance.query(f"SELECT prompt FROM batches_attempt WHERE prompt LIKE '%{word}%'")
    ]


@pytest.mark.full
@pytest.mark.parametrize("fault", ["huge", "bomb"])
def test_answers_of_200_mb_do_not_grow_the_worker(ground, fault):
    cells = 6
    worker = ground.instance.start_worker()
    warm = ground.launch("--limit", "10")
    ground.wait_for_end(warm)
    ground.load("large", [f"Large {number} [[{fault}:1]]" for number in range(cells)])
    with most_memory(worker.pid) as memory:
        batch = ground.launch(dataset="large")
        shown = ground.wait_for_end(batch)
    assert sum(shown["outcomes"].values()) == cells
    assert memory.most - memory.before < 50e6, f"grew by {(memory.most - memory.before) / 1e6:.0f} MB"
    ground.check_books()


class Memory:
    """Resident memory of a worker's processes, in bytes; the most that any one of them grew to is what counts."""

    def __init__(self):
        self.before = self.most = 0


@contextmanager
def most_memory(pid):
    memory, over = Memory(), threading.Event()

    def read():
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        return max(each.memory_info().rss for each in family)

    def watch():
        while not over.wait(0.02):
            memory.most = max(memory.most, read())

    memory.before = memory.most = read()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield memory
    finally:
        over.set()
        watcher.join()


@pytest.mark.full
def test_a_storm_of_rate_limits_is_waited_out_and_leaves_no_cell_behind(ground):
    ground.provider.order(latency=0.05, always="429", always_after=TEXTS // 4, retry_after=2)
    ground.instance.start_worker()
    batch = ground.launch()
    wait_until(lambda: ground.provider.stats()["refused"] > 0, what="the storm began")
    begun = ground.provider.stats()
    wait_until(lambda: ground.provider.stats()["seconds"] > begun["seconds"] + 4, what="four seconds passed")
    refused = ground.provider.stats()["refused"]
    ground.provider.order(always="")
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert shown["possibly_paid_twice"] == 0
    # What was in flight as it began, and a herd half as large at most after each wait of two seconds.
    assert refused <= 3 * IN_FLIGHT, f"{refused} calls were sent into the storm"


@pytest.mark.full
def test_a_provider_that_only_fails_is_left_alone_and_asked_again_until_it_answers(ground):
    ground.provider.order(always="500")
    # Settings are read when a process loads them, so this worker is none of those that are ready made.
    ground.instance.start("manage.py", "worker", "--skip-checks", OUTAGE_PAUSE_SECONDS="2")
    batch = ground.launch()
    shown = ground.wait_for_end(batch)
    assert shown["state"] == "paused", shown
    assert "does not answer" in shown["state_reason"]
    assert ground.provider.stats()["received"] <= IN_FLIGHT + 10
    assert ground.provider.stats()["billed"] == 0
    ground.check_books()
    ground.provider.order(always="")
    wait_until(lambda: ground.read_state(batch) != "paused", what="the batch resumed by itself")
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)


@pytest.mark.full
def test_a_key_revoked_half_way_costs_no_more_than_the_calls_in_flight(ground):
    ground.provider.order(latency=0.1, revoke_after=TEXTS // 2)
    ground.instance.start_worker()
    batch = ground.launch()
    shown = ground.wait_for_end(batch)
    assert shown["state"] == "paused", shown
    assert "401" in shown["state_reason"]
    assert 0 < ground.provider.stats()["refused"] <= IN_FLIGHT + 3
    ground.check_books()
    ground.provider.order(revoke_after=0)
    ground.instance.manage("batch", "resume", str(batch))
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert shown["possibly_paid_twice"] == 0


@pytest.mark.full
def test_eighty_calls_at_once_in_two_queues_never_cross_the_cap(ground):
    """The cap leaves room for about two thirds of the answers, less what one call may cost at most."""
    ground.provider.order(latency=0.05)
    cap = 0.025
    worker = ground.instance.start_worker()
    batch = ground.launch("--cap", str(cap), "--model", "other", in_flight=40)
    most = 0

    def is_over():
        nonlocal most
        [(state, promised)] = ground.instance.query(
            f"SELECT state, spent_nano + reserved_nano FROM batches_batch WHERE id = {batch}"
        )
        most = max(most, promised)
        return bool(state != "running")

    wait_until(is_over, what="the batch came to its end")
    shown = ground.show(batch)
    billed = ground.provider.stats()["billed"]
    assert worker.poll() is None
    assert find_children(worker)
    assert shown["state"] == "paused", shown
    assert "cap" in shown["state_reason"]
    assert 0 < most <= cap * 1e9
    assert 0 < billed < 2 * TEXTS
    assert billed * ANSWER_NANO <= cap * 1e9
    assert shown["spent"] == pytest.approx(billed * ANSWER_NANO / 1e9)
    ground.check_books()
