"""A whole instance of the product in processes of its own: a data folder, commands, a worker, a fake paid API.

For promises about processes: what survives a kill, what a command prints. Everything started here is ended here.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0
# Django's own checks load every page of the site, which takes half of a command's time; `make check` runs them.
CHECKLESS = {"createcachetable", "segment", "sob_parse"}


class Instance:
    """A data folder with its own database (SQLite unless ``database_url``), and the processes started on it."""

    def __init__(self, folder: Path, *, database_url: str = "", redis_url: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        hidden = ("DATABASE_URL", "REDIS_URL", "AUDITAPP_DATA", "BASE_URL", "SECRET_KEY")
        self.environment = {name: value for name, value in os.environ.items() if name not in hidden}
        self.environment["AUDITAPP_DATA"] = str(folder)
        if database_url:
            self.environment["DATABASE_URL"] = database_url
        if redis_url:
            self.environment["REDIS_URL"] = redis_url
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def manage(self, *arguments: str, fails: bool = False) -> str:
        """Run a management command; its standard output. With ``fails``, its one line of complaint instead."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments, *(() if arguments[0] in CHECKLESS else ("--skip-checks",))],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE * 3,
        )
        if fails:
            assert done.returncode != 0, f"{arguments} succeeded: {done.stdout}"
            assert "Traceback" not in done.stderr, done.stderr
            return done.stderr.strip()
        assert done.returncode == 0, f"{arguments} failed: {done.stderr}"
        return done.stdout

    def ask(self, *arguments: str) -> Any:
        """Run a command with ``--json``; the object it prints."""
        return json.loads(self.manage(*arguments, "--json"))

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows straight from the database: cheap enough to ask often, unlike a command."""
        url = self.environment.get("DATABASE_URL")
        if url:
            with psycopg.connect(url) as connection:
                return connection.execute(sql.encode()).fetchall()
        with closing(sqlite3.connect(self.folder / "auditapp.sqlite3", timeout=20)) as connection:
            return connection.execute(sql).fetchall()

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start ``python …`` in a process group of its own."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**self.environment, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def start_worker(self) -> subprocess.Popen[bytes]:
        """A real worker process over the configured broker."""
        return self.start("manage.py", "worker", "--skip-checks")

    def stop(self) -> None:
        """End everything that was started, hard."""
        for process in self.started:
            kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """kill -9 for a process and its children."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()


class FakeProvider:
    """The fake paid API in a process of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fake_provider"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.base_url = f"http://127.0.0.1:{self.port}/v1"

    def order(self, **orders: object) -> None:
        self._request("/orders", json.dumps(orders).encode())

    def stats(self) -> dict[str, Any]:
        return json.loads(self._request("/stats"))  # type: ignore[no-any-return]

    def stop(self) -> None:
        kill_group(self.process)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _request(self, path: str, data: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data)
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.read()  # type: ignore[no-any-return]


def wait_until(condition: Callable[[], bool], *, what: str, patience: float = PATIENCE) -> None:
    """Return when ``condition`` holds; fail with ``what`` when it does not in time."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"waited {patience:.0f} s in vain until {what}"
        time.sleep(0.05)
