"""The ground of the fault tests: a study with a priced model at the fake paid API, and what must hold after every fault."""

import json
import time
import uuid

from tests.support.instance import PATIENCE, find_children, wait_until

TEXTS = 120
IN_FLIGHT = 20
# What one answer of the fake paid API costs: 100 tokens in at 1 dollar a million, 20 out at 2.
ANSWER_NANO = 140_000
OPEN_STATES = {"pilot", "waiting", "running"}


class Ground:
    """An instance and the paid API that counts what it answers."""

    def __init__(self, instance, provider):
        self.instance, self.provider = instance, provider

    def launch(self, *more, model="m", dataset="texts", in_flight=IN_FLIGHT):
        """Launch a batch by command; its number."""
        asked = ("--dataset", dataset, "--model", model, "--task", "acceptability", "--concurrency", str(in_flight))
        return int(self.instance.ask("sob", "launch", *asked, "--confirm-terms", *more)["batch"])

    def load(self, name, texts):
        """A dataset of these texts; a text may hold a script of faults (tests/support/fake_provider.py)."""
        write_texts(self.instance, name, texts)

    def show(self, batch):
        return dict(self.instance.ask("batch", "show", str(batch)))

    def read_state(self, batch):
        return str(self.instance.query(f"SELECT state FROM batches_batch WHERE id = {batch}")[0][0])

    def count(self, table, where="1 = 1"):
        return int(self.instance.query(f"SELECT count(*) FROM batches_{table} WHERE {where}")[0][0])

    def wait_for_end(self, batch, *, patience=PATIENCE):
        """What the batch shows once it neither runs nor waits for a yes."""
        wait_until(
            lambda: self.read_state(batch) not in OPEN_STATES, what=f"batch {batch} came to its end", patience=patience
        )
        return self.show(batch)

    def wait_for_answers(self, count):
        wait_until(lambda: self.provider.stats()["answered"] >= count, what=f"{count} calls were answered")

    def wait_for_results(self, count):
        wait_until(lambda: self.count("result") >= count, what=f"{count} answers were stored")

    def hold_calls(self, *, after):
        """After so many calls none is answered until they are let go, however long a test takes for what it does meanwhile."""
        self.provider.order(latency=0.1, slow_after=after, slow_latency=600)

    def let_go_once_heard(self):
        """The calls that are held are answered once the runner has heard that no more are wanted: it hands back at once what it
        had written ahead."""
        wait_until(lambda: self.count("attempt", "\"end\" = 'unsent'") > 0, what="what had not left was handed back")
        self.provider.order(slow_latency=0)

    def is_at_rest(self):
        """Whether nothing was sent for two seconds."""
        before = self.provider.stats()["received"]
        time.sleep(2)
        return bool(self.provider.stats()["received"] == before)

    def check_books(self):
        """What ``batch verify`` checks, with the paid API's own count of what it charges for, and call by call."""
        assert find_breaks(self.instance, self.provider) == []
        compare_books(self.instance, self.provider)

    def check_whole(self, batch, *, cells, shown):
        """Every cell has its one answer, every paid call is told of, and the ledger agrees with the paid API."""
        stats = self.provider.stats()
        assert shown["state"] == "done", shown
        assert sum(shown["outcomes"].values()) == cells, shown
        assert "provider_error" not in shown["outcomes"], shown
        results = self.instance.query(
            f"SELECT count(*) FROM batches_result r JOIN batches_cell c ON c.id = r.cell_id WHERE c.batch_id = {batch}"
        )
        assert results == [(cells,)]
        assert stats["request_ids_used_twice"] == 0
        assert shown["possibly_paid_twice"] >= stats["paid_twice"], (shown, stats)
        self.check_books()


def find_breaks(instance, provider):
    """What ``batch verify`` finds, given the paid API's count of what it charges for."""
    done = instance.run("batch", "verify", "--json", "--billed", str(provider.stats()["billed"]))
    assert done.stdout, done.stderr
    return list(json.loads(done.stdout)["breaks"])


def compare_books(instance, provider):
    """Every call that the paid API charges for stands in the ledger as paid, or as one whose end is unknown."""
    billed = {uuid.UUID(name) for name, call in provider.requests().items() if call["billed"]}
    ends = {}
    for request_id, end in instance.query('SELECT request_id, "end" FROM batches_attempt'):
        ends.setdefault(end, set()).add(uuid.UUID(str(request_id)))
    paid = ends.get("answered", set()) | ends.get("surplus", set()) | ends.get("failed", set())
    assert paid <= billed, f"{len(paid - billed)} calls are booked as paid and were not"
    untold = billed - paid - ends.get("unknown", set())
    assert not untold, f"{len(untold)} calls were paid for and are booked otherwise"


def write_texts(instance, name, texts):
    file = instance.folder / f"{name}.jsonl"
    file.write_text(
        "".join(json.dumps({"text": text, "target": "old"}) + "\n" for text in texts),
        encoding="utf-8",
    )
    assert instance.ask("sob", "load", str(file), "--name", name)["texts"] == len(texts)


def add_model(instance, provider, label, *more):
    """A priced model at the fake paid API."""
    address = ("--base-url", provider.base_url, "--model", label)
    instance.manage(
        "model",
        "add",
        label,
        "--provider",
        "openai_compatible",
        *address,
        "--max-tokens",
        "1024",
        "--price-in",
        "1",
        "--price-out",
        "2",
        *more,
    )


def prepare(instance, provider):
    """Two models, and texts to judge."""
    add_model(instance, provider, "m")
    add_model(instance, provider, "other")
    write_texts(instance, "texts", [f"Invented text number {number}." for number in range(TEXTS)])


def stand_on(ground):
    """What the processes said goes to the test's own output when it fails."""
    try:
        yield ground
    finally:
        ground.instance.stop()
        print(ground.instance.read_words())


def kill_a_child(worker):
    """kill -9 for one of the processes in which a worker runs its queues: the one that did most."""
    wait_until(lambda: bool(find_children(worker)), what="the worker has children")
    max(find_children(worker), key=lambda child: sum(child.cpu_times()[:2])).kill()
