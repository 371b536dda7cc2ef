"""The study and the dataset that a command names."""

from __future__ import annotations

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.queries import KIND
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study
from transcripts.studies.management import find_study
from transcripts.studies.models import Study
from transcripts.ui.commands import find_row

BENCHMARKS = "benchmarks"


def choose_study(slug: str) -> Study:
    """The study at ``slug``; without one the only study there is, or `benchmarks`, made when missing.

    Raises ``CommandError`` for a slug that names nothing.
    """
    if slug:
        return find_study(slug)
    studies = list(Study.objects.all()[:2])
    if len(studies) == 1:
        return studies[0]
    existing = Study.objects.filter(slug=BENCHMARKS).first()
    return existing or create_study(slug=BENCHMARKS, name="Benchmarks", by=trail.SYSTEM)


def find_batch(number: int) -> Batch:
    """The batch of the benchmark with that number. Raises ``CommandError``."""
    batches = Batch.objects.select_related("study").filter(kind=KIND).order_by("-pk")
    return find_row(batches, "sob batch", pk=number)


def find_dataset(name: str, slug: str) -> Dataset:
    """The dataset ``name``, in the study ``slug`` when that is given. Raises ``Refused`` for none or several."""
    if slug:
        choose_study(slug)
    here = Dataset.objects.filter(study__slug=slug) if slug else Dataset.objects.filter(study__isnull=False)
    datasets = list(here.filter(name=name).select_related("study"))
    if not datasets:
        raise Refused(_describe_missing(name, slug))
    if len(datasets) > 1:
        slugs = ", ".join(dataset.study.slug for dataset in datasets)
        raise Refused(f"Several studies have a dataset {name!r} ({slugs}). Say which with --study.")
    return datasets[0]


def _describe_missing(name: str, slug: str) -> str:
    """What there is instead, in the study that was named, and which other study has what was asked for."""
    here = Dataset.objects.filter(study__slug=slug) if slug else Dataset.objects.filter(study__isnull=False)
    names = ", ".join(sorted(set(here.values_list("name", flat=True)))) or "none"
    where = f" in the study {slug}" if slug else ""
    message = f"There is no dataset {name!r}{where}. The datasets are: {names}."
    others = sorted(set(Dataset.objects.filter(name=name, study__isnull=False).values_list("study__slug", flat=True)))
    if others:
        return f"{message} {name!r} is in {', '.join(others)}: name that study with --study."
    return f"{message} Load one with `manage.py sob load`."
