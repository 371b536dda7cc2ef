"""Opening the reasoning of a model at the desk."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.actions.errors import WrongPlace
from transcripts.coding.models import StageOpening
from transcripts.corpus.models import Turn
from transcripts.projects.models import Project


@transaction.atomic
def open_stage(*, project: Project, turn: Turn, by: User) -> StageOpening:
    """Store when ``by`` first opened the reasoning in ``turn``; the first opening stays the one that counts.

    Raises ``WrongPlace`` if the turn is of another study or is no reasoning.
    """
    if turn.interview.project_id != project.pk:
        raise WrongPlace("This turn is not in this study.")
    if turn.channel != Turn.Channel.REASONING:
        raise WrongPlace("Only a model's reasoning is closed. This turn can be read as it is.")
    opening, is_new = StageOpening.objects.get_or_create(turn=turn, coder=by, defaults={"opened_at": timezone.now()})
    if is_new:
        trail.record(
            "coding.reasoning.opened",
            target=opening,
            by=by,
            stream=trail.project_stream(project.pk),
            details={"interview": turn.interview_id, "turn": turn.position},
        )
    return opening
