"""Plan a large batch, and read the progress of one that is half done: a call of each cell that was made, in the ledger."""

from __future__ import annotations

import argparse
import json
import time
import uuid
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from auditapp.batches.launching import PlannedArm, launch_batch
from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.batches.pages.progress import read_progress
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.llm.models import ModelVariant
from transcripts.audit_trail import trail
from transcripts.studies.models import Project

TASKS = ("acceptability", "non_acceptability")
ROWS_AT_A_TIME = 5_000


def plan(cells: int) -> Batch:
    """A batch of two tasks over invented inputs; nobody works on it."""
    variant = ModelVariant.objects.get(label="bench")
    arms = [PlannedArm(variant, task, get_instrument(task).text) for task in TASKS]
    return launch_batch(
        project=Project.objects.get(slug="bench"),
        kind="sob",
        title="Planned for a measurement",
        arms=arms,
        input_ids=range(1, cells // len(TASKS) + 1),
        by=trail.SYSTEM,
    )


def answer_half(batch: Batch) -> None:
    """Every other cell is done, with its attempt."""
    half = list(Cell.objects.filter(batch=batch).order_by("pk").values_list("pk", "arm_id"))[::2]
    start = timezone.now() - timedelta(minutes=10)
    for position in range(0, len(half), ROWS_AT_A_TIME):
        group = half[position : position + ROWS_AT_A_TIME]
        Cell.objects.filter(pk__in=[cell for cell, _ in group]).update(state=Cell.State.DONE, outcome="attributed")
        Attempt.objects.bulk_create(
            Attempt(
                cell_id=cell,
                arm_id=arm,
                fence=1,
                request_id=uuid.uuid4(),
                runner="bench",
                request_hash="0" * 64,
                written_at=start,
                sent_at=start,
                done_at=start + timedelta(milliseconds=10 * (position + number)),
                end=Attempt.End.ANSWERED,
                http_status=200,
                tokens_in=100,
                tokens_out=20,
                cost_nano=140_000,
            )
            for number, (cell, arm) in enumerate(group)
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    planning, progress = [], []
    for _ in range(given.rounds):
        start = time.perf_counter()
        batch = plan(given.cells)
        planning.append(time.perf_counter() - start)
    assert batch.cells.count() == given.cells
    answer_half(batch)
    for _ in range(given.rounds * 4):
        start = time.perf_counter()
        found = read_progress(batch)
        progress.append(time.perf_counter() - start)
    assert found.finished == given.cells // 2, found
    print(json.dumps({"planning_seconds": planning, "progress_seconds": progress}))


if __name__ == "__main__":
    main()
