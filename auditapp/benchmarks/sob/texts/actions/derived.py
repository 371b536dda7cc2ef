"""Make a dataset from others: a sample, a combination of several, or the same texts under another table of targets.

The texts of a derived dataset are copies, so that the datasets they come from do not change.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from auditapp.benchmarks.sob.models import Dataset, TargetTable
from auditapp.benchmarks.sob.pure.dataset_files import Provenance
from auditapp.benchmarks.sob.pure.dataset_sources import rename_targets
from auditapp.benchmarks.sob.pure.dataset_texts import (
    DEFAULT_SEED,
    SAME_AGAIN,
    DatasetText,
    NumberedText,
    SampleError,
    Statement,
    describe_data_warnings,
    describe_unknown_labels,
    draw_sample,
    drop_repeated,
    list_rows,
    load_published_targets,
    make_labels,
)
from auditapp.benchmarks.sob.texts.actions.loading import (
    check_name,
    find_limit,
    read_record,
    read_texts,
    refuse_taken,
    store_new,
)
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study

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

    With ``drops_repeated``, repeats of a text within the same source are left out before the draw. Raises ``Refused``.
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
    """Combine several datasets of a study in the order given; repeats of a text within the same source are left out.

    If another text of the same source already has a text's id, the position of its dataset is appended, as in ``12/2``.
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
    """A new dataset of the same texts, with targets from ``target_table``, or from the published table without it.

    The label that is looked up is the source's own (``target_raw``), or the target if the dataset has no such label.
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
    """The data warnings about the texts, which name them by their position in the new dataset."""
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
