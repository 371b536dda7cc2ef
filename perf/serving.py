"""A web server under measurement, started as ``make run`` starts it."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.instance import ROOT, kill_group
from tools.start import HOST

PATIENCE_SECONDS = 60.0
PRODUCT = "auditapp.wsgi:application"
FLOOR = "perf.floor:application"


class NotServing(Exception):
    """The server ended or did not answer; the message holds its last words."""


class Server(NamedTuple):
    """A server that answers on 127.0.0.1."""

    port: int
    pid: int


@contextmanager
def serve(application: str, *, environment: Mapping[str, str], log: Path) -> Iterator[Server]:
    """Serve ``application`` on a free port; enters once it answers /livez, and ends it afterwards."""
    port = find_free_port()
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "auditapp.site.serving", application, "--host", HOST, "--port", str(port)],
            cwd=ROOT,
            env={**environment, "LOG_LEVEL": "WARNING"},
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    try:
        _wait_until_answering(port, process, log)
        yield Server(port, process.pid)
    finally:
        kill_group(process)


def find_free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _wait_until_answering(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        try:
            connection.request("GET", "/livez")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise NotServing(f"The server did not come up. Its last words: {log.read_text()[-2000:]}")
