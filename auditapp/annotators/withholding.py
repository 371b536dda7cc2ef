"""Which turns show suggestions after one's own decision and which never do, the only ones on which suggestions influenced nobody
(method brief 2.3), and how they are drawn; interviews that are read as drafts, with suggestions before one's own decision and no
label made after one in any measure; and who may see the calls in which a machine annotated interviews.

Turns of the interviewer are not drawn. What is withheld of them is inherited: each has the arm of the first drawn turn after it,
that of its answer; the last ones, which no answer follows, have that of the drawn turn before them.

The length of an answer, its cost and the time it took reveal whether a code was applied, just as its words do. So people who may
code see a call about an interview after unblinding it, and a call about a withheld turn after deciding the turn. An interview that
is closed to somebody has nothing for her to decide: what she would code there, once it is given to her, counts as assisted.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from auditapp.annotators.models import (
    CHECK_KIND,
    CRITIC_KIND,
    KIND,
    DraftInterview,
    OfflineAnswer,
    OfflineRun,
    Suggestion,
    TurnArm,
    WithholdingPlan,
)
from auditapp.batches.kinds import EVERYTHING, Visibility
from auditapp.batches.models import Batch, Cell
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Decision
from transcripts.coding.next_sentence import find_decided_questions
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.refusals import Refused
from transcripts.rounds.queries import find_open_interviews
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_SEED, check_reason

# SQLite takes a limited number of parameters in one query, and a study may have more turns.
MAX_AT_ONCE = 5_000
USUAL_SHARE = 20


def find_plan(study: Study) -> WithholdingPlan | None:
    """The plan under which the next interviews are drawn."""
    return WithholdingPlan.objects.filter(study=study).order_by("-number").first()


def find_arms(turn_ids: Collection[int]) -> dict[int, TurnArm]:
    """By turn: its arm and the probability with which it was drawn; a turn of the interviewer has those of its answer. A turn
    without an arm is left out."""
    found = TurnArm.objects.in_bulk(turn_ids)
    others = sorted(set(turn_ids) - found.keys())
    for first in range(0, len(others), MAX_AT_ONCE):
        found |= find_arms_of_questions(Turn.objects.filter(pk__in=others[first : first + MAX_AT_ONCE]))
    return found


def find_arms_of_questions(turns: QuerySet[Turn]) -> dict[int, TurnArm]:
    """For the interviewer's turns among these: the inherited arm, by turn. Two queries, more for many thousands of turns."""
    drawn = TurnArm.objects.filter(turn__interview=OuterRef("interview"))
    after = drawn.filter(turn__position__gt=OuterRef("position")).order_by("turn__position").values("pk")[:1]
    before = drawn.filter(turn__position__lt=OuterRef("position")).order_by("-turn__position").values("pk")[:1]
    asked = turns.filter(role=Turn.Role.INTERVIEWER, channel=Turn.Channel.UTTERANCE).order_by()
    answers: dict[int, int] = dict(asked.values_list("pk", Coalesce(Subquery(after), Subquery(before))))
    arms = TurnArm.objects.in_bulk({answer for answer in answers.values() if answer is not None})
    return {question: arms[answer] for question, answer in answers.items() if answer in arms}


def list_withheld_questions(turns: QuerySet[Turn]) -> set[int]:
    """The turns of the interviewer among these that never show suggestions."""
    arms = find_arms_of_questions(turns)
    return {question for question, arm in arms.items() if arm.arm == TurnArm.Arm.WITHHELD}


def list_withheld_answers(study: Study) -> set[int]:
    """The model's turns of the study that never show suggestions."""
    withheld = TurnArm.objects.filter(turn__interview__study=study, arm=TurnArm.Arm.WITHHELD)
    return set(withheld.values_list("turn_id", flat=True))


def list_all_withheld(study: Study) -> set[int]:
    """The turns of the study that never show suggestions, including those of the interviewer."""
    return list_withheld_answers(study) | list_withheld_questions(Turn.objects.filter(interview__study=study))


def list_undrawn(study: Study, interviews: Collection[int] | None = None) -> QuerySet[Turn]:
    """The model's turns with sentences that have no arm yet, in order: of some interviews, or of the whole study."""
    sentences = Sentence.objects.current().filter(turn=OuterRef("pk"))
    turns = Turn.objects.filter(
        Exists(sentences),
        interview__study=study,
        role=Turn.Role.MODEL,
        channel=Turn.Channel.UTTERANCE,
        suggestion_arm__isnull=True,
    )
    if interviews is not None:
        turns = turns.filter(interview__in=interviews)
    return turns.order_by("interview_id", "position")


def count_drawn(study: Study) -> list[dict[str, Any]]:
    """Every interview of the study, with the numbers of its drawn and withheld turns and the plans used. Two queries."""
    drawn = {"turns": Count("pk"), "held": Count("pk", filter=Q(arm=TurnArm.Arm.WITHHELD))}
    counts: dict[int, dict[str, Any]] = {}
    arms = TurnArm.objects.filter(plan__study=study).order_by("plan__number")
    for pk, plan, turns, held in arms.values_list("turn__interview_id", "plan__number").annotate(**drawn):
        row = counts.setdefault(pk, {"turns": 0, "withheld": 0, "plans": []})
        row["turns"] += turns
        row["withheld"] += held
        row["plans"].append(plan)
    titles = study.interviews.order_by("pk").values_list("pk", "title")
    nothing = {"turns": 0, "withheld": 0, "plans": []}
    return [{"pk": pk, "title": title, **counts.get(pk, nothing)} for pk, title in titles]


def is_draft(interview_id: int) -> bool:
    """Whether the interview is a draft interview now."""
    return DraftInterview.objects.filter(interview=interview_id, closed_at__isnull=True).exists()


def list_drafts(study: Study) -> list[DraftInterview]:
    """All draft interviews of the study, the open ones first."""
    drafts = DraftInterview.objects.filter(interview__study=study).select_related("interview")
    return sorted(drafts.order_by("-pk"), key=lambda draft: draft.closed_at is not None)


FOR_CODERS = (
    "What a call cost, how long it took and how long its answer was could reveal the answers of a machine about sentences that "
    "you still have to decide. Coders who do not see others’ codings see only the state of the batch and the share of calls that "
    "have ended. At the desk, suggestions for a sentence appear after your own decision on it."
)
TO_UNBLIND = (
    "You have not unblinded {interviews}. What a call cost, how long it took and how it ended could reveal the answers of a "
    "machine there. Unblind {them} first. What you code there afterwards counts as assisted."
)
STILL_WITHHELD = (
    "{turns} of this batch {are} withheld from suggestions, and you have not decided every sentence of {them}. The calls about "
    "{them} are hidden, and so are all sums, because sums would reveal them. Press Enter on every sentence of {them} at the desk "
    "to see the rest."
)

# The inputs of a kind that are about some turns, as a query of their keys.
InputsOfTurns = Callable[[QuerySet[Any]], QuerySet[Any]]


def list_read_turns(batch: Batch, *, input_id: int | None = None) -> QuerySet[Turn]:
    """The turns that the calls of a batch, or one of its inputs, are about."""
    cells = Cell.objects.filter(batch=batch)
    if input_id is not None:
        cells = cells.filter(input_id=input_id)
    keys: QuerySet[Any] = cells.values("input_id")
    if batch.kind == CRITIC_KIND:
        keys = Suggestion.objects.filter(pk__in=keys).values("sentence__turn")
    return Turn.objects.filter(pk__in=keys, interview__study=batch.study_id)


def list_read_interviews(batch: Batch, *, input_id: int | None = None) -> set[int]:
    """The interviews that the calls of a batch, or one of its inputs, are about."""
    turns = list_read_turns(batch, input_id=input_id).order_by()
    return set(turns.values_list("interview", flat=True).distinct())


def list_run_interviews(run: OfflineRun) -> set[int]:
    """The interviews that a run without a model has annotated."""
    return set(run.turn_answers.filter(interview__study__isnull=False).order_by().values_list("interview", flat=True))


def find_machine_read(study: Study) -> set[int]:
    """The interviews in which a machine has answered anything, whether or not it applied a code."""
    called = Cell.objects.filter(batch__study=study, batch__kind__in=(KIND, CHECK_KIND), result__isnull=False)
    turns = Turn.objects.filter(pk__in=called.values("input_id"), interview__study=study).order_by()
    suggested = Suggestion.objects.filter(sentence__turn__interview__study=study).order_by()
    alone = OfflineAnswer.objects.filter(interview__study=study).order_by()
    return {
        *turns.values_list("interview", flat=True).distinct(),
        *suggested.values_list("sentence__turn__interview", flat=True).distinct(),
        *alone.values_list("interview", flat=True).distinct(),
    }


def list_undecided(user: User, turns: QuerySet[Turn]) -> QuerySet[Turn]:
    """The turns among these that never show suggestions and that ``user`` has still to decide: for the model's turns, each
    sentence; for the interviewer's turns, as ``coding/next_sentence.py`` says. None in an interview that is closed to her."""
    studies = Study.objects.filter(pk__in=turns.order_by().values("interview__study"))
    turns = turns.filter(interview__in=set().union(*(find_open_interviews(study, user) for study in studies)))
    decided = Decision.objects.active().filter(sentence=OuterRef("pk"), coder=user)
    waiting = Sentence.objects.current().filter(turn=OuterRef("pk")).exclude(Exists(decided))
    own = Q(Exists(waiting), suggestion_arm__arm=TurnArm.Arm.WITHHELD)
    return turns.filter(own | Q(pk__in=_list_undecided_questions(user, turns)))


def _list_undecided_questions(user: User, turns: QuerySet[Turn]) -> list[int]:
    asked = Cell.objects.filter(arm__settings__turns_of=str(CodeFamily.AppliesTo.INTERVIEWER)).values("input_id")
    questions = turns.filter(pk__in=asked)
    columns = ("pk", "interview", "interview__study")
    rows = questions.filter(pk__in=list_withheld_questions(questions)).order_by()
    withheld = {pk: (interview, study) for pk, interview, study in rows.values_list(*columns)}
    interviews: dict[int, set[int]] = {}
    for interview, study in withheld.values():
        interviews.setdefault(study, set()).add(interview)
    found = [
        find_decided_questions(study, interviews[study.pk], user.pk)
        for study in Study.objects.filter(pk__in=interviews)
    ]
    return sorted(withheld.keys() - set().union(*found))


def list_seen_turns(viewer: Viewer) -> QuerySet[Turn]:
    """The turns for which a person who may code may see single answers: those in interviews that she has unblinded, except
    withheld turns that she still has to decide."""
    turns = Turn.objects.filter(interview__in=viewer.unblinded)
    return turns.exclude(pk__in=list_undecided(viewer.user, turns).values("pk"))


def find_turn_visibility(batch: Batch, viewer: Viewer) -> Visibility:
    """For a batch whose inputs are turns. Its requests contain what people and models said in interviews, and no labels of a
    machine."""
    return _find_visibility(batch, viewer, _take_turns)._replace(allows_requests=True)


def find_critic_visibility(batch: Batch, viewer: Viewer) -> Visibility:
    """For a batch whose inputs are suggestions, which its requests also contain."""
    return _find_visibility(batch, viewer, _take_suggestions)


def _take_turns(turns: QuerySet[Any]) -> QuerySet[Any]:
    return turns.values("pk")


def _take_suggestions(turns: QuerySet[Any]) -> QuerySet[Any]:
    return Suggestion.objects.filter(sentence__turn__in=turns.values("pk")).values("pk")


def _find_visibility(batch: Batch, viewer: Viewer, take: InputsOfTurns) -> Visibility:
    if not viewer.sees_all:
        return Visibility(is_whole=False, sentence=FOR_CODERS)
    if not viewer.codes:
        return EVERYTHING
    interviews = list_read_interviews(batch)
    blinded = viewer.blinded(interviews)
    undecided = list_undecided(viewer.user, list_read_turns(batch)).count()
    if not blinded and not undecided:
        return EVERYTHING
    return Visibility(
        is_whole=False,
        inputs=take(list_seen_turns(viewer)) if interviews - blinded else None,
        sentence=_write_sentence(len(blinded), undecided),
        interviews=frozenset(blinded),
    )


def _write_sentence(blinded: int, undecided: int) -> str:
    if blinded:
        interviews = "an interview in this batch" if blinded == 1 else f"{blinded:,} interviews in this batch"
        return TO_UNBLIND.format(interviews=interviews, them="it" if blinded == 1 else "them")
    turns, are, them = ("One turn", "is", "it") if undecided == 1 else (f"{undecided:,} turns", "are", "them")
    return STILL_WITHHELD.format(turns=turns, are=are, them=them)


@transaction.atomic
def set_withholding(
    *, study: Study, share_percent: int, reason: str, by: trail.Actor, seed: int | None = None
) -> WithholdingPlan:
    """Use this share for drawing turns from now on. Turns that were already drawn are not changed. Raises ``Refused``."""
    if not 0 <= share_percent <= 100:
        raise Refused(f"The share must be a whole percentage from 0 to 100, not {share_percent}.")
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed must be a whole number from 0 to {MAX_SEED:,}, not {seed:,}.")
    needed = "Give a reason for this share. It is shown with every figure that depends on it."
    reason = check_reason(reason, needed=needed, one_line=True)
    Study.objects.select_for_update().get(pk=study.pk)
    plan = _make_plan(study, share_percent, reason, by, seed)
    trail.record(
        "annotators.withholding.planned",
        target=plan,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"plan": plan.number, "share_percent": plan.share_percent, "seed": plan.seed},
    )
    return plan


def ensure_arms(*, study: Study, interviews: Collection[int] | None, by: trail.Actor) -> int:
    """Draw the model's turns in ``interviews`` (numbers; ``None``: all interviews of the study) that have not been drawn yet.

    Returns how many. Each turn is drawn only once. Called before anything is annotated or shown; needs one query if all turns are
    drawn. If there is no plan, the first draw makes one with a share of 20 %.
    """
    if not list_undrawn(study, interviews).exists():
        return 0
    return _draw(study, interviews, by)


@transaction.atomic
def _draw(study: Study, interviews: Collection[int] | None, by: trail.Actor) -> int:
    Study.objects.select_for_update().get(pk=study.pk)
    undrawn = list(list_undrawn(study, interviews).values_list("interview_id", "pk", "position"))
    if not undrawn:
        return 0
    plan = find_plan(study) or _make_plan(study, USUAL_SHARE, "", by, None)
    arms = []
    for interview, rows in groupby(undrawn, key=lambda row: row[0]):
        turns = list(rows)
        # Named by the first turn, too: turns that come later are not drawn at the same places again.
        source = random.Random(f"{plan.seed} {interview} {turns[0][2]}")  # noqa: S311 - a sample, not a secret
        held = choose_withheld([pk for _, pk, _ in turns], plan.share_percent, source)
        arms += [
            TurnArm(
                turn_id=pk,
                plan=plan,
                arm=TurnArm.Arm.WITHHELD if pk in held else TurnArm.Arm.SHOWN,
                probability=plan.share_percent / 100,
            )
            for _, pk, _ in turns
        ]
    TurnArm.objects.bulk_create(arms, batch_size=1_000)
    trail.record(
        "annotators.arms.drawn",
        target=plan,
        by=by,
        stream=trail.study_stream(study.pk),
        details={
            "plan": plan.number,
            "share_percent": plan.share_percent,
            "seed": plan.seed,
            "interviews": len({interview for interview, _, _ in undrawn}),
            "turns": len(arms),
            "withheld": sum(arm.arm == TurnArm.Arm.WITHHELD for arm in arms),
        },
    )
    return len(arms)


def choose_withheld(turns: Sequence[int], share_percent: int, source: random.Random) -> set[int]:
    """The turns of one interview that are withheld, each with a probability of exactly the share.

    Their number is the share of all turns, rounded down, plus one with a probability equal to the remainder.
    """
    whole, rest = divmod(share_percent * len(turns), 100)
    return set(source.sample(turns, whole + (source.randrange(100) < rest)))


def _make_plan(study: Study, share_percent: int, reason: str, by: trail.Actor, seed: int | None) -> WithholdingPlan:
    former = find_plan(study)
    return WithholdingPlan.objects.create(
        study=study,
        number=former.number + 1 if former else 1,
        share_percent=share_percent,
        seed=secrets.randbelow(MAX_SEED) if seed is None else seed,
        reason=reason,
        made_at=timezone.now(),
        made_by_name=by.get_username(),
    )


@transaction.atomic
def open_draft_interview(*, study: Study, interview: Interview, reason: str, by: trail.Actor) -> DraftInterview:
    """Allow suggestions to be opened before one's own decision in this interview. Raises ``Refused``."""
    if interview.study_id != study.pk:
        raise Refused("This interview is not part of this study.")
    needed = (
        "Give a reason for making this interview a draft. Codings made after seeing its suggestions are left out of every "
        "measure."
    )
    reason = check_reason(reason, needed=needed, one_line=True)
    try:
        with transaction.atomic():
            draft = DraftInterview.objects.create(
                interview=interview, reason=reason, opened_at=timezone.now(), opened_by_name=by.get_username()
            )
    except IntegrityError as error:
        raise Refused(f"Interview {interview.pk} is already a draft interview.") from error
    _record("opened", draft, study, by)
    return draft


@transaction.atomic
def close_draft_interview(*, study: Study, draft: DraftInterview, by: trail.Actor) -> None:
    """Require one's own decision first again. What was coded in the meantime stays assisted. Draft mode that is already closed
    stays as it is."""
    still_open = DraftInterview.objects.filter(pk=draft.pk, closed_at__isnull=True)
    if still_open.update(closed_at=timezone.now()):
        _record("closed", draft, study, by)


def _record(what: str, draft: DraftInterview, study: Study, by: trail.Actor) -> None:
    trail.record(
        f"annotators.draft.{what}",
        target=draft,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"interview": draft.interview_id},
    )
