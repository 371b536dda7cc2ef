"""The scripts and plays of a study, who may see them, and who may see their calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from auditapp.batches.kinds import EVERYTHING, Visibility
from auditapp.batches.models import Batch
from auditapp.benchmarks.scenarios.models import Play, Question, Script
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.models import Turn
from transcripts.studies.models import Project
from transcripts.ui.typed_text import find_numbers

HELD_MODES = (Play.Mode.ASKED, Play.Mode.RECORDED)
FOR_CODERS = (
    "These calls were made in plays whose threads this study codes. Coders see only the state of the batch and the share of calls "
    "that have ended."
)
NOT_HELD = (
    "These calls were made in plays that you did not hold, and your role includes coding their threads. Once a play is stored, "
    "unblind its thread to see its calls. What you code there afterwards, if anything, counts as assisted."
)


def held_plays(project: Project) -> QuerySet[Play]:
    """The interviews of a study that people hold, the latest first, with the number of their questions (``asked``)."""
    plays = Play.objects.filter(project=project, mode__in=HELD_MODES)
    plays = plays.annotate(asked=Count("questions")).select_related("script", "opened_by", "interview", "branch_of")
    return plays.order_by("-pk")


def visible_plays(viewer: Viewer) -> QuerySet[Play]:
    """Those of them that she may see from within: who may code the threads, only those that she held or has unblinded.

    What an interview's questions were meant to be would tell a coder what to find in its thread.
    """
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


def list_scripts(project: Project, use: str) -> QuerySet[Script]:
    """Every number of every script of a use, by name, the latest number first."""
    scripts = Script.objects.filter(project=project, use=use).select_related("written_by")
    return scripts.prefetch_related("questions").order_by("name", "-number")


def latest_scripts(project: Project, use: str) -> QuerySet[Script]:
    """The latest number of each script of a use, by name."""
    later = Script.objects.filter(project=project, name=OuterRef("name"), number__gt=OuterRef("number"))
    return Script.objects.filter(~Exists(later), project=project, use=use).order_by("name")


def find_script(project: Project, label: str) -> Script | None:
    """The script of interviews that is named so: the latest number of a name, or the one that the label says, as gender/2."""
    name, _, number = label.partition("/")
    scripts = Script.objects.filter(project=project, use=Script.Use.INTERVIEW, name__iexact=name)
    if number:
        scripts = scripts.filter(number__in=find_numbers([number]))
    return scripts.order_by("-number").first()


def list_bank(script: Script) -> QuerySet[Question]:
    """The follow-up questions that a script offers, in its order."""
    return script.questions.order_by("position")


def list_play_interviews(batch: Batch, *, input_id: int | None = None) -> set[int]:
    """The threads that the plays of a batch left, or those in which one of its inputs was asked."""
    plays = Play.objects.filter(arm__batch=batch, interview__project=batch.project_id)
    if input_id is not None:
        plays = plays.filter(Q(questions=input_id) | Q(script__questions=input_id))
    return set(plays.values_list("interview", flat=True))


def find_play_visibility(batch: Batch, viewer: Viewer) -> Visibility:
    """What somebody may see of a batch whose calls are questions of plays.

    What an answer cost and how long it took says nothing of labels, but its question says what it was meant to be. So somebody
    who may code the thread of a play sees its calls where she held it, or once she has unblinded the thread.
    """
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
