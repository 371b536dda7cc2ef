"""Import answers of another run as a finished batch. No model is called, nothing is paid, and the batch is marked as imported."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, cast

from django.db import transaction

from auditapp.batches.launching import LaunchOptions, PlannedArm, launch_batch
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.batches.routes.answer_files import AnswerFileError, import_answer_file
from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.pure.importing_results import (
    ResultError,
    ResultFile,
    ResultRow,
    TextIndex,
    match_rows,
    read_results,
)
from auditapp.benchmarks.sob.pure.instruments import UnknownInstrument, get_instrument
from auditapp.benchmarks.sob.queries import IMPORTED_MARK, KIND
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study

ACCOUNT = "Imported answers"
PROVIDER = "file"
IMPORTED = "as imported"
MAX_LABEL_LENGTH = 85
MAX_LISTED = 20
MAX_REPEATS = 100
ArmKey = tuple[str, str, str, str]
"""What makes an arm: model, task, system prompt and the name of the instrument."""
_UNNAMEABLE = re.compile(r"[^\w.,:@+/() -]+")


def import_answers(
    *, dataset: Dataset, file_name: str, data: bytes, by: trail.Actor, task: str = "", dry_run: bool = False
) -> dict[str, Any]:
    """Store the answers of a file on the texts of a dataset, whole or not at all, in one transaction.

    The file is read and matched before that begins: others can write meanwhile.

    Returns what was imported. ``batch`` is ``None`` after a dry run; ``created`` is false for a file imported before.
    ``unmatched`` counts rows that fit no text by reason, ``passed_over`` those the format does not take; ``listed`` are the
    places and reasons of the first ones. The same file is imported into a dataset once. Raises ``Refused``.
    """
    digest = hashlib.sha256(data).hexdigest()
    try:
        file = read_results(data, name=file_name, task=task)
    except ResultError as error:
        raise Refused(str(error)) from error
    matched, unmatched = match_rows(file.rows, TextIndex(_read_texts(dataset)))
    if not matched:
        raise Refused(
            f"None of the {len(file.rows):,} answers in {file_name} matches a text of {dataset.name}: {_count_reasons(unmatched)}."
        )
    repeats = _count_repeats(matched)
    batch, created = _find_imported(dataset, digest), False
    if batch is None and not dry_run:
        with transaction.atomic():
            # If two people import one file at once, the second gets the first one's finished batch.
            Study.objects.select_for_update(no_key=True).get(pk=dataset.study.pk)
            batch = _find_imported(dataset, digest)
            if batch is None:
                batch, created = _store(dataset, file, matched, repeats=repeats, digest=digest, by=by), True
                _record(batch, file, stored=len(matched), unmatched=len(unmatched), digest=digest, by=by)
    return {
        "batch": batch,
        "created": created,
        "format": file.format,
        "rows": len(file.rows),
        "stored": len(matched),
        "models": list(dict.fromkeys(row.model for row, _ in matched)),
        "tasks": list(dict.fromkeys(row.task for row, _ in matched)),
        "texts": len({text for _, text in matched}),
        "empty": sum(not row.answer and not row.error for row, _ in matched),
        "failed": sum(bool(row.error) for row, _ in matched),
        "unmatched": dict(Counter(reason for _, reason in unmatched)),
        "passed_over": dict(file.passed_over),
        "listed": [{"place": place, "reason": reason} for place, reason in unmatched[:MAX_LISTED]],
        "sha256": digest,
    }


def _find_imported(dataset: Dataset, digest: str) -> Batch | None:
    return Batch.objects.filter(idempotency_key=_name_import(dataset, digest)).first()


def _read_texts(dataset: Dataset) -> Iterator[tuple[int, str, str, str]]:
    rows = dataset.texts.order_by("position").values_list("pk", "source", "external_id", "text")
    return rows.iterator(chunk_size=5_000)


def _count_reasons(unmatched: Sequence[tuple[str, str]]) -> str:
    counts = Counter(reason for _, reason in unmatched)
    return "; ".join(f"{count:,} rows: {reason}" for reason, count in counts.most_common(5))


def _count_repeats(matched: Sequence[tuple[ResultRow, int]]) -> int:
    """The number of repeats in the file. Raises ``Refused`` for more than a batch can have."""
    repeats = max(row.repeat for row, _ in matched)
    if repeats > MAX_REPEATS:
        raise Refused(f"The file holds {repeats:,} repeats of an answer; the limit is {MAX_REPEATS}.")
    return repeats


def _name_import(dataset: Dataset, digest: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"sob import {dataset.pk} {digest}")


def _store(
    dataset: Dataset,
    file: ResultFile,
    matched: Sequence[tuple[ResultRow, int]],
    *,
    repeats: int,
    digest: str,
    by: trail.Actor,
) -> Batch:
    arms = _plan_arms(matched, by)
    wordings = sorted({instrument for *_, instrument in arms})
    order = {pk: place for place, pk in enumerate(dataset.texts.order_by("position").values_list("pk", flat=True))}
    try:
        batch = launch_batch(
            study=dataset.study,
            kind=KIND,
            title=f"sob: {dataset.name}, {IMPORTED}"[:200],
            arms=list(arms.values()),
            input_ids=sorted({text for _, text in matched}, key=order.__getitem__),
            parameters={
                "dataset": dataset.pk,
                "texts": len({text for _, text in matched}),
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
    except AnswerFileError as error:
        raise Refused(str(error)) from error
    batch.refresh_from_db()
    return batch


def _plan_arms(matched: Sequence[tuple[ResultRow, int]], by: trail.Actor) -> dict[ArmKey, PlannedArm]:
    variants: dict[str, ModelVariant] = {}
    arms: dict[ArmKey, PlannedArm] = {}
    for row, _ in matched:
        key = _find_key(row)
        if key in arms:
            continue
        if row.model not in variants:
            variants[row.model] = _find_or_add_variant(row, by)
        _, _, system_prompt, instrument = key
        settings: dict[str, object] = {"instrument": instrument, "imported": True}
        arms[key] = PlannedArm(variants[row.model], row.task, system_prompt, settings)
    return arms


def _find_key(row: ResultRow) -> ArmKey:
    """The arm of a row: with the words the file holds, else those of the wording it names, else none."""
    if row.system_prompt or not row.instrument:
        return (row.model, row.task, row.system_prompt, row.instrument or IMPORTED)
    try:
        return (row.model, row.task, get_instrument(row.task, row.instrument).text, row.instrument)
    except UnknownInstrument:
        return (row.model, row.task, "", IMPORTED)


def _find_or_add_variant(row: ResultRow, by: trail.Actor) -> ModelVariant:
    """The model under the account that makes no calls. A label that another account already uses gets a suffix."""
    label = _UNNAMEABLE.sub("-", row.model).strip()[:MAX_LABEL_LENGTH] or "unnamed model"
    model_id = (row.model_id or row.model)[:200]
    for name in (label, f"{label}{IMPORTED_MARK}"):
        existing = ModelVariant.objects.filter(label=name).select_related("account").first()
        if existing is None:
            return _add_variant(name, model_id, row.reasoning[:20], by)
        same = (existing.model, existing.reasoning) == (model_id, row.reasoning[:20])
        if same and (existing.account.name, existing.provider) == (ACCOUNT, PROVIDER):
            return existing
    raise Refused(
        f"The labels {label} and {label} (imported) both belong to other models. Rename the model in the file."
    )


def _add_variant(label: str, model_id: str, reasoning: str, by: trail.Actor) -> ModelVariant:
    return add_model(label=label, provider=PROVIDER, account=ACCOUNT, model=model_id, reasoning=reasoning, by=by)


def _find_cells(batch: Batch, arms: Mapping[ArmKey, PlannedArm], matched: Sequence[tuple[ResultRow, int]]) -> list[int]:
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


def _write_lines(
    lines: BinaryIO, file: ResultFile, matched: Sequence[tuple[ResultRow, int]], cells: Sequence[int]
) -> None:
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
        details={
            "format": file.format,
            "sha256": digest,
            "rows": len(file.rows),
            "stored": stored,
            "unmatched": unmatched,
            "passed_over": sum(file.passed_over.values()),
        },
    )
