"""What a person does with the benchmark: load texts, launch a batch."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from auditapp.batches.actions import BatchError, PlannedArm, launch_batch
from auditapp.batches.models import Batch
from auditapp.llm.models import ModelVariant
from auditapp.sob.instruments import Instrument, get_instrument
from auditapp.sob.kind import KIND
from auditapp.sob.models import Dataset, Text
from auditapp.sob.sources import DatasetError, DatasetText, read_dataset
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

INSERT_SIZE = 1000


class SobError(Exception):
    """A sentence for the person who asked."""


class LoadedDataset(NamedTuple):
    """A dataset, and whether this call brought it in or found it there."""

    dataset: Dataset
    created: bool


@transaction.atomic
def load_dataset(
    *, project: Project, name: str, file_name: str, data: bytes, by: trail.Actor, columns: dict[str, str] | None = None
) -> LoadedDataset:
    """Read a file of texts into the study, whole or not at all; the same file under the same name comes in once.

    ``columns`` maps our names (text, target, source, external_id …) to the file's. Raises ``SobError``.
    """
    name = name.strip()
    if not name or len(name) > 100:
        raise SobError("A dataset needs a name of up to 100 characters.")
    digest = hashlib.sha256(data).hexdigest()
    standing = Dataset.objects.filter(project=project, name=name).first()
    if standing is not None:
        if standing.sha256 == digest:
            return LoadedDataset(standing, created=False)
        raise SobError(f"There is already a dataset {name}, from another file. Choose another name for this one.")
    try:
        file = read_dataset(data, name=file_name, columns=columns)
    except DatasetError as error:
        raise SobError(str(error)) from error
    dataset = Dataset.objects.create(
        project=project,
        name=name,
        file_name=file_name[:255],
        sha256=digest,
        format=file.format,
        warnings=file.warnings,
        loaded_by=by if isinstance(by, User) else None,
        loaded_by_name=by.get_username(),
        loaded_at=timezone.now(),
    )
    texts = [_make_text(dataset, position, row) for position, row in enumerate(file.rows, start=1)]
    Text.objects.bulk_create(texts, batch_size=INSERT_SIZE)
    trail.record(
        "sob.dataset.loaded",
        target=dataset,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"name": name, "sha256": digest, "texts": len(texts), "warnings": len(file.warnings)},
    )
    return LoadedDataset(dataset, created=True)


def _make_text(dataset: Dataset, position: int, row: DatasetText) -> Text:
    return Text(
        dataset=dataset,
        position=position,
        source=row.source,
        external_id=row.external_id,
        text=row.text,
        target=row.target,
        target_secondary=row.target_secondary,
        target_tertiary=row.target_tertiary,
        target_raw=row.target_raw,
        kind=row.kind,
    )


def launch_sob(
    *,
    dataset: Dataset,
    variants: Sequence[ModelVariant],
    tasks: Sequence[str],
    by: trail.Actor,
    instrument_variant: str = "paper",
    limit: int | None = None,
    cap_usd: Decimal | None = None,
    concurrency: int = 30,
    repeats: int = 1,
    pilot: int = 0,
    lost_answers: str = "retry",
    uses_cache: bool = False,
    route: str = "live",
    client_id: uuid.UUID | None = None,
) -> Batch:
    """Ask every variant about every text under every task. ``limit`` takes that many texts, spread evenly over the dataset.

    The last five are those of ``launch_batch``. Reads dataset.project. Raises ``SobError``.
    """
    arms, ids = plan_sob(
        dataset=dataset, variants=variants, tasks=tasks, instrument_variant=instrument_variant, limit=limit
    )
    try:
        return launch_batch(
            project=dataset.project,
            kind=KIND,
            title=f"sob: {dataset.name}",
            arms=arms,
            input_ids=ids,
            repeats=repeats,
            cap_usd=cap_usd,
            concurrency=concurrency,
            parameters={"dataset": dataset.pk, "texts": len(ids), "instrument": instrument_variant},
            pilot=pilot,
            lost_answers=lost_answers,
            uses_cache=uses_cache,
            route=route,
            client_id=client_id,
            by=by,
        )
    except BatchError as error:
        raise SobError(str(error)) from error


class PlannedSob(NamedTuple):
    """The arms and the texts of a batch to be."""

    arms: list[PlannedArm]
    input_ids: list[int]


def plan_sob(
    *,
    dataset: Dataset,
    variants: Sequence[ModelVariant],
    tasks: Sequence[str],
    instrument_variant: str = "paper",
    limit: int | None = None,
) -> PlannedSob:
    """What a launch would ask; writes nothing. Raises ``SobError``."""
    if limit is not None and limit < 1:
        raise SobError("The limit is a number of texts, at least 1.")
    if len(set(tasks)) != len(tasks) or len({variant.pk for variant in variants}) != len(variants):
        raise SobError("Name each model and each task once.")
    arms = [
        PlannedArm(variant, task, instrument.text, {"instrument": instrument.variant, "sha256": instrument.sha256})
        for variant in variants
        for task, instrument in ((task, find_instrument(task, instrument_variant)) for task in tasks)
    ]
    ids = list(dataset.texts.order_by("position").values_list("pk", flat=True))
    if limit is not None and limit < len(ids):
        ids = [ids[index * len(ids) // limit] for index in range(limit)]
    return PlannedSob(arms, ids)


def find_instrument(task: str, variant: str) -> Instrument:
    """The published instrument. Raises ``SobError`` naming those there are."""
    try:
        return get_instrument(task, variant)
    except LookupError as error:
        raise SobError(str(error)) from error
