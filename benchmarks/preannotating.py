"""Machines that read: planning, the two annotators that need no key, the calibration page, and the panel of the desk.

Everything is invented and on either database; no provider is asked.
"""

from __future__ import annotations

from typing import Any

from benchmarks.batch import open_databases
from benchmarks.results import Measured, Row, find_median
from benchmarks.setup import Setup
from benchmarks.study import run_inside
from tests.instance import Instance

LONGEST_PLANNING = 2.0
LONGEST_FIT = 5.0
LEAST_READ = 5_000
LONGEST_CALIBRATION = 0.5
LONGEST_PANEL = 0.1
PATIENCE_SECONDS = 900.0


def measure(setup: Setup) -> Measured:
    """All of it, once on SQLite and once on PostgreSQL."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    for database, servers in open_databases():
        setup.tell(f"annotate, {database}: {setup.sizes.read_sentences:,} sentences")
        url = (servers.database_url or "") if servers else ""
        instance = Instance(setup.folder / f"annotate-{database}", database_url=url)
        given = {
            "--sentences": setup.sizes.read_sentences,
            "--codings": setup.sizes.taught_codings,
            "--rounds": setup.sizes.rounds,
        }
        arguments = [word for name, value in given.items() for word in (name, str(value))]
        found = run_inside("annotate", *arguments, environment=instance.environment, patience=PATIENCE_SECONDS)
        rows += list_rows(found, database)
        numbers[f"annotate_{database}"] = found
    return Measured(rows, numbers)


def list_rows(found: dict[str, Any], database: str) -> list[Row]:
    """The lines of one database."""
    planning, learnt, rules = found["planning"], found["learnt"], found["rules"]
    planned, fitted = find_median(planning["seconds"]), find_median(learnt["fit"]["seconds"])
    run, by_rules = found["learnt_run"], found["rules_run"]
    read = learnt["read_sentences"] / find_median(learnt["read"]["seconds"])
    matched = rules["read_sentences"] / find_median(rules["seconds"])
    later, first = (find_median(found["calibration"][name]["seconds"]) for name in ("later", "first"))
    panel = find_median(found["panel"]["seconds"])
    return [
        Row(
            f"reading planned, {database}",
            f"{planned:.2f} s: {found['sentences']:,} sentences, {planning['cells']:,} calls",
            f"<= {LONGEST_PLANNING:.0f} s",
            planned <= LONGEST_PLANNING,
        ),
        Row(
            f"fit, {database}",
            f"{fitted:.2f} s: {learnt['codings']:,} codings, {learnt['codes']} codes",
            f"<= {LONGEST_FIT:.0f} s",
            fitted <= LONGEST_FIT,
        ),
        Row(
            f"learnt, read, {database}",
            f"{read:,.0f} sentences/s",
            f">= {LEAST_READ:,}/s",
            read >= LEAST_READ,
        ),
        Row(
            f"rules, read, {database}",
            f"{matched:,.0f} sentences/s, {rules['rules']} rules",
            f">= {LEAST_READ:,}/s",
            matched >= LEAST_READ,
        ),
        Row(
            f"whole run, learnt, {database}",
            f"{find_median(run['seconds']):.1f} s with the judging, {run['suggestions']:,} suggestions stored",
        ),
        Row(
            f"whole run, rules, {database}",
            f"{find_median(by_rules['seconds']):.1f} s, {by_rules['suggestions']:,} suggestions stored",
        ),
        Row(
            f"calibration page, {database}",
            f"{later * 1000:.0f} ms ({first * 1000:.0f} ms at first), {found['calibration']['kilobytes']:.0f} kB",
            f"<= {LONGEST_CALIBRATION * 1000:.0f} ms",
            later <= LONGEST_CALIBRATION,
        ),
        Row(
            f"panel of the desk, {database}",
            f"{panel * 1000:.0f} ms",
            f"<= {LONGEST_PANEL * 1000:.0f} ms",
            panel <= LONGEST_PANEL,
        ),
    ]
