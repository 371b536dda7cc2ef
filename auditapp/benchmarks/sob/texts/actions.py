"""Load texts into a study, and make one dataset from others: a sample, several in one, or the same texts under another table
of targets. Write the study's own tables: the table from a source's labels to normalised targets, and the mapping.

The texts of a derived dataset are copied, so that the original datasets do not change.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from auditapp.benchmarks.sob.models import Dataset, MappingTable, TargetTable, Text
from auditapp.benchmarks.sob.pure.answer_words import OVERALL
from auditapp.benchmarks.sob.pure.attributions import (
    MAX_VALUE_LENGTH,
    MappingError,
    Rows,
    check_rows,
    compare_rows,
    list_empty,
    list_new_targets,
    name_value,
)
from auditapp.benchmarks.sob.pure.dataset_files import Provenance
from auditapp.benchmarks.sob.pure.dataset_sources import DatasetFile, read_dataset, rename_targets
from auditapp.benchmarks.sob.pure.dataset_texts import (
    DEFAULT_SEED,
    SAME_AGAIN,
    DatasetText,
    Draw,
    NumberedText,
    SampleError,
    Statement,
    TargetsError,
    describe_data_warnings,
    describe_unknown_labels,
    draw_sample,
    drop_repeated,
    list_rows,
    load_published_targets,
    make_labels,
)
from auditapp.benchmarks.sob.queries import find_rows, find_target_table
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.storing import ABANDONED_AFTER, short_transaction
from transcripts.formats.problems import ReadError
from transcripts.jobs.runs import JobKind, JobRun
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.forms import check_seen


def save_targets(
    *, study: Study, rows: Iterable[Mapping[str, object]], reason: str, by: trail.Actor, based_on: int | None = None
) -> TargetTable:
    """Store the study's next table of targets; the earlier ones and the datasets made with them stay as they are.

    ``rows`` are objects {"raw", "target", "secondary", "tertiary"}; ``based_on`` is the number of the table that the person saw,
    0 for the published one. Raises ``Refused`` if there is no reason, if the rows are not a valid table or are the same as in the
    newest table, or if somebody else has saved another table in the meantime.
    """
    try:
        labels = make_labels(rows)
    except TargetsError as error:
        raise Refused(str(error)) from error
    table = TargetTable(study=study, rows=labels.rows, sha256=labels.hash(), reason=reason.strip())
    return table.write(by=by, based_on=based_on)


MAX_TARGETS = 200
MAX_VALUES = 500
MAX_TARGET_LENGTH = 100


@transaction.atomic
def save_mapping(
    *, study: Study, rows: Rows, reason: str, by: trail.Actor, based_on: int | None = None
) -> tuple[MappingTable, list[str]]:
    """Store the study's next mapping, and return it with warnings; earlier ones stay, and what was counted by them says so.

    ``rows`` is {target: {"self": [value, …], "dominant": [value, …]}}; ``based_on`` is the number of the mapping that the
    person saw, 0 for the published one. Raises ``Refused`` without a reason, for a value in both lists of a target, for a mapping
    that counts as the one in force does, and where somebody else saved another meanwhile.
    """
    tidied = _tidy_rows(rows)
    canonical = json.dumps(tidied, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    sha256 = hashlib.sha256(canonical.encode()).hexdigest()
    table = MappingTable(study=study, rows=tidied, sha256=sha256, reason=reason.strip())
    newest = table.find_latest(based_on)
    before = find_rows(study)
    if not (compare_rows(before, tidied) or list_new_targets(before, tidied) or list_new_targets(tidied, before)):
        name = newest or "the published mapping (Table 12)"
        raise Refused(f"This gives the same counts as {name}. Nothing has changed.")
    return table.store_after(newest, by=by), _list_warnings(study, tidied)


def _tidy_rows(rows: Rows) -> dict[str, dict[str, list[str]]]:
    """The rows without outer blanks, empty values and repeated ones. Raises ``Refused``."""
    if len(rows) > MAX_TARGETS:
        raise Refused(f"A mapping can have up to {MAX_TARGETS} targets; this one has {len(rows):,}.")
    try:
        check_rows(rows)
    except MappingError as error:
        raise Refused(str(error)) from error
    for target in rows:
        if name_value(target) == OVERALL:
            raise Refused(
                "Overall is the score over all texts and cannot be a target. Remove its row or give it another name."
            )
        if "\x00" in target or len(target.strip()) > MAX_TARGET_LENGTH:
            raise Refused(f"A target is plain text of up to {MAX_TARGET_LENGTH} characters, as the texts name it.")
    return {
        target.strip(): {kind: _tidy_values(target, lists.get(kind, ())) for kind in ("self", "dominant")}
        for target, lists in rows.items()
    }


def _tidy_values(target: str, values: Sequence[str]) -> list[str]:
    kept: dict[str, str] = {}
    for value in values:
        if "\x00" in value or len(value.strip()) > MAX_VALUE_LENGTH:
            raise Refused(f"{target}: a value is plain text of up to {MAX_VALUE_LENGTH} characters, one per line.")
        if value.strip():
            kept.setdefault(name_value(value), value.strip())
    if len(kept) > MAX_VALUES:
        raise Refused(f"{target}: a list can have up to {MAX_VALUES} values; this one has {len(kept):,}.")
    return list(kept.values())


def _list_warnings(study: Study, rows: Rows) -> list[str]:
    known = set(Text.objects.filter(dataset__study=study).values_list("target", flat=True).distinct().order_by())
    known = {name_value(target) for target in known}
    warnings = [
        f"No text in the study has the target {target}, so this row has no effect yet."
        for target in rows
        if name_value(target) not in known
    ]
    warnings += [
        f"{target}: the list of {kind} values is empty, so that cell has no figure."
        for target, kind in list_empty(rows)
    ]
    return warnings


INSERT_SIZE = 1000
# This number of texts is stored at once, which keeps others waiting for some 20 ms.
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
    "table", which needs ``target_table``; empty, the published table names the targets of a published source read without
    ``columns``, and the file those of any other. ``all_rows`` reads such a source without the benchmark's filter and draw;
    ``draw`` takes a sample in place of the benchmark's. What ``provenance`` names replaces what is known of the source.
    Returns the dataset and whether this call created it. Raises ``Refused``. Others can write while a large file is stored,
    unless the caller has begun a transaction. The job of ``run`` is finished in the transaction that makes it visible.
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
    """Store a dataset under a name that its study has not used, many texts by parts that become visible together.

    ``record`` writes the event, in the transaction that makes it visible. Raises ``Refused``.
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
    """Raise ``Refused`` where the study has a dataset of that name."""
    if is_taken(study, name):
        raise Refused(_TAKEN.format(name=name))


def is_large(rows: Sequence[DatasetText]) -> bool:
    """Whether the texts are stored in parts. Not inside a transaction of the caller, which would hold the lock all the same."""
    return len(rows) > SMALL_SIZE and not connection.in_atomic_block


def _finish(run: JobRun | None, dataset: Dataset, texts: int, *, is_new: bool) -> None:
    if run is not None:
        run.finish({"dataset": dataset.pk, "name": dataset.name, "texts": texts, "is_new": is_new})


def is_taken(study: Study, name: str) -> bool:
    """Whether the study has a dataset of that name at this moment."""
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
    """Remove what was stored of datasets whose loading was killed; after this number of ``seconds`` the rest is left for later."""
    end = time.monotonic() + seconds
    for dataset_id in _unfinished().filter(loaded_at__lt=timezone.now() - ABANDONED_AFTER).values_list("pk", flat=True):
        _remove(dataset_id, end=end)


def _remove(dataset_id: int, *, end: float = math.inf) -> None:
    """Remove a dataset that belongs to no study yet, in short transactions."""
    found = _unfinished().filter(pk=dataset_id)
    while time.monotonic() < end:
        with short_transaction():
            # Held, so that it cannot be finished meanwhile.
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
    """What ``describe_dataset`` replaces."""
    return {field: getattr(dataset, field) for field in Provenance._fields}


@transaction.atomic
def describe_dataset(
    *, dataset: Dataset, provenance: Provenance, by: trail.Actor, seen: Mapping[str, object] | None = None
) -> None:
    """Record where the texts come from and under which terms. The texts do not change. ``seen`` is what ``read_record`` gave
    when ``by`` began. Raises ``Refused``, and ``ChangedMeanwhile`` where it is something else by now."""
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
    """The study's dataset of that name; nobody can add one until this transaction ends."""
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
    """Put on the unsaved dataset what its file was and how it was read."""
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
    """Refuse a name that other texts have, or for the same file read in another way."""
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
    """Load the file of a job. Its options are the keywords of ``load_dataset``, as JSON, with the number of the table of
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


COMBINED = "combined"
MAX_COMBINED = 50


def sample_dataset(
    *,
    dataset: Dataset,
    name: str,
    size: int,
    by: trail.Actor,
    method: str = "proportional",
    by_field: str = "target",
    seed: int = DEFAULT_SEED,
    drops_repeated: bool = False,
) -> Dataset:
    """A new dataset of ``size`` texts of this one; see ``draw_sample`` for ``method``, ``by_field`` and ``seed``.

    With ``drops_repeated`` a text that came earlier in the same source is left out before the draw. Raises ``Refused``.
    Reads dataset.study.
    """
    name = _check_new_name(dataset.study, name)
    rows, statement, warnings = _leave_out_repeated(read_texts(dataset), wanted=drops_repeated)
    try:
        kept, drawn = draw_sample(rows, size=size, method=method, by=by_field, seed=seed)
    except SampleError as error:
        raise Refused(str(error)) from error
    rows = [rows[place] for place in kept]
    sampling = replace(drawn, read=statement.read, dropped={**statement.dropped, **drawn.dropped}).write()
    details: dict[str, object] = {
        "drawn_from": dataset.pk,
        "method": method,
        "by": drawn.by,
        "seed": seed,
        "read": statement.read,
        "texts": len(rows),
    }
    drawn_set = _plan_copy(dataset, name, sampling=sampling, warnings=[*_describe(rows), *warnings])
    return _store(drawn_set, rows, "sob.dataset.sampled", details, by)


def plan_combination(datasets: Sequence[Dataset]) -> tuple[list[DatasetText], Statement, list[str]]:
    """A preview of ``combine_datasets``: the texts, what became of the rows, and warnings. Writes nothing.

    Raises ``Refused``.
    """
    if not 2 <= len(datasets) <= MAX_COMBINED or len({dataset.pk for dataset in datasets}) < len(datasets):
        raise Refused(f"Choose 2 to {MAX_COMBINED} different datasets to combine.")
    if len({dataset.study_id for dataset in datasets}) > 1:
        raise Refused("Datasets of different studies cannot be combined.")
    parts = [read_texts(dataset) for dataset in datasets]
    placed = [(place, row) for place, part in enumerate(parts) for row in part]
    kept, repeated = drop_repeated([row for _, row in placed])
    kept_of = Counter(placed[place][0] for place in kept)
    rows, renamed = _give_ids([placed[place] for place in kept])
    statement = Statement(
        read=len(placed),
        kept=len(rows),
        method=COMBINED,
        dropped={SAME_AGAIN: len(repeated)} if repeated else {},
        strata={
            dataset.name: {"read": len(parts[place]), "kept": kept_of[place]} for place, dataset in enumerate(datasets)
        },
    )
    warnings = [f"{SAME_AGAIN}: {len(repeated)} dropped"] if repeated else []
    warnings += (
        [f"{renamed} texts have an id that was already used; the place of their dataset is added to it"]
        if renamed
        else []
    )
    if len({(dataset.targets_from, dataset.target_table_id) for dataset in datasets}) > 1:
        warnings.append("the datasets use different target tables, so one group may have two names")
    return rows, statement, [*_describe(rows), *warnings]


def combine_datasets(*, datasets: Sequence[Dataset], name: str, by: trail.Actor) -> Dataset:
    """One dataset of several of a study, in the order given; a text that came earlier in the same source is left out.

    A text whose id another text of its source has already gets the place of its dataset after it, as in ``12/2``.
    Raises ``Refused``. Reads the first one's study.
    """
    rows, statement, warnings = plan_combination(datasets)
    study = datasets[0].study
    combined = _plan_combined(datasets, _check_new_name(study, name))
    combined.warnings = warnings
    combined.sampling = {**statement.write(), "datasets": [dataset.pk for dataset in datasets]}
    details: dict[str, object] = {
        "datasets": [dataset.pk for dataset in datasets],
        "read": statement.read,
        "texts": statement.kept,
    }
    return _store(combined, rows, "sob.dataset.combined", details, by)


def retarget_dataset(
    *, dataset: Dataset, name: str, by: trail.Actor, target_table: TargetTable | None = None
) -> Dataset:
    """A new dataset of the same texts, its targets named by the study's table, or by the published one without it.

    The label looked up is the source's own (``target_raw``), or the target where the dataset has no such label.
    Raises ``Refused``. Reads dataset.study.
    """
    name = _check_new_name(dataset.study, name)
    if target_table is not None and target_table.study_id != dataset.study_id:
        raise Refused("This target table belongs to another study.")
    labels = make_labels(target_table.rows) if target_table else load_published_targets()
    rows = [rename_targets(row, labels) for row in read_texts(dataset)]
    unknown = [row.target_raw for row in rows if row.target_raw and not row.target]
    named = "the study's table of targets" if target_table else "the published table of targets"
    copy = _plan_copy(
        dataset,
        name,
        sampling=dataset.sampling,
        warnings=[*_describe(rows), *describe_unknown_labels(unknown, named)],
        targets_from=Dataset.TargetsFrom.TABLE if target_table else Dataset.TargetsFrom.PUBLISHED,
        target_table=target_table,
    )
    details: dict[str, object] = {
        "drawn_from": dataset.pk,
        "target_table": target_table.pk if target_table else None,
        "texts": len(rows),
        "unknown": len(unknown),
    }
    return _store(copy, rows, "sob.dataset.retargeted", details, by)


def _check_new_name(study: Study, name: str) -> str:
    name = check_name(name)
    refuse_taken(study, name)
    return name


def _leave_out_repeated(rows: list[DatasetText], *, wanted: bool) -> tuple[list[DatasetText], Statement, list[str]]:
    if not wanted:
        return rows, Statement(len(rows), len(rows)), []
    kept, repeated = drop_repeated(rows)
    statement = Statement(len(rows), len(kept), dropped={SAME_AGAIN: len(repeated)} if repeated else {})
    warnings = [f"{list_rows([place + 1 for place in repeated])}: {SAME_AGAIN}; dropped"] if repeated else []
    return [rows[place] for place in kept], statement, warnings


def _describe(rows: Sequence[DatasetText]) -> list[str]:
    """The data warnings about the texts, by their position in the new dataset."""
    return describe_data_warnings(
        [NumberedText(number, row, bool(row.target_raw)) for number, row in enumerate(rows, start=1)]
    )


def _give_ids(placed: Sequence[tuple[int, DatasetText]]) -> tuple[list[DatasetText], int]:
    """The texts with ids that are unique within their source, and how many got a new id."""
    taken = {(row.source, row.external_id) for place, row in placed}
    seen: set[tuple[str, str]] = set()
    rows: list[DatasetText] = []
    renamed = 0
    for place, row in placed:
        own = row.external_id
        if (row.source, own) in seen:
            own = f"{row.external_id[:90]}/{place + 1}"
            while (row.source, own) in taken | seen:
                own += "'"
            renamed += 1
        seen.add((row.source, own))
        rows.append(replace(row, external_id=own))
    return rows, renamed


def _store(
    dataset: Dataset, rows: Sequence[DatasetText], action: str, details: dict[str, object], by: trail.Actor
) -> Dataset:
    def record() -> None:
        trail.record(action, target=dataset, by=by, details=details)

    return store_new(dataset, rows, by=by, record=record)


def _plan_copy(
    dataset: Dataset,
    name: str,
    *,
    sampling: dict[str, object],
    warnings: list[str],
    targets_from: str = "",
    target_table: TargetTable | None = None,
) -> Dataset:
    """The dataset to be, without its texts."""
    return Dataset(
        study=dataset.study,
        name=name,
        file_name=dataset.file_name,
        sha256=dataset.sha256,
        format=dataset.format,
        warnings=warnings,
        sampling=sampling,
        targets_from=targets_from or dataset.targets_from,
        target_table=target_table if targets_from else dataset.target_table,
        drawn_from=dataset,
        **read_record(dataset),
    )


def _plan_combined(datasets: Sequence[Dataset], name: str) -> Dataset:
    """The dataset to be, without its texts."""
    is_one_naming = len({(dataset.targets_from, dataset.target_table_id) for dataset in datasets}) == 1
    first = datasets[0]
    shared = {
        field: ("; ".join(dict.fromkeys(filter(None, (getattr(one, field) for one in datasets)))))
        for field in Provenance._fields
    }
    return Dataset(
        study=first.study,
        name=name,
        file_name=", ".join(dataset.file_name for dataset in datasets)[:255],
        sha256=hashlib.sha256("".join(dataset.sha256 for dataset in datasets).encode()).hexdigest(),
        format=COMBINED,
        targets_from=first.targets_from if is_one_naming else Dataset.TargetsFrom.FILE,
        target_table=first.target_table if is_one_naming else None,
        **{field: _shorten(value, field) for field, value in shared.items()},
    )


def _shorten(value: str, field: str) -> str:
    most = find_limit(field)
    return value if len(value) <= most else value[: most - 1] + "…"
