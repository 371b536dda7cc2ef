"""The study and the dataset that a command names."""

from __future__ import annotations

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.queries import KIND
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.actions import create_project
from transcripts.studies.management.finding import find_study
from transcripts.studies.models import Project
from transcripts.ui.commands import find_row

BENCHMARKS = "benchmarks"


def choose_project(slug: str) -> Project:
    """The study at ``slug``; without one the only study there is, or `benchmarks`, made when missing.

    Raises ``CommandError`` for a slug that names nothing.
    """
    if slug:
        return find_study(slug)
    projects = list(Project.objects.all()[:2])
    if len(projects) == 1:
        return projects[0]
    existing = Project.objects.filter(slug=BENCHMARKS).first()
    return existing or create_project(slug=BENCHMARKS, name="Benchmarks", by=trail.SYSTEM)


def find_batch(number: int) -> Batch:
    """The batch of the benchmark with that number. Raises ``CommandError``."""
    batches = Batch.objects.select_related("project").filter(kind=KIND).order_by("-pk")
    return find_row(batches, "sob batch", pk=number)


def find_dataset(name: str, slug: str) -> Dataset:
    """The dataset ``name``, in the study ``slug`` when that is given. Raises ``Refused`` for none or several."""
    if slug:
        choose_project(slug)
    here = Dataset.objects.filter(project__slug=slug) if slug else Dataset.objects.filter(project__isnull=False)
    datasets = list(here.filter(name=name).select_related("project"))
    if not datasets:
        raise Refused(_describe_missing(name, slug))
    if len(datasets) > 1:
        slugs = ", ".join(dataset.project.slug for dataset in datasets)
        raise Refused(f"Several studies have a dataset {name!r} ({slugs}). Say which with --project.")
    return datasets[0]


def _describe_missing(name: str, slug: str) -> str:
    """What there is instead, in the study that was named, and which other study has what was asked for."""
    here = Dataset.objects.filter(project__slug=slug) if slug else Dataset.objects.filter(project__isnull=False)
    names = ", ".join(sorted(set(here.values_list("name", flat=True)))) or "none"
    where = f" in the study {slug}" if slug else ""
    message = f"There is no dataset {name!r}{where}. The datasets are: {names}."
    others = sorted(
        set(Dataset.objects.filter(name=name, project__isnull=False).values_list("project__slug", flat=True))
    )
    if others:
        return f"{message} {name!r} is in {', '.join(others)}: name that study with --project."
    return f"{message} Load one with `manage.py sob load`."
