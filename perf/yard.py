"""Where batches are measured: an instance with a worker, the fake paid API, and what one batch of calls took."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from perf.corpus import SEED, make_sentence
from perf.processes import find_family, read_memory, read_processor_seconds
from tests.support.instance import ROOT, FakeProvider, Instance, Process, kill_group
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


@dataclass
class Memory:
    """The most, in megabytes: resident in any one process, and held by all of them together (PSS)."""

    one_process: float = 0.0
    all_processes: float = 0.0


class Yard:
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
        self.add_model(MODEL)
        self.instance.manage("sob", "load", str(self.texts), "--name", "bench")

    def add_model(self, name: str, *settings: str) -> None:
        """A model of this name at the fake paid API."""
        address = ("--provider", "openai_compatible", "--base-url", self.provider.base_url, "--model", name)
        price = ("--max-tokens", "1024", "--price-in", "1", "--price-out", "2")
        self.instance.manage("model", "add", name, *address, *price, *settings)

    def start_worker(self) -> None:
        self.worker = self.instance.start_worker()
        await_worker(self.instance)

    def kill_worker(self) -> None:
        """kill -9 for the worker and its children."""
        assert self.worker is not None
        kill_group(self.worker)

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

    def launch(self, in_flight: int, model: str = MODEL, /, **orders: object) -> int:
        """Launch a batch; the paid API's orders and counts begin anew."""
        self.provider.order(**{"reset": True, "latency": LATENCY_SECONDS} | orders)
        asked = ("--dataset", "bench", "--model", model, "--task", TASK, "--concurrency", str(in_flight))
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
    def watch_memory(self) -> Iterator[Memory]:
        """The most memory that the worker's processes take meanwhile."""
        memory, over = Memory(), threading.Event()

        def watch() -> None:
            while not over.wait(0.2):
                with suppress(psutil.NoSuchProcess):
                    most = max(process.memory_info().rss for process in find_family(self.worker_pid))
                    memory.one_process = max(memory.one_process, most / 1e6)
                memory.all_processes = max(memory.all_processes, read_memory(self.worker_pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield memory
        finally:
            over.set()
            watcher.join()


@contextmanager
def open_yard(folder: Path, *, calls: int, servers: OwnServers | None) -> Iterator[Yard]:
    """A yard on SQLite and a broker of files, or on the given PostgreSQL and Redis; no worker runs yet."""
    with ExitStack() as stack:
        provider = FakeProvider()
        stack.callback(provider.stop)
        urls = (servers.database_url or "", servers.redis_url or "") if servers else ("", "")
        instance = Instance(folder, database_url=urls[0], redis_url=urls[1])
        stack.callback(instance.stop)
        yard = Yard(instance, provider, calls)
        yard.prepare()
        yield yard


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
