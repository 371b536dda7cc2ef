"""What agreement adds to the overview."""

from __future__ import annotations

from collections.abc import Mapping

from transcripts.projects.access import ProjectRequest
from transcripts.projects.models import MethodStance, Project
from transcripts.projects.overview import register_card
from transcripts.projects.queries import read_stances
from transcripts.projects.roles import Permission


def read_agreement(request: ProjectRequest) -> Mapping[str, object] | None:
    """A place that the browser fills: measuring takes longer than all the rest of the overview."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions or not has_two_coders(request.project):
        return None
    stances = read_stances(request.project)
    held = {stances.find(), *(row.stance for row in stances.families.values())}
    return {"is_measured": held != {MethodStance.Stance.REFLEXIVE.value}}


def has_two_coders(project: Project) -> bool:
    """Whether at least two people could be compared."""
    return project.members.count() > 1


register_card("agreement/_card.html", read_agreement, rank=40)
