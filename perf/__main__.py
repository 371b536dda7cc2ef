"""``python -m perf [NAME...] [--small] [--json PATH]``: measure, print a table, keep every number as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from perf.results import (
    Measured,
    Row,
    compare,
    describe_ratios,
    format_headings,
    format_row,
    keep,
    read_kept,
)
from perf.setup import FULL, SMALL, Setup
from tests.support.instance import ROOT

MEASURES = {
    "save": "perf.saves",
    "crowd": "perf.crowd",
    "open": "perf.desk_page",
    "desk": "perf.desk",
    "pages": "perf.pages",
    "import": "perf.imports",
    "beside": "perf.other_work",
    "backup": "perf.backup",
    "export": "perf.exports",
    "agreement": "perf.agreement",
    "trajectories": "perf.trajectories",
    "batch": "perf.batches",
    "sob": "perf.reports",
    "start": "perf.starts",
}
# What a person set for a site of her own would change what is measured.
NOT_FOR_BENCHMARKS = (
    "BASE_URL",
    "CONN_MAX_AGE",
    "DATABASE_URL",
    "DEBUG",
    # Without bytecode on disk every process would compile Django and the product anew, which only some machines are set to.
    "PYTHONDONTWRITEBYTECODE",
    "REDIS_URL",
    "SECRET_KEY",
    "SECRET_KEY_FILE",
)
NOTE = "Ratios carry over to other machines, times do not (docs/performance.md)."


def main() -> int:
    """Measure what is named (everything, unless names are given); 0 whatever the figures say."""
    given = read_arguments()
    data = Path(os.environ.pop("AUDITAPP_DATA", ROOT / "var"))
    for name in NOT_FOR_BENCHMARKS:
        os.environ.pop(name, None)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Beside the real data, not in a folder of memory: what is measured waits for a disk.
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=data))
    setup = Setup(SMALL if given.small else FULL, folder, tell)
    report: dict[str, object] = {**describe_machine(), "sizes": asdict(setup.sizes)}
    try:
        print(format_headings(), flush=True)
        rows: list[Row] = []
        report["measures"] = {name: run(name, setup, rows) for name in given.names or MEASURES}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report["load_average_after"] = os.getloadavg()
    path = given.json or data / "bench.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    form = "small" if given.small else "full"
    now = describe_ratios(rows)
    print("", *compare(now, read_kept(form)), sep="\n")
    measured = {"measured_at": report["measured_at"], "load_average": round(os.getloadavg()[0], 1)}
    keep(now, form, measured=measured)
    print(f"\n{NOTE}\nLoad average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores. All numbers: {path}")
    return 0


def read_arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(prog="python -m perf", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(MEASURES)}")
    parser.add_argument("--small", action="store_true", help="a quick look; its figures are not for quoting")
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help="where all numbers go (default: bench.json in the data folder)"
    )
    given = parser.parse_args()
    if unknown := set(given.names) - set(MEASURES):
        parser.error(f"there is no measure {', '.join(sorted(unknown))}; there are {', '.join(MEASURES)}")
    return given


def run(name: str, setup: Setup, rows: list[Row]) -> dict[str, object]:
    """One measure: print its lines, add them to ``rows``, return everything for the JSON file."""
    measure: Callable[[Setup], Measured] = import_module(MEASURES[name]).measure
    started = time.monotonic()
    measured = measure(setup)
    for row in measured.rows:
        print(format_row(row), flush=True)
    rows += measured.rows
    return {
        "rows": [asdict(row) for row in measured.rows],
        **measured.numbers,
        "took_seconds": time.monotonic() - started,
    }


def describe_machine() -> dict[str, object]:
    """On what, when and beside how much other work."""
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "load_average_before": os.getloadavg(),
    }


def tell(words: str) -> None:
    """Say what is going on, apart from the table."""
    print(f"… {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
