"""A person's own scores and determinations, for her history."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from django.db.models import Prefetch

from transcripts.accounts.models import User
from transcripts.desk.history import Act, HistoryPart, Rows, select_acts
from transcripts.negotiation.models import Score, ScoreEvidence
from transcripts.negotiation.queries.scores import ShownScore
from transcripts.studies.models import Study


def _list_scores(study: Study, user: User) -> Iterator[Rows]:
    own = Score.objects.filter(interview__study=study, coder=user)
    yield select_acts(own.filter(supersedes__isnull=True), "scored", "created_at")
    yield select_acts(own.filter(supersedes__isnull=False), "scored_anew", "created_at")
    ended = own.filter(withdrawn_at__isnull=False, superseded_by__isnull=True)
    yield select_acts(ended, "unscored", "withdrawn_at")


def _describe_scores(ids: Collection[int]) -> dict[int, Act]:
    ordered = ScoreEvidence.objects.order_by("sentence__position", "sentence__start")
    evidence = ordered.select_related("sentence__turn").defer("sentence__turn__text")
    scores = Score.objects.filter(pk__in=ids).select_related("interview", "stance", "turn").defer("turn__text")
    return {score.pk: _describe_score(score) for score in scores.prefetch_related(Prefetch("evidence", evidence))}


def _describe_score(score: Score) -> Act:
    feature = f" ({score.feature})" if score.feature else ""
    return Act(
        score.interview,
        about=f"{score.stance.label}: {score.get_criterion_display()}{feature}",
        details=ShownScore(score).value,
        rests_on=[each.sentence for each in score.evidence.all()],
        turn=score.turn.position if score.turn else None,
        address="negotiation:thread_scores",
        page="Scores",
    )


SCORES = HistoryPart(
    {"scored": "score given", "scored_anew": "score changed", "unscored": "score withdrawn"},
    _list_scores,
    _describe_scores,
)
