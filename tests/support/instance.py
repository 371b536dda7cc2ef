"""A whole instance of the product in processes of its own: a data folder, commands, a worker, a fake paid API.

For promises about processes: what survives a kill, what a command prints. Everything started here is ended here.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

ROOT = Path(__file__).resolve().parents[2]
# Long, for what comes at last on a machine that is busy with everything else is right all the same.
PATIENCE = 120.0
# Django's own checks load every page of the site, which takes half of a command's time; `make check` runs them.
CHECKLESS = {"backup", "doctor", "prepare", "restore"}
HOST = "127.0.0.1"
# Below those that systems give out by themselves; each process of a test session begins elsewhere.
FIRST_PORT, PORTS = 20_000, 12_000
_places = itertools.count(os.getpid() * 16)


def skip_checks(arguments: tuple[str, ...]) -> list[str]:
    """The same command without the checks, if it makes any."""
    name, *rest = arguments
    return [name, *rest] if name in CHECKLESS else [name, "--skip-checks", *rest]


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
        self.started: list[Process] = []

    def manage(self, *arguments: str, fails: bool = False) -> str:
        """Run a management command; its standard output. With ``fails``, its one line of complaint instead."""
        done = self.run(*arguments)
        if fails:
            assert done.returncode != 0, f"{arguments} succeeded: {done.stdout}"
            assert "Traceback" not in done.stderr, done.stderr
            return done.stderr.strip()
        assert done.returncode == 0, f"{arguments} failed: {done.stderr}"
        return done.stdout

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a management command, however it ends."""
        return subprocess.run(
            [sys.executable, "manage.py", *skip_checks(arguments)],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE * 3,
        )

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

    def write(self, statements: Sequence[str]) -> None:
        """Run statements straight on the database, all or none."""
        url = self.environment.get("DATABASE_URL")
        if url:
            with psycopg.connect(url) as connection:
                for statement in statements:
                    connection.execute(statement.encode())
            return
        with closing(sqlite3.connect(self.folder / "auditapp.sqlite3")) as file, file:
            for statement in statements:
                file.execute(statement)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start ``python …`` in a process group of its own; its words go to a file of the data folder."""
        with (self.folder / f"process-{len(self.started)}.log").open("ab") as words:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env={**self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def start_worker(self, *arguments: str, **environment: str) -> Process:
        """A real worker process over the configured broker."""
        return self.start("manage.py", "worker", "--skip-checks", *arguments, **environment)

    def notify(self, queue: int, *, times: int) -> None:
        """Put the same message on the broker several times, as brokers do that deliver again."""
        self.run_code(
            "import sys; from auditapp.batches.runner import tasks\n"
            "for _ in range(int(sys.argv[2])): tasks.notify_queue(int(sys.argv[1]))",
            str(queue),
            str(times),
        )

    def start_code(self, code: str, **environment: str) -> Process:
        """Start a piece of Python inside the product."""
        environment.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
        return self.start("-c", f"import django; django.setup()\n{code}", **environment)

    def run_code(self, code: str, *arguments: str) -> str:
        """Run a piece of Python inside the product; its standard output."""
        environment = {**self.environment, "DJANGO_SETTINGS_MODULE": "auditapp.settings"}
        command = [sys.executable, "-c", f"import django; django.setup()\n{code}", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read_words(self, *, lines: int = 30) -> str:
        """The last lines that each started process wrote, for whoever asks why something did not happen."""
        logs = sorted(self.folder.glob("process-*.log"))
        ends = (log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:] for log in logs)
        return "\n".join(f"--- {log.name}\n" + "\n".join(end) for log, end in zip(logs, ends, strict=True))

    def stop(self) -> None:
        """End everything that was started, hard."""
        for process in self.started:
            kill_group(process)


class Forked:
    """A process forked by ``tests.support.preloaded``, to be used like one of ``subprocess``."""

    def __init__(self, pid: int, report: int, *, name: str) -> None:
        self.pid, self.returncode, self.name = pid, None, name
        self._report = report

    returncode: int | None

    def poll(self) -> int | None:
        """Its exit status, or ``None`` while it runs."""
        return self._read_report(0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, once it has ended."""
        if self._read_report(timeout) is None:
            raise subprocess.TimeoutExpired(self.name, timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read_report(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], timeout)[0]:
            self.returncode = int(os.read(self._report, 16))
            os.close(self._report)
        return self.returncode


Process = subprocess.Popen[bytes] | Forked


class Preloaded(Instance):
    """An instance whose commands and workers are forked from a process that has loaded the product (``tests.support.preloaded``).

    Folder, database and broker stay the same as long as it lives; what they hold is that of another instance after each
    ``refill``.
    """

    def __init__(self, folder: Path, *, database_url: str = "", redis_url: str = "", **environment: str) -> None:
        super().__init__(folder, database_url=database_url, redis_url=redis_url)
        self.environment |= {"DJANGO_SETTINGS_MODULE": "auditapp.settings", **environment}
        self.own_environment = dict(self.environment)
        self.server: subprocess.Popen[bytes] | None = None

    def refill(self, original: Instance) -> None:
        """End what was started, and keep what ``original`` keeps, whose keys are the same."""
        self.stop()
        self.started.clear()
        self.environment = dict(self.own_environment)
        shutil.rmtree(self.folder)
        shutil.copytree(original.folder, self.folder)
        if self.server is None:
            self._start_server()

    def close(self) -> None:
        """End everything, the loaded process included."""
        self.stop()
        if self.server is not None:
            self.channel.close()
            self.server.wait()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a management command, however it ends."""
        return self._run_fork(arguments=skip_checks(arguments))

    def run_code(self, code: str, *arguments: str) -> str:
        """Run a piece of Python inside the product; its standard output."""
        done = self._run_fork(arguments=list(arguments), code=code)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start_worker(self, *arguments: str, **environment: str) -> Process:
        """A real worker process over the configured broker."""
        return self._start_fork(arguments=["worker", "--skip-checks", *arguments], environment=environment)

    def start_code(self, code: str, **environment: str) -> Process:
        """Start a piece of Python inside the product."""
        return self._start_fork(arguments=[], code=code, environment=environment)

    def _start_server(self) -> None:
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.server = subprocess.Popen(
                [sys.executable, "-m", "tests.support.preloaded", str(theirs.fileno())],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        assert self.channel.recv(16) == b"ready", "the product could not be loaded; its own words stand above"

    def _start_fork(self, **order: Any) -> Process:
        with (self.folder / f"process-{len(self.started)}.log").open("ab") as words:
            process = self._fork(words.fileno(), words.fileno(), **order)
        self.started.append(process)
        return process

    def _run_fork(self, **order: Any) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = self._fork(output.fileno(), errors.fileno(), **order)
            status = process.wait(PATIENCE * 3)
            said = []
            for file in (output, errors):
                file.seek(0)
                said.append(file.read().decode())
        return subprocess.CompletedProcess(order["arguments"], status, *said)

    def _fork(self, output: int, errors: int, *, environment: dict[str, str] | None = None, **order: Any) -> Forked:
        ours, theirs = os.pipe()
        message = json.dumps({**order, "environment": {**self.environment, **(environment or {})}})
        socket.send_fds(self.channel, [message.encode()], [output, errors, theirs])
        os.close(theirs)
        return Forked(int(self.channel.recv(16)), ours, name=" ".join(order["arguments"]))


def kill_group(process: Process) -> None:
    """kill -9 for a process and its children."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()


def find_children(process: Process) -> list[psutil.Process]:
    """The processes in which a worker runs its queues (not the interpreter's own resource tracker)."""
    children = []
    for child in psutil.Process(process.pid).children(recursive=True):
        # One may end, or lie dead and unburied, between being listed and being asked.
        with suppress(psutil.NoSuchProcess):
            if "resource_tracker" not in " ".join(child.cmdline()):
                children.append(child)
    return children


class FakeProvider:
    """The fake paid API in a process of its own, on a free port unless one is given."""

    def __init__(self, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fake_provider", "--port", str(port)],
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

    def requests(self) -> dict[str, dict[str, Any]]:
        """What it knows of each call, by the request id that the caller sent along."""
        return json.loads(self._request("/requests"))  # type: ignore[no-any-return]

    def stop(self) -> None:
        kill_group(self.process)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _request(self, path: str, data: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data)
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.read()  # type: ignore[no-any-return]


def find_free_port() -> int:
    """A port on which nobody listens, and which no connection that comes between is given before it is used."""
    while True:
        port = FIRST_PORT + next(_places) % PORTS
        with suppress(OSError), socket.socket() as probe:
            probe.bind((HOST, port))
            return port


def wait_until(condition: Callable[[], bool], *, what: str, patience: float = PATIENCE) -> None:
    """Return when ``condition`` holds; fail with ``what`` when it does not in time."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"waited {patience:.0f} s in vain until {what}"
        time.sleep(0.05)
