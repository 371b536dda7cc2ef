"""What the commands of the probe find by name."""

from __future__ import annotations

from django.core.management.base import CommandError

from auditapp.batches.command_options import list_known
from auditapp.batches.models import Batch
from auditapp.probe.models import ReviewSet
from auditapp.probe.queries.trials import KIND
from transcripts.projects.models import Project


def find_batch(number: int) -> Batch:
    """The probe of that number. Raises ``CommandError``."""
    batch = Batch.objects.select_related("project").filter(pk=number, kind=KIND).first()
    if batch is None:
        known = list_known(Batch.objects.filter(kind=KIND).order_by("-pk").values_list("pk", flat=True))
        raise CommandError(f"There is no probe with the number {number}. The latest are: {known}.")
    return batch


def find_reviews(project: Project, name: str) -> ReviewSet:
    """The reviews of that name. Raises ``CommandError`` naming those there are."""
    reviews = ReviewSet.objects.select_related("project").filter(project=project, name=name).first()
    if reviews is None:
        known = list_known(ReviewSet.objects.filter(project=project).order_by("name").values_list("name", flat=True))
        raise CommandError(f"There are no reviews {name!r} in {project.slug}. There are: {known}.")
    return reviews
