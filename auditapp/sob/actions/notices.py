"""Confirm, once for a study, what the instrument does and that the providers' terms were read."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from auditapp.sob.models import TermsNotice
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

NOTICE = (
    "The texts are biased and may be hateful or offensive, and the instrument tells the model not to refuse. "
    "Whoever sends them has to have read the terms of each provider they go to."
)


@transaction.atomic
def confirm_notice(*, project: Project, by: trail.Actor) -> TermsNotice:
    """Record that ``by`` confirmed the notice; the first confirmation is kept."""
    notice, created = TermsNotice.objects.get_or_create(
        project=project,
        defaults={
            "made_by": by if isinstance(by, User) else None,
            "made_by_name": by.get_username(),
            "made_at": timezone.now(),
        },
    )
    if created:
        trail.record("sob.notice.confirmed", target=notice, by=by, stream=trail.project_stream(project.pk))
    return notice


def find_notice(project: Project) -> TermsNotice | None:
    """Who confirmed the notice for a study, and when; ``None`` if nobody has."""
    return TermsNotice.objects.filter(project=project).first()
