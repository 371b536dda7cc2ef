"""Machines that read: planning, the two annotators that need no key, the calibration page, and the panel of the desk.

Everything is invented and on either database; no provider is asked.
"""

from __future__ import annotations

from typing import Any

from perf.batch import open_databases
from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside
from tests.support.instance import Instance

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
    planning = found["planning"]
    planned = find_median(planning["seconds"])
    return [
        Row(
            f"reading planned, {database}",
            f"{planned:.2f} s: {found['sentences']:,} sentences, {planning['cells']:,} calls",
            f"<= {LONGEST_PLANNING:.0f} s",
            planned <= LONGEST_PLANNING,
        ),
        *_list_learnt(found, database),
        *_list_rules(found, database),
        *_list_pages(found, database),
    ]


def _list_learnt(found: dict[str, Any], database: str) -> list[Row]:
    learnt, run = found["learnt"], found["learnt_run"]
    fitted, judged = (find_median(learnt[name]["seconds"]) for name in ("fit", "judged"))
    read = learnt["read_sentences"] / find_median(learnt["read"]["seconds"])
    return [
        Row(
            f"fit, {database}",
            f"{fitted:.2f} s: {learnt['codings']:,} codings, {learnt['codes']} codes",
            f"<= {LONGEST_FIT:.0f} s",
            fitted <= LONGEST_FIT,
        ),
        Row(f"fit with its judging, {database}", f"{judged:.2f} s: every code once more in each of five parts"),
        Row(f"learnt, read, {database}", f"{read:,.0f} sentences/s", f">= {LEAST_READ:,}/s", read >= LEAST_READ),
        Row(
            f"whole run, learnt, {database}",
            f"{find_median(run['seconds']):.1f} s with the judging, {run['suggestions']:,} suggestions stored",
        ),
    ]


def _list_rules(found: dict[str, Any], database: str) -> list[Row]:
    rules, run = found["rules"], found["rules_run"]
    matched = rules["read_sentences"] / find_median(rules["seconds"])
    stored = found["sentences"] / find_median(run["seconds"])
    return [
        Row(
            f"rules, read, {database}",
            f"{matched:,.0f} sentences/s, {rules['rules']} rules",
            f">= {LEAST_READ:,}/s",
            matched >= LEAST_READ,
        ),
        Row(
            f"whole run, rules, {database}",
            f"{stored:,.0f} sentences/s, {run['suggestions']:,} suggestions stored",
            f">= {LEAST_READ:,}/s",
            stored >= LEAST_READ,
        ),
    ]


def _list_pages(found: dict[str, Any], database: str) -> list[Row]:
    later, first = (find_median(found["calibration"][name]["seconds"]) for name in ("later", "first"))
    panel = find_median(found["panel"]["seconds"])
    return [
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
