"""The invented sentences of a study, and the codes they may have."""

from __future__ import annotations

from django.db.models import QuerySet

from auditapp.preannotation.models import PlantedSentence
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.projects.models import Project


def find_planted(project: Project) -> QuerySet[PlantedSentence]:
    """The sentences that are planted from now on, in the order in which they were written."""
    return PlantedSentence.objects.filter(project=project, withdrawn_at__isnull=True).order_by("pk")


def find_codes(project: Project) -> QuerySet[Code]:
    """The codes of the published codebook that are put on sentences, in its order, each with its family."""
    codes = Code.objects.filter(version=current_version(project), family__unit=CodeFamily.Unit.SENTENCE)
    return codes.select_related("family").order_by("family__position", "position")
