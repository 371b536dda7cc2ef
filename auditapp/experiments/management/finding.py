"""What the commands of experiments look up."""

from __future__ import annotations

from django.core.management.base import CommandError

from auditapp.experiments.models import Experiment
from transcripts.projects.models import Project


def find_study(slug: str) -> Project:
    """The study of that address. Raises ``CommandError``."""
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(f"There is no study {slug!r}.")
    return project


def find_experiment(slug: str, name: str) -> Experiment:
    """The experiment of that name in a study. Raises ``CommandError``, which lists those there are."""
    project = find_study(slug)
    experiment = project.experiments.filter(name__iexact=name).first()
    if experiment is None:
        known = ", ".join(project.experiments.values_list("name", flat=True)) or "none"
        raise CommandError(f"There is no experiment {name!r} in {slug}. There are: {known}.")
    return experiment
