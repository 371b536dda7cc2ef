"""Read answers that no rule could read, with a formatter or as a person. Count the attributes of stored interpretations again after
the counting rules have changed. Audit how answers were read: draw a random sample, and mark what each answer in it says. Export the
answers on a page as CSV, line by line; every export is recorded.
"""

from __future__ import annotations

import hashlib
import io
import random
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from auditapp.audits.actions import check_seed, store_mark, store_sample
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_once
from auditapp.batches.models import Arm, Batch, Result
from auditapp.benchmarks.sob.judging.kind import (
    DEFAULT_OUTCOMES,
    FORMATTER_KIND,
    MAX_COUNTED,
    READABLE_OUTCOMES,
    SCORED_TASKS,
    add_interpretations,
    find_current_interpretations,
    find_unread,
    list_for_formatter,
    lock_judgments,
    make_interpretation,
)
from auditapp.benchmarks.sob.judging.queries import Answer, list_frame, read_current
from auditapp.benchmarks.sob.models import (
    MAX_ATTRIBUTES,
    MAX_ITEMS,
    Audit,
    AuditItem,
    AuditMark,
    Interpretation,
    Judgment,
)
from auditapp.benchmarks.sob.pure.answer_words import LEXICON_VERSION, Outcome, Parsed, count_in_every_way, is_known
from auditapp.benchmarks.sob.pure.formatter_answers import MAX_ANSWER_LENGTH, load_prompt
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.parsing import VERDICTS
from auditapp.benchmarks.sob.queries import KIND, find_schema
from auditapp.benchmarks.sob.report.actions import TAKEN_OUT
from auditapp.benchmarks.sob.report.stored_reports import outdate_reports, request_after_change
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import find_answer_schema
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.tabular import ROWS_AT_A_TIME, write_csv
from transcripts.refusals import Refused
from transcripts.studies.downloads import record_download
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
    """Plan the calls of a formatter launch; writes nothing. Raises ``Refused``.

    The formatter must answer by a JSON schema if a probe has found that its server honours one, unless ``without_schema`` is set.
    The answers that it reads were never constrained by a schema.
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
    """Why a formatter has nothing to read, and which other answers of the batch are unread."""
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
    """Have a model read the answers that the rules could not, one call per answer; its interpretations replace those of the rules.

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
    """Store a person's interpretation of an answer; earlier ones are kept as superseded. ``verdict`` is for the base task only.

    ``number`` is the number of the new interpretation, as the page showed it. An interpretation that is sent twice is stored once;
    one made on an outdated page is refused. Reads judgment.arm.batch. Raises ``Refused``.
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
    """The outcomes that a person can choose for an answer to a task."""
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
            f"Each attribute has a name and a value of up to {MAX_VALUE_LENGTH} characters, and there can be at most "
            f"{MAX_VALUES} attributes."
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
    """Count every judgment and every later interpretation again from its attributes, which do not change.

    Returns the number of attributed interpretations, and how many of them have different counts now.

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
        now = (*counts[:4], min(counts.items, MAX_COUNTED), has_list)
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


FORMATTER_SIZE = 50
MARK_OUTCOMES = (Outcome.ATTRIBUTED, Outcome.UNKNOWN, Outcome.REFUSAL, Outcome.OFF_FORMAT)


@transaction.atomic
def draw_audit(*, batch: Batch, scope: str, seed: int, by: trail.Actor, size: int = FORMATTER_SIZE) -> Audit:
    """Draw and store a simple random sample of ``size`` current interpretations, or all of them if there are no more than that.

    The same scope, size and seed return the audit that was made with them. Raises ``Refused``.
    """
    if batch.kind != KIND:
        raise Refused(f"Batch {batch.pk} is not a sob batch. Only the answers of a sob batch can be audited.")
    if scope not in Audit.Scope.values:
        raise Refused(f"The scope of an audit is {' or '.join(Audit.Scope.values)}.")
    if not 1 <= size <= MAX_ITEMS:
        raise Refused(f"An audit needs between 1 and {MAX_ITEMS:,} answers.")
    check_seed(seed)
    locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    at = timezone.now()
    frame = list_frame(locked, scope)
    if not frame:
        what = "a formatter read" if scope == Audit.Scope.FORMATTER else "was read"
        raise Refused(f"There is nothing to draw from. No answer of batch {batch.pk} {what} yet.")
    size = min(size, len(frame))
    drawn_before: Audit | None = Audit.objects.filter(batch=locked, scope=scope, size=size, seed=seed).first()
    if drawn_before is not None:
        return drawn_before
    audit = Audit(
        batch=locked,
        number=locked.sob_audits.count() + 1,
        scope=scope,
        size=size,
        seed=seed,
        frame=len(frame),
        made_by=by if isinstance(by, User) else None,
        made_by_name=by.get_username(),
        made_at=at,
    )
    drawn = random.Random(seed).sample(frame, size)  # noqa: S311 - a sample that can be drawn again, not a secret
    interpretations = read_current(drawn)
    details = {"batch": locked.pk, "scope": str(scope), "size": size, "seed": seed, "frame": len(frame)}
    store_sample(audit=audit, items=[AuditItem(**interpretations[pk]) for pk in drawn], by=by, details=details)
    return audit


def mark_item(
    *,
    item: AuditItem,
    outcome: str,
    number: int,
    idempotency_key: uuid.UUID,
    by: User,
    n_attributes: int = 0,
    n_warranted: int = 0,
    note: str = "",
) -> AuditMark:
    """Store a reviewer's own interpretation of an answer, and how many of its attributes the text itself warrants.

    See ``store_mark``. Reads item.audit.batch. Raises ``Refused``.
    """
    if outcome not in MARK_OUTCOMES:
        raise Refused("Choose what the answer says.")
    is_attributed = outcome == Outcome.ATTRIBUTED
    if is_attributed and not 1 <= n_attributes <= MAX_ATTRIBUTES:
        raise Refused("Enter how many characteristics the answer attributes. An attributed answer has at least one.")
    if not is_attributed and (n_attributes or n_warranted):
        raise Refused("Only “Attributed” has characteristics. Choose that, or set both numbers to 0.")
    if not 0 <= n_warranted <= n_attributes:
        raise Refused(
            "The number of warranted characteristics cannot be larger than the number that the answer attributes."
        )
    mark = AuditMark(
        item=item,
        parse_right=(outcome, n_attributes) == (item.outcome, item.n_attributes),
        outcome=outcome,
        n_attributes=n_attributes,
        n_warranted=n_warranted,
        note=note,
        number=number,
        idempotency_key=idempotency_key,
    )
    return store_mark(mark, by=by)


def send_answers(*, batch: Batch, answers: Iterable[Answer], with_texts: bool, by: trail.Actor) -> Iterator[bytes]:
    """The answers as CSV in pieces. One event records the download before the first piece, another the rows and hash at the end.

    An interrupted download has only the first event.
    """
    details: dict[str, object] = {"what": "answers", "format": "csv", "texts": with_texts}
    record_download(TAKEN_OUT, study=batch.study, target=batch, by=by, details=details)
    return _send_pieces(batch, answers, details, with_texts=with_texts, by=by)


def _send_pieces(
    batch: Batch, answers: Iterable[Answer], details: dict[str, object], *, with_texts: bool, by: trail.Actor
) -> Iterator[bytes]:
    digest, rows = hashlib.sha256(), 0
    for piece, n in write_answers(answers, with_texts=with_texts):
        written = piece.encode()
        digest.update(written)
        rows += n
        yield written
    whole = {**details, "rows": rows, "sha256": digest.hexdigest()}
    record_download("sob.file.sent_whole", study=batch.study, target=batch, by=by, details=whole)


COLUMNS: Mapping[str, Callable[[Answer], object]] = {
    "cell": lambda answer: answer.judgment.pk,
    "model": lambda answer: answer.model,
    "task": lambda answer: answer.task,
    "repeat": lambda answer: answer.judgment.repeat,
    "text_id": lambda answer: answer.judgment.text.pk,
    "source": lambda answer: answer.judgment.text.source,
    "external_id": lambda answer: answer.judgment.text.external_id,
    "target": lambda answer: answer.judgment.text.target,
    "target_secondary": lambda answer: answer.judgment.text.target_secondary,
    "target_tertiary": lambda answer: answer.judgment.text.target_tertiary,
    "outcome": lambda answer: answer.current.outcome,
    "verdict": lambda answer: answer.current.verdict,
    "reader": lambda answer: answer.reader,
    "parser": lambda answer: answer.current.parser,
    "repaired": lambda answer: answer.current.repaired,
    "n_attributes": lambda answer: answer.current.n_attributes,
    "n_strict": lambda answer: answer.current.n_strict,
    "attributes": lambda answer: answer.current.attributes,
    "harms": lambda answer: " ".join(answer.harms),
    "attempt": lambda answer: answer.attempt.pk if answer.attempt else None,
    "tokens_in": lambda answer: answer.attempt.tokens_in if answer.attempt else None,
    "tokens_out": lambda answer: answer.attempt.tokens_out if answer.attempt else None,
}
WITH_TEXTS = ("text", "answer")
"""Included only on request, because they may be hateful or offensive."""


def write_answers(answers: Iterable[Answer], *, with_texts: bool) -> Iterator[tuple[str, int]]:
    """The file in pieces, each with the number of its answers; formulas are escaped."""
    header = (*COLUMNS, *(WITH_TEXTS if with_texts else ()))
    rows = (
        [*(read(answer) for read in COLUMNS.values()), *((answer.judgment.text.text, answer.raw) if with_texts else ())]
        for answer in answers
    )
    yield _write_piece((), header), 0
    while group := list(islice(rows, ROWS_AT_A_TIME)):
        # The headings are written with every piece, and removed from all but the first.
        yield _write_piece(group, header).partition("\r\n")[2], len(group)


def _write_piece(rows: Iterable[Sequence[object]], header: Sequence[str]) -> str:
    piece = io.StringIO(newline="")
    write_csv(rows, header=header, stream=piece)
    return piece.getvalue()
