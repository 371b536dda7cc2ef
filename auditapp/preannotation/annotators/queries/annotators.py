"""The annotators of a study, what each has read, and for which codes it is believed."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from django.db.models import Count

from auditapp.preannotation.models import Annotator, CodeChoice, OfflineReading, Reading
from transcripts.codebook.models import Code
from transcripts.projects.models import Project


class ListedAnnotator(NamedTuple):
    """An annotator with what it has read: answers of a model, interviews of one that needs none."""

    annotator: Annotator
    answers: int
    interviews: int
    chosen_for: list[str]


def list_annotators(project: Project) -> list[ListedAnnotator]:
    """Every annotator of the study, newest first: four queries."""
    annotators = (
        Annotator.objects.filter(project=project)
        .select_related("variant__account", "version")
        .defer("recipe")
        .order_by("-pk")
    )
    answers = dict(
        Reading.objects.filter(annotator__project=project).order_by().values_list("annotator").annotate(Count("pk"))
    )
    offline = OfflineReading.objects.filter(run__annotator__project=project).order_by()
    interviews = dict(offline.values_list("run__annotator").annotate(Count("interview", distinct=True)))
    chosen = read_choices(project)
    return [
        ListedAnnotator(each, answers.get(each.pk, 0), interviews.get(each.pk, 0), chosen.get(each.pk, []))
        for each in annotators
    ]


def read_code_names(project: Project) -> dict[str, str]:
    """What codes are called, by identifier, as the newest version that has them calls them."""
    codes = Code.objects.filter(version__project=project).order_by("version__number", "pk")
    return dict(codes.values_list("identifier", "name"))


def read_choices(project: Project) -> dict[int, list[str]]:
    """The identifiers of the codes for which an annotator is believed, by annotator."""
    chosen: dict[int, list[str]] = defaultdict(list)
    standing = CodeChoice.objects.filter(project=project, superseded_at__isnull=True, annotator__isnull=False)
    for annotator_id, code in standing.order_by("code_identifier").values_list("annotator_id", "code_identifier"):
        if annotator_id is not None:
            chosen[annotator_id].append(code)
    return dict(chosen)
