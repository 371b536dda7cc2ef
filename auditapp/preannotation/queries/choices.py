"""Whom a study believes for which code."""

from __future__ import annotations

from auditapp.preannotation.models import CodeChoice
from transcripts.projects.models import Project


def list_choices(project: Project) -> list[CodeChoice]:
    """Whom the study believes for each code, as it stands."""
    rows = CodeChoice.objects.filter(project=project, superseded_at__isnull=True)
    return list(rows.select_related("annotator__version", "annotator__project").order_by("code_identifier"))
