"""Importing interviews: read, cut into sentences, every sentence a row, one transaction."""

from __future__ import annotations

from perf.corpus import write_interviews
from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside
from tests.support.instance import Instance

LEAST = 20_000


def measure(setup: Setup) -> Measured:
    """Sentences a second through the import action, the median of a few imports into the same database."""
    instance = Instance(setup.folder / "import")
    file = instance.folder / "interviews.jsonl"
    file.write_bytes(write_interviews(setup.sizes.interviews))
    setup.tell(f"import: {setup.sizes.interviews} interviews, {setup.sizes.import_rounds} times")
    instance.manage("migrate", "-v0")
    rounds = str(setup.sizes.import_rounds)
    found = run_inside("imports", str(file), "--rounds", rounds, environment=instance.environment)
    rate = found["sentences"] / find_median(found["seconds"])
    work = found["sentences"] / find_median(found["processor_seconds"])
    row = Row(
        "import with segmentation",
        f"{rate:,.0f} sentences/s; {work:,.0f} a second of processor",
        f">= {LEAST:,} sentences/s",
        rate >= LEAST,
        "doccano 10,700; Label Studio 14,000 (PostgreSQL), 52,600 (SQLite): neither segments nor stores sentences",
    )
    return Measured([row], {"per_second": rate, "per_processor_second": work, **found})
