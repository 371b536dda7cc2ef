"""Where batches are measured: an instance with a worker, the fake paid API, and what one batch of calls took."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from perf.corpus import SEED, make_sentence
from perf.processes import read_processor_seconds
from tests.support.instance import ROOT, FakeProvider, Instance, Process
from tests.support.servers import OwnServers

LATENCY_SECONDS = 0.2
PATIENCE_SECONDS = 60.0
TASK = "acceptability"
MODEL = "bench"
STATE = "SELECT state, created_at, finished_at FROM batches_batch WHERE id = {batch}"


@dataclass(frozen=True)
class Round:
    """One batch. Seconds: ``calls`` from the first call's arrival to the last answer; ``wall`` from launch to done."""

    calls: float
    wall: float
    processor: float = 0.0
    most_in_flight: int = 0
    paid_twice: int = 0
    told: int = 0
    without_answer: int = 0


class BatchSite:
    """An instance with a model at the fake paid API, texts to send, and at most one worker."""

    def __init__(self, instance: Instance, provider: FakeProvider, calls: int) -> None:
        self.instance, self.provider, self.calls = instance, provider, calls
        self.texts = instance.folder / "texts.jsonl"
        self.worker: Process | None = None

    def prepare(self) -> None:
        chance = random.Random(SEED)
        lines = (
            json.dumps({"text": f"{make_sentence(chance)} ({number})", "target": "invented"})
            for number in range(self.calls)
        )
        self.texts.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.instance.manage("prepare", "--no-demo")
        self.instance.manage("study", "create", "bench", "--name", "Bench")
        address = ("--provider", "openai_compatible", "--base-url", self.provider.base_url, "--model", MODEL)
        price = ("--max-tokens", "1024", "--price-in", "1", "--price-out", "2")
        self.instance.manage("model", "add", MODEL, *address, *price)
        self.instance.manage("sob", "load", str(self.texts), "--name", "bench")

    def start_worker(self) -> None:
        self.worker = self.instance.start_worker()
        await_worker(self.instance)

    @property
    def worker_pid(self) -> int:
        assert self.worker is not None
        return self.worker.pid

    def run_bare(self, in_flight: int) -> Round:
        """The same calls by the bare loop."""
        self.provider.order(reset=True, latency=LATENCY_SECONDS)
        given = (self.provider.base_url, str(self.texts), "--task", TASK, "--in-flight", str(in_flight))
        done = subprocess.run(
            [sys.executable, "-m", "perf.bare_loop", *given],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        answer = json.loads(done.stdout)
        assert answer["answered"] == self.calls, answer
        return Round(self.provider.stats()["span_seconds"], answer["seconds"])

    def launch(self, in_flight: int, /, **orders: object) -> int:
        """Launch a batch; the paid API's orders and counts begin anew."""
        self.provider.order(**{"reset": True, "latency": LATENCY_SECONDS} | orders)
        asked = ("--dataset", "bench", "--model", MODEL, "--task", TASK, "--concurrency", str(in_flight))
        return int(self.instance.ask("sob", "launch", *asked, "--confirm-terms")["batch"])

    def run_batch(self, in_flight: int, **orders: object) -> Round:
        """One batch through the worker, to its end."""
        before = read_processor_seconds(self.worker_pid)
        return self.finish(self.launch(in_flight, **orders), before)

    def finish(self, batch: int, processor_before: float = 0.0) -> Round:
        """Wait for the end of a batch; what it took."""
        wall = self.wait_for_end(batch)
        processor = read_processor_seconds(self.worker_pid) - processor_before
        stats, shown = self.provider.stats(), self.instance.ask("batch", "show", str(batch))
        answered = sum(shown["outcomes"].values()) - shown["outcomes"].get("provider_error", 0)
        return Round(
            calls=stats["span_seconds"],
            wall=wall,
            processor=processor,
            most_in_flight=stats["most_in_flight"],
            paid_twice=stats["paid_twice"],
            told=shown["possibly_paid_twice"],
            without_answer=self.calls - answered,
        )

    def wait_for_end(self, batch: int) -> float:
        """Seconds from the launch of a batch to its last stored answer."""
        while True:
            [(state, created, finished)] = self.instance.query(STATE.format(batch=batch))
            if finished is not None:
                assert state == "done", f"The batch ended as {state}."
                return (read_time(finished) - read_time(created)).total_seconds()
            assert state not in {"paused", "cancelled"}, f"The batch is {state}."
            time.sleep(0.1)


@contextmanager
def open_batch_site(folder: Path, *, calls: int, servers: OwnServers | None) -> Iterator[BatchSite]:
    """A site on SQLite and a broker of files, or on the given PostgreSQL and Redis; no worker runs yet."""
    with ExitStack() as stack:
        provider = FakeProvider()
        stack.callback(provider.stop)
        urls = (servers.database_url or "", servers.redis_url or "") if servers else ("", "")
        instance = Instance(folder, database_url=urls[0], redis_url=urls[1])
        stack.callback(instance.stop)
        site = BatchSite(instance, provider, calls)
        site.prepare()
        yield site


def read_time(value: Any) -> datetime:
    """A moment as either database gives it out."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))


def await_worker(instance: Instance) -> None:
    """Return when a worker was heard from."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    before = [row[0] for row in instance.query("SELECT max(seen_at) FROM batches_workersign")]
    while [row[0] for row in instance.query("SELECT max(seen_at) FROM batches_workersign")] == before:
        assert time.monotonic() < deadline, "No worker was heard from."
        time.sleep(0.1)
