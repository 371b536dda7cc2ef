"""Which turns show suggestions after one's own decision and which never do, and how they were drawn.

Turns of the interviewer are not drawn. What is withheld of them is inherited: each has the arm of the first drawn turn after
it, that of its answer; the last ones, which no answer follows, have that of the drawn turn before them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from auditapp.annotators.models import DraftInterview, TurnArm, WithholdingPlan
from transcripts.corpus.models import Sentence, Turn
from transcripts.studies.models import Study

# SQLite takes so many numbers in one question, and a study may have more turns.
MAX_AT_ONCE = 5_000


def find_plan(study: Study) -> WithholdingPlan | None:
    """The plan under which the next interviews are drawn."""
    return WithholdingPlan.objects.filter(study=study).order_by("-number").first()


def find_arms(turn_ids: Collection[int]) -> dict[int, TurnArm]:
    """By turn: its arm and the probability with which it was drawn; a turn of the interviewer has that of its answer. A turn
    without an arm is left out."""
    found = TurnArm.objects.in_bulk(turn_ids)
    others = sorted(set(turn_ids) - found.keys())
    for first in range(0, len(others), MAX_AT_ONCE):
        found |= find_arms_of_questions(Turn.objects.filter(pk__in=others[first : first + MAX_AT_ONCE]))
    return found


def find_arms_of_questions(turns: QuerySet[Turn]) -> dict[int, TurnArm]:
    """By turn of the interviewer among these: the arm that it inherits. Two queries, more for many thousands."""
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
    """The turns of the study that never show suggestions, those of the interviewer among them."""
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
    """Every interview of the study with how many of its turns were drawn and withheld, by which plans. Two queries."""
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
    """Whether the interview is read as a draft now."""
    return DraftInterview.objects.filter(interview=interview_id, closed_at__isnull=True).exists()


def list_drafts(study: Study) -> list[DraftInterview]:
    """All draft interviews of the study, the open ones first."""
    drafts = DraftInterview.objects.filter(interview__study=study).select_related("interview")
    return sorted(drafts.order_by("-pk"), key=lambda draft: draft.closed_at is not None)
