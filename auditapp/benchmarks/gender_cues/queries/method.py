"""What a methods paragraph says of probes."""

from __future__ import annotations

from typing import Any

from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.models import ReviewSet, Trial
from auditapp.benchmarks.gender_cues.pure.report import TESTS
from auditapp.benchmarks.gender_cues.queries.purposes import describe_withdrawal, find_latest
from auditapp.benchmarks.gender_cues.queries.trials import KIND, read_parsers
from transcripts.studies.models import Project


def describe_probe(batch: Batch) -> dict[str, Any]:
    """The facts of one probe for its sentences."""
    key = batch.parameters.get("reviews")
    reviews = ReviewSet.objects.filter(project=batch.project_id, pk=key).first() if isinstance(key, int) else None
    arms = list(batch.arms.select_related("variant__account"))
    return {
        "batch": batch,
        "reviews": reviews,
        "last": reviews.funnel[-1] if reviews else None,
        "models": sorted({arm.variant.label for arm in arms}),
        "fake": sorted({arm.variant.label for arm in arms if arm.variant.is_fake}),
        "texts": batch.parameters.get("texts", {}),
        "same_texts": batch.parameters.get("same_texts", False),
        "trials": Trial.objects.filter(cell__batch=batch).count(),
        "parser": read_parsers(batch),
        "tests": TESTS,
    }


def read_notes(project: Project) -> dict[str, Any]:
    """Every probe of a study, for its methods paragraph. Empty where there is none."""
    batches = list(project.batches.filter(kind=KIND).order_by("pk"))
    if not batches:
        return {}
    purpose = find_latest(project)
    return {
        "purpose": purpose,
        "withdrawal": describe_withdrawal(purpose) if purpose else "",
        "probes": [describe_probe(batch) for batch in batches],
    }
