"""Plays through a real worker: how near they come to the time that their calls take at least, and a talk beside a large batch.

A call of a play waits for the answer before it, so that no call may wait for the ledger. On SQLite with a broker of files, and on
PostgreSQL with Redis.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from typing import Any

from perf.batch import open_databases
from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside
from perf.yard import LATENCY_SECONDS, MODEL, Yard, await_worker, open_yard
from tests.support.instance import ROOT

QUESTIONS = 6
IN_FLIGHT = 100
LONGEST_PLANNING = 0.5
MOST_TIMES_FLOOR = 1.2
LONGEST_TO_SENT = LONGEST_TO_SEEN = 1.0
# The large batch keeps every queue of the worker busy.
LARGE = ("large-1", "large-2", "large-3")
LARGE_IN_FLIGHT = 10
TALKED = 20
PAUSE_SECONDS = 0.5
P95 = 0.95


def measure(setup: Setup) -> Measured:
    """Planning, plays and a talk, on either database."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    for database, servers in open_databases():
        with open_yard(setup.folder / f"chains-{database}", calls=1, servers=servers) as yard:
            for part in (measure_planning, measure_plays, measure_talk):
                found = part(setup, yard, database)
                rows += found.rows
                numbers |= {f"{database}_{name}": number for name, number in found.numbers.items()}
    return Measured(rows, numbers)


def run_talks(yard: Yard, act: str, *arguments: str) -> Any:
    """What ``perf.inside.hold_talks`` prints."""
    return run_inside("hold_talks", act, *arguments, environment=yard.instance.environment)


def measure_planning(setup: Setup, yard: Yard, database: str) -> Measured:
    """Chained cells planned; no worker runs yet."""
    plays = setup.sizes.plays
    setup.tell(f"chains, {database}: {plays * QUESTIONS:,} cells planned")
    sizes = ("--plays", str(plays), "--questions", str(QUESTIONS), "--rounds", str(setup.sizes.rounds))
    found = run_talks(yard, "plan", MODEL, *sizes)
    seconds = find_median(found["planning_seconds"])
    row = Row(
        f"{plays * QUESTIONS:,} chained cells planned, {database}",
        f"{seconds:.2f} s",
        f"<= {LONGEST_PLANNING} s",
        seconds <= LONGEST_PLANNING,
    )
    return Measured([row], found)


def measure_plays(setup: Setup, yard: Yard, database: str) -> Measured:
    """Plays from their launch to the last stored answer, as a multiple of the time that so many calls take at least; in turn with a
    bare loop of the same plays, which other programs on the machine slow down as well."""
    plays = setup.sizes.plays
    yard.worker = yard.instance.start("-m", "tests.support.conversation_worker")
    await_worker(yard.instance)
    floor = plays * QUESTIONS * LATENCY_SECONDS / IN_FLIGHT
    walls, spans, bare = [], [], []
    # The first batch finds out what the provider bears; those after it begin there.
    for number in range(setup.sizes.batch_rounds + 1):
        setup.tell(f"chains, {database}: {plays:,} plays, round {number} of {setup.sizes.batch_rounds}")
        sizes = ("--plays", str(plays), "--questions", str(QUESTIONS), "--in-flight", str(IN_FLIGHT))
        bare.append(run_bare(yard, *sizes))
        yard.provider.order(reset=True, latency=LATENCY_SECONDS)
        batch = run_talks(yard, "launch", MODEL, *sizes)["batch"]
        walls.append(yard.wait_for_end(batch))
        spans.append(yard.provider.stats()["span_seconds"])
    times = find_median([wall / floor for wall in walls[1:]])
    beside = [span / least for span, least in zip(spans[1:], bare[1:], strict=True)]
    row = Row(
        f"{plays:,} plays of {QUESTIONS}, {database}",
        f"{times:.2f} x the floor of {floor:.1f} s from launch to done; calls alone {find_median(beside):.2f} x a bare loop",
        f"<= {MOST_TIMES_FLOOR} x",
        times <= MOST_TIMES_FLOOR,
        rounds=beside,
    )
    return Measured([row], {"plays_wall": walls, "plays_calls": spans, "plays_floor": floor, "plays_bare": bare})


def run_bare(yard: Yard, *sizes: str) -> float:
    """Seconds of the same plays by the bare loop."""
    yard.provider.order(reset=True, latency=LATENCY_SECONDS)
    command = [sys.executable, "-m", "perf.bare_plays", yard.provider.base_url, *sizes]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["seconds"])


def measure_talk(setup: Setup, yard: Yard, database: str) -> Measured:
    """Questions one after the other, while a large batch keeps all queues of the worker busy."""
    cells = setup.sizes.cells
    setup.tell(f"chains, {database}: a talk beside a batch of {cells:,} cells")
    for name in LARGE:
        yard.add_model(name)
    yard.provider.order(reset=True, latency=LATENCY_SECONDS)
    plays = str(cells // len(LARGE))
    batch = run_talks(yard, "launch", *LARGE, "--plays", plays, "--in-flight", str(LARGE_IN_FLIGHT))["batch"]
    while yard.provider.stats()["answered"] < len(LARGE) * LARGE_IN_FLIGHT:
        time.sleep(0.1)
    found = run_talks(yard, "talk", MODEL, "--questions", str(TALKED), "--pause", str(PAUSE_SECONDS))
    arrived = {name: call["at"][0] for name, call in yard.provider.requests().items()}
    [(busy,)] = yard.instance.query(f"SELECT count(*) FROM batches_workqueue WHERE batch_id = {batch} AND runner <> ''")
    yard.kill_worker()
    sent = sorted(arrived[each["request"]] - each["typed"] for each in found["asked"])
    seen = sorted(each["stored_to_seen"] for each in found["asked"])
    place = math.ceil(P95 * len(sent)) - 1
    row = Row(
        f"talk beside {cells:,} cells, {database}",
        f"p95 typed to sent {sent[place] * 1000:.0f} ms, stored to seen {seen[place] * 1000:.0f} ms; {busy} queues busy",
        f"<= {LONGEST_TO_SENT:.0f} s each",
        sent[place] <= LONGEST_TO_SENT and seen[place] <= LONGEST_TO_SEEN and busy == len(LARGE),
    )
    return Measured([row], {"typed_to_sent": sent, "stored_to_seen": seen, "talk": found})
