"""Who may see the calls of plays.

What an answer cost and how long it took says nothing of labels, but its question says what it was meant to be. So somebody who
may code the thread of a play sees its calls where she held it, or once she has unblinded the thread.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from auditapp.batches.kinds import EVERYTHING, Visibility
from auditapp.batches.models import Batch
from auditapp.scenarios.models import Play, Question
from transcripts.blinding.viewers import Viewer

FOR_CODERS = (
    "These calls were made in plays whose threads this study codes. Coders see only the state of the batch and the share of calls "
    "that have ended."
)
NOT_HELD = (
    "These calls were made in plays that you did not hold, and your role includes coding their threads. Once a play is stored, "
    "unblind its thread to see its calls. What you code there afterwards, if anything, counts as assisted."
)


def list_play_interviews(batch: Batch, *, input_id: int | None = None) -> set[int]:
    """The threads that the plays of a batch left, or those in which one of its inputs was asked."""
    plays = Play.objects.filter(arm__batch=batch, interview__project=batch.project_id)
    if input_id is not None:
        plays = plays.filter(Q(questions=input_id) | Q(script__questions=input_id))
    return set(plays.values_list("interview", flat=True))


def find_play_visibility(batch: Batch, viewer: Viewer) -> Visibility:
    """What somebody may see of a batch whose calls are questions of plays."""
    if not viewer.codes:
        return EVERYTHING
    plays = Play.objects.filter(arm__batch=batch)
    closed = plays.exclude(Q(opened_by=viewer.user_id) | Q(interview__in=viewer.unblinded))
    asked = Question.objects.filter(play=OuterRef("pk"), asked_by=viewer.user_id)
    closed = closed.exclude(Exists(asked))
    if not closed.exists():
        return EVERYTHING
    interviews = viewer.blinded(list_play_interviews(batch))
    return Visibility(
        is_whole=False,
        sentence=NOT_HELD if viewer.sees_all else FOR_CODERS,
        interviews=frozenset(interviews) if viewer.sees_all else frozenset(),
    )
