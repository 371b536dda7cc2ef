"""Verifying the audit trail, and comparing codings with it."""

from __future__ import annotations

from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside

LEAST = 50_000
ROUNDS = 3


def measure(setup: Setup) -> Measured:
    """Events verified and rows compared in a second of processor, and what the comparison adds to memory."""
    setup.tell("audit: recording codings, verifying their events")
    given = ("--count", str(setup.sizes.codings), "--rounds", str(ROUNDS))
    found = run_inside("verify_trail", *given, environment=setup.study.instance.environment)
    events = found["events"] / find_median(found["verified"]["processor_seconds"])
    compared = found["rows"] / find_median(found["compared"]["processor_seconds"])
    rows = [
        Row(
            "verify audit",
            f"{events:,.0f} events, {compared:,.0f} rows a second of processor; +{found['rise_mb']:.0f} MB",
            f">= {LEAST:,} events/s",
            events >= LEAST,
            "",
        )
    ]
    return Measured(
        rows, {"events_per_processor_second": events, "rows_per_processor_second": compared, "found": found}
    )
