"""The product loaded once and forked for each process that a test asks for: ``python -m tests.support.preloaded DESCRIPTOR``.

Loading Django and the product takes longer than most commands do. A forked process is a real one: it has its own number and
its own group, it can be killed, and nothing it does reaches its siblings. The settings are those of the environment in which
this was started, so one of these serves one data folder and one database.

Each order comes as one JSON message over the socket of that descriptor, together with three more descriptors: where standard
output goes, where standard error goes, and where the exit status is written. The answer is the number of the new process.
When the other end of the socket is closed, everything started here that still lives is killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import django
from django.core.management import execute_from_command_line

from auditapp.batches.pure.stopping import SharedFlag, stopping

MESSAGE_BYTES = 1 << 20
# Loaded late by whoever needs it; shared from here by everybody.
ALSO = (
    "auditapp.celery",
    "auditapp.urls",
    "auditapp.batches.runner.worker_process",
    "auditapp.llm.providers.openai_compatible",
    "celery.apps.worker",
    "celery.bin.worker",
    "celery.concurrency.prefork",
)


def serve(channel: socket.socket) -> dict[str, Any] | None:
    """Start what is ordered; returns in each new process, with its order, and at the end here, with nothing."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    reports: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([channel.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            bury(reports)
        if channel.fileno() not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(channel, MESSAGE_BYTES, 3)
        if not message:
            end(reports)
            return None
        output, errors, report = descriptors
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # Only this process' own end is told by its own report: nobody else may hold it open.
            for descriptor in (channel.detach(), woken, wake, report, *reports.values()):
                os.close(descriptor)
            become(output, errors)
            return dict(json.loads(message))
        reports[pid] = report
        os.close(output)
        os.close(errors)
        channel.send(str(pid).encode())


def bury(reports: dict[int, int]) -> None:
    """Tell the status of every process that has ended."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            report = reports.pop(pid)
            with suppress(BrokenPipeError):
                os.write(report, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(report)


def end(reports: dict[int, int]) -> None:
    for pid in reports:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def become(output: int, errors: int) -> None:
    """Be a process of one's own group with nothing to read, which writes where it was told to."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (errors, 2)):
        os.dup2(source, target)
        os.close(source)


def obey(order: dict[str, Any]) -> None:
    """Run a management command, or a piece of Python, as if this process had been started for it."""
    os.environ.clear()
    os.environ.update(order["environment"])
    # One byte of memory that a worker shares with what it forks; here it would be shared by all workers.
    stopping._byte = SharedFlag()._byte
    if "code" in order:
        sys.argv = ["-c", *order["arguments"]]
        exec(compile(order["code"], "<code of a test>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = ["manage.py", *order["arguments"]]
        execute_from_command_line(sys.argv)


def main() -> None:
    django.setup()
    for name in ALSO:
        import_module(name)
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.send(b"ready")
    order = serve(channel)
    if order is not None:
        obey(order)


if __name__ == "__main__":
    main()
