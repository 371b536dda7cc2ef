"""What re-reviews add to the overview."""

from __future__ import annotations

from django.urls import reverse

from transcripts.revision.queries import count_re_reviews
from transcripts.studies.access import StudyRequest
from transcripts.studies.queries import Waiting, register_overview
from transcripts.studies.roles import Permission


def find_re_reviews(request: StudyRequest) -> Waiting | None:
    """One's own codings whose code has changed in meaning."""
    due = count_re_reviews(request.study, request.user) if Permission.CODE in request.role.permissions else 0
    words = (
        f"{due} of your codings {'needs' if due == 1 else 'need'} re-review, because their code has changed in meaning"
    )
    return Waiting(words, reverse("revision:queue", args=[request.study.slug])) if due else None


register_overview(waiting=find_re_reviews)
