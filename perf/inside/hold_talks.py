"""Plan plays, or hold a talk question by question: what ``perf.chains`` measures from inside the product.

``plan``: seconds to plan so many chained cells, in rounds; nobody works on them. ``launch``: a batch of plays; its number.
``talk``: questions in a batch that stays open, each asked when the one before it was answered; for each the moment when it was
typed, by the clock that all processes of a machine share, its request's id, and the seconds from stored to seen.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime

from auditapp.batches.launching import LaunchOptions, PlannedArm, add_cell, close_batch, launch_batch
from auditapp.batches.models import Attempt, Batch, Cell, Result
from auditapp.llm.models import ModelVariant
from tests.auditapp.batches.talking import launch_talks, register
from transcripts.audit_trail import trail
from transcripts.studies.models import Project

LOOK_SECONDS = 0.05


def launch(given: argparse.Namespace) -> Batch:
    variants = ModelVariant.objects.filter(label__in=given.models).order_by("label")
    return launch_talks(
        Project.objects.get(slug="bench"),
        *variants,
        plays=given.plays,
        questions=given.questions,
        concurrency=given.in_flight,
    )


def plan(given: argparse.Namespace) -> dict[str, object]:
    seconds = []
    for _ in range(given.rounds):
        start = time.perf_counter()
        batch = launch(given)
        seconds.append(time.perf_counter() - start)
        assert batch.cells.count() == given.plays * given.questions
        assert batch.cells.filter(state=Cell.State.WAITS, after__isnull=False).count() == given.plays * (
            given.questions - 1
        )
        Batch.objects.filter(pk=batch.pk).update(control=Batch.Control.PAUSE, state=Batch.State.PAUSED)
    return {"planning_seconds": seconds}


def talk(given: argparse.Namespace) -> dict[str, object]:
    variant = ModelVariant.objects.get(label=given.models[0])
    batch = launch_batch(
        project=Project.objects.get(slug="bench"),
        kind="talks",
        title="A talk",
        arms=[PlannedArm(variant, "play", "You are asked.")],
        input_ids=[],
        by=trail.SYSTEM,
        options=LaunchOptions(),
        stays_open=True,
    )
    arm, before = batch.arms.get(), None
    asked: list[dict[str, object]] = []
    for number in range(1, given.questions + 1):
        typed = time.monotonic()
        before = add_cell(batch=batch, arm=arm, input_id=number, by=trail.SYSTEM, after=before)
        while not (stored := Result.objects.filter(cell=before).first()):
            time.sleep(LOOK_SECONDS)
        seen = (datetime.now(UTC) - stored.stored_at).total_seconds()
        request = Attempt.objects.get(result=stored).request_id
        asked.append({"typed": typed, "request": str(request), "stored_to_seen": seen})
        time.sleep(given.pause)
    close_batch(batch=batch, by=trail.SYSTEM)
    return {"asked": asked}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("act", choices=["plan", "launch", "talk"])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--plays", type=int, default=1)
    parser.add_argument("--questions", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=30)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between an answer and the next question")
    given = parser.parse_args()
    register()
    if given.act == "launch":
        print(json.dumps({"batch": launch(given).pk}))
    else:
        print(json.dumps(plan(given) if given.act == "plan" else talk(given)))


if __name__ == "__main__":
    main()
