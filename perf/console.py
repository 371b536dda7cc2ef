"""An interview held by the page: how soon a question is sent, and how soon its answer is on the page; alone, and beside a large
batch of the same account."""

from __future__ import annotations

import re
import time
import uuid
from datetime import UTC
from types import SimpleNamespace
from typing import Any, cast

from perf.client import Answer, Connection
from perf.results import Measured, Row, find_percentile
from perf.serving import PRODUCT, serve
from perf.setup import Setup
from perf.study import Person, Study
from perf.yard import MODEL, Yard, open_yard, read_time

QUESTIONS = 30
MAX_SECONDS = 1.0
# As often as the page asks while it waits.
POLL_SECONDS = 0.4
IN_FLIGHT = 100
SENT = "SELECT a.sent_at, r.stored_at FROM batches_attempt a JOIN batches_result r ON r.attempt_id = a.id WHERE a.prompt = '{text}'"


def measure(setup: Setup) -> Measured:
    """Seconds from sending the form to the call, and from the stored answer to the page that shows it (p95)."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    cells = setup.sizes.cells
    with open_yard(setup.folder / "console", calls=cells, servers=None) as yard:
        yard.instance.manage("play", "script", "--project", "bench", "--name", "talk")
        yard.start_worker()
        with serve(PRODUCT, environment=yard.instance.environment, log=setup.folder / "console.log") as server:
            link = yard.instance.ask("prepare", "--no-demo")["sign_in_url"]
            person = Person(
                cast("Study", SimpleNamespace(slug="bench", links={"owner": link}, sessions={})), "owner", server.port
            )
            for beside in ("alone", f"beside a batch of {cells:,} cells"):
                if beside != "alone":
                    setup.tell(f"console: a batch of {cells:,} cells runs")
                    yard.launch(IN_FLIGHT)
                    time.sleep(5)
                setup.tell(f"console: {QUESTIONS} questions are asked {beside}")
                sent, seen = _hold(yard, person)
                for what, seconds in (("typed to sent", sent), ("stored to seen", seen)):
                    p95 = find_percentile(seconds, 95)
                    figure = f"p95 {p95:.2f} s, median {find_percentile(seconds, 50):.2f} s"
                    rows.append(Row(f"{what}, {beside}", figure, f"<= {MAX_SECONDS:.0f} s", p95 <= MAX_SECONDS))
                    numbers[f"{what}, {beside}"] = seconds
    return Measured(rows, numbers)


def _hold(yard: Yard, person: Person) -> tuple[list[float], list[float]]:
    """An interview of so many questions; seconds until each was sent, and until each stored answer was seen."""
    page = _open(yard, person)
    sent, seen = [], []
    for number in range(1, QUESTIONS + 1):
        text = f"Question {uuid.uuid4().hex}"
        asked: dict[str, Any] = {"kind": "expand", "text": text, "seen": number, "idempotency_key": uuid.uuid4()}
        began = time.time()
        answer = _exchange(person, person.post(f"{page}ask/", asked))
        assert answer.status == 302, answer.body[:500]
        shown = _exchange(person, person.get(page)).body.decode()
        while found := re.search(r'data-waiting hx-get="([^"]+)"', shown):
            time.sleep(POLL_SECONDS)
            polled = _exchange(person, person.get(found[1]))
            shown = polled.body.decode() if polled.status == 200 else shown
        at = time.time()
        [(sent_at, stored_at)] = yard.instance.query(SENT.format(text=text))
        sent.append(_read_seconds(sent_at) - began)
        seen.append(at - _read_seconds(stored_at))
    return sent, seen


def _open(yard: Yard, person: Person) -> str:
    """Open an interview by the page and wait until its opening is answered; its address."""
    [(script,)] = yard.instance.query("SELECT id FROM scenarios_script")
    [(variant,)] = yard.instance.query(f"SELECT id FROM llm_modelvariant WHERE label = '{MODEL}'")
    asked: dict[str, Any] = {"script": script, "opening": "paper", "where": "here", "variant": variant}
    opened = _exchange(person, person.post("/p/bench/interviews-held/open/", asked))
    page = opened.headers["location"]
    while b"data-waiting" in _exchange(person, person.get(page)).body:
        time.sleep(POLL_SECONDS)
    return page


def _exchange(person: Person, request: bytes) -> Answer:
    """On a connection of its own: the server closes one that is idle while a person types."""
    return Connection(person.port).exchange(request)


def _read_seconds(value: object) -> float:
    """A moment of the database, which is in UTC, in seconds of the clock."""
    moment = read_time(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
