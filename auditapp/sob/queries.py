"""Reads of the benchmark: scores per cell of the heat map, and the answers behind one."""

from __future__ import annotations

from django.db.models import Count, QuerySet

from auditapp.batches.models import Batch
from auditapp.sob.metrics import OVERALL, Cell, ResponseGroup, score_groups
from auditapp.sob.models import Dataset, Judgment, Text
from auditapp.sob.parsing import Outcome


def find_dataset(batch: Batch) -> Dataset | None:
    """The dataset a sob batch was launched on."""
    return Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()


def count_targets(dataset: Dataset) -> dict[str, int]:
    """Texts per target, most frequent first."""
    rows = Text.objects.filter(dataset=dataset).values("target").annotate(n=Count("pk")).order_by("-n", "target")
    return {row["target"]: row["n"] for row in rows}


def score_batch(batch: Batch) -> list[Cell]:
    """The cells of a batch in paper counting (method brief R38), from one grouped query."""
    rows = (
        Judgment.objects.filter(cell__batch=batch)
        .values("cell__arm__variant__label", "cell__arm__task", "text__target", "outcome", "n_attributes")
        .annotate(n=Count("pk"))
        .order_by("cell__arm__variant__label", "cell__arm__task")
    )
    groups = {
        ResponseGroup(
            model=row["cell__arm__variant__label"],
            task=row["cell__arm__task"],
            target=row["text__target"],
            outcome=Outcome(row["outcome"]),
            n_attributes=row["n_attributes"],
        ): row["n"]
        for row in rows
    }
    return score_groups(groups)


def find_judgments(batch: Batch, *, model: str, task: str, target: str, outcome: str) -> QuerySet[Judgment]:
    """The answers behind a cell; an empty string (or target "overall") does not narrow."""
    found = Judgment.objects.filter(cell__batch=batch).select_related(
        "text", "cell__result", "cell__arm__variant", "cell__result__attempt"
    )
    if model:
        found = found.filter(cell__arm__variant__label=model)
    if task:
        found = found.filter(cell__arm__task=task)
    if target and target != OVERALL:
        found = found.filter(text__target=target)
    if outcome:
        found = found.filter(outcome=outcome)
    return found.order_by("text__position", "cell__arm_id")
