"""What a test session runs on: a pytest plugin, loaded with ``-p tests.support.services`` before the settings are read.

TEST_DATABASE chooses: ``sqlite`` (the default, Celery over files) or ``postgres`` (with Redis). For ``postgres``,
DATABASE_URL and REDIS_URL are used when given, and what is missing is started for the session by
tools/throwaway_servers.py. No test reads or writes the data folder of a real run.

TEST_CASES=first runs one case of each test with parameters on PostgreSQL (tests/support/postgres.py).

Where there is no Redis or no Chromium, the tests that need it are left out; with CI=true that fails the session.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).resolve().parents[2]
IN_CI = os.environ.get("CI") == "true"
# Set by a person for a real site; a test that needs one sets it itself.
NOT_FOR_TESTS = (
    "BASE_URL",
    "DEBUG",
    "HSTS_SECONDS",
    "LOG_LEVEL",
    "SECRET_KEY_FILE",
    "TIME_ZONE",
    "CONN_MAX_AGE",
)
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def database_kind() -> str:
    """``sqlite`` or ``postgres``: what this session runs on."""
    return os.environ.get("TEST_DATABASE", "sqlite")


def quick_on(kind: str) -> pytest.MarkDecorator:
    """For a test of processes: ``make test`` runs it on this kind of database alone, ``make test-ci`` on both."""
    return pytest.mark.processes if database_kind() == kind else pytest.mark.full


def chromium_path() -> str | None:
    """The browser that browser tests drive: CHROMIUM when set, else the first found on PATH, else None."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None]:
    """Set the environment; a wrapper, for pytest-django reads the settings in this very hook."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        _prepare_session()
    else:
        _part_from_other_workers(worker)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave browser tests out where there is no Chromium; in CI that fails."""
    if item.get_closest_marker("browser") and chromium_path() is None:
        reason = "There is no Chromium on PATH: install it, or give its path in CHROMIUM."
        if IN_CI:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


def _prepare_session() -> None:
    if database_kind() not in {"sqlite", "postgres"}:
        raise pytest.UsageError(f"TEST_DATABASE must be sqlite or postgres, not {database_kind()!r}.")
    for name in NOT_FOR_TESTS:
        os.environ.pop(name, None)
    folder = tempfile.mkdtemp(prefix="auditapp-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _give_data_folder(Path(folder))
    os.environ["AUDITAPP_TEST_RUN"] = folder
    os.environ["SECRET_KEY"] = "known to everyone, and good for nothing but the tests"
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end_as_ctrl_c_does)
    if database_kind() == "sqlite":
        os.environ.pop("DATABASE_URL", None)
        os.environ.pop("REDIS_URL", None)
        return
    if os.environ.get("DATABASE_URL"):
        atexit.register(_leave_no_databases)
    if not (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL")):
        _start_servers()


def _give_data_folder(folder: Path) -> None:
    os.environ["AUDITAPP_DATA"] = str(folder)
    # A web server makes it at its start; Django's test client does not.
    (folder / "static").mkdir(parents=True)


def _leave_no_databases() -> None:
    from tests.support.databases import drop_databases

    drop_databases()


def _end_as_ctrl_c_does(number: int, _frame: FrameType | None) -> None:
    # Once: a second signal would cut off the cleaning up.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _part_from_other_workers(worker: str) -> None:
    """Give one of xdist's processes (``gw0``, ``gw1``, ...) a data folder and a Redis database of its own."""
    _give_data_folder(Path(os.environ["AUDITAPP_DATA"]) / worker)
    redis_url = os.environ.get("REDIS_URL", "")
    if redis_url.startswith("redis+socket://"):
        os.environ["REDIS_URL"] = f"{redis_url}?virtual_host={worker.removeprefix('gw')}"


def _start_servers() -> None:
    """Start what is not given, and put its address into the environment, which xdist's workers inherit."""
    servers = subprocess.Popen(
        [sys.executable, "-m", "tools.throwaway_servers"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert servers.stdin is not None
    assert servers.stdout is not None
    # Its standard input closes when this process ends, however it ends; that stops them.
    atexit.register(servers.communicate)
    answer = servers.stdout.readline()
    if not answer:
        raise pytest.UsageError("The test servers did not start; their own words stand above.")
    addresses = json.loads(answer)
    for variable, what in (("DATABASE_URL", "PostgreSQL"), ("REDIS_URL", "Redis")):
        address = os.environ.get(variable) or addresses[variable.lower()]
        if address:
            os.environ[variable] = address
        elif IN_CI or variable == "DATABASE_URL":
            raise pytest.UsageError(f"There is no {what} here: install it, or give {variable}.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL, leave out what has nothing to do with a database: it ran on SQLite and can come out no other way.

    With TEST_CASES=first, also leave out all cases but the first of a test with parameters.
    """
    if database_kind() != "postgres":
        return
    only_first = os.environ.get("TEST_CASES") == "first"
    kept: list[pytest.Item] = []
    seen: set[str] = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if uses_database(item) and not (only_first and test in seen):
            kept.append(item)
            seen.add(test)
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def uses_database(item: pytest.Item) -> bool:
    """Whether a test reads or writes the session's database, or starts processes that do."""
    fixtures = set(getattr(item, "fixturenames", ()))
    marked = item.get_closest_marker("django_db") or item.get_closest_marker("processes")
    return bool(marked) or bool(fixtures & {"db", "transactional_db", "migrated"})
