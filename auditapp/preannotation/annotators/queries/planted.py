"""The invented sentences of a study, and the codes they may have."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from django.db.models import QuerySet

from auditapp.preannotation.models import PlantedSentence
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.projects.models import Project

OWN_SET = Path(__file__).resolve().parents[1] / "data" / "planted_sentences.json"


def has_planted(project: Project) -> bool:
    """Whether the study ever had a planted sentence, withdrawn ones counted."""
    return PlantedSentence.objects.filter(project=project).exists()


def list_plantable(project: Project) -> list[tuple[int, tuple[str, ...]]]:
    """Key and codes of each sentence a launch can choose: what is planted, or the set that a first launch would plant.

    One that is not stored yet has a key below 0: its place in that set, counted from the end.
    """
    if has_planted(project):
        return [(key, tuple(codes)) for key, codes in find_planted(project).values_list("pk", "codes")]
    known, own = set(find_codes(project).values_list("identifier", flat=True)), read_own_set()
    return [(place - len(own), codes) for place, (_, codes) in enumerate(own) if known.issuperset(codes)]


def find_planted(project: Project) -> QuerySet[PlantedSentence]:
    """The sentences that are planted from now on, in the order in which they were written."""
    return PlantedSentence.objects.filter(project=project, withdrawn_at__isnull=True).order_by("pk")


def find_codes(project: Project) -> QuerySet[Code]:
    """The codes of the published codebook that are applied to sentences, in its order, each with its family."""
    codes = Code.objects.filter(version=current_version(project), family__unit=CodeFamily.Unit.SENTENCE)
    return codes.select_related("family").order_by("family__position", "position")


@cache
def read_own_set() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Text and known codes of each: two sentences for each seeded theme and each move, and ten that carry nothing."""
    rows = json.loads(OWN_SET.read_text(encoding="utf-8"))
    return tuple((each["text"], tuple(each["codes"])) for each in rows)
