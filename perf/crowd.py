"""Two hundred people who code at once, each with time to think: on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from perf.client import Exchanges, exchange_in_turn, exchange_with_pauses
from perf.results import Measured, Row, find_median, find_percentile
from perf.serving import PRODUCT, serve
from perf.setup import Setup
from perf.study import Person, prepare_study
from tests.support.instance import ROOT

THINKING_SECONDS = 3.0
INTERVIEWS = 200
SLOWEST = 3.0
SAVES_TO_WARM_UP, SAVES_ALONE = 50, 100


def measure(setup: Setup) -> Measured:
    """Errors, lost rows and the time until a code is saved, beside that of one person alone on the same server, in
    rounds: first she, then all."""
    measured = [_measure_on("SQLite", setup, "")]
    with run_postgres() as url:
        if url:
            measured.append(_measure_on("PostgreSQL", setup, url))
        else:
            measured.append((Row("crowd, PostgreSQL", "not measured: there is none here"), {}))
    return Measured([row for row, _ in measured], {row.measure: numbers for row, numbers in measured})


def _measure_on(database: str, setup: Setup, url: str) -> tuple[Row, dict[str, object]]:
    sizes = setup.sizes
    setup.tell(f"crowd: {sizes.crowd} people sign in on {database}")
    folder = setup.folder / f"crowd-{database.lower()}"
    study = prepare_study(folder, interviews=INTERVIEWS, coders=sizes.crowd, codings=0, database_url=url)
    interviews = list(study.answers)
    with serve(PRODUCT, environment=study.instance.environment, log=setup.folder / "crowd.log") as server:
        makers = []
        for number in range(sizes.crowd):
            person = Person(study, f"coder{number}", server.port)
            own = interviews[number % INTERVIEWS :: INTERVIEWS]
            person.open_desk(own[0])
            makers.append(person.make_saves(own))
        single = Person(study, "annotator", server.port)
        single.open_desk(interviews[0])
        make_one = single.make_saves(interviews)
        exchange_in_turn(single.connection, make_one, SAVES_TO_WARM_UP)
        setup.tell(f"crowd: {sizes.crowd} people code for {sizes.crowd_seconds:.0f} s on {database}")
        alone, together = list[Exchanges](), list[Exchanges]()
        for number in range(sizes.rounds):
            alone.append(exchange_in_turn(single.connection, make_one, SAVES_ALONE))
            seconds = sizes.crowd_seconds / sizes.rounds
            together.append(
                exchange_with_pauses(server.port, makers, pause=THINKING_SECONDS, seconds=seconds, seed=number + 1)
            )
    stored = study.instance.query("SELECT count(*) FROM coding_coding")[0][0]
    saved = sum(len(each.seconds) - len(each.failures) for each in (*alone, *together))
    return _judge(database, sizes.crowd, alone, together, lost=SAVES_TO_WARM_UP + saved - int(stored))


def _judge(
    database: str, crowd: int, alone: Sequence[Exchanges], together: Sequence[Exchanges], *, lost: int
) -> tuple[Row, dict[str, object]]:
    single, many = (
        [find_percentile([each * 1000 for each in one.seconds], 95) for one in side] for side in (alone, together)
    )
    ratios = [each / least for each, least in zip(many, single, strict=True)]
    failures = [failure for each in together for failure in each.failures]
    ratio, sent = find_median(ratios), sum(len(each.seconds) for each in together)
    row = Row(
        f"crowd, {database}",
        f"{crowd} people, {sent} codes: p95 {find_median(many):.1f} ms = {ratio:.1f} x alone "
        f"({find_median(single):.1f}), {len(failures)} errors, {lost} lost",
        f"<= {SLOWEST:.0f} x alone, 0 errors",
        ratio <= SLOWEST and not failures and lost == 0,
        "Label Studio: a third of the writes fail",
        rounds=ratios,
    )
    numbers: dict[str, object] = {
        "alone_p50_ms": [find_median(each.seconds) * 1000 for each in alone],
        "alone_p95_ms": single,
        "together_p50_ms": [find_median(each.seconds) * 1000 for each in together],
        "together_p95_ms": many,
        "together_per_second": sent / sum(each.lasted for each in together),
        "failures": failures[:20],
        "lost": lost,
    }
    return row, numbers


@contextmanager
def run_postgres() -> Iterator[str | None]:
    """The address of a PostgreSQL that is gone afterwards; ``None`` where none is installed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.throwaway_servers"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline() or b"{}").get("database_url")
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
