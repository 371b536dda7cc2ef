"""Which study a command means when it names none."""

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
                f"There is no study at {slug!r}. `manage.py create_project {slug} --name NAME` makes it."
            )
        return project
    projects = list(Project.objects.all()[:2])
    if len(projects) == 1:
        return projects[0]
    standing = Project.objects.filter(slug=BENCHMARKS).first()
    return standing or create_project(slug=BENCHMARKS, name="Benchmarks", by=trail.SYSTEM)


def find_dataset(name: str, slug: str) -> Dataset:
    """The dataset ``name``, in the study ``slug`` when that is given. Raises ``ProjectError`` for none or several."""
    found = Dataset.objects.filter(name=name).select_related("project")
    if slug:
        found = found.filter(project__slug=slug)
    datasets = list(found)
    if not datasets:
        names = ", ".join(sorted(set(Dataset.objects.values_list("name", flat=True)))) or "none"
        raise ProjectError(f"There is no dataset {name!r}; there are: {names}. `manage.py sob_load` brings one in.")
    if len(datasets) > 1:
        slugs = ", ".join(dataset.project.slug for dataset in datasets)
        raise ProjectError(f"Several studies have a dataset {name!r} ({slugs}). Say which with --project.")
    return datasets[0]
