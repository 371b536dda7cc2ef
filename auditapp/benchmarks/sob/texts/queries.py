"""Reads of the texts: what a dataset holds, and which batches asked about it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, Max, QuerySet

from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.sob.models import Dataset, TargetTable, Text
from auditapp.benchmarks.sob.queries import KIND
from transcripts.studies.models import Study

MAX_COLUMNS = 8
OTHERS = "other sources"
_NOTED_ROWS = re.compile(r"rows? (?P<rows>\d+(?:, \d+)*)(?P<rest>(?: and \d+ more)?: .*)", re.DOTALL)
_GONE = "; dropped"


def list_datasets(study: Study) -> list[dict[str, Any]]:
    """Every dataset with its counts, in two queries, in the order they were loaded in."""
    batches = Counter(study.batches.filter(kind=KIND).values_list("parameters__dataset", flat=True))
    found = Dataset.objects.filter(study=study).with_counts()
    return [{"dataset": each, "batches": batches[each.pk]} for each in found]


def list_batches(dataset: Dataset) -> QuerySet[Batch]:
    """The batches that asked about its texts, the newest first. Reads dataset.study."""
    found: QuerySet[Batch] = dataset.study.batches.filter(kind=KIND, parameters__dataset=dataset.pk)
    return found


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


def find_dataset(batch: Batch) -> Dataset | None:
    """The dataset a sob batch was launched on."""
    return Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()


def name_targets(dataset: Dataset | None) -> str:
    """Where the targets of the texts come from; "" without a set."""
    if dataset is None:
        return ""
    name = dataset.get_targets_from_display()
    if dataset.target_table_id is None:
        return name
    # The number alone: a table has thousands of rows.
    number = TargetTable.objects.values_list("number", flat=True).get(pk=dataset.target_table_id)
    return f"{name}, table {number}"


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


AT_A_TIME = 5_000


def find_asked_texts(arm_ids: Sequence[int]) -> QuerySet[Text]:
    """The texts that these arms ask about, without cancelled cells."""
    cells = Cell.objects.filter(arm__in=arm_ids).exclude(state=Cell.State.CANCELLED)
    return Text.objects.filter(pk__in=cells.order_by().values("input_id"))


def read_asked_texts(arm_ids: Sequence[int]) -> list[tuple[int, str, str]]:
    """The texts that these arms ask about, each with its key, its words and its first target."""
    rows = find_asked_texts(arm_ids).order_by("pk").values_list("pk", "text", "target")
    return list(rows.iterator(chunk_size=AT_A_TIME))


def hash_asked_texts(arm_ids: Sequence[int]) -> tuple[int, str, str]:
    """How many texts these arms ask about, and two hashes: of their words, and of their words with whom they target.

    Neither hash depends on the set the texts lie in, nor on their order, so that two batches can be compared.
    """
    words, targets = [], []
    rows = find_asked_texts(arm_ids).order_by().values_list("text", "target", "target_secondary", "target_tertiary")
    for text, *targeted in rows.iterator(chunk_size=AT_A_TIME):
        words.append(_hash([text]))
        targets.append(_hash([text, *targeted]))
    return len(words), _hash(sorted(words)), _hash(sorted(targets))


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def count_repeats(batch: Batch) -> int:
    """How often a batch asks about each text; counted from its cells if the batch did not record it."""
    known = batch.parameters.get("repeats")
    if isinstance(known, int):
        return known
    arm_ids = list(batch.arms.values_list("pk", flat=True))
    return Cell.objects.filter(arm__in=arm_ids).aggregate(most=Max("repeat"))["most"] or 1
