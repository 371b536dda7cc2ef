"""What a batch was launched on."""

from __future__ import annotations

from django.db.models import Count

from auditapp.batches.models import Batch
from auditapp.sob.models import Dataset, Text


def find_dataset(batch: Batch) -> Dataset | None:
    """The dataset a sob batch was launched on."""
    return Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()


def count_targets(dataset: Dataset) -> dict[str, int]:
    """Texts per target, most frequent first."""
    rows = Text.objects.filter(dataset=dataset).values("target").annotate(n=Count("pk")).order_by("-n", "target")
    return {row["target"]: row["n"] for row in rows}
