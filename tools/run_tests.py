"""``make test``: what is quick on SQLite, then what matters there on PostgreSQL and Redis. ``make test-ci``: the same with what
is slow. ``make test-all``: everything on both."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tools.children import end_children, start_child
from tools.environment import ROOT

STOP_PATIENCE_SECONDS = 20.0
# The slowest close each run, so that whoever adds one sees it.
SLOWEST = ("--durations=15", "--durations-min=1")


@dataclass(frozen=True)
class SuiteRun:
    """One pytest run: its title, the value of TEST_DATABASE, pytest's further arguments, and the cases it runs."""

    title: str
    database: str
    arguments: tuple[str, ...] = ()
    cases: str = "all"


def plan_runs(command: str) -> list[SuiteRun]:
    """The runs of ``make test``, ``make test-ci`` or ``make test-all``."""
    # Not above, for a place that only runs the product may have no tests.
    from tests.support.postgres import LEFT_OUT, choose_tests

    # Screens, the launcher and the rights of roles do not change with the database.
    ignored = tuple(f"--ignore={path.rstrip('/')}" for path in LEFT_OUT)
    thorough = ("--hypothesis-profile=thorough",)
    if command == "test-all":
        return [
            SuiteRun("Everything on SQLite, and Celery over files", "sqlite", thorough),
            SuiteRun("Everything that uses a database on PostgreSQL and Redis", "postgres", (*thorough, *ignored)),
        ]
    quick = () if command == "test-ci" else ("-m", "not full")
    return [
        SuiteRun("SQLite, and Celery over files", "sqlite", quick),
        SuiteRun("PostgreSQL and Redis", "postgres", (*quick, *choose_tests()), cases="first"),
    ]


def run_tests(python: Path, command: str) -> int:
    """Run all that ``command`` asks for, also when the first fails. pytest has the last word.

    Returns the first exit status that is not 0.
    """
    statuses = []
    for run in plan_runs(command):
        print(f"== {run.title}", flush=True)
        statuses.append(_run_pytest(python, run))
    return next((status for status in statuses if status != 0), 0)


def _run_pytest(python: Path, run: SuiteRun) -> int:
    command = [str(python), "-m", "pytest", "-n", "2", "--dist", "worksteal", *SLOWEST, *run.arguments]
    environment = {**os.environ, "TEST_DATABASE": run.database, "TEST_CASES": run.cases}
    # Dozens of processes load the product. Without bytecode on disk each would compile it for itself.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    tests = start_child("tests", command, environment=environment, folder=ROOT)
    try:
        return tests.process.wait()
    except KeyboardInterrupt:
        # Its group is its own, so Ctrl-C reached only us. pytest gets it once, and the time to end what it started.
        os.killpg(tests.process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            tests.process.wait(STOP_PATIENCE_SECONDS)
        raise
    finally:
        end_children([tests], patience_seconds=0)
