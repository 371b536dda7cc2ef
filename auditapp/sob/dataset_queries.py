"""Reads of the texts: what a dataset holds, and which batches asked about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, QuerySet

from auditapp.batches.models import Batch
from auditapp.sob.kind import KIND
from auditapp.sob.models import Dataset, Text
from auditapp.sob.pure.loading.normalising import TargetLabels
from transcripts.projects.models import Project

MAX_COLUMNS = 8
OTHERS = "other sources"
_NOTED_ROWS = re.compile(r"rows? (?P<rows>\d+(?:, \d+)*)(?P<rest>(?: and \d+ more)?: .*)", re.DOTALL)
_GONE = "; dropped"


def list_datasets(project: Project) -> list[dict[str, Any]]:
    """Every dataset with its counts, in two queries, in the order they were loaded in."""
    found = (
        Dataset.objects.filter(project=project)
        .annotate(n_texts=Count("texts"), n_targets=Count("texts__target", distinct=True))
        .order_by("pk")
    )
    batches = Counter(project.batches.filter(kind=KIND).values_list("parameters__dataset", flat=True))
    return [
        {"dataset": each, "texts": each.n_texts, "targets": each.n_targets, "batches": batches[each.pk]}
        for each in found
    ]


def list_batches(dataset: Dataset) -> QuerySet[Batch]:
    """The batches that asked about its texts, the newest first. Reads dataset.project."""
    return dataset.project.batches.filter(kind=KIND, parameters__dataset=dataset.pk)


def count_texts(dataset: Dataset) -> dict[str, Any]:
    """The cross table of a dataset, in one query."""
    cells: Counter[tuple[str, str]] = Counter()
    for target, source, texts in (
        Text.objects.filter(dataset=dataset).order_by().values_list("target", "source").annotate(n=Count("pk"))
    ):
        cells[target, source] = texts
    return tabulate_texts(cells)


def tabulate_texts(cells: Counter[tuple[str, str]]) -> dict[str, Any]:
    """Texts by target and source, the most frequent first, from the number of each; rare sources share a last column."""
    by_source, by_target = Counter[str](), Counter[str]()
    for (target, source), texts in cells.items():
        by_source[source] += texts
        by_target[target] += texts
    sources = _rank(by_source)
    shown, rare = (
        (sources, []) if len(sources) <= MAX_COLUMNS else (sources[: MAX_COLUMNS - 1], sources[MAX_COLUMNS - 1 :])
    )
    lines = [
        {
            "target": target,
            "by_source": [cells[target, source] for source in shown]
            + ([sum(cells[target, source] for source in rare)] if rare else []),
            "texts": by_target[target],
        }
        for target in _rank(by_target)
    ]
    return {"sources": [*shown, *([OTHERS] if rare else [])], "lines": lines, "texts": by_source.total()}


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


def find_missing_labels(dataset: Dataset, labels: TargetLabels | None) -> list[tuple[str, int]]:
    """The labels of a dataset's texts that the table lacks, with their texts, the most frequent first. One query."""
    rows: Iterable[tuple[str, int]] = (
        Text.objects.filter(dataset=dataset)
        .exclude(target_raw="")
        .order_by()
        .values_list("target_raw")
        .annotate(n=Count("pk"))
    )
    missing = [(raw, texts) for raw, texts in rows if labels is None or labels.normalise(raw) is None]
    return sorted(missing, key=lambda line: (-line[1], line[0]))


def find_dataset(batch: Batch) -> Dataset | None:
    """The dataset a sob batch was launched on."""
    return Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()


def count_targets(dataset: Dataset) -> dict[str, int]:
    """Texts per target, most frequent first."""
    rows = Text.objects.filter(dataset=dataset).values("target").annotate(n=Count("pk")).order_by("-n", "target")
    return {row["target"]: row["n"] for row in rows}


def read_notes(dataset: Dataset) -> list[dict[str, Any]]:
    """The notes on a set's file. ``rows`` are the places of its texts, none where the note names none that can be opened.

    Only where a row's number is its place in the set does it lead anywhere.
    """
    leads = rows_are_places(dataset)
    notes = []
    for warning in map(str, dataset.warnings):
        found = _NOTED_ROWS.fullmatch(warning) if leads and not warning.endswith(_GONE) else None
        rows = [int(number) for number in found["rows"].split(", ")] if found else []
        notes.append({"rows": rows, "text": found["rest"] if found else warning})
    return notes


def rows_are_places(dataset: Dataset) -> bool:
    """Whether the notes count the rows of the set itself: of one made here, or of a file that was taken whole."""
    return dataset.drawn_from_id is not None or dataset.sampling.get("method") == "combined" or not dataset.sampling
