"""A batch through a real worker process, against a bare loop of the same calls to the same fake provider."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.corpus import SEED, make_sentence
from benchmarks.processes import read_processor_seconds
from benchmarks.results import Measured, Row, find_median
from benchmarks.setup import Setup, Sizes
from tests.instance import ROOT, FakeProvider, Instance

LATENCY_SECONDS = 0.2
LEAST_SHARE = 0.85
PATIENCE_SECONDS = 60.0
TASK = "acceptability"


@dataclass(frozen=True)
class Round:
    """One batch. Seconds: ``calls`` from the first call's arrival to the last answer; ``wall`` from launch to done."""

    calls: float
    wall: float
    processor: float = 0.0
    most_in_flight: int = 0
    paid_twice: int = 0


def measure(setup: Setup) -> Measured:
    """Throughput of the worker as a share of the bare loop's, in turn, and the processor time it takes."""
    instance = Instance(setup.folder / "batch")
    provider = FakeProvider()
    texts = instance.folder / "texts.jsonl"
    texts.write_text("\n".join(_make_texts(setup.sizes.calls)) + "\n", encoding="utf-8")
    try:
        setup.tell("batch: a worker starts")
        _prepare(instance, provider, texts)
        worker = instance.start_worker()
        await_worker(instance)
        bare, product = [], []
        for number in range(setup.sizes.batch_rounds):
            setup.tell(f"batch: round {number + 1} of {setup.sizes.batch_rounds}")
            bare.append(_run_bare(provider, texts, setup.sizes))
            product.append(_run_batch(instance, provider, worker.pid, setup.sizes))
    finally:
        instance.stop()
        provider.stop()
    return _judge(setup.sizes, bare, product)


def _make_texts(count: int) -> list[str]:
    chance = random.Random(SEED)
    return [
        json.dumps({"text": f"{make_sentence(chance)} ({number})", "target": "invented"}) for number in range(count)
    ]


def _prepare(instance: Instance, provider: FakeProvider, texts: Path) -> None:
    instance.manage("prepare", "--no-demo")
    instance.manage("create_project", "bench", "--name", "Bench")
    address = ("--provider", "openai_compatible", "--base-url", provider.base_url, "--model", "bench")
    instance.manage("add_model", "bench", *address, "--price-in", "1", "--price-out", "2")
    instance.manage("sob_load", str(texts), "--name", "bench")


def _run_bare(provider: FakeProvider, texts: Path, sizes: Sizes) -> Round:
    provider.order(reset=True, latency=LATENCY_SECONDS)
    given = (provider.base_url, str(texts), "--task", TASK, "--in-flight", str(sizes.calls_in_flight))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bare_loop", *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["answered"] == sizes.calls, answer
    return Round(provider.stats()["span_seconds"], answer["seconds"])


def _run_batch(instance: Instance, provider: FakeProvider, worker: int, sizes: Sizes) -> Round:
    provider.order(reset=True, latency=LATENCY_SECONDS)
    before = read_processor_seconds(worker)
    asked = ("--dataset", "bench", "--model", "bench", "--task", TASK, "--concurrency", str(sizes.calls_in_flight))
    batch = int(instance.ask("sob_launch", *asked)["batch"])
    while (wall := _read_wall(instance, batch)) is None:
        time.sleep(0.1)
    stats = provider.stats()
    assert stats["calls"] == sizes.calls, stats
    processor = read_processor_seconds(worker) - before
    return Round(stats["span_seconds"], wall, processor, stats["most_in_flight"], stats["paid_twice"])


def _read_wall(instance: Instance, batch: int) -> float | None:
    """Seconds from the launch of a batch to its last stored answer; ``None`` while it runs."""
    found = _read(instance, "SELECT state, created_at, finished_at FROM batches_batch WHERE id = ?", batch)
    assert found is not None
    state, created, finished = found
    if state == "running" or finished is None:
        return None
    assert state == "done", f"The batch ended as {state}."
    return (datetime.fromisoformat(finished) - datetime.fromisoformat(created)).total_seconds()


def await_worker(instance: Instance) -> None:
    """Return when a worker was heard from."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while _read(instance, "SELECT name FROM batches_workersign") is None:
        assert time.monotonic() < deadline, "No worker was heard from."
        time.sleep(0.1)


def _read(instance: Instance, sql: str, *values: object) -> tuple[Any, ...] | None:
    with closing(sqlite3.connect(instance.folder / "auditapp.sqlite3", timeout=20)) as database:
        row: tuple[Any, ...] | None = database.execute(sql, values).fetchone()
        return row


def _judge(sizes: Sizes, bare: list[Round], product: list[Round]) -> Measured:
    share = find_median([least.calls / here.calls for here, least in zip(product, bare, strict=True)])
    whole = find_median([least.wall / here.wall for here, least in zip(product, bare, strict=True)])
    processor = find_median([here.processor for here in product]) / sizes.calls * 1000
    rows = [
        Row(
            f"batch, {sizes.calls_in_flight} in flight",
            f"{share:.0%} of a bare loop, {whole:.0%} from launch to done",
            f">= {LEAST_SHARE:.0%}",
            share >= LEAST_SHARE and not any(here.paid_twice for here in product),
            "with start-up: promptfoo 48 %, Inspect AI 16 %, published script 14 %",
        ),
        Row(
            "batch, processor time",
            f"{processor:.1f} s for 1,000 calls",
            peers="promptfoo 4.3 s, Inspect AI 12.8, published script 14.3",
        ),
    ]
    ideal = sizes.calls * LATENCY_SECONDS / sizes.calls_in_flight
    numbers = {"share_of_bare_loop": share, "share_launch_to_done": whole, "processor_seconds_per_1000": processor}
    rounds = {"product": [asdict(here) for here in product], "bare_loop": [asdict(here) for here in bare]}
    return Measured(rows, {**numbers, "ideal_seconds": ideal, **rounds})
