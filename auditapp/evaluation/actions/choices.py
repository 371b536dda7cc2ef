"""Choose an annotator for a code."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.annotators.models import Annotator, CodeChoice
from auditapp.evaluation.models import Disagreement
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_NOTE, check_reason, check_text


@transaction.atomic
def choose_annotator(
    *,
    study: Study,
    code_identifier: str,
    annotator: Annotator | None,
    reason: str,
    by: trail.Actor,
    with_critic: bool = False,
) -> CodeChoice:
    """Choose ``annotator`` for a code, or ``None`` to leave it to people. An earlier choice is superseded and stays on record.

    Raises ``Refused``.
    """
    reason = check_reason(reason, needed="Give a reason. People who use the rates will read it.", one_line=True)
    with_critic = with_critic and annotator is not None
    _check(study, code_identifier, annotator)
    choices = CodeChoice.objects.select_for_update().filter(study=study, code_identifier=code_identifier)
    current = choices.filter(superseded_at__isnull=True).first()
    if current is not None:
        if (current.annotator, current.with_critic, current.reason) == (annotator, with_critic, reason):
            return current
        current.superseded_at = timezone.now()
        current.save(update_fields=["superseded_at"])
    choice = CodeChoice(
        study=study,
        code_identifier=code_identifier,
        annotator=annotator,
        with_critic=with_critic,
        reason=reason,
        chosen_at=timezone.now(),
        chosen_by_name=by.get_username(),
    )
    try:
        with transaction.atomic():
            choice.save()
    except IntegrityError as error:
        raise Refused(
            "Another person chose for this code in the meantime. Look at that choice, then choose again."
        ) from error
    _record(choice, by, current)
    return choice


def _record(choice: CodeChoice, by: trail.Actor, current: CodeChoice | None) -> None:
    trail.record(
        "annotators.annotator.chosen",
        target=choice,
        by=by,
        details={
            "code": choice.code_identifier,
            "annotator": choice.annotator_id,
            "critic": int(choice.with_critic),
            "before": current.pk if current else None,
        },
    )


def _check(study: Study, code_identifier: str, annotator: Annotator | None) -> None:
    codes = Code.objects.filter(identifier=code_identifier, family__unit=CodeFamily.Unit.SENTENCE)
    if annotator is None:
        known = codes.filter(version__study=study, version__published_at__isnull=False).exists()
        if not known:
            raise Refused("This study's codebook has no such code for sentences.")
        return
    if annotator.study_id != study.pk:
        raise Refused("This annotator is not part of this study.")
    if not codes.filter(version=annotator.version_id).exists():
        raise Refused(
            f"{annotator} does not annotate this code, because its codebook {annotator.version} does not have it."
        )
    if not has_read_for(annotator, code_identifier):
        raise Refused(
            f"{annotator} has annotated no sentence for this code, so it cannot be chosen. "
            "Let it annotate first, or choose another annotator or people only."
        )


def list_choices(study: Study) -> list[CodeChoice]:
    """The annotator now chosen for each code."""
    rows = CodeChoice.objects.filter(study=study, superseded_at__isnull=True)
    return list(rows.select_related("annotator__version", "annotator__study").order_by("code_identifier"))


def has_read_for(annotator: Annotator, code_identifier: str) -> bool:
    """Whether it read any sentence for a code; its silence about a code it was never asked about is no word."""
    from auditapp.annotators.queries.machine_labels import read_machine_labels

    machine = read_machine_labels(annotator)
    return code_identifier in machine.codes and bool(machine.was_read[machine.codes.index(code_identifier)].any())


OVERTAKEN = "Another person sorted this in the meantime. Look at that decision, then decide again."


@transaction.atomic
def sort_disagreement(
    *,
    study: Study,
    annotator: Annotator,
    sentence: Sentence,
    code_identifier: str,
    category: str,
    by: User,
    note: str = "",
    replaces: int | None = None,
) -> Disagreement:
    """Say why the machine and people differ on a code of a sentence. What was said before is superseded, and stays.

    ``replaces`` is the row that was shown; if another is active by now, nothing is stored. Reads sentence.turn.interview.
    Raises ``Refused``.
    """
    note = check_text(note, field="note", max_length=MAX_NOTE, one_line=True)
    _check_place(study, annotator, sentence, code_identifier)
    if category not in Disagreement.Category.values:
        raise Refused("Choose one of the six categories.")
    said = Disagreement.objects.filter(annotator=annotator, sentence=sentence, code_identifier=code_identifier)
    current = said.select_for_update().filter(superseded_by__isnull=True).first()
    if (current.pk if current else None) != replaces:
        raise Refused(OVERTAKEN)
    if current is not None and (current.category, current.note) == (category, note):
        return current
    row = Disagreement(
        annotator=annotator,
        sentence=sentence,
        code_identifier=code_identifier,
        category=category,
        note=note,
        sorted_at=timezone.now(),
        sorted_by=by,
        # Only one may be active: until the old row is superseded, the new one points to the first, to which nothing points.
        superseded_by=said.filter(supersedes__isnull=True).first(),
    )
    _store(row, current)
    _record_sorting(row, study, by, current)
    return row


def _store(row: Disagreement, current: Disagreement | None) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise Refused(OVERTAKEN) from error
    if current is not None:
        Disagreement.objects.filter(pk=current.pk).update(superseded_by=row)
        row.superseded_by = None
        row.save(update_fields=["superseded_by"])


def _check_place(study: Study, annotator: Annotator, sentence: Sentence, code_identifier: str) -> None:
    if annotator.study_id != study.pk or sentence.turn.interview.study_id != study.pk:
        raise Refused("This is not part of this study.")
    if not Code.objects.filter(version=annotator.version_id, identifier=code_identifier).exists():
        raise Refused("The annotator's codebook has no such code.")


def _record_sorting(row: Disagreement, study: Study, by: User, current: Disagreement | None) -> None:
    trail.record(
        "evaluation.disagreement.sorted",
        target=row,
        by=by,
        stream=trail.study_stream(study.pk),
        details={
            "annotator": row.annotator_id,
            "sentence": row.sentence_id,
            "code": row.code_identifier,
            "category": row.category,
            "before": current.pk if current else None,
        },
    )
