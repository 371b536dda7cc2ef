"""Batches through a real worker: against a bare loop of the same calls, through a kill and through faults, and in the ledger.

Everything on SQLite with a broker of files, as one machine has it, and on PostgreSQL with Redis, as a team has it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import psycopg

from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside
from perf.yard import Yard, open_yard
from tests.support.servers import OwnServers

LEAST_SHARE = 0.92
MOST_PROCESSOR = 3.0
MOST_MEMORY = 150.0
LONGEST_WITH_FAULTS = 1.3
LONGEST_PLANNING = 1.0
LONGEST_PROGRESS = 0.050
LONGEST_PAUSE = 1.0
PAUSED_LATENCY = 2.0
SLOW_SECONDS = 5.0
SLOW_WATCHED = 75.0
SLOW_TIMEOUTS = (600, 15)
MOST_IN_FLIGHT_AT_A_SLOW_SERVER = 4
# The peers' kill and faults were measured at this many in flight.
PEERS_IN_FLIGHT = 30
FAULTS = {"p429": 0.05, "p500": 0.02, "retry_after": 1}
SHARE_OF_PEERS = {
    30: "with start-up: promptfoo 83 %, Inspect AI 45 %, published script 93 %",
    100: "with start-up: promptfoo 48 %, Inspect AI 16 %, published script 14 %",
}


def measure(setup: Setup) -> Measured:
    """Speed, memory, a kill and faults on either database; planning, progress and pause on PostgreSQL."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    for database, servers in open_databases():
        folder = setup.folder / f"batch-{database}"
        with open_yard(folder, calls=setup.sizes.calls, servers=servers) as yard:
            yard.start_worker()
            for part in (measure_speed, measure_memory, measure_faults, measure_kill):
                found = part(setup, yard, database)
                rows += found.rows
                numbers |= {f"{database}_{name}": number for name, number in found.numbers.items()}
            if database == "SQLite":
                found = measure_slow_server(setup, yard)
                rows += found.rows
                numbers |= found.numbers
            if database == "PostgreSQL":
                for found in (measure_pause(setup, yard), measure_ledger(setup, yard)):
                    rows += found.rows
                    numbers |= found.numbers
    return Measured(rows, numbers)


def open_databases() -> Iterator[tuple[str, OwnServers | None]]:
    """SQLite, and PostgreSQL with Redis where both can be had."""
    yield "SQLite", None
    servers = OwnServers()
    try:
        if servers.database_url and servers.redis_url:
            yield "PostgreSQL", servers
    finally:
        servers.stop()


def measure_speed(setup: Setup, yard: Yard, database: str) -> Measured:
    """Throughput as a share of the bare loop's, in turn, and the processor time of all of the worker's processes."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    processor: list[float] = []
    # The first batch finds out what the provider bears; those after it begin there.
    cold = yard.run_batch(max(setup.sizes.calls_in_flight))
    for in_flight in setup.sizes.calls_in_flight:
        bare, product = [], []
        for number in range(setup.sizes.batch_rounds):
            setup.tell(f"batch, {database}: {in_flight} in flight, round {number + 1} of {setup.sizes.batch_rounds}")
            bare.append(yard.run_bare(in_flight))
            product.append(yard.run_batch(in_flight))
        shares = [least.calls / here.calls for here, least in zip(product, bare, strict=True)]
        share = find_median(shares)
        whole = find_median([least.wall / here.wall for here, least in zip(product, bare, strict=True)])
        processor.append(find_median([here.processor for here in product]) / setup.sizes.calls * 1000)
        clean = not any(here.paid_twice or here.without_answer for here in product)
        rows.append(
            Row(
                f"{in_flight} in flight, {database}",
                f"{share:.0%} of a bare loop, {whole:.0%} from launch to done",
                f">= {LEAST_SHARE:.0%}",
                share >= LEAST_SHARE and clean,
                SHARE_OF_PEERS.get(in_flight, ""),
                rounds=shares,
                higher_is_better=True,
            )
        )
        numbers[f"share_of_bare_loop_{in_flight}"] = share
        numbers[f"processor_seconds_per_1000_{in_flight}"] = processor[-1]
        numbers[f"rounds_{in_flight}"] = {"product": list(map(asdict, product)), "bare_loop": list(map(asdict, bare))}
    numbers["first_batch"] = asdict(cold)
    words = ", ".join(f"{each:.1f}" for each in processor)
    rows.append(
        Row(
            f"processor, {database}",
            f"{words} s for 1,000 calls",
            f"<= {MOST_PROCESSOR:.0f} s",
            max(processor) <= MOST_PROCESSOR,
            "promptfoo 4.3 s, Inspect AI 12.8, published script 14.3",
        )
    )
    return Measured(rows, numbers)


def measure_memory(setup: Setup, yard: Yard, database: str) -> Measured:
    """The most memory with the most calls in flight."""
    most = max(setup.sizes.calls_in_flight)
    setup.tell(f"batch, {database}: memory at {most} in flight")
    with yard.watch_memory() as memory:
        yard.run_batch(most)
    row = Row(
        f"memory, {database}",
        f"{memory.one_process:.0f} MB in the process that calls; {memory.all_processes:.0f} MB in all",
        f"<= {MOST_MEMORY:.0f} MB",
        memory.one_process <= MOST_MEMORY,
        "published script 124 MB, Inspect AI 274, promptfoo 391-473",
    )
    return Measured([row], {"memory": asdict(memory)})


def measure_faults(setup: Setup, yard: Yard, database: str) -> Measured:
    """The same batch without and with a provider that turns calls away."""
    setup.tell(f"batch, {database}: faults")
    clean, faulty = yard.run_batch(PEERS_IN_FLIGHT), yard.run_batch(PEERS_IN_FLIGHT, **FAULTS)
    longer = faulty.wall / clean.wall
    row = Row(
        f"5 % 429, 2 % 500, {database}",
        f"{faulty.without_answer} without an answer, {longer:.2f} x the clean run",
        f"0, <= {LONGEST_WITH_FAULTS} x",
        not faulty.without_answer and longer <= LONGEST_WITH_FAULTS,
        "Inspect AI 0, 1.2 x; promptfoo 55, 1.3 x",
        rounds=[longer],
    )
    return Measured([row], {"clean": asdict(clean), "faulty": asdict(faulty), "times_clean": longer})


def measure_kill(setup: Setup, yard: Yard, database: str) -> Measured:
    """kill -9 of the worker half-way, and another one: what was paid twice, and what was told of it."""
    setup.tell(f"batch, {database}: kill and resume")
    batch = yard.launch(PEERS_IN_FLIGHT)
    while yard.provider.stats()["received"] < setup.sizes.calls // 2:
        time.sleep(0.02)
    yard.kill_worker()
    killed = time.monotonic()
    yard.start_worker()
    while yard.provider.stats()["received"] <= setup.sizes.calls // 2 + PEERS_IN_FLIGHT:
        time.sleep(0.02)
    back = time.monotonic() - killed
    done = yard.finish(batch)
    row = Row(
        f"kill -9, resume, {database}",
        f"{done.paid_twice} paid twice, {done.told} told, {done.without_answer} lost; back after {back:.0f} s",
        f"<= {PEERS_IN_FLIGHT}, all told, 0 lost",
        done.paid_twice <= min(PEERS_IN_FLIGHT, done.told) and not done.without_answer,
        "Inspect AI 27-29, promptfoo 28, published script 1,508, untold",
    )
    return Measured([row], {"kill": asdict(done), "back_after_seconds": back})


def measure_slow_server(setup: Setup, yard: Yard) -> Measured:
    """A server that answers one call at a time, as on a laptop, with a long and a short time-out; read after a while."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    for timeout in SLOW_TIMEOUTS:
        setup.tell(f"batch: a server that answers one call in {SLOW_SECONDS:.0f} s, time-out {timeout} s")
        model = f"slow-{timeout}"
        # A queue of its own, which has learnt nothing from a fast server.
        yard.add_model(model, "--timeout-seconds", str(timeout))
        batch = yard.launch(PEERS_IN_FLIGHT, model, latency=SLOW_SECONDS, one_at_a_time=True)
        time.sleep(SLOW_WATCHED)
        stats = yard.provider.stats()
        shown = yard.instance.ask("batch", "show", str(batch))
        yard.instance.manage("batch", "abort", str(batch))
        failed, told = shown["outcomes"].get("provider_error", 0), shown["possibly_paid_twice"]
        answered, in_flight = stats["answered"], stats["in_flight"]
        possible = int(SLOW_WATCHED / SLOW_SECONDS)
        rows.append(
            Row(
                f"slow server, time-out {timeout} s",
                f"{in_flight} in flight, {answered} of {possible} answered, {failed} failed, {told} told as paid twice",
                f"<= {MOST_IN_FLIGHT_AT_A_SLOW_SERVER}, all but 2, 0, 0",
                in_flight <= MOST_IN_FLIGHT_AT_A_SLOW_SERVER and answered >= possible - 2 and not failed and not told,
            )
        )
        numbers[model] = {"answered": answered, "failed": failed, "told": told, **stats}
    return Measured(rows, {"slow_server": numbers})


def measure_pause(setup: Setup, yard: Yard) -> Measured:
    """From the moment the pause stands in the database to the arrival of the last new call."""
    setup.tell("batch: pause")
    batch = yard.launch(100)
    # Long enough to be paused half-way by a command, which takes a second to start.
    yard.provider.order(latency=PAUSED_LATENCY)
    while yard.provider.stats()["received"] < 200:
        time.sleep(0.01)
    with watch_for_pause(yard, batch) as paused:
        yard.instance.manage("batch", "pause", str(batch))
        time.sleep(2)
    last = max(at for call in yard.provider.requests().values() for at in call["at"])
    sent = yard.provider.stats()["received"]
    yard.provider.order(latency=0.0)
    late = max(0.0, last - paused[0])
    yard.instance.manage("batch", "resume", str(batch))
    yard.wait_for_end(batch)
    row = Row(
        "pause to the last new call",
        f"{late * 1000:.0f} ms, {sent} of {setup.sizes.calls} sent",
        f"<= {LONGEST_PAUSE:.0f} s",
        late <= LONGEST_PAUSE and sent < setup.sizes.calls,
    )
    return Measured([row], {"pause_to_last_call_seconds": late, "sent_at_pause": sent})


@contextmanager
def watch_for_pause(yard: Yard, batch: int) -> Iterator[list[float]]:
    """When the pause stood in the database, by the clock that all processes of this machine share."""
    seen: list[float] = []

    def watch() -> None:
        with psycopg.connect(yard.instance.environment["DATABASE_URL"], autocommit=True) as connection:
            sql = b"SELECT control FROM batches_batch WHERE id = %s"
            while connection.execute(sql, [batch]).fetchone() == ("run",):
                time.sleep(0.005)
        seen.append(time.monotonic())

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield seen
    watcher.join()


def measure_ledger(setup: Setup, yard: Yard) -> Measured:
    """A large batch planned, and its progress read half-way; no call is made."""
    cells = setup.sizes.cells
    setup.tell(f"batch: {cells:,} cells planned")
    yard.kill_worker()
    arguments = ("--cells", str(cells), "--rounds", str(setup.sizes.rounds))
    answer = run_inside("plan_cells", *arguments, environment=yard.instance.environment)
    planning, progress = find_median(answer["planning_seconds"]), find_median(answer["progress_seconds"])
    rows = [
        Row(
            f"{cells:,} cells planned",
            f"{planning:.2f} s on PostgreSQL",
            f"<= {LONGEST_PLANNING:.0f} s",
            planning <= LONGEST_PLANNING,
        ),
        Row(
            f"progress of {cells:,} cells",
            f"{progress * 1000:.0f} ms on PostgreSQL",
            f"<= {LONGEST_PROGRESS * 1000:.0f} ms",
            progress <= LONGEST_PROGRESS,
        ),
    ]
    return Measured(rows, answer)
