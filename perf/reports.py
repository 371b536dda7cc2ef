"""The second-order-bias benchmark: planning, and the report of a batch from the database and as a page.

Answers are invented and put straight into the tables. Reports are on SQLite and on PostgreSQL, at the size of the published
study (2,457 texts, 12 models, 2 tasks) and at a million answers.
"""

from __future__ import annotations

from typing import NamedTuple

from perf.batches import open_databases
from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside
from tests.support.instance import Instance

MAX_PLANNING_LENGTH = 1.0
# A million answers are invented and stored first.
PATIENCE_SECONDS = 900.0
MODELS = 12
TASKS = 2


class Bars(NamedTuple):
    """The most seconds that a report and its page may take."""

    report: float
    page: float


AS_PUBLISHED = Bars(1.0, 0.3)
MANY = Bars(10.0, 1.0)


def measure(setup: Setup) -> Measured:
    """Planning, reports and pages on either database."""
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    for database, servers in open_databases():
        url = (servers.database_url or "") if servers else ""
        instance = Instance(setup.folder / f"sob-{database}", database_url=url)
        instance.manage("prepare", "--no-demo")
        for texts, bars in ((setup.sizes.sob_texts, AS_PUBLISHED), (setup.sizes.sob_texts_many, MANY)):
            part = measure_reports(setup, instance, database, texts, bars)
            rows += part.rows
            numbers |= part.numbers
    return Measured(rows, numbers)


def measure_reports(setup: Setup, instance: Instance, database: str, texts: int, bars: Bars) -> Measured:
    """A batch of ``texts`` texts planned and answered; its report and its page."""
    answers = texts * MODELS * TASKS
    setup.tell(f"sob, {database}: {answers:,} answers")
    given = ("--texts", str(texts), "--models", str(MODELS))
    # A million answers in one batch are more than a site allows by default.
    large = {**instance.environment, "MAX_CELLS_PER_LAUNCH": str(answers)}
    made = run_inside("answers", *given, environment=large, patience=PATIENCE_SECONDS)
    given = ("--batch", str(made["batch"]), "--rounds", str(setup.sizes.rounds))
    found = run_inside("reports", *given, environment=instance.environment, patience=PATIENCE_SECONDS)
    report, page = find_median(found["report"]["seconds"]), find_median(found["page"]["seconds"])
    rows = [
        Row(
            f"report of {answers:,}, {database}",
            f"{report:.2f} s ({find_median(found['report']['processor_seconds']):.2f} s of processor), "
            f"+{found['report']['rise_mb']:.0f} MB",
            f"<= {bars.report:.0f} s",
            report <= bars.report,
        ),
        Row(
            f"its page, {database}",
            f"{page * 1000:.0f} ms, {found['page']['kilobytes']:.0f} kB",
            f"<= {bars.page * 1000:.0f} ms",
            page <= bars.page,
        ),
    ]
    if bars is AS_PUBLISHED:
        planning = made["planning_seconds"]
        words = f"{texts:,} x {MODELS} x {TASKS} planned, {database}"
        bar = f"<= {MAX_PLANNING_LENGTH:.0f} s"
        rows.insert(0, Row(words, f"{planning:.2f} s", bar, planning <= MAX_PLANNING_LENGTH))
    return Measured(rows, {f"sob_{database}_{answers}": {**made, **found}})
