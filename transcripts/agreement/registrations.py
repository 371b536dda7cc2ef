"""What agreement adds to the overview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transcripts.coding.models import Coding, Decision
from transcripts.studies.access import StudyRequest
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import Card, read_methods, register_overview
from transcripts.studies.roles import ROLES, Permission


def read_agreement(request: StudyRequest) -> Mapping[str, object] | None:
    """A place that the browser fills later, because measuring takes longer than the rest of the overview."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions or not has_two_coders(request.study):
        return None
    methods = read_methods(request.study)
    held = {methods.find(), *(row.method for row in methods.families.values())}
    return {"is_measured": held != {MethodChoice.Method.REFLEXIVE.value}}


def has_two_coders(study: Study) -> bool:
    """Whether at least two people could be compared: people who may code, or have coded even if they have left since."""
    may = study.memberships.filter(
        role__in=[role.key for role in ROLES.values() if Permission.CODE in role.permissions]
    )
    coders = set(may.values_list("user", flat=True))
    return len(coders) > 1 or len(coders.union(_find_coders(study))) > 1


def _find_coders(study: Study) -> Iterator[int]:
    """People who have coded or decided something, two at most."""
    for model in (Coding, Decision):
        found = model.objects.filter(sentence__turn__interview__study=study, withdrawn_at=None).order_by()
        yield from found.values_list("coder", flat=True).distinct()[:2]


register_overview(Card(40, "agreement/_card.html", read_agreement))
