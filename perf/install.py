"""What an installation takes: the files of the packages it needs, and the memory of a web server and a worker at rest."""

from __future__ import annotations

import re
import time
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.request import urlopen

from perf.processes import read_memory
from perf.results import Measured, Row
from perf.serving import PRODUCT, serve
from perf.setup import Setup
from perf.yard import await_worker
from tests.support.instance import ROOT, Instance

REQUIREMENTS = ROOT / "requirements" / "base.txt"
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==", re.MULTILINE)
REST_SECONDS = 3.0
MAX_INSTALLED_MB = 400
MAX_MEMORY_MB = 150


def measure(setup: Setup) -> Measured:
    """Sizes in megabytes (10^6 bytes)."""
    sizes = measure_packages()
    installed = sum(sizes.values()) / 1e6
    memory = _measure_memory(setup)
    rows = [
        Row(
            "site-packages",
            f"{installed:.0f} MB in {len(sizes)} packages",
            f"<= {MAX_INSTALLED_MB} MB",
            installed <= MAX_INSTALLED_MB,
            "Taguette 69 MB, doccano 642, Label Studio 925",
            rounds=[installed],
        ),
        Row(
            "memory at rest (PSS)",
            f"{sum(memory.values()):.0f} MB: web {memory['web']:.0f}, worker {memory['worker']:.0f}",
            f"<= {MAX_MEMORY_MB} MB",
            sum(memory.values()) <= MAX_MEMORY_MB,
            "Taguette 73 MB, Label Studio 265, doccano 628",
            rounds=[sum(memory.values())],
        ),
    ]
    largest = dict(sorted(sizes.items(), key=lambda item: -item[1])[:15])
    return Measured(rows, {"site_packages_mb": installed, "largest_bytes": largest, "memory_mb": memory})


def measure_packages() -> dict[str, int]:
    """Bytes of each package that ``requirements/base.txt`` names and that is installed here, by name."""
    sizes = {}
    for name in PIN.findall(REQUIREMENTS.read_text(encoding="utf-8")):
        try:
            sizes[name] = _measure_files(distribution(name))
        except PackageNotFoundError:
            continue  # named for another Python or another system
    return sizes


def _measure_files(package: Distribution) -> int:
    """Bytes of the files a package brought, and of those that Python has compiled from them."""
    found: set[Path] = set()
    for file in package.files or ():
        path = Path(str(package.locate_file(file)))
        found.add(path)
        if path.suffix == ".py":
            found.update((path.parent / "__pycache__").glob(f"{path.stem}.cpython-*.pyc"))
    return sum(path.stat().st_size for path in found if path.is_file())


def _measure_memory(setup: Setup) -> dict[str, float]:
    """Megabytes of the web server and of the worker, a few seconds after the sign-in page was first shown."""
    instance = Instance(setup.folder / "rest")
    setup.tell("install: a web server and a worker come to rest")
    instance.manage("prepare")
    try:
        worker = instance.start_worker()
        await_worker(instance)
        with serve(PRODUCT, environment=instance.environment, log=setup.folder / "rest.log") as server:
            with urlopen(f"http://127.0.0.1:{server.port}/accounts/login/", timeout=30) as page:
                page.read()
            time.sleep(REST_SECONDS)
            return {"web": read_memory(server.pid), "worker": read_memory(worker.pid)}
    finally:
        instance.stop()
