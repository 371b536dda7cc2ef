"""What the codebook adds to the overview."""

from __future__ import annotations

from django.urls import reverse

from transcripts.codebook.models import CodeProposal
from transcripts.studies.access import StudyRequest
from transcripts.studies.queries import Waiting, register_overview
from transcripts.studies.roles import Permission


def find_proposals(request: StudyRequest) -> Waiting | None:
    """Unanswered proposals, for people who edit the codebook."""
    if Permission.EDIT_CODEBOOK not in request.role.permissions:
        return None
    count = CodeProposal.objects.filter(study=request.study, state=CodeProposal.State.OPEN).count()
    words = f"{count} proposed code{' waits' if count == 1 else 's wait'} for an answer"
    return Waiting(words, reverse("codebook:proposals", args=[request.study.slug])) if count else None


register_overview(waiting=find_proposals)
