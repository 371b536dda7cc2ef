"""Our side of a comparison by somebody else's harness: one whole batch, from nothing or from where it was killed, to its end.

``python -m perf.peer_run prepare FOLDER TEXTS`` makes a data folder and loads the texts (a CSV file with the columns source
and text), once. ``run FOLDER`` starts a worker, launches two tasks for each text and waits for the end; ``resume FOLDER``
starts a worker again and waits; ``count FOLDER`` prints {"usable", "possibly_paid_twice"} of the last batch. BENCH_BASE_URL is
the paid API's address (read by ``prepare``), BENCH_N the number of calls, BENCH_CONCURRENCY how many at once. Everything
started ends with the process group.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.support.instance import ROOT, Instance

TASKS = ("acceptability", "non_acceptability")
LAST = "SELECT id, state FROM batches_batch ORDER BY id DESC LIMIT 1"
ENDED = {"done", "paused", "cancelled"}


def prepare(folder: Path, texts: Path) -> int:
    """A data folder with a model and the texts; what was there is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    instance = Instance(folder)
    instance.manage("migrate", "-v0")
    address = ("--provider", "openai_compatible", "--base-url", os.environ["BENCH_BASE_URL"], "--model", "fake-1")
    instance.manage("model", "add", "bench", *address, "--max-tokens", "1024", "--price-in", "1", "--price-out", "2")
    columns = ("--column", "text=text", "--column", "target=source")
    instance.manage("sob", "load", str(texts), "--name", "bench", *columns)
    return 0


def run(folder: Path) -> int:
    """A whole batch."""
    instance = Instance(folder)
    worker = start_worker(instance)
    tasks = [word for task in TASKS for word in ("--task", task)]
    limit = str(int(os.environ["BENCH_N"]) // len(TASKS))
    asked = ("--dataset", "bench", "--model", "bench", *tasks, "--limit", limit)
    instance.manage("sob", "launch", *asked, "--confirm-terms", "--concurrency", os.environ["BENCH_CONCURRENCY"])
    return wait(instance, worker)


def resume(folder: Path) -> int:
    """The batch of a folder, from where it was."""
    instance = Instance(folder)
    return wait(instance, start_worker(instance))


def start_worker(instance: Instance) -> subprocess.Popen[bytes]:
    """In this process group, so that whoever kills the group kills it too."""
    command = [sys.executable, "manage.py", "worker", "--skip-checks"]
    return subprocess.Popen(command, cwd=ROOT, env=instance.environment)


def wait(instance: Instance, worker: subprocess.Popen[bytes]) -> int:
    """Until the batch came to its end; then the worker is told to stop."""
    try:
        while (state := instance.query(LAST)[0][1]) not in ENDED:
            time.sleep(0.1)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
    return 0 if state == "done" else 1


def count(folder: Path) -> int:
    """Usable answers, by the product's own count."""
    instance = Instance(folder)
    shown = instance.ask("batch", "show", str(instance.query(LAST)[0][0]))
    usable = sum(shown["outcomes"].values()) - shown["outcomes"].get("provider_error", 0)
    print(json.dumps({"usable": usable, "possibly_paid_twice": shown["possibly_paid_twice"]}))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("act", choices=["prepare", "run", "resume", "count"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("texts", type=Path, nargs="?")
    given = parser.parse_args()
    if given.act == "prepare":
        if given.texts is None:
            parser.error("prepare needs the file of texts")
        return prepare(given.folder, given.texts)
    return {"run": run, "resume": resume, "count": count}[given.act](given.folder)


if __name__ == "__main__":
    sys.exit(main())
