"""Exporting codings: how fast, and whether memory stays the same when there are twice as many."""

from __future__ import annotations

from typing import Any

from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside

LEAST = 100_000
FORMATS = ("csv", "jsonl")
ROUNDS = 3
# Within this, the memory of two exports counts as the same (megabytes).
SAME_MEMORY = 8.0


def measure(setup: Setup) -> Measured:
    """Codings a second in two formats, and the rise of memory for one helping of codings and for two."""
    environment = setup.study.instance.environment
    setup.tell("export: one helping of codings")
    small = _export(setup, "csv", rounds=1)
    run_inside("codings", "second_annotator", "--count", str(setup.sizes.codings), environment=environment)
    setup.tell("export: two helpings of codings")
    double = {name: _export(setup, name, rounds=ROUNDS) for name in FORMATS}
    rates = {name: found["rows"] / find_median(found["seconds"]) for name, found in double.items()}
    large = double["csv"]
    work = large["rows"] / find_median(large["processor_seconds"])
    growth = large["rise_mb"] - small["rise_mb"]
    rows = [
        Row(
            "export codings",
            f"CSV {rates['csv']:,.0f}/s, {work:,.0f} a second of processor",
            f">= {LEAST:,}/s",
            rates["csv"] >= LEAST,
            "Label Studio 26,800; Taguette 10,600; doccano 8,100",
        ),
        Row(
            "export, memory",
            f"+{small['rise_mb']:.0f} MB for {small['rows']:,}, +{large['rise_mb']:.0f} MB for {large['rows']:,}",
            "the same for both",
            growth <= SAME_MEMORY,
            "peaks: Taguette 125 MB, Label Studio 541-698, doccano 2,478",
        ),
    ]
    return Measured(
        rows,
        {"per_second": rates, "per_processor_second": work, "growth_mb": growth, "single": small, "double": double},
    )


def _export(setup: Setup, format_: str, *, rounds: int) -> dict[str, Any]:
    output = setup.folder / f"codings.{format_}"
    given = ("--format", format_, "--output", str(output), "--rounds", str(rounds))
    found: dict[str, Any] = run_inside("exports", *given, environment=setup.study.instance.environment)
    output.unlink()
    return found
