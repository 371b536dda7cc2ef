"""What the commands of the probe find by name."""

from __future__ import annotations

from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.models import ReviewSet
from auditapp.benchmarks.gender_cues.queries import KIND
from transcripts.studies.models import Study
from transcripts.ui.commands import find_row


def find_batch(number: int) -> Batch:
    """The probe of that number. Raises ``CommandError``."""
    batches = Batch.objects.select_related("study").filter(kind=KIND).order_by("-pk")
    return find_row(batches, "probe with the number", pk=number)


def find_reviews(study: Study, name: str) -> ReviewSet:
    """The reviews of that name. Raises ``CommandError``."""
    sets = ReviewSet.objects.select_related("study").filter(study=study).order_by("name")
    return find_row(sets, f"set of reviews in {study.slug} named", name=name)
