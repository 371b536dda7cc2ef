"""Whether the instructions of an arm, which hold pinned sentences, may still be sent."""

from __future__ import annotations

from auditapp.batches.models import Arm
from auditapp.preannotation.models import Annotator
from transcripts.corpus.models import Consent, Sentence
from transcripts.corpus.queries import list_consenting


def may_send_instructions(arm: Arm) -> bool:
    """Whether every interview whose sentences a model off the site was told as examples still consents to that."""
    annotator = Annotator.objects.filter(pk=arm.settings.get("annotator")).first()
    told = annotator.recipe.get("examples") if annotator else None
    if not told:
        return True
    interviews = set(Sentence.objects.filter(pk__in=told).values_list("turn__interview", flat=True))
    return interviews <= list_consenting(interviews, Consent.Scope.EXTERNAL)
