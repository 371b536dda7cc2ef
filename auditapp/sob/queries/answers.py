"""The answers behind a figure, and what a batch was launched on."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from auditapp.batches.models import Batch
from auditapp.sob.metrics import OVERALL
from auditapp.sob.models import Dataset, Judgment, Text
from auditapp.sob.queries.arms import read_arms


def find_dataset(batch: Batch) -> Dataset | None:
    """The dataset a sob batch was launched on."""
    return Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()


def count_targets(dataset: Dataset) -> dict[str, int]:
    """Texts per target, most frequent first."""
    rows = Text.objects.filter(dataset=dataset).values("target").annotate(n=Count("pk")).order_by("-n", "target")
    return {row["target"]: row["n"] for row in rows}


def find_judgments(batch: Batch, *, model: str, task: str, target: str, outcome: str) -> QuerySet[Judgment]:
    """The answers behind a cell; an empty string (or target "overall") does not narrow.

    ``outcome`` is that of the reading which stands, and ``target`` the text's as loaded.
    """
    found = Judgment.objects.filter(cell__batch=batch).select_related(
        "text", "cell__result", "cell__arm__variant", "cell__result__attempt"
    )
    if model or task:
        arms = [arm for arm in read_arms(batch) if model in {"", arm.model} and task in {"", arm.task}]
        found = found.filter(arm__in=[arm.arm_id for arm in arms])
    if target and target != OVERALL:
        found = found.filter(text__target=target)
    if outcome:
        # An answer has one standing reading, so that none comes twice.
        by_rules = Q(superseded_by__isnull=True, outcome=outcome)
        found = found.filter(by_rules | Q(readings__superseded_by__isnull=True, readings__outcome=outcome))
    return found.order_by("text__position", "cell__arm_id")
