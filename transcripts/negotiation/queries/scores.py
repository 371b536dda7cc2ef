"""Which scores somebody may see, and of which threads she would have to unblind to see more."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from transcripts.blinding.viewers import Viewer
from transcripts.negotiation.models import Score, ScoreQuerySet
from transcripts.projects.models import MethodStance, Project
from transcripts.projects.queries import find_stance
from transcripts.rounds.queries import find_locked_interviews

RELIABILITY = MethodStance.Stance.RELIABILITY


def visible_scores(viewer: Viewer) -> ScoreQuerySet:
    """Those of her study: her own, and others' where she may see them.

    Who reads sees all. Who codes and sees others' labels sees those of threads that she has unblinded; a coder those whose
    rounds are also locked, and none where the study claims reliability, as on the page of disagreements.
    """
    scores = Score.objects.filter(interview__project=viewer.project)
    if not viewer.codes:
        return scores
    own = Q(coder=viewer.user_id)
    if viewer.sees_all:
        return scores.filter(own | Q(interview__in=viewer.unblinded))
    open_to_her = _find_open_to_coders(viewer.project) & viewer.unblinded
    return scores.filter(own | Q(interview__in=open_to_her)) if open_to_her else scores.filter(own)


def find_hidden(viewer: Viewer) -> set[int]:
    """The threads with others' scores that she would see after unblinding them now."""
    if not viewer.codes:
        return set()
    others = Score.objects.active().filter(interview__project=viewer.project).exclude(coder=viewer.user_id)
    if not viewer.sees_all:
        others = others.filter(interview__in=_find_open_to_coders(viewer.project))
    return viewer.blinded(others.values_list("interview", flat=True).distinct())


def find_scored(project: Project) -> Collection[int]:
    """The threads that somebody has scored: a reader could have seen it."""
    rows = Score.objects.active().filter(interview__project=project)
    return set(rows.values_list("interview", flat=True))


def _find_open_to_coders(project: Project) -> set[int]:
    if find_stance(project) == RELIABILITY:
        return set()
    return find_locked_interviews(project)
