"""Who may see the calls of scenarios.

A call names the condition, the model and the script of the thread that it became part of, and what its turns are meant to be.
So those who may code see none of it while a thread of the batch is still to come or may come, is masked to them, or is not
unblinded. Somebody who will not code the threads opens them in one act, and with them those that are stored later.
"""

from __future__ import annotations

from auditapp.batches.kinds import EVERYTHING, Visibility
from auditapp.batches.models import Batch
from auditapp.scenarios.models import Play
from auditapp.scenarios.queries.runs import run_plays
from transcripts.blinding.conditions import will_not_code
from transcripts.blinding.viewers import Viewer, find_unopened
from transcripts.projects.models import Project

FOR_CODERS = (
    "These calls belong to scenarios whose threads this study codes. Coders see only the state of the batch and the share of "
    "calls that have ended."
)
NOT_STORED = (
    "These calls become part of threads that your role includes coding, and not all of the threads are stored yet. Their calls "
    "would tell you the model and the condition of each. Once all are stored, and you have coded them or will not code them, the "
    "page of the batch and its report offer to open them."
)
CAN_BE_ASKED_AGAIN = (
    "These calls become part of threads that your role includes coding. Some plays have a call without an answer; once it is asked "
    "again, they become threads too, and their calls would tell you the model and the condition of each. Ask the failed calls "
    "again on the page of the batch."
)
TO_OPEN = (
    "Your role includes coding the threads of this batch, and its calls and its report would tell you the model, the "
    "condition and the result of each. If you have coded them, or will not code them, open them on the page of the "
    "batch or of its report: what you code there afterwards counts as assisted."
)


def list_run_interviews(batch: Batch, *, input_id: int | None = None) -> set[int]:
    """The threads that the plays of a batch became, or those in which one of its turns was said."""
    plays = run_plays(batch).filter(interview__project=batch.project_id)
    if input_id is not None:
        plays = plays.filter(script__questions=input_id)
    return set(plays.values_list("interview", flat=True))


def find_run_threads(project: Project) -> set[int]:
    """The threads of all runs: somebody who only reads the study sees the model and condition of each."""
    plays = Play.objects.filter(mode=Play.Mode.RUN, interview__project=project)
    return set(plays.values_list("interview", flat=True))


def find_run_visibility(batch: Batch, viewer: Viewer) -> Visibility:
    """What somebody may see of a batch of scenarios."""
    if not viewer.codes:
        return EVERYTHING
    if not viewer.sees_all:
        return Visibility(is_whole=False, sentence=FOR_CODERS)
    states = set(run_plays(batch).order_by().values_list("state", flat=True).distinct())
    if Play.State.OPEN in states:
        return Visibility(is_whole=False, sentence=NOT_STORED)
    interviews = list_run_interviews(batch)
    if closed := viewer.blinded(interviews) | find_unopened(viewer.user_id, interviews):
        return Visibility(is_whole=False, sentence=TO_OPEN, interviews=frozenset(closed), names_conditions=True)
    # What failed is asked again in any batch but a cancelled one, and opens its play.
    can_grow = Play.State.FAILED in states and batch.state != Batch.State.CANCELLED
    if can_grow and not will_not_code(viewer.user_id, interviews):
        return Visibility(is_whole=False, sentence=CAN_BE_ASKED_AGAIN)
    return EVERYTHING
