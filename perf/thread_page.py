"""The page *Negotiation* of a thread of 200 answers, each with a feature entered and a move coded, in the server."""

from __future__ import annotations

from functools import partial

from perf.client import Connection, exchange_in_turn
from perf.long_files import write_trajectories
from perf.results import Measured, Row, find_median, find_percentile
from perf.saving import make_floor, make_floor_saves
from perf.serving import FLOOR, PRODUCT, serve
from perf.setup import Setup
from perf.study import Person, Unprepared, prepare_study

# A step has words and a call, two answers; the thread ends with one more.
STEPS, ANSWERS = 100, 200
SLOWEST_MS = 150.0
REQUESTS = 6


def measure(setup: Setup) -> Measured:
    """The page many times, between rounds of the floor."""
    setup.tell("thread: a page of 200 answers")
    study = prepare_study(
        setup.folder / "thread",
        interviews=1,
        coders=1,
        codings=0,
        entries=ANSWERS,
        write=lambda file: write_trajectories(file, 1, steps=STEPS),
    )
    floor_environment = make_floor(setup.folder / "thread-floor")
    seconds, ratios = list[float](), list[float]()
    with (
        serve(FLOOR, environment=floor_environment, log=setup.folder / "thread-floor.log") as floor,
        serve(PRODUCT, environment=study.instance.environment, log=setup.folder / "thread.log") as server,
    ):
        floor_connection, make_save = Connection(floor.port), make_floor_saves(floor.port, 0)
        exchange_in_turn(floor_connection, make_save, 50)
        person = Person(study, "annotator", server.port)
        [interview] = study.answers
        make_get = partial(person.get, f"{person.desk_path(interview)}negotiation/")
        exchange_in_turn(person.connection, make_get, 3)
        for _ in range(setup.sizes.rounds):
            least = exchange_in_turn(floor_connection, make_save, setup.sizes.saves_a_round)
            opened = exchange_in_turn(person.connection, make_get, REQUESTS)
            if opened.failures:
                raise Unprepared(f"The page of the thread failed: {opened.failures[0]}")
            seconds += opened.seconds
            ratios.append(find_median(opened.seconds) / find_median(least.seconds))
    milliseconds = [each * 1000 for each in seconds]
    p50, p95 = find_median(milliseconds), find_percentile(milliseconds, 95)
    row = Row(
        "thread of 200 answers",
        f"p50 {p50:.0f} ms = {find_median(ratios):.0f} x floor, p95 {p95:.0f}",
        f"<= {SLOWEST_MS:.0f} ms",
        p50 <= SLOWEST_MS,
        rounds=ratios,
    )
    return Measured([row], {"server_ms": milliseconds})
