"""A seeded storm over a running batch: ``python -m tests.support.storm --cells 10000 --seed 1``.

Workers and their children are killed every few seconds, Redis is killed, flushed and away for a while, PostgreSQL is
restarted, the paid API turns calls away. Three batches run through it: one that must come to its end with every cell
answered, one of sessions, whose calls each continue the one before, and one whose cap does not suffice for it. A call whose
end is unknown is asked again once and no more, so a cell under way at two kills fails, and says so: the storm asks such
cells again, as a person would, and counts them.
Prints what it found as one JSON object and in sentences; the exit status is 1 when any of them is not as it must be. The
same seed gives the same faults in the same order.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from tests.auditapp.batches.cast import ANSWER_NANO, Ground, add_model, compare_books, find_breaks, write_texts
from tests.auditapp.batches.trial_kinds import count_hasty_calls, find_wrong_histories, launch_sessions, retry_sessions
from tests.support.instance import FakeProvider, Instance, Process, find_children, kill_group, wait_until
from tests.support.servers import OwnServers

MODELS = ("m1", "m2", "m3")
CAPPED_MODEL = "capped"
CONVERSING_MODEL = "conversing"
QUESTIONS = 5
NUMBER = "SELECT count(*) FROM"
TWICE = 2
FAILED = (
    "SELECT c.id, c.tries, c.unknown_ends, string_agg(a.\"end\" || ' ' || a.error, '; ') FROM batches_cell c "
    "LEFT JOIN batches_attempt a ON a.cell_id = c.id WHERE c.batch_id = {batch} AND c.state = 'failed' "
    "AND c.outcome <> 'earlier_failed' GROUP BY c.id"
)


@dataclass(frozen=True)
class Plan:
    """How large and how hard. Seconds, but for ``cells``, ``in_flight`` (calls of one model) and ``workers``."""

    cells: int = 10_000
    seed: int = 1
    in_flight: int = 30
    workers: int = 2
    latency: float = 1.0
    least_pause: float = 2.0
    longest_pause: float = 6.0
    redis_away: float = 60.0
    retry_after: float = 30.0
    frozen: float = 45.0
    patience: float = 1_800.0
    faults: int = 1_000


@dataclass
class Found:
    """What is counted while the storm blows."""

    faults: Counter[str] = field(default_factory=Counter)
    in_flight_at_kills: int = 0
    most_promised: dict[int, int] = field(default_factory=dict)
    looks: int = 0
    resumed: int = 0
    asked_again: int = 0
    unexplained: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Check:
    """One promise, and whether it was kept."""

    promise: str
    kept: bool
    sentence: str


class Storm:
    """Everything that runs, and the faults."""

    def __init__(self, plan: Plan, folder: Path, servers: OwnServers, provider: FakeProvider) -> None:
        assert servers.database_url is not None
        assert servers.redis_url is not None
        self.plan, self.servers, self.provider = plan, servers, provider
        self.chance = random.Random(plan.seed)
        self.instance = Instance(folder / "data", database_url=servers.database_url, redis_url=servers.redis_url)
        self.ground = Ground(self.instance, provider)
        self.found = Found()
        self.workers: list[Process] = []
        self.batch = self.capped = self.conversing = 0

    def prepare(self) -> None:
        self.instance.manage("migrate", "-v0")
        for label in (*MODELS, CAPPED_MODEL, CONVERSING_MODEL):
            add_model(self.instance, self.provider, label)
        texts = -(-self.plan.cells // len(MODELS))
        write_texts(self.instance, "texts", [f"Invented text number {number}." for number in range(texts)])
        self.provider.order(latency=self.plan.latency, p429=0.05, p500=0.02)

    def blow(self) -> None:
        """Launch the batches, and send one fault after the other until they came to their end."""
        self.workers = [self.start_worker() for _ in range(self.plan.workers)]
        more = [word for label in MODELS[1:] for word in ("--model", label)]
        self.batch = self.ground.launch(*more, model=MODELS[0], in_flight=self.plan.in_flight)
        cells = max(100, self.plan.cells // 20)
        cap = f"{cells * ANSWER_NANO / 2e9:.4f}"
        self.capped = self.ground.launch(
            "--limit", str(cells), "--cap", cap, model=CAPPED_MODEL, in_flight=self.plan.in_flight
        )
        sessions = max(20, self.plan.cells // 10 // QUESTIONS)
        self.conversing = launch_sessions(
            self.instance, CONVERSING_MODEL, sessions=sessions, questions=QUESTIONS, in_flight=self.plan.in_flight
        )
        deck = self.shuffle_faults()
        end = time.monotonic() + self.plan.patience
        with self.watch_money():
            while not self.is_over():
                assert time.monotonic() < end, f"the storm was not over after {self.plan.patience:.0f} s"
                if self.found.faults.total() < self.plan.faults:
                    name, fault = next(deck)
                    tell(f"{name}; {self.provider.stats()['answered']} answers so far")
                    self.found.faults[name] += 1
                    fault()
                time.sleep(self.chance.uniform(self.plan.least_pause, self.plan.longest_pause))
        wait_until(lambda: self.provider.stats()["in_flight"] == 0, what="the paid API is at rest")

    def start_worker(self) -> Process:
        return self.instance.start("-m", "tests.support.conversation_worker")

    def shuffle_faults(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Every fault once, in an order of chance; then workers' ends mostly, and the short ends of servers."""
        frequent: dict[str, Callable[[], None]] = {"child killed": self.kill_child, "worker killed": self.kill_worker}
        short: dict[str, Callable[[], None]] = {
            "Redis killed": lambda: self.servers.order("redis", "kill", "start"),
            "Redis flushed": self.servers.flush_redis,
            "PostgreSQL restarted, immediate": lambda: self.restart_postgres("immediate"),
            "PostgreSQL restarted, fast": lambda: self.restart_postgres("fast"),
        }
        once: dict[str, Callable[[], None]] = {"Redis away": self.take_redis_away, "rate limits": self.limit_rates}
        if self.plan.frozen:
            once["child frozen"] = self.freeze_child
        deck = list((frequent | short | once).items())
        self.chance.shuffle(deck)
        yield from deck
        while True:
            yield self.chance.choice([*frequent.items(), *frequent.items(), *short.items()])

    def is_over(self) -> bool:
        """Whether no batch runs, and nothing is left for a person to do. What a person does is done here, and told: a
        batch that paused itself for another reason than its cap is resumed, cells that failed are asked again."""
        with suppress(psycopg.Error):
            for batch, state, reason in self.instance.query("SELECT id, state, state_reason FROM batches_batch"):
                if state == "running":
                    return False
                if state == "paused" and "cap" not in reason:
                    tell(f"batch {batch} paused: {reason}")
                    self.found.resumed += 1
                    self.instance.manage("batch", "resume", str(batch))
                    return False
            return not any([self.ask_failed_again(self.batch), self.ask_failed_again(self.conversing)])
        return False

    def ask_failed_again(self, batch: int) -> bool:
        """Whether cells of the batch had failed, and are asked again now. Each must have had two calls of unknown end, but for
        those that failed because an earlier one did."""
        failed = self.instance.query(FAILED.format(batch=batch))
        if not failed:
            return False
        tell(f"{len(failed)} cells failed and are asked again")
        self.found.asked_again += len(failed)
        told = [f"cell {cell}: tries {tries}, {ends}" for cell, tries, unknown, ends in failed if unknown != TWICE]
        self.found.unexplained.extend(told)
        if batch == self.conversing:
            retry_sessions(self.instance, batch)
        else:
            self.instance.manage("batch", "retry", str(batch))
        return True

    # --- Faults -------------------------------------------------------------------------------------------------------

    def kill_child(self) -> None:
        children = [child for worker in self.workers for child in find_children(worker)]
        if children:
            self.kill([self.chance.choice(children)])

    def kill_worker(self) -> None:
        number = self.chance.randrange(len(self.workers))
        worker = self.workers[number]
        self.kill([psutil.Process(worker.pid), *find_children(worker)])
        kill_group(worker)
        time.sleep(self.chance.uniform(0, 2))
        self.workers[number] = self.start_worker()

    def freeze_child(self) -> None:
        """It stands still for longer than a runner may be silent, and goes on as if nothing had been."""
        children = [child for worker in self.workers for child in find_children(worker)]
        busy = [child for child in children if self.count_queues(child.pid)]
        if not busy:
            return
        child = self.chance.choice(busy)
        self.found.in_flight_at_kills += self.count_queues(child.pid) * self.plan.in_flight
        child.suspend()
        time.sleep(self.plan.frozen)
        with suppress(psutil.NoSuchProcess):
            child.resume()

    def kill(self, processes: list[psutil.Process]) -> None:
        """kill -9, with a count of the calls that were in flight in these processes."""
        before = self.provider.stats()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        after = self.provider.stats()
        at_most = sum(self.count_queues(process.pid) for process in processes) * self.plan.in_flight
        in_flight = after["in_flight"] + after["answered"] - before["answered"]
        self.found.in_flight_at_kills += min(in_flight, at_most)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)

    def count_queues(self, pid: int) -> int:
        with suppress(psycopg.Error):
            return int(self.instance.query(f"{NUMBER} batches_workqueue WHERE runner LIKE '%:{pid}:%'")[0][0])
        return len(MODELS) + 2

    def restart_postgres(self, how: str) -> None:
        self.servers.order("postgres", how)
        time.sleep(self.chance.uniform(0, 2))
        self.servers.order("postgres", "start")

    def take_redis_away(self) -> None:
        self.servers.order("redis", "kill")
        time.sleep(self.plan.redis_away)
        self.servers.order("redis", "start")

    def limit_rates(self) -> None:
        self.provider.order(p429=1.0, retry_after=self.plan.retry_after)
        time.sleep(min(5.0, self.plan.retry_after))
        self.provider.order(p429=0.05, retry_after=1)

    # --- What must hold -----------------------------------------------------------------------------------------------

    @contextmanager
    def watch_money(self) -> Iterator[None]:
        """Look, several times a second, what each batch has spent and promised."""
        over = threading.Event()

        def watch() -> None:
            sql = "SELECT id, spent_nano + reserved_nano FROM batches_batch"
            while not over.wait(0.2):
                with suppress(psycopg.Error):
                    for batch, promised in self.instance.query(sql):
                        self.found.most_promised[batch] = max(self.found.most_promised.get(batch, 0), promised)
                    self.found.looks += 1

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def check(self) -> list[Check]:
        """Each promise against the ledger and the paid API's own count."""
        stats, shown = self.provider.stats(), self.ground.show(self.batch)
        capped, linked = self.ground.show(self.capped), self.ground.show(self.conversing)
        cells, billed = shown["cells"], stats["billed"]
        [(results, answered)] = self.instance.query(
            f"SELECT ({NUMBER} batches_result), ({NUMBER} batches_attempt WHERE \"end\" IN ('answered', 'failed'))"
        )
        [(unknown, spent)] = self.instance.query(
            f"SELECT ({NUMBER} batches_attempt WHERE \"end\" = 'unknown'), (SELECT sum(spent_nano) FROM batches_batch)"
        )
        spent = int(spent or 0)
        own = self.instance.query(
            f"{NUMBER} batches_result r JOIN batches_cell c ON c.id = r.cell_id WHERE c.batch_id = {self.batch}"
        )[0][0]
        errors = shown["outcomes"].get("provider_error", 0)
        cap, most = round(capped["cap"] * 1e9), self.found.most_promised.get(self.capped, 0)
        told = sum(each["possibly_paid_twice"] for each in (shown, capped, linked))
        return [
            Check(
                "lost 0",
                shown["state"] == "done" and errors == 0,
                f"The batch is {shown['state']}; {errors} of {cells} cells ended without an answer.",
            ),
            Check("results = cells", own == cells, f"{own} results for {cells} cells."),
            Check(
                "none fails but for two unknown ends",
                not self.found.unexplained,
                f"{self.found.asked_again} cells failed after a second call of unknown end and were asked again; "
                f"{len(self.found.unexplained)} failed otherwise. {self.found.unexplained[:5] or ''}".strip(),
            ),
            Check(
                "requests - results <= calls in flight at the kills",
                billed - results <= self.found.in_flight_at_kills,
                f"{billed - results} calls were paid for without a result of their own; "
                f"{self.found.in_flight_at_kills} were in flight at the kills.",
            ),
            Check(
                "what may be paid twice is told",
                stats["paid_twice"] <= told,
                f"{stats['paid_twice']} calls were paid twice; {told} are told of.",
            ),
            Check(
                "ledger = paid API",
                answered <= billed <= answered + unknown and not self.find_book_errors(),
                f"The paid API charges for {billed} calls; the ledger has {answered} paid and {unknown} of unknown end. "
                f"{self.find_book_errors()}".strip(),
            ),
            Check(
                "money = paid API",
                spent == results * ANSWER_NANO,
                f"{spent / 1e9:.6f} US dollars are booked for {results} answers of {ANSWER_NANO / 1e9:.6f}.",
            ),
            Check(
                "cap never crossed",
                0 < most <= cap and capped["state"] in {"paused", "done"},
                f"Spent and promised were at most {most / 1e9:.4f} of {cap / 1e9:.4f} US dollars, in "
                f"{self.found.looks} looks; that batch is {capped['state']}.",
            ),
            *self.check_sessions(linked),
            self.check_invariants(),
        ]

    def check_sessions(self, shown: dict[str, Any]) -> list[Check]:
        [(answered,)] = self.instance.query(
            f"{NUMBER} batches_result r JOIN batches_cell c ON c.id = r.cell_id WHERE c.batch_id = {self.conversing}"
        )
        wrong, hasty = (
            find_wrong_histories(self.instance, self.conversing),
            count_hasty_calls(self.instance, self.conversing),
        )
        return [
            Check(
                "every question of every session is answered",
                shown["state"] == "done" and answered == shown["cells"],
                f"The batch of sessions is {shown['state']}; {answered} of {shown['cells']} questions are answered.",
            ),
            Check(
                "each call sent what was said before it",
                not wrong and not hasty,
                f"{len(wrong)} calls sent something else than is stored, {hasty} were sent before the answer they continue.",
            ),
        ]

    def find_book_errors(self) -> str:
        try:
            compare_books(self.instance, self.provider)
        except AssertionError as error:
            return str(error)
        return ""

    def check_invariants(self) -> Check:
        breaks = find_breaks(self.instance, self.provider)
        return Check("batch verify clean", not breaks, f"It found {len(breaks)} breaks. {breaks[:5] or ''}".strip())


def run_storm(plan: Plan) -> dict[str, Any]:
    """Set everything up, let it blow, and return what was found; everything started is ended."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="auditapp-storm-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        servers = OwnServers()
        stack.callback(servers.stop)
        provider = FakeProvider()
        stack.callback(provider.stop)
        storm = Storm(plan, folder, servers, provider)
        stack.callback(storm.instance.stop)
        tell("setting up")
        storm.prepare()
        started = time.monotonic()
        storm.blow()
        seconds = time.monotonic() - started
        checks = storm.check()
        return {
            "plan": asdict(plan),
            "seconds": round(seconds, 1),
            "faults": dict(storm.found.faults),
            "resumed_by_hand": storm.found.resumed,
            "asked_again_by_hand": storm.found.asked_again,
            "calls_in_flight_at_kills": storm.found.in_flight_at_kills,
            "stats": {name: value for name, value in provider.stats().items() if name != "seconds"},
            "checks": [asdict(check) for check in checks],
            "kept": all(check.kept for check in checks),
        }


def tell(words: str) -> None:
    print(f"… {words}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=Plan.cells)
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--seconds", type=float, default=Plan.patience, help="how long it may take at most")
    parser.add_argument("--redis-away", type=float, default=Plan.redis_away, help="seconds without Redis, once")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write what was found to this file")
    given = parser.parse_args()
    plan = Plan(cells=given.cells, seed=given.seed, patience=given.seconds, redis_away=given.redis_away)
    report = run_storm(plan)
    text = json.dumps(report, indent=1)
    if given.json:
        given.json.write_text(text + "\n", encoding="utf-8")
    print(text)
    for check in report["checks"]:
        print(f"{'kept  ' if check['kept'] else 'BROKEN'} {check['promise']}: {check['sentence']}")
    return 0 if report["kept"] else 1


if __name__ == "__main__":
    sys.exit(main())
