"""The invented sentences of a study, and the codes they may have."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import QuerySet

from auditapp.preannotation.annotators.pure.planted_set import read_own_set
from auditapp.preannotation.models import PlantedSentence
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.projects.models import Project


class Plantable(NamedTuple):
    """A sentence that may be put among a turn's own. Where it is not stored yet its key is below 0: the place in the set
    that comes with the program, counted from its end."""

    key: int
    codes: tuple[str, ...]


def has_planted(project: Project) -> bool:
    """Whether the study ever had a planted sentence, withdrawn ones counted."""
    return PlantedSentence.objects.filter(project=project).exists()


def list_plantable(project: Project) -> list[Plantable]:
    """What a launch has to choose from: what is planted, or the set that a first launch would plant, in the same order."""
    if has_planted(project):
        return [Plantable(key, tuple(codes)) for key, codes in find_planted(project).values_list("pk", "codes")]
    known, own = set(find_codes(project).values_list("identifier", flat=True)), read_own_set()
    return [Plantable(place - len(own), each.codes) for place, each in enumerate(own) if known.issuperset(each.codes)]


def find_planted(project: Project) -> QuerySet[PlantedSentence]:
    """The sentences that are planted from now on, in the order in which they were written."""
    return PlantedSentence.objects.filter(project=project, withdrawn_at__isnull=True).order_by("pk")


def find_codes(project: Project) -> QuerySet[Code]:
    """The codes of the published codebook that are put on sentences, in its order, each with its family."""
    codes = Code.objects.filter(version=current_version(project), family__unit=CodeFamily.Unit.SENTENCE)
    return codes.select_related("family").order_by("family__position", "position")
