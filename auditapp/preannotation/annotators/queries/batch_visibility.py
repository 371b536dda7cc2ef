"""How far somebody may look into the calls in which a machine read interviews.

The length of an answer, its cost and the time it took tell whether a code was put, as surely as its words. So whoever may
code looks into a call of an interview after opening it, and into one about a withheld turn after deciding about the turn.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse

from auditapp.batches.kinds import WHOLE, Sight, Sights
from auditapp.batches.models import Batch, Cell
from auditapp.preannotation.batch_kinds import CHECK_KIND, CRITIC_KIND, KIND
from auditapp.preannotation.models import OfflineReading, OfflineRun, Suggestion, TurnArm
from transcripts.accounts.models import User
from transcripts.blinding.viewers import Viewer
from transcripts.coding.models import Decision, Unblinding
from transcripts.corpus.models import Sentence, Turn
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission, Role

FOR_CODERS = (
    "What a call cost, how long it took and how long its answer was would tell what a machine said of sentences that you have "
    "still to decide, so only the state of the batch and the share of calls that have ended are shown to those who code "
    "without seeing others’ codings. At the desk a sentence’s suggestions open to you after your own decision on it."
)
FOR_WHO_OPENS = (
    "You may code {interviews}, and what a call cost, how long it took and what came of it would tell what a machine said there. "
    "Open {them} first: what you code there afterwards counts as assisted."
)
STILL_WITHHELD = (
    "It holds calls about {turns} that never {show} suggestions and of which you have sentences still to decide. They are left "
    "out, and so are all sums, which would tell them: decide about every sentence of {them} to see the rest."
)


class InputsOfTurns(Protocol):
    """The inputs of a kind that are about some turns, as a query of their keys."""

    def __call__(self, turns: QuerySet[Any]) -> QuerySet[Any]: ...


def is_open_to(role: Role) -> bool:
    """Whether this role sees every call: whoever may see all codings and has none of her own to keep blind."""
    return Permission.SEE_ALL_CODINGS in role.permissions and Permission.CODE not in role.permissions


def list_read_turns(batch: Batch, *, input_id: int | None = None) -> QuerySet[Turn]:
    """The turns that the calls of a batch are about, or one of its inputs."""
    cells = Cell.objects.filter(batch=batch)
    if input_id is not None:
        cells = cells.filter(input_id=input_id)
    keys: QuerySet[Any] = cells.values("input_id")
    if batch.kind == CRITIC_KIND:
        keys = Suggestion.objects.filter(pk__in=keys).values("sentence__turn")
    return Turn.objects.filter(pk__in=keys, interview__project=batch.project_id)


def list_read_interviews(batch: Batch, *, input_id: int | None = None) -> set[int]:
    """The interviews that the calls of a batch, or one of its inputs, are about."""
    turns = list_read_turns(batch, input_id=input_id).order_by()
    return set(turns.values_list("interview", flat=True).distinct())


def list_run_interviews(run: OfflineRun) -> set[int]:
    """The interviews that a run without a model has read."""
    return set(run.readings.order_by().values_list("interview", flat=True))


def find_machine_read(project: Project) -> set[int]:
    """The interviews in which a machine has answered anything, whether or not it put a code."""
    called = Cell.objects.filter(batch__project=project, batch__kind__in=(KIND, CHECK_KIND), result__isnull=False)
    turns = Turn.objects.filter(pk__in=called.values("input_id"), interview__project=project).order_by()
    suggested = Suggestion.objects.filter(annotator__project=project).order_by()
    alone = OfflineReading.objects.filter(interview__project=project).order_by()
    return {
        *turns.values_list("interview", flat=True).distinct(),
        *suggested.values_list("sentence__turn__interview", flat=True).distinct(),
        *alone.values_list("interview", flat=True).distinct(),
    }


def list_undecided(user: User, turns: QuerySet[Turn]) -> QuerySet[Turn]:
    """Those of the turns that never show suggestions and hold a sentence ``user`` has not decided about."""
    decided = Decision.objects.filter(sentence=OuterRef("pk"), coder=user, withdrawn_at__isnull=True)
    waiting = Sentence.objects.filter(turn=OuterRef("pk"), retired_by__isnull=True).exclude(Exists(decided))
    return turns.filter(Exists(waiting), suggestion_arm__arm=TurnArm.Arm.WITHHELD)


def list_seen_turns(project: Project, user: User) -> QuerySet[Turn]:
    """The turns of which somebody who may code may see single answers: in interviews she opened, and nothing withheld that
    she has still to decide about."""
    opened = Unblinding.objects.filter(user=user, interview__project=project).values("interview")
    turns = Turn.objects.filter(interview__in=opened)
    return turns.exclude(pk__in=list_undecided(user, turns).values("pk"))


def find_turn_sight(batch: Batch, user: User, role: Role) -> Sight:
    """Of a batch whose inputs are turns. Its requests hold what people said, and nothing of a machine."""
    return _find_sight(batch, user, role, _take_turns)._replace(allows_requests=True)


def find_critic_sight(batch: Batch, user: User, role: Role) -> Sight:
    """Of a batch whose inputs are suggestions, which stand in its requests too."""
    return _find_sight(batch, user, role, _take_suggestions)


SIGHT_OF_TURNS = Sights(find_turn_sight, is_open_to)
SIGHT_OF_SUGGESTIONS = Sights(find_critic_sight, is_open_to)


def _take_turns(turns: QuerySet[Any]) -> QuerySet[Any]:
    return turns.values("pk")


def _take_suggestions(turns: QuerySet[Any]) -> QuerySet[Any]:
    return Suggestion.objects.filter(sentence__turn__in=turns.values("pk")).values("pk")


def _find_sight(batch: Batch, user: User, role: Role, take: InputsOfTurns) -> Sight:
    if Permission.SEE_ALL_CODINGS not in role.permissions:
        return Sight(is_whole=False, sentence=FOR_CODERS)
    if Permission.CODE not in role.permissions:
        return WHOLE
    interviews = list_read_interviews(batch)
    unopened = Viewer(batch.project, user, role).blinded(interviews)
    undecided = list_undecided(user, list_read_turns(batch)).count()
    if not unopened and not undecided:
        return WHOLE
    return Sight(
        is_whole=False,
        inputs=take(list_seen_turns(batch.project, user)) if interviews - unopened else None,
        sentence=_say(unopened, undecided),
        opening=reverse("preannotation:open_calls", args=[batch.project.slug, batch.pk]) if unopened else "",
    )


def _say(unopened: Collection[int], undecided: int) -> str:
    if unopened:
        one = len(unopened) == 1
        interviews = "an interview that it read" if one else f"{len(unopened):,} interviews that it read"
        return FOR_WHO_OPENS.format(interviews=interviews, them="it" if one else "them")
    one = undecided == 1
    turns, show = ("a turn", "shows") if one else (f"{undecided:,} turns", "show")
    return STILL_WITHHELD.format(turns=turns, show=show, them="it" if one else "them")
