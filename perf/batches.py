"""Batches through a real worker: against a bare loop of the same calls, and through faults.

Everything on SQLite with a broker of files, as one machine has it, and on PostgreSQL with Redis, as a team has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from perf.batch_site import BatchSite, open_batch_site
from perf.results import Measured, Row, find_median
from perf.setup import Setup
from tests.support.servers import OwnServers

LEAST_SHARE = 0.92
MOST_PROCESSOR = 3.0
LONGEST_WITH_FAULTS = 1.3
# Other programs' faults were measured at this many in flight.
PEERS_IN_FLIGHT = 30
FAULTS = {"p429": 0.05, "p500": 0.02, "retry_after": 1}
SHARE_OF_PEERS = {
    30: "with start-up: promptfoo 83 %, Inspect AI 45 %, published script 93 %",
    100: "with start-up: promptfoo 48 %, Inspect AI 16 %, published script 14 %",
}


def measure(setup: Setup) -> Measured:
    """Speed, and a provider that turns calls away, on either database."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    for database, servers in open_databases():
        folder = setup.folder / f"batch-{database}"
        with open_batch_site(folder, calls=setup.sizes.calls, servers=servers) as site:
            site.start_worker()
            for part in (measure_speed, measure_faults):
                found = part(setup, site, database)
                rows += found.rows
                numbers |= {f"{database}_{name}": number for name, number in found.numbers.items()}
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


def measure_speed(setup: Setup, site: BatchSite, database: str) -> Measured:
    """Throughput as a share of the bare loop's, in turn, and the processor time of all of the worker's processes."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    processor: list[float] = []
    # The first batch finds out what the provider bears; those after it begin there.
    cold = site.run_batch(max(setup.sizes.calls_in_flight))
    for in_flight in setup.sizes.calls_in_flight:
        bare, product = [], []
        for number in range(setup.sizes.batch_rounds):
            setup.tell(f"batch, {database}: {in_flight} in flight, round {number + 1} of {setup.sizes.batch_rounds}")
            bare.append(site.run_bare(in_flight))
            product.append(site.run_batch(in_flight))
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


def measure_faults(setup: Setup, site: BatchSite, database: str) -> Measured:
    """The same batch without and with a provider that turns calls away."""
    setup.tell(f"batch, {database}: faults")
    clean, faulty = site.run_batch(PEERS_IN_FLIGHT), site.run_batch(PEERS_IN_FLIGHT, **FAULTS)
    longer = faulty.wall / clean.wall
    row = Row(
        f"5 % 429, 2 % 500, {database}",
        f"{faulty.without_answer} without an answer, {longer:.2f} x the clean run",
        f"0, <= {LONGEST_WITH_FAULTS} x",
        not faulty.without_answer and longer <= LONGEST_WITH_FAULTS,
        "Inspect AI 0, 1.2 x; promptfoo 55, 1.3 x",
    )
    return Measured([row], {"clean": asdict(clean), "faulty": asdict(faulty), "times_clean": longer})
