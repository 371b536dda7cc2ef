"""Launch a batch of the benchmark, or import answers from another run as a finished batch. An import calls no model and costs
nothing, and its batch is marked as imported.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, BinaryIO, cast

from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_batch
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.batches.routes.answer_files import AnswerFileError, import_answer_file
from auditapp.benchmarks.sob.models import Dataset, TermsNotice, Wording
from auditapp.benchmarks.sob.pure.answer_words import normalize_key
from auditapp.benchmarks.sob.pure.imported_results import (
    ResultError,
    ResultFile,
    ResultRow,
    TextIndex,
    match_rows,
    read_results,
)
from auditapp.benchmarks.sob.pure.instruments import (
    BASE,
    BASE_TASK,
    TASKS,
    Instrument,
    UnknownInstrument,
    UnusableWording,
    check_text,
    get_instrument,
    list_variants,
    write_wording,
)
from auditapp.benchmarks.sob.queries import IMPORTED_MARK, KIND
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study

MAX_FAMILY_LENGTH = 100
OF_BASE = "The Base prompt is a reconstruction: its exact wording has not been published. Its answers have no score."


@transaction.atomic
def launch_sob(
    *,
    dataset: Dataset,
    variants: Sequence[ModelVariant],
    tasks: Sequence[str],
    by: trail.Actor,
    instrument_variant: str = "paper",
    include_base: bool = False,
    limit: int | None = None,
    confirms_terms: bool = False,
    families: Mapping[str, str] | None = None,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Ask every variant about every text under every task. With ``limit``, only that many texts, spread evenly over the dataset.

    ``instrument_variant`` names a published wording or one of the study's own; with ``include_base``, the reconstructed Base prompt
    is asked too. ``families``: the family of a model by label, for variants of one model that have different ids.
    ``confirms_terms``: ``by`` confirms the notice with this launch. Reads dataset.study. Raises ``Refused``.
    """
    plan = plan_sob(
        dataset=dataset,
        variants=variants,
        tasks=tasks,
        instrument_variant=instrument_variant,
        include_base=include_base,
        limit=limit,
        families=families,
    )
    if confirms_terms:
        confirm_notice(study=dataset.study, by=by)
    return launch_batch(
        study=dataset.study,
        kind=KIND,
        title=plan.title,
        arms=plan.arms,
        input_ids=plan.input_ids,
        parameters={**plan.parameters, "repeats": options.repeats},
        by=by,
        options=options,
    )


def plan_sob(
    *,
    dataset: Dataset,
    variants: Sequence[ModelVariant],
    tasks: Sequence[str],
    instrument_variant: str = "paper",
    include_base: bool = False,
    limit: int | None = None,
    families: Mapping[str, str] | None = None,
) -> LaunchPlan:
    """Plan the calls of a launch; writes nothing. One wording serves all tasks. Reads dataset.study. Raises ``Refused``."""
    if limit is not None and limit < 1:
        raise Refused("The limit is a number of texts, at least 1.")
    if len(set(tasks)) != len(tasks) or len({variant.pk for variant in variants}) != len(variants):
        raise Refused("Each model and each task can be named only once.")
    declared = _check_families(families or {}, variants)
    instruments = [find_instrument(task, instrument_variant, dataset.study) for task in tasks]
    comparable = all(each.comparable for each in instruments)
    if include_base:
        instruments.append(find_instrument(BASE_TASK, BASE))
    arms = [
        _plan_arm(variant, instrument, declared.get(variant.label, ""))
        for variant in variants
        for instrument in instruments
    ]
    ids = list(dataset.texts.order_by("position").values_list("pk", flat=True))
    warnings = [] if comparable else [f"The wording is the study's own. {NOT_COMPARABLE}"]
    if include_base:
        warnings.append(OF_BASE)
    if limit is not None and limit > len(ids):
        warnings.append(f"{limit:,} texts were requested, but {dataset.name} has {len(ids):,}, so all are used.")
    if limit is not None and limit < len(ids):
        ids = [ids[index * len(ids) // limit] for index in range(limit)]
    title = f"sob: {dataset.name}"
    if not comparable:
        title += f", wording {instrument_variant} (not comparable)"
    parameters = {"dataset": dataset.pk, "texts": len(ids), "instrument": instrument_variant, "comparable": comparable}
    return LaunchPlan(KIND, arms, ids, title=title, parameters=parameters, warnings=warnings)


def _check_families(families: Mapping[str, str], variants: Sequence[ModelVariant]) -> dict[str, str]:
    """The families without white space around them. Raises ``Refused``."""
    labels = [variant.label for variant in variants]
    for label, family in families.items():
        if label not in labels:
            raise Refused(f"--family names {label}, which is not one of the models of this batch: {', '.join(labels)}.")
        if not family.strip() or "\x00" in family or len(family.strip()) > MAX_FAMILY_LENGTH:
            raise Refused(f"The family of {label} must be a name of 1 to {MAX_FAMILY_LENGTH} characters.")
    return {label: family.strip() for label, family in families.items()}


def _plan_arm(variant: ModelVariant, instrument: Instrument, family: str) -> PlannedArm:
    settings: dict[str, object] = {
        "instrument": instrument.variant,
        "sha256": instrument.sha256,
        "schema": list(instrument.characteristics),
        "comparable": instrument.comparable,
    }
    if family:
        settings["family"] = family
    return PlannedArm(variant, instrument.task, instrument.text, settings)


NOTICE = (
    "The texts are biased and may be hateful or offensive, and the instrument tells the model not to refuse. "
    "Before you send them, read the terms of each provider they go to."
)


@transaction.atomic
def confirm_notice(*, study: Study, by: trail.Actor) -> TermsNotice:
    """Record that ``by`` confirmed the notice; the first confirmation is kept."""
    notice, created = TermsNotice.objects.get_or_create(
        study=study,
        defaults={
            "made_by": by if isinstance(by, User) else None,
            "made_by_name": by.get_username(),
            "made_at": timezone.now(),
        },
    )
    if created:
        trail.record("sob.notice.confirmed", target=notice, by=by)
    return notice


def needs_notice(study: Study, variants: Sequence[ModelVariant]) -> bool:
    """Whether a person still has to confirm the notice before anything is sent to these models. One confirmation per study is
    enough, and fake models need none, because they send nothing."""
    return find_notice(study) is None and not all(variant.is_fake for variant in variants)


def find_notice(study: Study) -> TermsNotice | None:
    """Who confirmed the notice for a study, and when; ``None`` if nobody has."""
    return TermsNotice.objects.filter(study=study).first()


MAX_NAME_LENGTH = 40
TAKEN = "There is already a wording {name}. A wording is never changed. Choose another name."
NOT_COMPARABLE = "Not comparable with the published figures, nor with any other wording."


@transaction.atomic
def add_wording(
    *,
    study: Study,
    name: str,
    based_on: str,
    characteristics: Sequence[str],
    by: trail.Actor,
    texts: Mapping[str, str] | None = None,
) -> list[Wording]:
    """Store a wording of both tasks under a new name. It is never edited afterwards; a changed wording needs another name.

    ``based_on`` names the wording that it comes from; a task that has no text in ``texts`` gets that wording with its list of
    characteristics replaced. Raises ``Refused``.
    """
    check_name(study, name)
    characteristics = [" ".join(each.split()) for each in characteristics]
    written = plan_texts(study=study, based_on=based_on, characteristics=characteristics, texts=texts)
    rows = [
        Wording(
            study=study,
            name=name,
            task=task,
            text=text,
            characteristics=[normalize_key(each) for each in characteristics],
            based_on=based_on,
            sha256=sha256(text.encode()).hexdigest(),
            made_by=by if isinstance(by, User) else None,
            made_by_name=by.get_username(),
            made_at=timezone.now(),
        )
        for task, text in written.items()
    ]
    try:
        with transaction.atomic():
            for row in rows:
                row.save(force_insert=True)
    except IntegrityError as error:
        raise Refused(TAKEN.format(name=name)) from error
    trail.record(
        "sob.wording.added",
        target=rows[0],
        by=by,
        details={"name": name, "based_on": based_on, **{each.task: each.sha256 for each in rows}},
    )
    return rows


def plan_texts(
    *, study: Study, based_on: str, characteristics: Sequence[str], texts: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The text of each task as it would be stored; writes nothing. Raises ``Refused``."""
    planned: dict[str, str] = {}
    for task, label in TASKS:
        # Browsers send other line ends than an instrument has.
        own = (texts or {}).get(task, "").replace("\r\n", "\n")
        try:
            base = find_instrument(task, based_on, study)
            planned[task] = own if own.strip() else write_wording(base, characteristics)
            check_text(planned[task], characteristics)
        except UnusableWording as error:
            raise Refused(f"{label}: {error}") from error
    return planned


def check_name(study: Study, name: str) -> None:
    """Raise ``Refused`` for a name that a wording cannot have."""
    if (
        not name
        or len(name) > MAX_NAME_LENGTH
        or not all(each.isascii() and (each.isalnum() or each in "-_") for each in name)
    ):
        raise Refused(
            f"A wording needs a name of up to {MAX_NAME_LENGTH} letters, digits, hyphens and underscores, without spaces."
        )
    if name in {*list_variants(), BASE}:
        raise Refused(f"{name} is the name of a built-in wording. Choose another one.")
    if Wording.objects.filter(study=study, name=name).exists():
        raise Refused(TAKEN.format(name=name))


def find_instrument(task: str, variant: str, study: Study | None = None) -> Instrument:
    """A published instrument, or the study's own wording of this name. Raises ``Refused``, which lists the existing names."""
    own = Wording.objects.filter(study=study, name=variant, task=task).first() if study else None
    if own is not None:
        return read_wording(own)
    try:
        return get_instrument(task, variant)
    except UnknownInstrument as error:
        names = Wording.objects.filter(study=study, task=task).values_list("name", flat=True) if study else []
        more = f"; wordings of this study: {', '.join(names)}" if names else ""
        raise Refused(f"{error}{more}") from error


def read_wording(wording: Wording) -> Instrument:
    """A study's own wording as an instrument."""
    return Instrument(
        task=wording.task,
        variant=wording.name,
        text=wording.text,
        source=f"written in this study by {wording.made_by_name}, from the wording {wording.based_on}",
        note=NOT_COMPARABLE,
        characteristics=tuple(wording.characteristics),
        comparable=False,
    )


ACCOUNT = "Imported answers"
PROVIDER = "file"
IMPORTED = "as imported"
MAX_LABEL_LENGTH = 85
MAX_LISTED = 20
MAX_REPEATS = 100
ArmKey = tuple[str, str, str, str]
"""The definition of an arm: model, task, system prompt and the name of the instrument."""
_UNNAMEABLE = re.compile(r"[^\w.,:@+/() -]+")


def import_answers(
    *, dataset: Dataset, file_name: str, data: bytes, by: trail.Actor, task: str = "", dry_run: bool = False
) -> dict[str, Any]:
    """Store the answers of a file about the texts of a dataset, completely or not at all, in one transaction.

    The file is read and matched before the transaction begins, so others can write meanwhile.

    Returns what was imported. ``batch`` is ``None`` after a dry run; ``created`` is false for a file imported before.
    ``unmatched`` counts, by reason, the rows that fit no text, ``passed_over`` those that the format does not take; ``listed``
    has the places and reasons of the first ones. A file is imported into a dataset only once. Raises ``Refused``.
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
            # If two people import the same file at once, the second gets the batch that the first one finished.
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
        raise Refused(f"The file contains {repeats:,} repeats of an answer; the limit is {MAX_REPEATS}.")
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
    """The arm of a row: with the prompt in the file, otherwise with that of the wording that the row names, otherwise with none."""
    if row.system_prompt or not row.instrument:
        return (row.model, row.task, row.system_prompt, row.instrument or IMPORTED)
    try:
        return (row.model, row.task, get_instrument(row.task, row.instrument).text, row.instrument)
    except UnknownInstrument:
        return (row.model, row.task, "", IMPORTED)


def _find_or_add_variant(row: ResultRow, by: trail.Actor) -> ModelVariant:
    """The variant of a row, under the account that makes no calls. A label that another account already uses gets a suffix."""
    label = _UNNAMEABLE.sub("-", row.model).strip()[:MAX_LABEL_LENGTH] or "unnamed model"
    model_id = (row.model_id or row.model)[:200]
    for name in (label, f"{label}{IMPORTED_MARK}"):
        existing = ModelVariant.objects.filter(label=name).select_related("account").first()
        if existing is None:
            return add_model(
                label=name, provider=PROVIDER, account=ACCOUNT, model=model_id, reasoning=row.reasoning[:20], by=by
            )
        same = (existing.model, existing.reasoning) == (model_id, row.reasoning[:20])
        if same and (existing.account.name, existing.provider) == (ACCOUNT, PROVIDER):
            return existing
    raise Refused(
        f"The labels {label} and {label} (imported) both belong to other models. Rename the model in the file."
    )


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
    """Write the answers as the lines of a batch result file, with everything else that is known about them."""
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
    """The response of a call that failed in the other run. It is stored as a failed call, which will not be repeated."""
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
