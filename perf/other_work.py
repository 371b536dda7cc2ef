"""Ten people who code while somebody imports a file of 62 MB by the page, and while a large batch is launched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from uuid import uuid4

from perf.client import Connection, Exchanges, exchange_with_pauses
from perf.corpus import write_interviews
from perf.crowd import run_postgres
from perf.results import Measured, Row, find_median, find_percentile
from perf.serving import PRODUCT, serve
from perf.setup import Setup
from perf.study import Person, Study, prepare_study, run_inside
from tests.support.instance import Instance, kill_group

CODERS = 10
INTERVIEWS = 60
THINKING_SECONDS = 1.0
SLOWEST_MS = 150.0
LOOK_SECONDS = 1.0
OPEN = "'uploading', 'waiting', 'running'"
# As long as the import may take; then the measurement is given up.
PATIENCE_SECONDS = 1_800.0


def measure(setup: Setup) -> Measured:
    """Milliseconds until a code is saved while the import runs, and how long the import takes."""
    measured = _measure_on("SQLite", setup, "")
    with run_postgres() as url:
        if url:
            measured += _measure_on("PostgreSQL", setup, url)
        else:
            measured.append((Row("coding beside an import, PostgreSQL", "not measured: there is none here"), {}))
    return Measured([row for row, _ in measured], {row.measure: numbers for row, numbers in measured})


def _measure_on(database: str, setup: Setup, url: str) -> list[tuple[Row, dict[str, object]]]:
    folder = setup.folder / f"beside-{database.lower()}"
    study = prepare_study(folder, interviews=INTERVIEWS, coders=CODERS, codings=0, database_url=url)
    data = _write_file(setup.sizes.imported_beside)
    interviews = list(study.answers)
    worker = study.instance.start_worker()
    with serve(PRODUCT, environment=study.instance.environment, log=setup.folder / "beside.log") as server:
        makers = []
        for number in range(CODERS):
            person = Person(study, f"coder{number}", server.port)
            own = interviews[number::CODERS]
            person.open_desk(own[0])
            makers.append(person.make_saves(own))
        importer = Person(study, "importer", server.port)
        setup.tell(f"beside: {len(data) / 1e6:.0f} MB are imported while {CODERS} people code on {database}")
        status: list[int] = []
        importing = threading.Thread(target=lambda: status.append(_import(importer, data, study.instance)))
        before = exchange_with_pauses(server.port, makers, pause=THINKING_SECONDS, seconds=10)
        together, lasted = _code_beside(importing, server.port, makers)
        kill_group(worker)
        cells = setup.sizes.launched_beside
        setup.tell(f"beside: a batch of {cells:,} cells is launched while {CODERS} people code on {database}")
        launched: list[int] = []
        launching = threading.Thread(target=lambda: launched.append(_launch(study, cells)))
        meanwhile, took = _code_beside(launching, server.port, makers)
    stored = study.instance.query("SELECT count(*) FROM corpus_interview WHERE study_id IS NOT NULL")[0][0]
    came_in = status == [302] and stored > INTERVIEWS
    return [
        _judge(f"an import, {database}", before, together, lasted, succeeded=came_in),
        _judge(f"a launch of {cells:,} cells, {database}", before, meanwhile, took, succeeded=launched == [cells]),
    ]


def _code_beside(other: threading.Thread, port: int, makers: list[Callable[[], bytes]]) -> tuple[Exchanges, float]:
    """Codes that are saved until ``other`` is done, and how many seconds that is."""
    together = Exchanges()
    began = time.perf_counter()
    other.start()
    while other.is_alive() and time.perf_counter() - began < PATIENCE_SECONDS:
        part = exchange_with_pauses(port, makers, pause=THINKING_SECONDS, seconds=2)
        together.seconds += part.seconds
        together.failures += part.failures
    return together, time.perf_counter() - began


def _launch(study: Study, cells: int) -> int:
    """Launch a batch in a process of its own; the number of its cells."""
    arguments = ("--cells", str(cells), "--slug", study.slug)
    return int(run_inside("launch", *arguments, environment=study.instance.environment)["cells"])


def _write_file(megabytes: int) -> bytes:
    one = len(write_interviews(20)) / 20
    return write_interviews(int(megabytes * 1_000_000 / one), name="beside")


def _import(importer: Person, data: bytes, instance: Instance) -> int:
    """Send the file as the page does, and wait until a worker has imported it; the status of the answer."""
    boundary = uuid4().hex
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="format"\r\n\r\nauto\r\n--{boundary}\r\n'
        'Content-Disposition: form-data; name="uploads"; filename="large.jsonl"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    body = head.encode() + data + f"\r\n--{boundary}--\r\n".encode()
    request = importer.post(f"/studies/{importer.study.slug}/interviews/import/", {})
    headers, _, _ = request.partition(b"\r\n\r\n")
    kept = [
        line for line in headers.split(b"\r\n") if not line.lower().startswith((b"content-type", b"content-length"))
    ]
    kept += [f"Content-Type: multipart/form-data; boundary={boundary}".encode(), b"Content-Length: %d" % len(body)]
    connection = Connection(importer.port)
    connection.socket.settimeout(PATIENCE_SECONDS)
    status = connection.exchange(b"\r\n".join(kept) + b"\r\n\r\n" + body).status
    while instance.query(f"SELECT count(*) FROM jobs_importjob WHERE state IN ({OPEN})") != [(0,)]:
        time.sleep(LOOK_SECONDS)
    return status


def _judge(
    what: str, before: Exchanges, together: Exchanges, lasted: float, *, succeeded: bool
) -> tuple[Row, dict[str, object]]:
    p95, failed = _find_p95(together), len(together.failures)
    row = Row(
        f"coding beside {what}",
        f"{len(together.seconds)} codes in {lasted:.0f} s: p95 {p95:.1f} ms (before {_find_p95(before):.1f}), slowest "
        f"{max(together.seconds) * 1000:.0f}, {failed} errors" + ("" if succeeded else "; it failed"),
        f"p95 <= {SLOWEST_MS:.0f} ms, 0 errors",
        p95 <= SLOWEST_MS and failed == 0 and succeeded,
    )
    numbers: dict[str, object] = {
        "before_p50_ms": find_median(before.seconds) * 1000,
        "before_p95_ms": _find_p95(before),
        "p50_ms": find_median(together.seconds) * 1000,
        "p95_ms": p95,
        "slowest_ms": max(together.seconds) * 1000,
        "codes": len(together.seconds),
        "failures": together.failures[:20],
        "seconds": lasted,
    }
    return row, numbers


def _find_p95(exchanges: Exchanges) -> float:
    return find_percentile([each * 1000 for each in exchanges.seconds], 95)
