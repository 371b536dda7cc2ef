"""A backup of a gigabyte while ten people code, on SQLite."""

from __future__ import annotations

import threading
import time

from perf.client import Exchanges, exchange_with_pauses
from perf.other_work import CODERS, INTERVIEWS, SLOWEST_MS, THINKING_SECONDS
from perf.results import Measured, Row, find_percentile
from perf.serving import PRODUCT, serve
from perf.setup import Setup
from perf.study import Person, prepare_study, run_inside

MOST_SECONDS = 60.0


def measure(setup: Setup) -> Measured:
    """Seconds until ``manage.py backup`` is done, and milliseconds until a code is saved meanwhile."""
    study = prepare_study(setup.folder / "backup", interviews=INTERVIEWS, coders=CODERS, codings=0)
    instance = study.instance
    megabytes = setup.sizes.backed_up
    run_inside("database", str(megabytes), environment=instance.environment)
    interviews = list(study.answers)
    with serve(PRODUCT, environment=instance.environment, log=setup.folder / "backup.log") as server:
        makers = []
        for number in range(CODERS):
            person = Person(study, f"coder{number}", server.port)
            own = interviews[number::CODERS]
            person.open_desk(own[0])
            makers.append(person.make_saves(own))
        setup.tell(f"backup: {megabytes} MB while {CODERS} people code")
        before = exchange_with_pauses(server.port, makers, pause=THINKING_SECONDS, seconds=10)
        file = setup.folder / "site.backup"
        backing_up = threading.Thread(target=lambda: instance.manage("backup", str(file)))
        together = Exchanges()
        began = time.perf_counter()
        backing_up.start()
        while backing_up.is_alive():
            part = exchange_with_pauses(server.port, makers, pause=THINKING_SECONDS, seconds=2)
            together.seconds += part.seconds
            together.failures += part.failures
        seconds = time.perf_counter() - began
    size = (instance.folder / "auditapp.sqlite3").stat().st_size / 1e6
    p95, p95_before = (find_percentile([each * 1000 for each in done.seconds], 95) for done in (together, before))
    failed = len(together.failures)
    row = Row(
        "backup while people code",
        f"{size:,.0f} MB in {seconds:.1f} s; a code saved in p95 {p95:.1f} ms (before {p95_before:.1f}), {failed} errors",
        f"1 GB in <= {MOST_SECONDS:.0f} s, p95 <= {SLOWEST_MS:.0f} ms",
        seconds <= MOST_SECONDS * max(size, 1) / 1000 and p95 <= SLOWEST_MS and not failed and file.exists(),
    )
    numbers: dict[str, object] = {
        "megabytes": size,
        "seconds": seconds,
        "p95_ms": p95,
        "p95_before_ms": p95_before,
        "codes": len(together.seconds),
    }
    return Measured([row], numbers)
