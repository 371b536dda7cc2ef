"""What re-reviews add to the overview."""

from __future__ import annotations

from django.urls import reverse

from transcripts.codebook.queries import current_version
from transcripts.revision.queries import list_due
from transcripts.studies.access import StudyRequest
from transcripts.studies.queries import Waiting, register_overview
from transcripts.studies.roles import Permission


def find_re_reviews(request: StudyRequest) -> Waiting | None:
    """One's own codings whose code has changed in meaning."""
    version = current_version(request.study) if Permission.CODE in request.role.permissions else None
    due = sum(each.is_open for each in list_due(version, coder=request.user)) if version else 0
    words = (
        f"{due} of your codings {'needs' if due == 1 else 'need'} re-review, because their code has changed in meaning"
    )
    return Waiting(words, reverse("revision:queue", args=[request.study.slug])) if due else None


register_overview(waiting=find_re_reviews)
