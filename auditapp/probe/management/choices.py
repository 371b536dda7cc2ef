"""What the commands of the probe find by name."""

from __future__ import annotations

from django.core.management.base import CommandError

from auditapp.batches.models import Batch
from auditapp.llm.models import ModelVariant
from auditapp.probe.models import ReviewSet
from auditapp.probe.queries.trials import KIND
from transcripts.projects.models import Project


def find_project(slug: str) -> Project:
    """The study of that slug. Raises ``CommandError``."""
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(f"There is no study {slug!r}.")
    return project


def find_batch(number: int) -> Batch:
    """The probe of that number. Raises ``CommandError``."""
    batch = Batch.objects.select_related("project").filter(pk=number, kind=KIND).first()
    if batch is None:
        raise CommandError(f"There is no probe with the number {number}.")
    return batch


def find_reviews(project: Project, name: str) -> ReviewSet:
    """The reviews of that name. Raises ``CommandError`` naming those there are."""
    reviews = ReviewSet.objects.select_related("project").filter(project=project, name=name).first()
    if reviews is None:
        names = ", ".join(ReviewSet.objects.filter(project=project).values_list("name", flat=True)) or "none"
        raise CommandError(f"There are no reviews {name!r} in {project.slug}. There are: {names}.")
    return reviews


def find_variant(label: str) -> ModelVariant:
    """The model with that label. Raises ``CommandError``."""
    variant = ModelVariant.objects.select_related("account").filter(label=label).first()
    if variant is None:
        labels = ", ".join(ModelVariant.objects.values_list("label", flat=True)) or "none"
        raise CommandError(f"There is no model {label!r}. The models are: {labels}.")
    return variant
