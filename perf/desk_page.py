"""Opening an interview: in the server, in queries, and in a browser that never saw the site."""

from __future__ import annotations

from perf.browser import Opened, find_chromium, open_cold
from perf.client import Connection, Exchanges, exchange_in_turn
from perf.results import Measured, Row, find_median, find_percentile
from perf.saves import make_floor, make_floor_saves
from perf.serving import FLOOR, PRODUCT, serve
from perf.setup import Setup
from perf.study import Person, run_inside

SLOWEST_MS = 40.0
MOST_QUERIES = 12
SLOWEST_COLD_SECONDS = 0.4
MOST_REQUESTS = 15
PERSON = "annotator"


def measure(setup: Setup) -> Measured:
    """The desk of interviews of 160 answered sentences, a hundred of them coded by the person who opens it."""
    study = setup.study
    setup.tell(f"open: {setup.sizes.opens} desks")
    queries = run_inside("queries", environment=study.instance.environment)
    floor_environment = make_floor(setup.folder / "open-floor")
    with (
        serve(FLOOR, environment=floor_environment, log=setup.folder / "floor.log") as floor,
        serve(PRODUCT, environment=study.instance.environment, log=setup.folder / "web.log") as server,
    ):
        person = Person(study, PERSON, server.port)
        interviews = list(study.answers)
        paths = iter(
            [person.desk_path(number) for number in (interviews * setup.sizes.opens)[: setup.sizes.opens + 10]]
        )
        floor_connection, make_save = Connection(floor.port), make_floor_saves(floor.port, 0)
        exchange_in_turn(person.connection, lambda: person.get(next(paths)), 10)
        exchange_in_turn(floor_connection, make_save, 50)
        served, times_floor = Exchanges(), []
        for _ in range(setup.sizes.rounds):
            least = exchange_in_turn(floor_connection, make_save, setup.sizes.saves_a_round)
            opens = exchange_in_turn(
                person.connection, lambda: person.get(next(paths)), setup.sizes.opens // setup.sizes.rounds
            )
            served.seconds += opens.seconds
            served.failures += opens.failures
            times_floor.append(find_median(opens.seconds) / find_median(least.seconds))
        chromium = find_chromium()
        opened = []
        if chromium:
            setup.tell(f"open: {setup.sizes.browser_opens} times in Chromium")
            opened = open_cold(chromium, person, interviews[-setup.sizes.browser_opens :])
    return _judge(served, times_floor, queries["queries_by_sentences"], opened)


def _judge(served: Exchanges, times_floor: list[float], queries: dict[str, int], opened: list[Opened]) -> Measured:
    milliseconds = [seconds * 1000 for seconds in served.seconds]
    p50, most = find_median(milliseconds), max(queries.values())
    counted = " and ".join(f"{count} ({sentences} sentences)" for sentences, count in queries.items())
    rows = [
        Row(
            "open, in the server",
            f"p50 {p50:.0f} ms = {find_median(times_floor):.0f} x floor, p95 {find_percentile(milliseconds, 95):.0f}",
            f"<= {SLOWEST_MS:.0f} ms",
            p50 <= SLOWEST_MS and not served.failures,
            "doccano 57 ms in 10 requests, Taguette 258 in 4, Label Studio 836-1,056 in 14",
            rounds=times_floor,
        ),
        Row("open, queries", counted, f"<= {MOST_QUERIES}, any length", most <= MOST_QUERIES),
        _judge_browser(opened),
        _judge_requests(opened),
    ]
    numbers: dict[str, object] = {"server_p50_ms": p50, "queries": queries, "failed": len(served.failures)}
    browser = {name: [getattr(each, name) for each in opened] for name in Opened._fields}
    return Measured(rows, {**numbers, "server_ms": milliseconds, "browser": browser})


def _judge_browser(opened: list[Opened]) -> Row:
    name, bar = "open cold, in Chromium", f"<= {SLOWEST_COLD_SECONDS} s"
    if not opened:
        return Row(name, "not measured: there is no Chromium here", bar)
    seconds = find_median([each.seconds for each in opened])
    kilobytes = find_median([each.kilobytes for each in opened])
    return Row(
        name,
        f"codable in {seconds:.2f} s; {kilobytes:.0f} kB",
        bar,
        seconds <= SLOWEST_COLD_SECONDS,
        "Taguette 0.73 s, 922 kB; doccano 1.45 s, 826 kB; Label Studio 2.1-2.4 s, 8,600 kB",
    )


def _judge_requests(opened: list[Opened]) -> Row:
    name, bar = "open cold, requests", f"<= {MOST_REQUESTS}"
    if not opened:
        return Row(name, "not measured: there is no Chromium here", bar)
    most = max(each.requests for each in opened)
    peers = "Taguette 15, doccano 24, Label Studio 33-34"
    return Row(name, f"{most}", bar, most <= MOST_REQUESTS, peers)
