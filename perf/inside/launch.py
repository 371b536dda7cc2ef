"""Launch a large batch over invented inputs, which nobody works on; the seconds it takes."""

from __future__ import annotations

import argparse
import json
import time

from auditapp.batches.launching import PlannedArm, launch_batch
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.llm.actions import add_model
from transcripts.audit_trail import trail
from transcripts.studies.models import Study

TASKS = ("acceptability", "non_acceptability")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, required=True)
    parser.add_argument("--slug", required=True)
    given = parser.parse_args()
    variant = add_model(label="large", provider="fake", model="fake", by=trail.SYSTEM)
    start = time.perf_counter()
    batch = launch_batch(
        study=Study.objects.get(slug=given.slug),
        kind="sob",
        title="Launched for a measurement",
        arms=[PlannedArm(variant, task, get_instrument(task).text) for task in TASKS],
        input_ids=range(1, given.cells // len(TASKS) + 1),
        by=trail.SYSTEM,
    )
    seconds = time.perf_counter() - start
    assert batch.state == Batch.State.RUNNING
    print(json.dumps({"seconds": seconds, "cells": batch.cells.count()}))


if __name__ == "__main__":
    main()
