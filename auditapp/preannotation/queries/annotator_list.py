"""The annotators of a study, for pages that let one be chosen."""

from __future__ import annotations

from auditapp.preannotation.models import Annotator, CriticReading


def list_annotators(project_id: int) -> list[Annotator]:
    """The annotators of a study, newest first."""
    rows = Annotator.objects.filter(project=project_id).select_related("variant", "version")
    return list(rows.order_by("-pk"))


def find_criticised(project_id: int) -> set[int]:
    """The annotators of whose suggestions a critic reversed some."""
    rows = CriticReading.objects.filter(
        suggestion__annotator__project=project_id, verdict=CriticReading.Verdict.REVERSED
    )
    return set(rows.order_by().values_list("suggestion__annotator", flat=True).distinct())
