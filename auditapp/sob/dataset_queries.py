"""Reads of the texts: what a dataset holds, and which batches asked about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import Count, QuerySet

from auditapp.batches.models import Batch
from auditapp.sob.kind import KIND
from auditapp.sob.models import Dataset, Text
from auditapp.sob.pure.loading.normalising import TargetLabels
from transcripts.projects.models import Project

MOST_COLUMNS = 8
OTHERS = "other sources"


class DatasetLine(NamedTuple):
    """A dataset as the list of datasets shows it."""

    dataset: Dataset
    texts: int
    targets: int
    batches: int


def list_datasets(project: Project) -> list[DatasetLine]:
    """Every dataset with its counts, in two queries, in the order they were loaded in."""
    found = (
        Dataset.objects.filter(project=project)
        .annotate(n_texts=Count("texts"), n_targets=Count("texts__target", distinct=True))
        .order_by("pk")
    )
    batches = Counter(project.batches.filter(kind=KIND).values_list("parameters__dataset", flat=True))
    return [DatasetLine(each, each.n_texts, each.n_targets, batches[each.pk]) for each in found]


def list_batches(dataset: Dataset) -> QuerySet[Batch]:
    """The batches that asked about its texts, the newest first. Reads dataset.project."""
    return dataset.project.batches.filter(kind=KIND, parameters__dataset=dataset.pk)


class TargetLine(NamedTuple):
    """The texts of one target, by source in the order of the table's columns."""

    target: str
    by_source: list[int]
    texts: int


class TargetCounts(NamedTuple):
    """Texts by target and source, the most frequent first; rare sources share a last column."""

    sources: list[str]
    lines: list[TargetLine]
    texts: int


def count_texts(dataset: Dataset) -> TargetCounts:
    """The cross table of a dataset, in one query."""
    cells: Counter[tuple[str, str]] = Counter()
    for target, source, texts in (
        Text.objects.filter(dataset=dataset).order_by().values_list("target", "source").annotate(n=Count("pk"))
    ):
        cells[target, source] = texts
    return tabulate_texts(cells)


def tabulate_texts(cells: Counter[tuple[str, str]]) -> TargetCounts:
    """The cross table from the number of texts of each (target, source)."""
    by_source, by_target = Counter[str](), Counter[str]()
    for (target, source), texts in cells.items():
        by_source[source] += texts
        by_target[target] += texts
    sources = _rank(by_source)
    shown, rare = (
        (sources, []) if len(sources) <= MOST_COLUMNS else (sources[: MOST_COLUMNS - 1], sources[MOST_COLUMNS - 1 :])
    )
    lines = [
        TargetLine(
            target,
            [cells[target, source] for source in shown]
            + ([sum(cells[target, source] for source in rare)] if rare else []),
            by_target[target],
        )
        for target in _rank(by_target)
    ]
    return TargetCounts([*shown, *([OTHERS] if rare else [])], lines, sum(by_source.values()))


def _rank(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def find_texts(dataset: Dataset, *, target: str | None, source: str | None) -> QuerySet[Text]:
    """The texts in the order of the file; ``None`` does not narrow, "" keeps those without a target."""
    found = Text.objects.filter(dataset=dataset)
    if target is not None:
        found = found.filter(target=target)
    if source is not None:
        found = found.filter(source=source)
    return found.order_by("position")


class LabelLine(NamedTuple):
    """A source's label in a dataset that a table of targets does not know."""

    raw: str
    texts: int


def find_missing_labels(dataset: Dataset, labels: TargetLabels | None) -> list[LabelLine]:
    """The labels of a dataset's texts that the table lacks, the most frequent first. One query."""
    rows: Iterable[tuple[str, int]] = (
        Text.objects.filter(dataset=dataset)
        .exclude(target_raw="")
        .order_by()
        .values_list("target_raw")
        .annotate(n=Count("pk"))
    )
    missing = [LabelLine(raw, texts) for raw, texts in rows if labels is None or labels.normalise(raw) is None]
    return sorted(missing, key=lambda line: (-line.texts, line.raw))
