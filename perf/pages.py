"""Pages that list a whole study: its overview, as a coder and as a lead open it, and its list of interviews, in the server."""

from __future__ import annotations

from functools import partial

from perf.client import Connection, exchange_in_turn
from perf.results import Measured, Row, find_median, find_percentile
from perf.saving import make_floor, make_floor_saves
from perf.serving import FLOOR, PRODUCT, serve
from perf.setup import Setup
from perf.study import Person

SLOWEST_MS = 60.0
PAGES = (
    ("overview, coder", "coder0", "/p/{slug}/"),
    ("overview, lead", "importer", "/p/{slug}/"),
    ("interviews, lead", "importer", "/p/{slug}/interviews/"),
)


def measure(setup: Setup) -> Measured:
    """Each page many times, between rounds of the floor."""
    study = setup.study
    setup.tell("pages: overview, interviews")
    floor_environment = make_floor(setup.folder / "pages-floor")
    rows, numbers = [], dict[str, object]()
    with (
        serve(FLOOR, environment=floor_environment, log=setup.folder / "pages-floor.log") as floor,
        serve(PRODUCT, environment=study.instance.environment, log=setup.folder / "pages.log") as server,
    ):
        floor_connection, make_save = Connection(floor.port), make_floor_saves(floor.port, 0)
        exchange_in_turn(floor_connection, make_save, 50)
        for name, who, path in PAGES:
            person = Person(study, who, server.port)
            make_get = partial(person.get, path.format(slug=study.slug))
            exchange_in_turn(person.connection, make_get, 3)
            seconds, ratios, failures = list[float](), list[float](), 0
            for _ in range(setup.sizes.rounds):
                least = exchange_in_turn(floor_connection, make_save, setup.sizes.saves_a_round)
                opened = exchange_in_turn(person.connection, make_get, 6)
                seconds += opened.seconds
                failures += len(opened.failures)
                ratios.append(find_median(opened.seconds) / find_median(least.seconds))
            milliseconds = [each * 1000 for each in seconds]
            p50 = find_median(milliseconds)
            rows.append(
                Row(
                    name,
                    f"p50 {p50:.0f} ms = {find_median(ratios):.0f} x floor, p95 {find_percentile(milliseconds, 95):.0f}",
                    f"<= {SLOWEST_MS:.0f} ms",
                    p50 <= SLOWEST_MS and not failures,
                    rounds=ratios,
                )
            )
            numbers[name] = {"server_ms": milliseconds, "failed": failures}
    return Measured(rows, numbers)
