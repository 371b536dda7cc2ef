"""Import answers of another run as a finished batch. No model is called, nothing is paid, and the batch is marked as imported."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple, cast

from django.db import transaction

from auditapp.batches.actions import BatchError, LaunchOptions, PlannedArm, launch_batch
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.batches.routes.answer_files import AnswerFileError, import_answer_file
from auditapp.llm.actions import ModelError, add_model
from auditapp.llm.models import ModelVariant
from auditapp.sob.errors import SobError
from auditapp.sob.models import Dataset
from auditapp.sob.pure.importing_results import (
    Matched,
    ResultError,
    ResultFile,
    ResultRow,
    TextIndex,
    Unmatched,
    match_rows,
    read_results,
)
from auditapp.sob.pure.importing_results.matching import KnownText
from auditapp.sob.pure.instruments import UnknownInstrument, get_instrument
from auditapp.sob.queries.arms import IMPORTED_MARK, KIND
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

ACCOUNT = "Imported answers"
PROVIDER = "file"
IMPORTED = "as imported"
MAX_LABEL_LENGTH = 85
MAX_LISTED = 20
MAX_REPEATS = 100
_UNNAMEABLE = re.compile(r"[^\w.,:@+/() -]+")


class ImportedAnswers(NamedTuple):
    """The result of importing a file. ``batch`` is ``None`` after a dry run; ``created`` is false for a file imported before.

    ``unmatched`` counts rows without a place by reason, and ``passed_over`` those the format does not take; ``listed``
    holds the first ones.
    """

    batch: Batch | None
    created: bool
    format: str
    rows: int
    stored: int
    models: list[str]
    tasks: list[str]
    texts: int
    empty: int
    failed: int
    unmatched: dict[str, int]
    passed_over: dict[str, int]
    listed: list[Unmatched]
    sha256: str


class _ArmKey(NamedTuple):
    """The values that identify an arm."""

    model: str
    task: str
    system_prompt: str
    instrument: str


def import_answers(
    *, dataset: Dataset, file_name: str, data: bytes, by: trail.Actor, task: str = "", dry_run: bool = False
) -> ImportedAnswers:
    """Store the answers of a file on the texts of a dataset, whole or not at all, in one transaction.

    The file is read and matched before that begins: others can write meanwhile.

    Rows that fit no text are counted and listed. The same file on the same dataset comes in once. Raises ``SobError``.
    """
    digest = hashlib.sha256(data).hexdigest()
    try:
        file = read_results(data, name=file_name, task=task)
    except ResultError as error:
        raise SobError(str(error)) from error
    matched, unmatched = match_rows(file.rows, TextIndex(_read_texts(dataset)))
    if not matched:
        raise SobError(
            f"None of the {len(file.rows):,} answers in {file_name} fits a text of {dataset.name}: {_count_reasons(unmatched)}."
        )
    repeats = _count_repeats(matched)
    batch, created = _find_standing(dataset, digest), False
    if batch is None and not dry_run:
        with transaction.atomic():
            # If two people import one file at once, the second gets the first one's finished batch.
            Project.objects.select_for_update(no_key=True).get(pk=dataset.project_id)
            batch = _find_standing(dataset, digest)
            if batch is None:
                batch, created = _store(dataset, file, matched, repeats=repeats, digest=digest, by=by), True
                _record(batch, file, stored=len(matched), unmatched=len(unmatched), digest=digest, by=by)
    return ImportedAnswers(
        batch=batch,
        created=created,
        format=file.format,
        rows=len(file.rows),
        stored=len(matched),
        models=list(dict.fromkeys(each.row.model for each in matched)),
        tasks=list(dict.fromkeys(each.row.task for each in matched)),
        texts=len({each.text for each in matched}),
        empty=sum(not each.row.answer and not each.row.error for each in matched),
        failed=sum(bool(each.row.error) for each in matched),
        unmatched=dict(Counter(each.reason for each in unmatched)),
        passed_over=dict(file.passed_over),
        listed=unmatched[:MAX_LISTED],
        sha256=digest,
    )


def _find_standing(dataset: Dataset, digest: str) -> Batch | None:
    return Batch.objects.filter(idempotency_key=_name_import(dataset, digest)).first()


def _read_texts(dataset: Dataset) -> Iterator[KnownText]:
    rows = dataset.texts.order_by("position").values_list("pk", "source", "external_id", "text")
    return (KnownText(*row) for row in rows.iterator(chunk_size=5_000))


def _count_reasons(unmatched: Sequence[Unmatched]) -> str:
    counts = Counter(each.reason for each in unmatched)
    return "; ".join(f"{count:,} rows: {reason}" for reason, count in counts.most_common(5))


def _count_repeats(matched: Sequence[Matched]) -> int:
    """The number of repeats in the file. Raises ``SobError`` for more than a batch can have."""
    repeats = max(each.row.repeat for each in matched)
    if repeats > MAX_REPEATS:
        raise SobError(f"The file holds {repeats:,} repeats of an answer; at most {MAX_REPEATS} are taken.")
    return repeats


def _name_import(dataset: Dataset, digest: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"sob import {dataset.pk} {digest}")


def _store(
    dataset: Dataset, file: ResultFile, matched: Sequence[Matched], *, repeats: int, digest: str, by: trail.Actor
) -> Batch:
    arms = _plan_arms(matched, by)
    wordings = sorted({key.instrument for key in arms})
    order = {pk: place for place, pk in enumerate(dataset.texts.order_by("position").values_list("pk", flat=True))}
    try:
        batch = launch_batch(
            project=dataset.project,
            kind=KIND,
            title=f"sob: {dataset.name}, {IMPORTED}"[:200],
            arms=list(arms.values()),
            input_ids=sorted({each.text for each in matched}, key=order.__getitem__),
            parameters={
                "dataset": dataset.pk,
                "texts": len({each.text for each in matched}),
                "instrument": ", ".join(wordings),
                "imported": {"format": file.format, "sha256": digest},
            },
            options=LaunchOptions(
                repeats=repeats, route=Batch.Route.FILE, idempotency_key=_name_import(dataset, digest)
            ),
            by=by,
        )
        cells = _find_cells(batch, arms, matched)
        _cancel_others(batch, set(cells))
        with tempfile.TemporaryFile() as lines:
            _write_lines(cast("BinaryIO", lines), file, matched, cells)
            import_answer_file(batch=batch, file=cast("BinaryIO", lines), by=by)
    except (BatchError, AnswerFileError) as error:
        raise SobError(str(error)) from error
    batch.refresh_from_db()
    return batch


def _plan_arms(matched: Sequence[Matched], by: trail.Actor) -> dict[_ArmKey, PlannedArm]:
    variants: dict[str, ModelVariant] = {}
    arms: dict[_ArmKey, PlannedArm] = {}
    for row, _ in matched:
        key = _find_key(row)
        if key in arms:
            continue
        if row.model not in variants:
            variants[row.model] = _find_or_add_variant(row, by)
        settings: dict[str, object] = {"instrument": key.instrument, "imported": True}
        arms[key] = PlannedArm(variants[row.model], row.task, key.system_prompt, settings)
    return arms


def _find_key(row: ResultRow) -> _ArmKey:
    """The arm of a row: with the words the file holds, else those of the wording it names, else none."""
    if row.system_prompt or not row.instrument:
        return _ArmKey(row.model, row.task, row.system_prompt, row.instrument or IMPORTED)
    try:
        return _ArmKey(row.model, row.task, get_instrument(row.task, row.instrument).text, row.instrument)
    except UnknownInstrument:
        return _ArmKey(row.model, row.task, "", IMPORTED)


def _find_or_add_variant(row: ResultRow, by: trail.Actor) -> ModelVariant:
    """The model under the account that makes no calls. A label that another account already uses gets a suffix."""
    label = _UNNAMEABLE.sub("-", row.model).strip()[:MAX_LABEL_LENGTH] or "unnamed model"
    model_id = (row.model_id or row.model)[:200]
    for name in (label, f"{label}{IMPORTED_MARK}"):
        standing = ModelVariant.objects.filter(label=name).select_related("account").first()
        if standing is None:
            return _add_variant(name, model_id, row.reasoning[:20], by)
        same = (standing.model, standing.reasoning) == (model_id, row.reasoning[:20])
        if same and (standing.account.name, standing.provider) == (ACCOUNT, PROVIDER):
            return standing
    raise SobError(
        f"The labels {label} and {label} (imported) both belong to other models. Rename the model in the file."
    )


def _add_variant(label: str, model_id: str, reasoning: str, by: trail.Actor) -> ModelVariant:
    try:
        return add_model(label=label, provider=PROVIDER, account=ACCOUNT, model=model_id, reasoning=reasoning, by=by)
    except ModelError as error:
        raise SobError(str(error)) from error


def _find_cells(batch: Batch, arms: Mapping[_ArmKey, PlannedArm], matched: Sequence[Matched]) -> list[int]:
    """The cell of each row, in the order of the rows."""
    stored = {(arm.variant_id, arm.task, arm.system_prompt): arm.pk for arm in Arm.objects.filter(batch=batch)}
    numbers = {key: stored[arm.variant.pk, arm.task, arm.system_prompt] for key, arm in arms.items()}
    rows = Cell.objects.filter(batch=batch).values_list("arm_id", "input_id", "repeat", "pk")
    cells = {(arm, text, repeat): pk for arm, text, repeat, pk in rows.iterator(chunk_size=20_000)}
    return [cells[numbers[_find_key(row)], text, row.repeat] for row, text in matched]


def _cancel_others(batch: Batch, taken: set[int]) -> None:
    """Cancel cells missing from the file."""
    waiting = Cell.objects.filter(batch=batch, state=Cell.State.PLANNED).values_list("pk", flat=True)
    others = [pk for pk in waiting if pk not in taken]
    for start in range(0, len(others), 1_000):
        Cell.objects.filter(pk__in=others[start : start + 1_000]).update(state=Cell.State.CANCELLED)


def _write_lines(lines: BinaryIO, file: ResultFile, matched: Sequence[Matched], cells: Sequence[int]) -> None:
    """The answers in the form in which a batch takes them from any file. What is known beside an answer goes with it."""
    for (row, _), cell in zip(matched, cells, strict=True):
        source = {"format": file.format, "place": row.place, "note": row.note, "kept": dict(row.kept)}
        response = _write_error(row, source) if row.error else _write_answer(row, source)
        lines.write(json.dumps({"custom_id": f"cell-{cell}", "response": response}).encode() + b"\n")


def _write_answer(row: ResultRow, source: Mapping[str, object]) -> dict[str, object]:
    message = {"role": "assistant", "content": row.answer}
    usage = {"prompt_tokens": row.tokens_in, "completion_tokens": row.tokens_out}
    return {
        "status_code": 200,
        "body": {
            "model": row.served_model,
            "choices": [{"index": 0, "finish_reason": row.finish_reason, "message": message}],
            "usage": {name: count for name, count in usage.items() if count is not None},
            "imported": source,
        },
    }


def _write_error(row: ResultRow, source: Mapping[str, object]) -> dict[str, object]:
    """A call that failed in the other run: stored as a failed call that will not be repeated."""
    return {"status_code": 400, "body": {"error": {"message": f"as imported: {row.error}"}, "imported": source}}


def _record(batch: Batch, file: ResultFile, *, stored: int, unmatched: int, digest: str, by: trail.Actor) -> None:
    trail.record(
        "sob.answers_imported",
        target=batch,
        by=by,
        stream=trail.project_stream(batch.project_id),
        details={
            "format": file.format,
            "sha256": digest,
            "rows": len(file.rows),
            "stored": stored,
            "unmatched": unmatched,
            "passed_over": sum(file.passed_over.values()),
        },
    )
