"""Invented sentences with known codes, mixed with a turn's sentences when an annotator is asked again."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from auditapp.annotators.models import MAX_PLANTED, PlantedSentence
from auditapp.annotators.queries.annotators import find_codes, find_planted, has_planted, read_own_set
from transcripts.audit_trail import trail
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.segmenting import hash_quote
from transcripts.refusals import Refused
from transcripts.studies.models import Project
from transcripts.ui.typed_text import check_text


@transaction.atomic
def plant_sentence(*, project: Project, text: str, codes: Sequence[str], by: trail.Actor) -> PlantedSentence:
    """Keep an invented sentence and the codes known of it (none: no code applies). Raises ``Refused``."""
    words = check_text(text, field="text", max_length=MAX_PLANTED, needed="Write the sentence.", one_line=True)
    _check(project, words, codes)
    return _store(project, words, codes, by)


@transaction.atomic
def plant_own_set(*, project: Project, by: trail.Actor) -> list[PlantedSentence]:
    """Plant the sentences that come with the program: those whose codes the study's codebook has, and that are not planted yet.

    Raises ``Refused`` where there is none to plant.
    """
    known = _list_known_codes(project)
    current = set(find_planted(project).values_list("text", flat=True))
    now = timezone.now()
    rows = [
        PlantedSentence(
            project=project,
            text=text,
            codes=sorted(codes),
            created_at=now,
            created_by_name=by.get_username(),
        )
        for text, codes in read_own_set()
        if known.issuperset(codes) and text not in current
    ]
    if not rows:
        raise Refused("Every built-in sentence that fits this codebook is already planted.")
    PlantedSentence.objects.bulk_create(rows)
    trail.record(
        "preannotation.planted.set_added", target=project, by=by, details={"sentences": [row.pk for row in rows]}
    )
    return rows


@transaction.atomic
def ensure_planted(*, project: Project, by: trail.Actor) -> None:
    """Plant that set in a study that never had a planted sentence. If all were withdrawn, that was a decision."""
    if has_planted(project):
        return
    # Two who launch at once plant one set: the second waits here, and looks again.
    Project.objects.select_for_update().get(pk=project.pk)
    if not has_planted(project):
        plant_own_set(project=project, by=by)


@transaction.atomic
def withdraw_planted(*, planted: PlantedSentence, by: trail.Actor) -> None:
    """Plant it no more. What was answered about it stays, and stays counted. Reads planted.project."""
    row = PlantedSentence.objects.select_for_update().get(pk=planted.pk)
    if row.withdrawn_at is not None:
        raise Refused("This sentence has already been withdrawn.")
    row.withdrawn_at = timezone.now()
    row.save(update_fields=["withdrawn_at"])
    trail.record("preannotation.planted.withdrawn", target=row, by=by, details={})


def _list_known_codes(project: Project) -> set[str]:
    return set(find_codes(project).values_list("identifier", flat=True))


def _check(project: Project, text: str, codes: Sequence[str]) -> None:
    unknown = sorted(set(codes) - _list_known_codes(project))
    if unknown:
        raise Refused(f"The published codebook has no code {', '.join(unknown)} that applies to sentences.")
    if find_planted(project).filter(text=text).exists():
        raise Refused("This sentence is already planted. Withdraw it first to give it other codes.")
    if Sentence.objects.filter(turn__interview__project=project, text_hash=hash_quote(text)).exists():
        raise Refused("This sentence occurs in one of the interviews. Write one that does not.")


def _store(project: Project, text: str, codes: Sequence[str], by: trail.Actor) -> PlantedSentence:
    row = PlantedSentence.objects.create(
        project=project,
        text=text,
        codes=sorted(set(codes)),
        created_at=timezone.now(),
        created_by_name=by.get_username(),
    )
    stream = trail.project_stream(project.pk)
    trail.record("preannotation.planted.added", target=row, by=by, stream=stream, details={"codes": len(row.codes)})
    return row
