"""What agreement adds to the overview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transcripts.coding.models import Coding, Decision
from transcripts.studies.access import ProjectRequest
from transcripts.studies.models import MethodStance, Project
from transcripts.studies.overview import Card, register_overview
from transcripts.studies.queries import read_stances
from transcripts.studies.roles import ROLES, Permission


def read_agreement(request: ProjectRequest) -> Mapping[str, object] | None:
    """A place that the browser fills: measuring takes longer than all the rest of the overview."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions or not has_two_coders(request.project):
        return None
    stances = read_stances(request.project)
    held = {stances.find(), *(row.stance for row in stances.families.values())}
    return {"is_measured": held != {MethodStance.Stance.REFLEXIVE.value}}


def has_two_coders(project: Project) -> bool:
    """Whether at least two people could be compared: who may code, and who has coded, also if she has left since."""
    may = project.memberships.filter(
        role__in=[role.key for role in ROLES.values() if Permission.CODE in role.permissions]
    )
    coders = set(may.values_list("user", flat=True))
    return len(coders) > 1 or len(coders.union(_find_coders(project))) > 1


def _find_coders(project: Project) -> Iterator[int]:
    """People who have coded or decided something, two at most."""
    for model in (Coding, Decision):
        found = model.objects.filter(sentence__turn__interview__project=project, withdrawn_at=None).order_by()
        yield from found.values_list("coder", flat=True).distinct()[:2]


register_overview(Card(40, "agreement/_card.html", read_agreement))
