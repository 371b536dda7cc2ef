"""What the overview of a study shows of machines beside people."""

from __future__ import annotations

from collections.abc import Mapping

from auditapp.preannotation.models import Annotator
from transcripts.projects.access import ProjectRequest
from transcripts.projects.roles import Permission


def place_differences(request: ProjectRequest) -> Mapping[str, object] | None:
    """A place that the browser fills: comparing a machine with people takes longer than all the rest of the overview."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions:
        return None
    return {} if Annotator.objects.filter(project=request.project).exists() else None
