"""What a methods paragraph says of runs of suites."""

from __future__ import annotations

from typing import Any

from auditapp.batches.models import Batch
from auditapp.benchmarks.scenarios.models import Session
from auditapp.benchmarks.scenarios.pure.outputs import TESTS
from auditapp.benchmarks.scenarios.queries.runs import KIND, count_states, run_sessions
from transcripts.studies.models import Study


def describe_run(batch: Batch) -> dict[str, Any]:
    """The facts of one run for its sentences. Conditions and models are in it: it is for those who may see the whole batch."""
    arms = list(batch.arms.select_related("variant__account").order_by("pk"))
    sessions = run_sessions(batch)
    return {
        "batch": batch,
        "suite": batch.parameters.get("suite", ""),
        "cases": len(batch.parameters.get("scripts", [])),
        "conditions": batch.parameters.get("conditions", []),
        "models": sorted({arm.variant.label for arm in arms}),
        "fake": sorted({arm.variant.label for arm in arms if arm.variant.is_fake}),
        "repeats": sessions.order_by("-repeat").values_list("repeat", flat=True).first() or 0,
        "sessions": sessions.count(),
        "stored": count_states(batch)[Session.State.STORED],
        "tests": TESTS,
    }


def read_notes(study: Study) -> dict[str, Any]:
    """The runs of a study for its methods paragraph: how many there are, and what is not masked any more of each. Empty where
    there is none."""
    batches = list(study.batches.filter(kind=KIND).order_by("pk"))
    if not batches:
        return {}
    return {"runs": [describe_run(batch) for batch in batches if not _is_masked(batch)], "number": len(batches)}


def _is_masked(batch: Batch) -> bool:
    """Whether anything of the run has still to be kept from those who code: a session is open, or a thread is masked."""
    sessions = run_sessions(batch)
    if sessions.filter(state=Session.State.OPEN).exists():
        return True
    return (
        sessions.exclude(interview__mask_label="")
        .filter(interview__unmasked_at__isnull=True)
        .exclude(interview__isnull=True)
        .exists()
    )
