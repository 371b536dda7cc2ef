"""The study and the dataset that a command names."""

from __future__ import annotations

from auditapp.sob.models import Dataset
from transcripts.audit_trail import trail
from transcripts.projects.actions import ProjectError, create_project
from transcripts.projects.models import Project

BENCHMARKS = "benchmarks"


def choose_project(slug: str) -> Project:
    """The study at ``slug``; without one the only study there is, or `benchmarks`, made when missing.

    Raises ``ProjectError`` for a slug that names nothing.
    """
    if slug:
        project = Project.objects.filter(slug=slug).first()
        if project is None:
            raise ProjectError(
                f"There is no study at {slug!r}. Create it with `manage.py create_project {slug} --name NAME`."
            )
        return project
    projects = list(Project.objects.all()[:2])
    if len(projects) == 1:
        return projects[0]
    existing = Project.objects.filter(slug=BENCHMARKS).first()
    return existing or create_project(slug=BENCHMARKS, name="Benchmarks", by=trail.SYSTEM)


def find_dataset(name: str, slug: str) -> Dataset:
    """The dataset ``name``, in the study ``slug`` when that is given. Raises ``ProjectError`` for none or several."""
    if slug:
        choose_project(slug)
    here = Dataset.objects.filter(project__slug=slug) if slug else Dataset.objects.filter(project__isnull=False)
    datasets = list(here.filter(name=name).select_related("project"))
    if not datasets:
        raise ProjectError(_describe_missing(name, slug))
    if len(datasets) > 1:
        slugs = ", ".join(dataset.project.slug for dataset in datasets)
        raise ProjectError(f"Several studies have a dataset {name!r} ({slugs}). Say which with --project.")
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
    return f"{message} Load one with `manage.py sob_load`."
