"""Sorting the differences between a machine and people, so that definitions can be improved. No label is touched."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.annotators.models import Annotator
from auditapp.evaluation.models import Disagreement
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused
from transcripts.studies.models import Project
from transcripts.ui.typed_text import MAX_NOTE, check_text

OVERTAKEN = "Somebody else sorted this meanwhile. Look at what was said, then decide again."


@transaction.atomic
def sort_disagreement(
    *,
    project: Project,
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
    _check_place(project, annotator, sentence, code_identifier)
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
    _record(row, project, by, current)
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


def _check_place(project: Project, annotator: Annotator, sentence: Sentence, code_identifier: str) -> None:
    if annotator.project_id != project.pk or sentence.turn.interview.project_id != project.pk:
        raise Refused("This is not part of this study.")
    if not Code.objects.filter(version=annotator.version_id, identifier=code_identifier).exists():
        raise Refused("The annotator's codebook has no such code.")


def _record(row: Disagreement, project: Project, by: User, current: Disagreement | None) -> None:
    trail.record(
        "evaluation.disagreement.sorted",
        target=row,
        by=by,
        stream=trail.project_stream(project.pk),
        details={
            "annotator": row.annotator_id,
            "sentence": row.sentence_id,
            "code": row.code_identifier,
            "category": row.category,
            "before": current.pk if current else None,
        },
    )
