"""Collecting the answers of a batch through the API, beside a bare loop that reads and writes the same rows."""

from __future__ import annotations

import http.client
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from perf.processes import read_processor_seconds
from perf.results import Measured, Row, find_median
from perf.serving import PRODUCT, Server, serve
from perf.setup import Setup
from perf.study import run_inside
from tests.support.instance import Instance

LEAST = 20_000
# Of the speed of the bare loop.
LEAST_SHARE = 0.2
# Within this, the memory of two readings counts as the same (megabytes).
SAME_MEMORY = 8.0
PIECE = 1 << 18
BARE = """
SELECT c.answer_number, c.id, c.input_id, c.repeat, c.outcome, r.answer, a.id, a."end", a.served_model, a.finish_reason,
    a.tokens_in, a.tokens_out, a.tokens_cached, a.tokens_reasoning, a.cost_nano, a.sent_at, a.done_at, r.stored_at, c.arm_id
FROM batches_cell c JOIN batches_result r ON r.cell_id = c.id JOIN batches_attempt a ON a.id = r.attempt_id
WHERE c.batch_id = ? AND c.answer_number > 0 ORDER BY c.answer_number
"""


def measure(setup: Setup) -> Measured:
    """Answers a second over HTTP and in a bare loop, in turn; and the memory of writing half of them and all."""
    wanted = setup.sizes.cells
    setup.tell(f"collect: {wanted:,} answers are invented")
    instance = Instance(setup.folder / "collect")
    instance.manage("migrate", "-v0")
    made = run_inside("fill_answers", "--answers", str(wanted), environment=instance.environment)
    path = f"/api/v1/projects/sob/batches/{made['batch']}/answers/"
    database = instance.folder / "auditapp.sqlite3"
    peaks = run_inside("collect_answers", "--batch", str(made["batch"]), environment=instance.environment)["peaks_mb"]
    streamed, bare, worked = list[float](), list[float](), list[float]()
    with serve(PRODUCT, environment=instance.environment, log=setup.folder / "collect.log") as server:
        read(server, path, made["token"])  # what is loaded at the first request, and the database's own cache
        for number in range(setup.sizes.rounds):
            setup.tell(f"collect: round {number + 1} of {setup.sizes.rounds}")
            began, used = time.perf_counter(), read_processor_seconds(server.pid)
            count = read(server, path, made["token"])
            streamed.append(count / (time.perf_counter() - began))
            worked.append(count / (read_processor_seconds(server.pid) - used))
            assert count == made["answers"], count
            began = time.perf_counter()
            count = read_bare(database, made["batch"])
            bare.append(count / (time.perf_counter() - began))
            assert count == made["answers"], count
    shares = [one / other for one, other in zip(streamed, bare, strict=True)]
    rate, growth = find_median(streamed), peaks[1] - peaks[0]
    rows = [
        Row(
            "answers of a batch, by lines",
            f"{rate:,.0f}/s = {find_median(shares):.2f} x a bare loop; {find_median(worked):,.0f} a second of processor",
            f">= {LEAST:,}/s, {LEAST_SHARE} x",
            rate >= LEAST and find_median(shares) >= LEAST_SHARE,
            rounds=shares,
            higher_is_better=True,
        ),
        Row(
            "answers, memory",
            f"{peaks[0]:.0f} MB for {made['answers'] // 2:,}, {peaks[1]:.0f} MB for {made['answers']:,}",
            "the same for both",
            growth <= SAME_MEMORY,
        ),
    ]
    numbers: dict[str, object] = {"per_second": streamed, "bare_per_second": bare, "peaks_mb": peaks}
    return Measured(rows, {**numbers, "per_processor_second": worked, "answers": made["answers"]})


def read(server: Server, path: str, token: str) -> int:
    """Read a stream to its end, as fast as it comes; the number of lines."""
    lines = 0
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        while piece := answer.read(PIECE):
            lines += piece.count(b"\n")
    return lines


def read_bare(database: Path, batch: int) -> int:
    """The same rows by a cursor of SQLite, each written as a line of JSON by the standard library; the number of lines."""
    lines = 0
    with closing(sqlite3.connect(database)) as connection:
        for row in connection.execute(BARE, [batch]):
            lines += (json.dumps(row) + "\n").encode().count(b"\n")
    return lines
