"""Interviews in which suggestions are open before one's own decision."""

from __future__ import annotations

from auditapp.preannotation.models import DraftReading
from transcripts.projects.models import Project


def is_draft(interview_id: int) -> bool:
    """Whether the interview is read as a draft now."""
    return DraftReading.objects.filter(interview=interview_id, closed_at__isnull=True).exists()


def list_drafts(project: Project) -> list[DraftReading]:
    """All draft readings of the study, the open ones first."""
    readings = DraftReading.objects.filter(interview__project=project).select_related("interview")
    return sorted(readings.order_by("-pk"), key=lambda reading: reading.closed_at is not None)
