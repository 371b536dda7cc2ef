"""Load texts into a study: a few in one transaction, many in parts that become visible together. Describe what was loaded."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from auditapp.benchmarks.sob.models import Dataset, TargetTable, Text
from auditapp.benchmarks.sob.pure.dataset_files import Provenance
from auditapp.benchmarks.sob.pure.dataset_sources import DatasetFile, read_dataset
from auditapp.benchmarks.sob.pure.dataset_texts import (
    DatasetText,
    Draw,
    SampleError,
    make_labels,
)
from auditapp.benchmarks.sob.queries import find_target_table
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.storing import ABANDONED_AFTER, short_transaction
from transcripts.formats.problems import ReadError
from transcripts.jobs.runs import JobKind, JobRun
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.forms import check_seen

INSERT_SIZE = 1000
# Up to this many texts are stored in one transaction, for which other writers wait about 20 ms.
SMALL_SIZE = 2000
TEXT_FIELDS = tuple(field.name for field in fields(DatasetText))


def load_dataset(
    *,
    study: Study,
    name: str,
    file_name: str,
    data: bytes,
    by: trail.Actor,
    columns: dict[str, str] | None = None,
    targets: str = "",
    target_table: TargetTable | None = None,
    all_rows: bool = False,
    drops_repeated: bool = False,
    draw: Draw | None = None,
    provenance: Provenance | None = None,
    run: JobRun | None = None,
) -> tuple[Dataset, bool]:
    """Read a file of texts into the study, whole or not at all; the same file under the same name is stored once.

    ``columns`` maps our names (text, target, source, external_id …) to the file's. ``targets`` is "file", "published" or
    "table", which needs ``target_table``. If it is empty, the published table names the targets of a published source read without
    ``columns``, and the file names those of any other source. ``all_rows`` reads a published source without the benchmark's filter
    and draw; ``draw`` takes another sample than the benchmark's. What ``provenance`` names replaces what is known about the source.
    Returns the dataset and whether this call created it. Raises ``Refused``. Others can write while a large file is stored, unless
    the caller has begun a transaction. The job of ``run`` is finished in the transaction that makes the dataset visible.
    """
    name = check_name(name)
    _check_targets(study, targets, target_table)
    try:
        file = read_dataset(
            data,
            name=file_name,
            columns=columns,
            targets=targets,
            labels=make_labels(target_table.rows) if target_table else None,
            all_rows=all_rows,
            drops_repeated=drops_repeated,
            draw=draw,
        )
    except (ReadError, SampleError) as error:
        raise Refused(str(error)) from error
    digest = hashlib.sha256(data).hexdigest()
    dataset = Dataset(study=study, name=name, file_name=file_name[:255], sha256=digest, target_table=target_table)
    _describe_file(dataset, file, provenance or Provenance())

    def record() -> None:
        _record_load(dataset, file, by)
        _finish(run, dataset, len(file.rows), is_new=True)

    if is_large(file.rows) and not is_taken(study, name):
        _store_by_parts(dataset, file.rows, by=by, record=record, run=run)
        return dataset, True
    with transaction.atomic():
        existing = find_dataset_named(study, name)
        if existing is not None:
            _compare(existing, file, digest, target_table)
            _finish(run, existing, len(file.rows), is_new=False)
            return existing, False
        store_dataset(dataset, file.rows, by=by)
        record()
    return dataset, True


def store_new(dataset: Dataset, rows: Sequence[DatasetText], *, by: trail.Actor, record: Callable[[], None]) -> Dataset:
    """Store a dataset under a name that is new in its study; many texts are stored in parts that become visible together.

    ``record`` writes the event, in the transaction that makes the dataset visible. Raises ``Refused``.
    """
    if is_large(rows):
        refuse_taken(dataset.study, dataset.name)
        return _store_by_parts(dataset, rows, by=by, record=record)
    with transaction.atomic():
        if find_dataset_named(dataset.study, dataset.name) is not None:
            raise Refused(_TAKEN.format(name=dataset.name))
        store_dataset(dataset, rows, by=by)
        record()
    return dataset


_TAKEN = "There is already a dataset {name}. Choose another name for this one."


def refuse_taken(study: Study, name: str) -> None:
    """Raise ``Refused`` if the study has a dataset of that name."""
    if is_taken(study, name):
        raise Refused(_TAKEN.format(name=name))


def is_large(rows: Sequence[DatasetText]) -> bool:
    """Whether the texts are stored in parts. Inside a transaction of the caller they are not, because it keeps the lock anyway."""
    return len(rows) > SMALL_SIZE and not connection.in_atomic_block


def _finish(run: JobRun | None, dataset: Dataset, texts: int, *, is_new: bool) -> None:
    if run is not None:
        run.finish({"dataset": dataset.pk, "name": dataset.name, "texts": texts, "is_new": is_new})


def is_taken(study: Study, name: str) -> bool:
    """Whether the study has a dataset of that name at the moment."""
    return Dataset.objects.filter(study=study, name=name).exists()


def _store_by_parts(
    dataset: Dataset,
    rows: Sequence[DatasetText],
    *,
    by: trail.Actor,
    record: Callable[[], None],
    run: JobRun | None = None,
) -> Dataset:
    """Store a large dataset in short transactions. It belongs to no study until the last of them."""
    study = dataset.study
    dataset.study = None
    store_dataset(dataset, [], by=by)
    try:
        for first in range(0, len(rows), INSERT_SIZE):
            with short_transaction():
                if not _unfinished().filter(pk=dataset.pk).update(loaded_at=timezone.now()):
                    raise Refused(_STOPPED)
                _store_texts(dataset, rows[first : first + INSERT_SIZE], after=first)
            if run is not None:
                run.tell("Storing", first, len(rows))
        with transaction.atomic():
            if find_dataset_named(study, dataset.name) is not None:
                raise Refused(
                    f"Another dataset {dataset.name} was stored in the meantime. Nothing of this dataset was stored."
                )
            held = _unfinished().select_for_update().filter(pk=dataset.pk)
            if not held or dataset.texts.count() != len(rows):
                raise Refused(_STOPPED)
            dataset.study, dataset.loaded_at = study, timezone.now()
            dataset.save(update_fields=["study", "loaded_at"])
            record()
    except BaseException:
        _remove(dataset.pk)
        raise
    return dataset


_STOPPED = "Storing was interrupted for many minutes and was given up. Nothing was stored; try again."


def remove_abandoned_datasets(*, seconds: float = math.inf) -> None:
    """Remove the stored parts of datasets whose loading was interrupted; after ``seconds``, the rest is left for the next time."""
    end = time.monotonic() + seconds
    for dataset_id in _unfinished().filter(loaded_at__lt=timezone.now() - ABANDONED_AFTER).values_list("pk", flat=True):
        _remove(dataset_id, end=end)


def _remove(dataset_id: int, *, end: float = math.inf) -> None:
    """Remove a dataset that belongs to no study yet, in short transactions."""
    found = _unfinished().filter(pk=dataset_id)
    while time.monotonic() < end:
        with short_transaction():
            # Locked, so that its loading cannot be completed meanwhile.
            if not found.select_for_update().exists():
                return
            texts = list(Text.objects.filter(dataset=dataset_id).order_by().values_list("pk", flat=True)[:INSERT_SIZE])
            if not texts:
                found.delete()
                return
            Text.objects.filter(pk__in=texts)._raw_delete(connection.alias)  # noqa: SLF001


def _unfinished() -> QuerySet[Dataset]:
    return Dataset.objects.filter(study__isnull=True)


def read_record(dataset: Dataset) -> dict[str, str]:
    """The fields that ``describe_dataset`` replaces, with their values."""
    return {field: getattr(dataset, field) for field in Provenance._fields}


@transaction.atomic
def describe_dataset(
    *, dataset: Dataset, provenance: Provenance, by: trail.Actor, seen: Mapping[str, object] | None = None
) -> None:
    """Record where the texts come from and under which terms. The texts do not change. ``seen`` is what ``read_record`` returned
    when ``by`` opened the form. Raises ``Refused``, and ``ChangedMeanwhile`` if the record has changed since."""
    _check_provenance(provenance)
    dataset = Dataset.objects.select_for_update(of=("self",)).select_related("study").get(pk=dataset.pk)
    check_seen(seen, read_record(dataset))
    before = Provenance(**read_record(dataset))
    changed = [field for field in Provenance._fields if getattr(before, field) != getattr(provenance, field)]
    if not changed:
        return
    for field in changed:
        setattr(dataset, field, getattr(provenance, field))
    dataset.save(update_fields=changed)
    trail.record("sob.dataset.described", target=dataset, by=by, details={"changed": ", ".join(changed)})


def find_limit(field: str) -> int:
    """How many characters a field of a dataset may have."""
    stored: Any = Dataset._meta.get_field(field)
    return int(stored.max_length)


def check_name(name: str) -> str:
    """The name without white space around it. Raises ``Refused``."""
    name, most = name.strip(), find_limit("name")
    if not name or len(name) > most:
        raise Refused(f"A dataset needs a name of up to {most} characters.")
    return name


def find_dataset_named(study: Study, name: str) -> Dataset | None:
    """The study's dataset of that name. Until this transaction ends, nobody else can add one."""
    Study.objects.select_for_update().get(pk=study.pk)
    return Dataset.objects.filter(study=study, name=name).first()


def store_dataset(dataset: Dataset, rows: Iterable[DatasetText], *, by: trail.Actor) -> Dataset:
    """Save a new dataset with its texts in the order given. The caller records the event. Raises ``Refused``."""
    _check_provenance(Provenance(**read_record(dataset)))
    dataset.loaded_by = by if isinstance(by, User) else None
    dataset.loaded_by_name = by.get_username()
    dataset.loaded_at = timezone.now()
    dataset.save(force_insert=True)
    _store_texts(dataset, rows)
    return dataset


def _store_texts(dataset: Dataset, rows: Iterable[DatasetText], *, after: int = 0) -> None:
    texts = [
        Text(dataset=dataset, position=position, **{field: getattr(row, field) for field in TEXT_FIELDS})
        for position, row in enumerate(rows, start=after + 1)
    ]
    Text.objects.bulk_create(texts, batch_size=INSERT_SIZE)


def read_texts(dataset: Dataset) -> list[DatasetText]:
    """The texts of a dataset in its order, as they would be read from a file."""
    values: Sequence[tuple[str, ...]] = list(dataset.texts.order_by("position").values_list(*TEXT_FIELDS))
    return [DatasetText(*row) for row in values]


def _check_targets(study: Study, targets: str, table: TargetTable | None) -> None:
    if targets and targets not in Dataset.TargetsFrom:
        raise Refused(f'Targets are named by "file", "published" or "table", not by "{targets}".')
    if (targets == Dataset.TargetsFrom.TABLE) != (table is not None):
        raise Refused(
            "Choose which of the study's target tables names the targets, or use the file or the published table."
        )
    if table is not None and table.study_id != study.pk:
        raise Refused("This target table belongs to another study.")


def _record_load(dataset: Dataset, file: DatasetFile, by: trail.Actor) -> None:
    trail.record(
        "sob.dataset.loaded",
        target=dataset,
        by=by,
        details={
            "name": dataset.name,
            "sha256": dataset.sha256,
            "read": file.statement.read,
            "texts": len(file.rows),
            "warnings": len(file.warnings),
            "targets": file.targets,
        },
    )


def _describe_file(dataset: Dataset, file: DatasetFile, said: Provenance) -> None:
    """Set the fields of the unsaved dataset that say what its file was and how it was read."""
    dataset.format = file.format
    dataset.warnings = list(file.warnings)
    dataset.sampling = file.statement.write()
    dataset.targets_from = file.targets
    for field in Provenance._fields:
        setattr(dataset, field, getattr(said, field) or getattr(file.provenance, field))


def _check_provenance(provenance: Provenance) -> None:
    for field, value in provenance._asdict().items():
        if len(value) > (most := find_limit(field)):
            raise Refused(f"The {field.replace('_', ' ')} has {len(value)} characters; it can have {most}.")


def _compare(existing: Dataset, file: DatasetFile, digest: str, table: TargetTable | None) -> None:
    """Raise ``Refused`` if the existing dataset of this name has another file, or the same file read in another way."""
    if existing.sha256 != digest:
        raise Refused(
            f"There is already a dataset {existing.name}, from another file. Choose another name for this one."
        )
    is_same = existing.targets_from == file.targets and existing.target_table_id == (table.pk if table else None)
    if not is_same or existing.sampling != file.statement.write() or read_texts(existing) != list(file.rows):
        raise Refused(
            f"There is already a dataset {existing.name}, from this file read in another way. Choose another name for this one."
        )


TEXTS = "texts"


def load_texts(run: JobRun) -> None:
    """Load the file of a job. The job's options are the arguments of ``load_dataset`` as JSON, with the number of the table of
    targets as ``table``."""
    job = run.job
    run.tell("Reading the file")
    reading = dict(job.options)
    number = reading.pop("table")
    draw, provenance = (reading.pop(name) for name in ("draw", "provenance"))
    [(file_name, data)] = run.read_files()
    table = find_target_table(job.study, number) if number is not None else None
    load_dataset(
        study=job.study,
        file_name=file_name,
        data=data,
        by=job.asked_by,
        target_table=table,
        draw=Draw(*draw) if draw else None,
        provenance=Provenance(*provenance) if provenance else None,
        run=run,
        **reading,
    )


TEXTS_KIND = JobKind(TEXTS, "Texts to be judged", "texts", load_texts, "sob/_job.html", "sob:load")
