"""Read answers that no rule could read, with a formatter or as a person; and recount what stored interpretations attribute after
the rules of counting have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_once
from auditapp.batches.models import Arm, Batch, Result
from auditapp.benchmarks.sob.judging.kind import (
    DEFAULT_OUTCOMES,
    FORMATTER_KIND,
    MAX_ITEMS,
    READABLE_OUTCOMES,
    SCORED_TASKS,
    add_interpretations,
    find_current_interpretations,
    find_unread,
    list_for_formatter,
    lock_judgments,
    make_interpretation,
)
from auditapp.benchmarks.sob.models import Interpretation, Judgment
from auditapp.benchmarks.sob.pure.counting import LEXICON_VERSION, count_in_every_way
from auditapp.benchmarks.sob.pure.formatter_answers import MAX_ANSWER_LENGTH, load_prompt
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.parsing import Outcome, Parsed, is_known
from auditapp.benchmarks.sob.pure.verdicts import VERDICTS
from auditapp.benchmarks.sob.queries import KIND, find_schema
from auditapp.benchmarks.sob.report.store import outdate_reports, request_after_change
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import find_answer_schema
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.ui.typed_text import MAX_NOTE, check_text

READ_BY_PERSON = "person"
FORMATTER_TASK = "format"
MAX_VALUE_LENGTH = 300
MAX_VALUES = 50
GROUP = 2_000
COUNTS = ("n_attributes", "n_named", "n_on_schema", "n_strict", "n_items", "has_list")


def plan_formatter(
    *, batch: Batch, variant: ModelVariant, outcomes: Sequence[str] = DEFAULT_OUTCOMES, without_schema: bool = False
) -> LaunchPlan:
    """What a launch of the formatter would ask; writes nothing. Raises ``Refused``.

    Its answers are held to a JSON schema where a probe found that its server honours one, unless ``without_schema``. The
    answers it reads never are.
    """
    if batch.kind != KIND:
        raise Refused(f"Batch {batch.pk} is not a sob batch. Name the sob batch whose answers are to be read.")
    known = [str(outcome) for outcome in READABLE_OUTCOMES]
    if not outcomes or not set(outcomes) <= set(known):
        raise Refused(f"Choose which answers are sent to the formatter: {' or '.join(known)}, or both.")
    ids = list_for_formatter(batch, outcomes)
    if not ids:
        raise Refused(_say_nothing_left(batch, outcomes))
    arms = batch.arms.filter(task__in=SCORED_TASKS)
    characteristics = list(dict.fromkeys(name for arm in arms for name in find_schema(arm)))
    prompt = load_prompt()
    settings: dict[str, object] = {"formatter": prompt.version, "sha256": prompt.sha256, "schema": characteristics}
    form = "" if without_schema else find_answer_schema(variant)
    if form:
        settings[ANSWER_SCHEMA] = form
    return LaunchPlan(
        FORMATTER_KIND,
        [PlannedArm(variant, FORMATTER_TASK, prompt.fill_in(characteristics), settings)],
        ids,
        title=f"Formatter for batch {batch.pk}",
        parameters={
            "source_batch": batch.pk,
            "outcomes": [str(outcome) for outcome in outcomes],
            "formatter": prompt.version,
            "sha256": prompt.sha256,
            ANSWER_SCHEMA: form,
        },
        facts=[("Structured answers", "the formatter's answers are held to a JSON schema" if form else "no")],
    )


def _say_nothing_left(batch: Batch, outcomes: Sequence[str]) -> str:
    """Why a formatter has nothing to read, and what else of the batch is unread."""
    kinds = " or ".join(str(outcome).replace("_", " ") for outcome in outcomes)
    sentences = [
        f"Nothing in batch {batch.pk} is left for a formatter: no answer to the two scored tasks is {kinds} and unread."
    ]
    if long := find_unread(batch, outcomes).count():
        sentences[0] = (
            f"Nothing in batch {batch.pk} is left for a formatter: of the answers to the two scored tasks that are {kinds} and "
            f"unread, {long:,} {'is' if long == 1 else 'are'} longer than {MAX_ANSWER_LENGTH:,} characters."
        )
    base = Judgment.objects.filter(
        arm__batch=batch, arm__task=BASE_TASK, outcome__in=list(outcomes), superseded_by__isnull=True
    ).count()
    if base:
        sentences.append(
            f"A formatter does not read answers to the Base prompt, of which {base:,} could not be read. People read those "
            "that are off format, on the page Interpretations."
        )
    return " ".join(sentences)


def launch_formatter(
    *,
    batch: Batch,
    variant: ModelVariant,
    by: trail.Actor,
    outcomes: Sequence[str] = DEFAULT_OUTCOMES,
    without_schema: bool = False,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Have a model read what the rules could not, one call per answer; its interpretations replace those of the rules.

    Reads batch.study. Raises ``Refused``.
    """
    return launch_once(
        study=batch.study,
        kind=FORMATTER_KIND,
        plan=lambda: plan_formatter(batch=batch, variant=variant, outcomes=outcomes, without_schema=without_schema),
        by=by,
        options=options,
        source=batch.pk,
        variant=variant.pk,
        outcomes=sorted(str(outcome) for outcome in outcomes),
        without_schema=without_schema,
    )


@transaction.atomic
def read_by_person(
    *,
    judgment: Judgment,
    outcome: str,
    number: int,
    by: User,
    attributes: Mapping[str, str] | None = None,
    verdict: str = "",
    note: str = "",
) -> Interpretation:
    """Store a person's interpretation of an answer; earlier ones stay, superseded. ``verdict`` is for the base task alone.

    ``number`` is that of the new interpretation, as the page showed it. The same interpretation sent twice is stored once; an
    interpretation made on an outdated page is refused. Reads judgment.arm.batch. Raises ``Refused``.
    """
    locked = lock_judgments([judgment.pk])[judgment.pk]
    current = find_current_interpretations([judgment.pk]).get(judgment.pk)
    note = check_text(note, field="note", max_length=MAX_NOTE)
    parsed = _check_interpretation(judgment, outcome, attributes or {}, verdict)
    if (current.number if current else 0) + 1 != number:
        if current is not None and current.number == number:
            stored = (current.read_by_id, current.outcome, current.attributes, current.verdict, current.note)
            if stored == (by.pk, parsed.outcome, parsed.attributes, parsed.verdict, note):
                return current
        raise Refused(
            "Another person has read this answer since you opened the page, so your interpretation was not stored. Open the "
            "answer again to see the other interpretation."
        )
    row = make_interpretation(
        locked,
        current,
        parsed,
        reader=Interpretation.Reader.PERSON,
        read_by=by,
        read_by_name=by.get_username(),
        note=note,
        parser=READ_BY_PERSON,
    )
    add_interpretations([row], {judgment.pk: current} if current else {})
    batch = judgment.arm.batch
    trail.record(
        "sob.answer.read",
        target=row,
        by=by,
        stream=trail.study_stream(batch.study_id),
        details={
            "batch": batch.pk,
            "cell": judgment.pk,
            "number": number,
            "outcome": str(parsed.outcome),
            "attributes": parsed.n_attributes,
        },
    )
    request_after_change(batch)
    return row


def list_person_outcomes(task: str) -> tuple[str, ...]:
    """What a person may find an answer under a task to be."""
    if task == BASE_TASK:
        return (Outcome.VERDICT, Outcome.REFUSAL, Outcome.OFF_FORMAT)
    return (Outcome.ATTRIBUTED, Outcome.UNKNOWN, Outcome.REFUSAL, Outcome.OFF_FORMAT)


def _check_interpretation(judgment: Judgment, outcome: str, attributes: Mapping[str, str], verdict: str) -> Parsed:
    if not Result.objects.filter(cell=judgment.pk).exclude(answer="").exists():
        raise Refused(
            "This cell has no answer, so there is nothing to read. You can ask again on the page of its batch."
        )
    if outcome not in list_person_outcomes(judgment.arm.task):
        raise Refused("Choose what the answer says.")
    values = {name.strip(): value.strip() for name, value in attributes.items() if is_known(value)}
    is_attributed = outcome == Outcome.ATTRIBUTED
    if is_attributed and not values:
        raise Refused("Enter at least one attribute, or choose “Unknown” if the answer attributes none.")
    if values and not is_attributed:
        raise Refused("Only “Attributed” has attributes. Choose that, or clear the fields.")
    if len(values) > MAX_VALUES or any(
        not name or len(text) > MAX_VALUE_LENGTH for name, value in values.items() for text in (name, value)
    ):
        raise Refused(
            f"An attribute has a name and a value of up to {MAX_VALUE_LENGTH} characters, at most {MAX_VALUES} of them."
        )
    is_verdict = outcome == Outcome.VERDICT
    if is_verdict and verdict not in VERDICTS:
        raise Refused("Choose the verdict that the answer gives.")
    return Parsed(
        Outcome(outcome),
        dict(values),
        len(values),
        is_object=is_attributed,
        verdict=verdict if is_verdict else "",
        reader="person",
    )


def recount_interpretations(*, by: trail.Actor) -> tuple[int, int]:
    """Count every judgment and every later interpretation again from its attributes, which stay as they are.

    Returns the number of attributed interpretations, and how many of them have other counts now.

    Each group is stored with an event if a count has changed, so an interrupted run can be started again. Stored reports
    become out of date.
    """
    schemas = {arm.pk: find_schema(arm) for arm in Arm.objects.filter(batch__kind="sob")}
    looked_at = changed_in_all = 0
    kinds: tuple[tuple[QuerySet[Any, Any], str], ...] = (
        (Judgment.objects.all(), "arm_id"),
        (Interpretation.objects.all(), "judgment__arm_id"),
    )
    try:
        for stored, arm in kinds:
            last = 0
            while arms := dict(_list_next(stored, arm, last)):
                rows: list[Any] = list(stored.filter(pk__in=list(arms)).order_by("pk"))
                changed = _list_changed(rows, {key: schemas[arm_id] for key, arm_id in arms.items()})
                if changed:
                    _store(stored, changed, by)
                looked_at += len(rows)
                changed_in_all += len(changed)
                last = max(arms)
    finally:
        outdate_reports()
    return looked_at, changed_in_all


def _list_next(stored: QuerySet[Any, Any], arm: str, last: int) -> list[tuple[int, int]]:
    """The next attributed interpretations after ``last``, each with its arm."""
    found = stored.filter(pk__gt=last, outcome=Outcome.ATTRIBUTED)
    return [(pk, arm_id) for pk, arm_id in found.order_by("pk").values_list("pk", arm)[:GROUP]]


def _list_changed(rows: Sequence[Any], schemas: Mapping[int, Sequence[str]]) -> list[Any]:
    """The interpretations whose counts have changed, with the new counts."""
    changed = []
    for row in rows:
        counts = count_in_every_way(row.attributes, schemas[row.pk])
        has_list = any(isinstance(value, list) for value in row.attributes.values())
        now = (*counts[:4], min(counts.items, MAX_ITEMS), has_list)
        if now != tuple(getattr(row, name) for name in COUNTS):
            for name, value in zip(COUNTS, now, strict=True):
                setattr(row, name, value)
            changed.append(row)
    return changed


@transaction.atomic
def _store(stored: QuerySet[Any, Any], changed: Sequence[Any], by: trail.Actor) -> None:
    stored.bulk_update(changed, COUNTS, batch_size=200)
    trail.record(
        "sob.interpretations.recounted",
        target=changed[0],
        by=by,
        details={
            "interpretations": len(changed),
            "first": changed[0].pk,
            "last": changed[-1].pk,
            "lexicon": LEXICON_VERSION,
        },
    )
