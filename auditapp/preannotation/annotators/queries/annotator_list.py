"""The annotators of a study, for pages that let one be chosen."""

from __future__ import annotations

from django.db.models import Exists, OuterRef

from auditapp.preannotation.annotators.pure.recipes import list_read_codes
from auditapp.preannotation.models import Annotator, CriticReading, OfflineReading, Reading


def list_annotators(project_id: int) -> list[Annotator]:
    """The annotators of a study that have read something for some code, newest first."""
    answers = Reading.objects.filter(annotator=OuterRef("pk")).exclude(outcome=Reading.Outcome.INVALID)
    interviews = OfflineReading.objects.filter(run__annotator=OuterRef("pk"))
    rows = Annotator.objects.filter(Exists(answers) | Exists(interviews), project=project_id)
    found = rows.select_related("variant", "version").order_by("-pk")
    return [each for each in found if each.kind == Annotator.Kind.MODEL or list_read_codes(each.recipe)]


def find_criticised(project_id: int) -> set[int]:
    """The annotators of whose suggestions a critic reversed some."""
    rows = CriticReading.objects.filter(
        suggestion__annotator__project=project_id, verdict=CriticReading.Verdict.REVERSED
    )
    return set(rows.order_by().values_list("suggestion__annotator", flat=True).distinct())
