"""``make run``: look before starting anything, then keep the web server and the worker up until told to stop."""

from __future__ import annotations

import http.client
import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from tools.children import Child, end_children, start_child, wait_for_first_end
from tools.data_folder import DataLock, lock_data_folder, open_data_folder
from tools.environment import ROOT
from tools.local_model import SMALL, LocalModel, choose_model, find_weights
from tools.problem import CannotGoOn
from tools.restarts import Restarts

HOST = "127.0.0.1"
WORKER = "worker"
MODEL_SERVER = "model server"
STOP_PATIENCE_SECONDS = 10.0
# The exit status of a program that refuses its settings; it has said why, each fault in a line.
WRONG_SETTINGS = 78
WEB_PATIENCE_SECONDS = 120.0


def start_app(
    *, port: str, data: str, model: str, find_python: Callable[[], Path], find_local_model: Callable[[], Path]
) -> int:
    """Run the app on 127.0.0.1 until Ctrl-C or SIGTERM (returns 0) or until a part of it keeps dying (raises CannotGoOn).

    ``port``, ``data`` and ``model`` ("" for none) are as typed. ``find_python`` and ``find_local_model`` (the folder of
    the model server's packages) are called once these are known to be usable, for they may install for a minute. Raises
    CannotGoOn before anything is started when something stands in the way.
    """
    number = read_port(port)
    address = f"http://{HOST}:{number}"
    folder = open_data_folder(data)
    lock = lock_data_folder(folder, address=address)
    refuse_taken_port(number)
    if model not in {"", SMALL}:
        find_weights(model)
    python = find_python()
    packages = find_local_model() if model else None
    local = choose_model(model, packages=packages, folder=folder) if packages else None
    # Commands that run beside it print links that lead here.
    (folder / "address").write_text(f"{address}\n", encoding="ascii")
    environment = {
        **os.environ,
        "AUDITAPP_DATA": str(folder),
        "BASE_URL": address,
        "LOG_LEVEL": os.environ.get("LOG_LEVEL", "WARNING"),
        # On one's own machine nobody needs a new link each morning: two weeks, as long as a session lasts.
        "SESSION_IDLE_HOURS": os.environ.get("SESSION_IDLE_HOURS", "336"),
        "PYTHONUNBUFFERED": "1",
    }
    environment.pop("DEBUG", None)
    sign_in_link = prepare_data(python, environment, local)
    commands = {
        "web server": [str(python), "-m", "auditapp.site.serving", "--host", HOST, "--port", str(number)],
        WORKER: [str(python), "manage.py", "worker", "--skip-checks"],
    }
    if local is not None and packages is not None:
        commands[MODEL_SERVER] = local.write_command(python, packages)
    again = describe_start(os.environ)
    return _serve(commands, environment, number=number, lock=lock, sign_in_link=sign_in_link, local=local, again=again)


def describe_start(given: Mapping[str, str]) -> str:
    """The command line that starts this run again, with PORT, DATA and MODEL as they were ``given``."""
    named = [f"{name}={shlex.quote(given[name])}" for name in ("PORT", "DATA", "MODEL") if given.get(name)]
    return " ".join(["make run", *named])


def read_port(text: str) -> int:
    """The port number in ``text``."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise CannotGoOn(f"PORT must be a number from 1 to 65535, not {text!r}. For example: make run PORT=8001")
    return int(text)


def refuse_taken_port(port: int) -> None:
    """Raise CannotGoOn when this process could not listen on ``port``."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port whose last connections are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            other = port + 1 if 1024 <= port < 65535 else 8001
            raise CannotGoOn(
                f"Port {port} on {HOST} cannot be used ({error.strerror}). Try another: make run PORT={other}"
            ) from error


def prepare_data(python: Path, environment: dict[str, str], local: LocalModel | None = None) -> str:
    """Bring the data folder up to date (tables, static files, demo study, the ``local`` model) and return a one-time
    sign-in link."""
    options = []
    if local is not None:
        options = ["--local-model", local.label, "--local-model-url", local.base_url]
        options += ["--local-model-is-small"] if local.is_small else []
    answer = subprocess.run(
        [python, "manage.py", "prepare", "--json", *options],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        if answer.returncode != 0:
            raise ValueError
        return str(json.loads(answer.stdout)["sign_in_url"])
    except (ValueError, KeyError, TypeError) as error:
        log = Path(environment["AUDITAPP_DATA"]) / "prepare.log"
        log.write_text(answer.stdout + answer.stderr, encoding="utf-8")
        if answer.returncode == WRONG_SETTINGS:
            raise CannotGoOn(answer.stderr.strip()) from error
        lines = [line for line in answer.stderr.splitlines() if line.strip()]
        reason = lines[-1].strip() if lines else f"manage.py prepare ended with status {answer.returncode}"
        raise CannotGoOn(f"The data could not be prepared: {reason} (all of it is in {log})") from error


def _serve(
    commands: Mapping[str, Sequence[str]],
    environment: dict[str, str],
    *,
    number: int,
    lock: DataLock,
    sign_in_link: str,
    local: LocalModel | None,
    again: str,
) -> int:
    children: list[Child] = []

    def start(name: str) -> None:
        child = start_child(name, commands[name], environment=environment, folder=ROOT, keep_open=[lock.descriptor])
        children.append(child)
        lock.note({each.name: each.process.pid for each in children})

    try:
        for name in commands:
            start(name)
        _wait_until_answering(number, children)
        print(f"auditapp runs at http://{HOST}:{number} (data in {lock.folder}). Ctrl-C stops it.")
        if local is not None:
            print(f"The model {local.label} answers at {local.base_url}.")
        print(f"Sign in with this link, which works once: {sign_in_link}", flush=True)
        keep_running(children, start, again=again)
    except KeyboardInterrupt:
        return 0
    finally:
        end_children(children, patience_seconds=STOP_PATIENCE_SECONDS)


def keep_running(children: list[Child], start: Callable[[str], None], *, again: str) -> NoReturn:
    """Start what ended again; what keeps ending ends everything."""
    restarts = Restarts()
    while True:
        ended = wait_for_first_end(children)
        if not restarts.may_restart():
            raise CannotGoOn(
                f"{ended.describe_end()}, after {restarts.limit} new starts within a minute, so the rest was ended too. "
                f"Start again with: {again}"
            )
        # A leader may have gone before the rest of its group.
        end_children([ended], patience_seconds=0)
        children.remove(ended)
        print(f"{ended.describe_end()}; it is started again.", file=sys.stderr, flush=True)
        start(ended.name)


def _wait_until_answering(port: int, children: Sequence[Child]) -> None:
    deadline = time.monotonic() + WEB_PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for child in children:
            if child.process.poll() is not None:
                raise CannotGoOn(f"{child.describe_end()} before it was ready; its own message stands above.")
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        try:
            connection.request("GET", "/livez")
            connection.getresponse()
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()
    raise CannotGoOn(f"The web server did not answer within {WEB_PATIENCE_SECONDS:.0f} seconds.")
