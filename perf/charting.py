"""What a chart adds to a page that otherwise has its table alone."""

from __future__ import annotations

from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside
from tests.support.instance import Instance

SLOWEST_MS = 20.0
ROUNDS = 20


def measure(setup: Setup) -> Measured:
    """The largest chart of each kind of page: laid out, written for the page and for its files, signed."""
    setup.tell(f"charts: {ROUNDS} rounds")
    environment = Instance(setup.folder / "charts").environment
    found = run_inside("draw_charts", "--rounds", str(ROUNDS), environment=environment)
    rows = []
    for name, times in found.items():
        # It waits for nothing, so on a busy machine the time of the processor is what it takes.
        added, clock = (1000 * find_median(times[each]) for each in ("processor_seconds", "seconds"))
        figure = f"+{added:.1f} ms of processor ({clock:.1f} by the clock)"
        rows.append(Row(f"chart, {name}", figure, f"<= {SLOWEST_MS:.0f} ms", added <= SLOWEST_MS))
    return Measured(rows, {"charts": found})
