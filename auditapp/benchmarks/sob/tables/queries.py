"""Which group each text of a batch targets, as loaded or by a table of targets, and the mapping that a study counts by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import Count, QuerySet

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Dataset, MappingTable, TargetTable, Text
from auditapp.benchmarks.sob.pure.loading.normalising import TargetLabels, load_published_targets, make_labels
from auditapp.benchmarks.sob.pure.measures.mapping import (
    PUBLISHED,
    Rows,
    TargetMapping,
    order_rows,
    published_mapping,
    published_rows,
    read_mapping,
)
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import find_number, find_numbers

LOADED, IN_FORCE, TABLE = "loaded", "", "table:"


class UnknownTargets(Refused):
    """There is no such table of targets; the message lists the valid names."""


class TextTargets(NamedTuple):
    """The texts in the order of their sets, with their targets; ``name`` says where these come from."""

    ids: list[int]
    targets: list[str]
    secondaries: list[tuple[str, ...]]
    name: str
    warnings: tuple[str, ...] = ()


def read_targets(batch: Batch, choice: str = LOADED) -> TextTargets:
    """The texts a batch may have asked about. ``choice`` is "loaded", "published" or "table:N" of the study.

    A label that the table does not hold keeps the target it was loaded with. Raises ``UnknownTargets``.
    """
    labels = find_labels(batch, choice)
    fields = ("pk", "target", "target_secondary", "target_tertiary")
    rows = find_texts(batch).order_by("dataset_id", "position")
    ids, targets, secondaries = [], [], []
    kept = 0
    for pk, raw, *loaded in rows.values_list("pk", "target_raw", *fields[1:]):
        found = labels.normalise(raw) if labels else None
        kept += labels is not None and found is None
        target, *further = loaded if found is None else found
        ids.append(pk)
        targets.append(target)
        secondaries.append(tuple(filter(None, further)))
    return TextTargets(ids, targets, secondaries, name_targets(choice), _warn(kept))


def find_texts(batch: Batch) -> QuerySet[Text]:
    """The texts of the set a batch was launched on; of a batch that names none, those it has answers on."""
    dataset = batch.parameters.get("dataset")
    if dataset is not None:
        return Text.objects.filter(dataset=dataset)
    return Text.objects.filter(judgments__cell__batch=batch).distinct()


def find_labels(batch: Batch, choice: str) -> TargetLabels | None:
    """The table of that name; ``None`` for the targets as loaded. Raises ``UnknownTargets``."""
    if choice == LOADED:
        return None
    if choice == PUBLISHED:
        return load_published_targets()
    table = find_target_table(batch, choice)
    if table is None:
        raise UnknownTargets(f"There are no targets {choice!r} in this study. Write loaded, published or table:N.")
    return make_labels(table.rows)


def find_target_table(batch: Batch, choice: str) -> TargetTable | None:
    """The study's table that "table:N" names."""
    if not choice.startswith(TABLE):
        return None
    number = find_number(choice.removeprefix(TABLE))
    return None if number is None else TargetTable.objects.filter(study=batch.study_id, number=number).first()


def name_targets(choice: str) -> str:
    """Its name in a report."""
    return "as loaded" if choice == LOADED else choice.replace(TABLE, "table ")


def _warn(kept: int) -> tuple[str, ...]:
    if not kept:
        return ()
    texts = "1 text has" if kept == 1 else f"{kept:,} texts have"
    return (f"{texts} a source label that is not in the target table. Each keeps the target it was loaded with.",)


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


class UnknownMapping(Refused):
    """There is no such mapping; the sentence says what to write."""


def find_mapping(study: Study, choice: str = IN_FORCE) -> TargetMapping:
    """The mapping in force, or the one that "published" or "table:N" names. Raises ``UnknownMapping``.

    Its ``name`` is "published" or "table N", and goes into a report's versions.
    """
    table = find_table(study, choice)
    return published_mapping() if table is None else read_mapping(table.rows, name_table(table.number))


def find_table(study: Study, choice: str = IN_FORCE) -> MappingTable | None:
    """The table that a choice comes to: the study's newest in force, ``None`` where it has none and for the published mapping.
    Raises ``UnknownMapping``."""
    if choice == PUBLISHED:
        return None
    tables = MappingTable.objects.filter(study=study).order_by("-number")
    if choice == IN_FORCE:
        return tables.first()
    numbers = find_numbers([choice.removeprefix(TABLE)] if choice.startswith(TABLE) else [])
    table = tables.filter(number__in=numbers).first()
    if table is None:
        raise UnknownMapping(f"There is no mapping {choice!r} in this study. Write published or table:N.")
    return table


def name_choice(name: str) -> str:
    """What an address or a command writes for the mapping of that name."""
    return name.replace("table ", TABLE, 1)


def find_rows(study: Study, name: str = IN_FORCE) -> Rows:
    """The rows of the mapping in force, or of the one of that name, as they were written. Raises ``UnknownMapping``."""
    table = find_table(study, name_choice(name))
    return published_rows() if table is None else order_rows(table.rows)


def name_table(number: int) -> str:
    """What a study's table is called in versions and on pages."""
    return f"table {number}"


def name_in_force(study: Study) -> str:
    """The name of the mapping in force."""
    newest = find_table(study)
    return name_table(newest.number) if newest else PUBLISHED
