"""The overview of a study, as a coder opens it, in the server."""

from __future__ import annotations

from perf.client import Connection, exchange_in_turn
from perf.results import Measured, Row, find_median, find_percentile
from perf.saves import make_floor, make_floor_saves
from perf.serving import FLOOR, PRODUCT, serve
from perf.setup import Setup
from perf.study import Person

SLOWEST_MS = 60.0
OPENED_A_ROUND = 6


def measure(setup: Setup) -> Measured:
    """The page many times, between rounds of the floor."""
    study = setup.study
    setup.tell("pages: the overview")
    floor_environment = make_floor(setup.folder / "pages-floor")
    seconds, ratios, failures = list[float](), list[float](), 0
    with (
        serve(FLOOR, environment=floor_environment, log=setup.folder / "pages-floor.log") as floor,
        serve(PRODUCT, environment=study.instance.environment, log=setup.folder / "pages.log") as server,
    ):
        floor_connection, make_save = Connection(floor.port), make_floor_saves(floor.port, 0)
        exchange_in_turn(floor_connection, make_save, 50)
        person = Person(study, "coder0", server.port)
        request = person.get(f"/studies/{study.slug}/")
        exchange_in_turn(person.connection, lambda: request, 3)
        for _ in range(setup.sizes.rounds):
            least = exchange_in_turn(floor_connection, make_save, setup.sizes.saves_a_round)
            opened = exchange_in_turn(person.connection, lambda: request, OPENED_A_ROUND)
            seconds += opened.seconds
            failures += len(opened.failures)
            ratios.append(find_median(opened.seconds) / find_median(least.seconds))
    milliseconds = [each * 1000 for each in seconds]
    p50 = find_median(milliseconds)
    row = Row(
        "overview, coder",
        f"p50 {p50:.0f} ms = {find_median(ratios):.0f} x floor, p95 {find_percentile(milliseconds, 95):.0f}",
        f"<= {SLOWEST_MS:.0f} ms",
        p50 <= SLOWEST_MS and not failures,
        rounds=ratios,
    )
    return Measured([row], {"server_ms": milliseconds, "failed": failures})
