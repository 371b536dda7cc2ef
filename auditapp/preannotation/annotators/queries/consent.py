"""Whether what an arm was launched with may still be sent to a model off the site."""

from __future__ import annotations

from auditapp.batches.models import Arm
from auditapp.preannotation.models import Annotator
from transcripts.corpus.models import Consent, RedactionList, Sentence
from transcripts.corpus.queries import list_consenting


def may_send_instructions(arm: Arm) -> bool:
    """Whether every interview whose sentences a model off the site was told as examples still consents to that."""
    annotator = Annotator.objects.filter(pk=arm.settings.get("annotator")).first()
    told = annotator.recipe.get("examples") if annotator else None
    if not told:
        return True
    interviews = set(Sentence.objects.filter(pk__in=told).values_list("turn__interview", flat=True))
    return interviews <= list_consenting(interviews, Consent.Scope.EXTERNAL)


def goes_by_a_list(arm: Arm) -> bool:
    """Whether the arm goes by a redaction list where there was one at its launch. One that does not was launched for a
    model of this site; were its address changed since, names would leave. Reads arm.batch."""
    if arm.settings.get("redaction") or arm.batch_id is None:
        # An arm without a batch is one of a review, which sends nothing.
        return True
    lists = RedactionList.objects.filter(project=arm.batch.project_id, made_at__lt=arm.batch.created_at)
    return not lists.exists()
