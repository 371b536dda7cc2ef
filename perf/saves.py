"""Saving one code: the desk's own request, against a bare view that inserts one row."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from perf.client import Connection, Exchanges, build_post, exchange_at_once, exchange_in_turn
from perf.processes import read_processor_seconds
from perf.results import Measured, Row, find_median, find_percentile
from perf.serving import FLOOR, PRODUCT, Server, serve
from perf.setup import Setup
from perf.study import Person, Study
from tests.support.instance import ROOT, Instance

SLOWEST = 5.0
LEAST_THROUGHPUT = 0.2


@dataclass
class Side:
    """One of the two servers and what came of its rounds; ``warm_up`` is not counted in any figure but the errors."""

    server: Server
    makers: list[Callable[[], bytes]]
    warm_up: list[Exchanges] = field(default_factory=list)
    alone: list[Exchanges] = field(default_factory=list)
    together: list[Exchanges] = field(default_factory=list)
    processor_ms: list[float] = field(default_factory=list)
    processor_ms_together: list[float] = field(default_factory=list)

    def save_alone(self, count: int) -> None:
        """One round of one person."""
        connection = Connection(self.server.port)
        before = read_processor_seconds(self.server.pid)
        self.alone.append(exchange_in_turn(connection, self.makers[0], count))
        self.processor_ms.append((read_processor_seconds(self.server.pid) - before) / count * 1000)
        connection.close()

    def save_together(self, seconds: float) -> None:
        """One round of everybody at once."""
        before = read_processor_seconds(self.server.pid)
        exchanges = exchange_at_once(self.server.port, self.makers, seconds)
        used = read_processor_seconds(self.server.pid) - before
        self.together.append(exchanges)
        self.processor_ms_together.append(used / len(exchanges.seconds) * 1000)

    @property
    def p50s(self) -> list[float]:
        """Milliseconds for one code, alone, by round."""
        return [find_median(exchanges.seconds) * 1000 for exchanges in self.alone]

    @property
    def rates(self) -> list[float]:
        """Codes saved in a second by everybody at once, by round."""
        return [len(exchanges.seconds) / exchanges.lasted for exchanges in self.together]

    @property
    def sent(self) -> int:
        return sum(len(exchanges.seconds) for exchanges in [*self.warm_up, *self.alone, *self.together])

    @property
    def failures(self) -> list[str]:
        """What was answered with an error, over all rounds."""
        every = [*self.warm_up, *self.alone, *self.together]
        return [failure for exchanges in every for failure in exchanges.failures]

    def tell_numbers(self) -> dict[str, object]:
        """All figures, for the JSON file. Milliseconds, and codes a second."""
        alone = [seconds * 1000 for exchanges in self.alone for seconds in exchanges.seconds]
        together = [seconds * 1000 for exchanges in self.together for seconds in exchanges.seconds]
        return {
            "alone_p50_ms": self.p50s,
            "alone_p95_ms": find_percentile(alone, 95),
            "alone_processor_ms": self.processor_ms,
            "together_per_second": self.rates,
            "together_processor_ms": self.processor_ms_together,
            "together_p50_ms": find_median(together),
            "together_p95_ms": find_percentile(together, 95),
            "sent": self.sent,
            "failures": self.failures[:20],
            "failed": len(self.failures),
        }


def measure(setup: Setup) -> Measured:
    """Time until one code is saved, alone and with many coders at once, in turn with the floor."""
    study = setup.study
    environment = make_floor(setup.folder / "floor")
    logs = setup.folder
    with (
        serve(FLOOR, environment=environment, log=logs / "floor.log") as floor,
        serve(PRODUCT, environment=study.instance.environment, log=logs / "web.log") as product,
    ):
        setup.tell(f"save: {setup.sizes.coders} coders sign in")
        sides = [
            Side(floor, [make_floor_saves(floor.port, number) for number in range(setup.sizes.coders)]),
            Side(product, _seat_coders(study, product.port, setup.sizes.coders)),
        ]
        before = _count_stored(study)
        _run_rounds(setup, sides)
    lost = sides[1].sent - len(sides[1].failures) - (_count_stored(study) - before)
    study.instance.manage("audit", "verify")  # stops here should an event not fit the chain
    return _judge(setup, *sides, lost=lost)


def _run_rounds(setup: Setup, sides: list[Side]) -> None:
    sizes = setup.sizes
    for side in sides:
        # The first requests of a thread open its database connection and compile templates.
        side.warm_up.append(exchange_at_once(side.server.port, side.makers, sizes.seconds_a_round / 2))
    for number in range(sizes.rounds):
        setup.tell(f"save: round {number + 1} of {sizes.rounds}")
        for side in sides:
            side.save_alone(sizes.saves_a_round)
        for side in sides:
            side.save_together(sizes.seconds_a_round)


def make_floor(folder: Path) -> dict[str, str]:
    """The environment of a floor server with a new database in ``folder``."""
    environment = Instance(folder).environment
    subprocess.run([sys.executable, "-m", "perf.floor"], cwd=ROOT, env=environment, check=True)
    return environment


def make_floor_saves(port: int, person: int) -> Callable[[], bytes]:
    """Requests of one person that each store one row on a floor server."""
    headers = {"Host": f"127.0.0.1:{port}", "User-Agent": "bench", "Accept": "*/*"}

    def make() -> bytes:
        # As many bytes as the desk sends; the view reads three of the fields.
        number = uuid4()
        fields = {
            "idempotency_key": number.hex,
            "sentence": number.fields[1],
            "code": number.fields[2] % 50,
            "person": person,
        }
        return build_post("/save", headers, {**fields, "level": "semantic", "enactment": "", "note": ""})

    return make


def _seat_coders(study: Study, port: int, coders: int) -> list[Callable[[], bytes]]:
    makers = []
    interviews = list(study.answers)
    for number in range(coders):
        person = Person(study, f"coder{number}", port)
        own = interviews[number::coders]
        person.open_desk(own[0])
        makers.append(person.make_saves(own))
    return makers


def _count_stored(study: Study) -> int:
    with closing(sqlite3.connect(study.database)) as database:
        return int(database.execute("SELECT count(*) FROM coding_coding").fetchone()[0])


def _judge(setup: Setup, floor: Side, product: Side, *, lost: int) -> Measured:
    slower_by_round = [here / least for here, least in zip(product.p50s, floor.p50s, strict=True)]
    share_by_round = [here / most for here, most in zip(product.rates, floor.rates, strict=True)]
    slower, share = find_median(slower_by_round), find_median(share_by_round)
    work = sum(product.processor_ms) / sum(floor.processor_ms)
    work_together = sum(product.processor_ms_together) / sum(floor.processor_ms_together)
    failed = len(product.failures)
    is_whole = failed == lost == 0
    alone, rate = find_median(product.p50s), find_median(product.rates)
    rows = [
        Row(
            "save one code, alone",
            f"p50 {alone:.1f} ms = {slower:.1f} x floor ({find_median(floor.p50s):.2f}); processor {work:.1f} x",
            f"<= {SLOWEST:.0f} x floor",
            slower <= SLOWEST,
            "doccano 8.9 ms, Taguette 9.2, Label Studio 80-112",
            rounds=slower_by_round,
        ),
        Row(
            f"save, {setup.sizes.coders} coders at once",
            f"{rate:.0f}/s = 1/{1 / share:.1f} of floor ({find_median(floor.rates):.0f}/s), {failed} errors; "
            f"processor {work_together:.1f} x",
            f">= 1/{1 / LEAST_THROUGHPUT:.0f} of floor, 0 errors",
            share >= LEAST_THROUGHPUT and is_whole,
            "doccano 190/s, Taguette 109, Label Studio 7-27",
            rounds=share_by_round,
            higher_is_better=True,
        ),
    ]
    numbers: dict[str, object] = {
        "slower_than_floor": slower,
        "share_of_floor": share,
        "processor_of_floor_alone": work,
        "processor_of_floor_together": work_together,
        "lost": lost,
        "product": product.tell_numbers(),
        "floor": floor.tell_numbers(),
    }
    return Measured(rows, numbers)
