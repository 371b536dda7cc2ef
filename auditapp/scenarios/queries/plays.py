"""The plays of a study, and who may see them.

What was asked in an interview, and what it was meant to be, is for those who held it. Others who may code its thread see it
once they have unblinded the thread: what its questions were meant to be would tell them what to find.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from auditapp.scenarios.models import Play, Question, Script
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.models import Turn
from transcripts.projects.models import Project

HELD_MODES = (Play.Mode.ASKED, Play.Mode.RECORDED)


def held_plays(project: Project) -> QuerySet[Play]:
    """The interviews of a study that people hold, the latest first, with the number of their questions (``asked``)."""
    plays = Play.objects.filter(project=project, mode__in=HELD_MODES)
    plays = plays.annotate(asked=Count("questions")).select_related("script", "opened_by", "interview", "branch_of")
    return plays.order_by("-pk")


def visible_plays(viewer: Viewer) -> QuerySet[Play]:
    """Those of them that she may see from within."""
    plays = held_plays(viewer.project)
    if not viewer.codes:
        return plays
    asked = Question.objects.filter(play=OuterRef("pk"), asked_by=viewer.user_id)
    held = Q(opened_by=viewer.user_id) | Exists(asked)
    return plays.filter(held | Q(interview__in=viewer.unblinded))


def count_openings(project: Project, name: str) -> Counter[tuple[str, str]]:
    """How many interviews by the scripts of this name began with each opening, by model and opening: for every model as plays
    name it. Branches and what was discarded do not count."""
    plays = Play.objects.filter(
        project=project, script__name=name, script__use=Script.Use.INTERVIEW, branch_of__isnull=True
    ).exclude(state=Play.State.DISCARDED)
    counts: Counter[tuple[str, str]] = Counter()
    for shown, variant, opening in plays.values_list("model_as_shown", "arm__variant__label", "opening"):
        counts[shown or variant or "", opening] += 1
    return counts


class KindCounts(NamedTuple):
    """Of one model: how many interviews, and how many questions of each kind they have."""

    model: str
    interviews: int
    by_kind: Counter[str]

    @property
    def questions(self) -> int:
        """Questions of any kind, the opening counted."""
        return self.by_kind.total()

    @property
    def counts(self) -> list[int]:
        """By kind, in the order of ``Question.Kind``."""
        return [self.by_kind[kind] for kind in Question.Kind.values]

    @property
    def leading_percent(self) -> int:
        """The share of leading questions among all, in percent."""
        return round(100 * self.by_kind[Question.Kind.LEADING] / self.questions)


def count_kinds(project: Project) -> list[KindCounts]:
    """How much the questions of the interviews held here directed each model: of stored ones that count, by model. Kinds are
    those of their turns, as corrected since. One query."""
    held = Turn.objects.filter(interview__project=project, interview__play__mode__in=HELD_MODES)
    asked = held.filter(role=Turn.Role.INTERVIEWER).order_by()
    rows = asked.values_list("interview__model_label", "prompt_kind", "interview").annotate(count=Count("pk"))
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    interviews: defaultdict[str, set[int]] = defaultdict(set)
    for model, kind, interview, count in rows:
        kinds[model][kind] += count
        interviews[model].add(interview)
    return [KindCounts(model, len(interviews[model]), kinds[model]) for model in sorted(kinds)]
