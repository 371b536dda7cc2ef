"""Many codings in one request of the API, beside the same codings one request each."""

from __future__ import annotations

import json
import time
from uuid import uuid4

from perf.client import Connection, build_get
from perf.results import Measured, Row, find_median
from perf.serving import PRODUCT, serve
from perf.setup import Setup

LEAST = 2_000
ROUNDS = 5
LINES = 2_000
SINGLES = 300


def measure(setup: Setup) -> Measured:
    """Codings a second through the API, by lines and one by one, on the server that people use, in turn."""
    study = setup.study
    environment = {**study.instance.environment, "API_REQUESTS_PER_MINUTE": "1000000"}
    study.instance.manage("user", "create", "bulk_coder", "--role", "coder", "--project", study.slug)
    token = study.instance.ask("user", "create-token", "bulk_coder")["token"]
    path = f"/api/v1/projects/{study.slug}"
    bulk, single = list[float](), list[float]()
    with serve(PRODUCT, environment=environment, log=setup.folder / "bulk.log") as server:
        headers = {"Host": f"127.0.0.1:{server.port}", "Authorization": f"Bearer {token}"}
        connection = Connection(server.port)
        book = json.loads(connection.exchange(build_get(f"{path}/codebook/", headers)).body)
        codes = [
            code["identifier"]
            for family in book["families"]
            if not family["carries_enactment"]
            for code in family["codes"]
        ]
        sentences = [pk for answers in study.answers.values() for pk in answers]
        lines = (
            json.dumps({"sentence": pk, "code": code, "idempotency_key": str(uuid4())}).encode()
            for code in codes
            for pk in sentences
        )
        for number in range(ROUNDS):
            setup.tell(f"bulk: round {number + 1} of {ROUNDS}")
            some = [next(lines) for _ in range(LINES)]
            began = time.perf_counter()
            answer = connection.exchange(
                _post(f"{path}/codings/bulk/", headers, "application/x-ndjson", b"\n".join(some))
            )
            bulk.append(LINES / (time.perf_counter() - began))
            results = [json.loads(line) for line in answer.body.splitlines()]
            assert [result["status"] for result in results] == [201] * LINES, results[:3]
            some = [next(lines) for _ in range(SINGLES)]
            began = time.perf_counter()
            for line in some:
                assert connection.exchange(_post(f"{path}/codings/", headers, "application/json", line)).status == 201
            single.append(SINGLES / (time.perf_counter() - began))
        connection.close()
    rate = find_median(bulk)
    times = [many / one for many, one in zip(bulk, single, strict=True)]
    rows = [
        Row(
            "codings in bulk",
            f"{rate:,.0f}/s = {find_median(times):.1f} x one by one ({find_median(single):,.0f}/s)",
            f">= {LEAST:,}/s",
            rate >= LEAST,
            "",
            rounds=times,
            higher_is_better=True,
        )
    ]
    return Measured(rows, {"per_second": bulk, "one_by_one_per_second": single})


def _post(path: str, headers: dict[str, str], content_type: str, body: bytes) -> bytes:
    """A request of a program, with a body of its own kind."""
    fields = {**headers, "Content-Type": content_type, "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body
