"""The normative stances of a study."""

from __future__ import annotations

from transcripts.negotiation.models import NormativeStance, Score
from transcripts.studies.models import Study


def list_stances(study: Study) -> list[NormativeStance]:
    """Every number of every stance, by name, the newest number first."""
    return list(study.normative_stances.select_related("written_by").order_by("name", "-number"))


def list_latest(study: Study) -> list[NormativeStance]:
    """The latest number of each stance, by name: what is scored under now."""
    latest: dict[str, NormativeStance] = {}
    for stance in list_stances(study):
        latest.setdefault(stance.name, stance)
    return list(latest.values())


def choose_stance(stances: list[NormativeStance], asked: str, user_id: int) -> NormativeStance | None:
    """The stance of ``stances`` that was asked for by its number, or else that under which the person scored last."""
    by_number = {str(stance.pk): stance for stance in stances}
    if asked in by_number:
        return by_number[asked]
    last = Score.objects.filter(coder=user_id, stance__in=stances).order_by("-pk").select_related("stance").first()
    return by_number.get(str(last.stance_id)) if last else next(iter(stances), None)
