"""Starting: a command against a bare Django start, and a restart of ``make run`` until its first page."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

from perf.results import Measured, Row, find_median
from perf.serving import find_free_port
from perf.setup import Setup
from tests.support.instance import ROOT, Instance

MAX_TIMES_BARE = 2.0
MAX_RESTART_SECONDS = 3.0
MAX_FIRST_SECONDS = 8.0
PATIENCE_SECONDS = 180.0
# What every management command of any Django project does, with Django's own default apps.
BARE = """
import django
from django.conf import settings
apps = ["admin", "auth", "contenttypes", "sessions", "messages", "staticfiles"]
settings.configure(INSTALLED_APPS=[f"django.contrib.{app}" for app in apps], SECRET_KEY="none", USE_TZ=True)
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "diffsettings"])
"""


def measure(setup: Setup) -> Measured:
    """Processor time for the command, because it hardly waits; seconds of the clock until the first page."""
    text = setup.folder / "two-sentences.txt"
    text.write_text("First sentence. Second sentence.\n", encoding="utf-8")
    environment = Instance(setup.folder / "start").environment
    segment = [sys.executable, "manage.py", "interview", "segment", str(text)]
    times = []
    for number in range(setup.sizes.rounds + 1):
        setup.tell(f"start: round {number} of {setup.sizes.rounds}")
        ours, bare = _run(segment, environment), _run([sys.executable, "-c", BARE], environment)
        if number:  # the first round compiles
            times.append(ours / bare)
    data = setup.folder / "start-run"
    setup.tell("start: a first start, then restarts, of make run")
    first = await_first_page(data)
    restarts = [await_first_page(data) for _ in range(setup.sizes.rounds)]
    bare_seconds = find_median([_run([sys.executable, "-c", BARE], environment) for _ in range(3)])
    restart, command = find_median(restarts), find_median(times)
    rows = [
        Row(
            "segment",
            f"{command:.2f} x a bare Django start",
            f"<= {MAX_TIMES_BARE:.0f} x",
            command <= MAX_TIMES_BARE,
            rounds=times,
        ),
        Row(
            "restart to first page",
            f"{restart:.1f} s",
            f"<= {MAX_RESTART_SECONDS:.0f} s",
            restart <= MAX_RESTART_SECONDS,
            "Taguette about 1 s",
            rounds=[each / bare_seconds for each in restarts],
        ),
        Row("first start to first page", f"{first:.1f} s", f"<= {MAX_FIRST_SECONDS:.0f} s", first <= MAX_FIRST_SECONDS),
    ]
    return Measured(rows, {"restart_seconds": restarts, "first_seconds": first, "bare_seconds": bare_seconds})


def _run(command: list[str], environment: dict[str, str]) -> float:
    """Seconds of processor time that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def await_first_page(data: Path) -> float:
    """Seconds from the start of the launcher on a data folder until its sign-in page is there; it is ended again."""
    port = find_free_port()
    started = time.monotonic()
    launcher = subprocess.Popen(
        [sys.executable, "-m", "tools.launch", "run", "--skip-setup"],
        cwd=ROOT,
        env={**os.environ, "PORT": str(port), "DATA": str(data)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while time.monotonic() < started + PATIENCE_SECONDS and launcher.poll() is None:
            with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/accounts/login/", timeout=30) as page:
                page.read()
                return time.monotonic() - started
            time.sleep(0.02)
    finally:
        launcher.send_signal(signal.SIGINT)
        launcher.wait()
    raise RuntimeError("make run showed no page.")
