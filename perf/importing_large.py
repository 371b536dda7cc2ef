"""Large files of conversations, looked through and imported as a worker does it: runs of an agent, and the export of an account.

Times are compared with how long Python takes to parse the same bytes as JSON in the same run.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from perf.long_files import write_account, write_trajectories
from perf.results import Measured, Row
from perf.setup import Setup
from perf.study import run_inside
from tests.support.instance import Instance

LEAST_UNITS = 20_000
MOST_RISE_MB = 150.0
SLOWEST_PREVIEW = 15.0
MOST_PEAK_MB = 500.0
PATIENCE_SECONDS = 1_200.0
SAMPLE_MB = 10


def measure(setup: Setup) -> Measured:
    """Sentences a second and the rise of memory; seconds of a preview and the peak of memory."""
    folder = setup.folder / "large"
    folder.mkdir()
    runs, account, packed = folder / "runs.jsonl", folder / "conversations.json", folder / "export.zip"
    write_trajectories(runs, setup.sizes.runs)
    found = {"runs": _import(setup, runs)}
    rows = [_judge_runs(setup, found["runs"], _parse(runs.read_bytes()))]
    megabytes = setup.sizes.account_mb
    sample = folder / "sample.json"
    write_account(sample, SAMPLE_MB)
    for file in (account, packed):
        write_account(file, megabytes)
        parsing = _parse(sample.read_bytes()) * megabytes / SAMPLE_MB
        found[file.name] = _import(setup, file)
        rows += _judge_account(
            f"account, {megabytes} MB{' packed' if file == packed else ''}", found[file.name], parsing
        )
        file.unlink()
    return Measured(rows, {**found})


def _import(setup: Setup, file: Path) -> dict[str, Any]:
    setup.tell(f"large: {file.name}, {file.stat().st_size / 1e6:.0f} MB, is looked through and imported")
    instance = Instance(setup.folder / f"large-{file.stem}")
    instance.manage("migrate", "-v0")
    found: dict[str, Any] = run_inside(
        "import_large", str(file), environment=instance.environment, patience=PATIENCE_SECONDS
    )
    return found


def _parse(data: bytes) -> float:
    """Seconds of processor that Python takes to parse JSON, whole or in lines."""
    parts = data.splitlines()
    start = time.process_time()
    for part in parts:
        json.loads(part)
    return time.process_time() - start


def _judge_runs(setup: Setup, found: dict[str, Any], parsing: float) -> Row:
    done = found["import"]
    rate, rise = found["sentences"] / done["seconds"], done["peak_mb"] - done["before_mb"]
    work = found["sentences"] / done["processor_seconds"]
    return Row(
        f"import, {setup.sizes.runs:,} runs of 60 turns",
        f"{rate:,.0f} sentences and calls/s; {work:,.0f} a second of processor; memory +{rise:.0f} MB",
        f">= {LEAST_UNITS:,}/s, +{MOST_RISE_MB:.0f} MB",
        rate >= LEAST_UNITS and rise <= MOST_RISE_MB,
        rounds=[done["processor_seconds"] / parsing],
    )


def _judge_account(name: str, found: dict[str, Any], parsing: float) -> list[Row]:
    check, done = found["check"], found["import"]
    return [
        Row(
            f"{name}, preview",
            f"{check['seconds']:.1f} s ({check['processor_seconds']:.1f} of processor); peak {check['peak_mb']:.0f} MB",
            f"<= {SLOWEST_PREVIEW:.0f} s, {MOST_PEAK_MB:.0f} MB",
            check["seconds"] <= SLOWEST_PREVIEW and check["peak_mb"] <= MOST_PEAK_MB,
            rounds=[check["processor_seconds"] / parsing],
        ),
        Row(
            f"{name}, import",
            f"{done['seconds']:.0f} s ({done['processor_seconds']:.0f} of processor), {found['sentences']:,} sentences; "
            f"peak {done['peak_mb']:.0f} MB",
            f"<= {MOST_PEAK_MB:.0f} MB",
            done["peak_mb"] <= MOST_PEAK_MB,
            rounds=[done["processor_seconds"] / parsing],
        ),
    ]
