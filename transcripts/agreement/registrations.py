"""What agreement adds to the overview."""

from __future__ import annotations

from collections.abc import Mapping

from transcripts.agreement.queries import has_two_coders
from transcripts.studies.access import StudyRequest
from transcripts.studies.models import MethodChoice
from transcripts.studies.queries import Card, read_methods, register_overview
from transcripts.studies.roles import Permission


def read_agreement(request: StudyRequest) -> Mapping[str, object] | None:
    """A place that the browser fills later, because measuring takes longer than the rest of the overview."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions or not has_two_coders(request.study):
        return None
    methods = read_methods(request.study)
    held = {methods.find(), *(row.method for row in methods.families.values())}
    return {"is_measured": held != {MethodChoice.Method.REFLEXIVE.value}}


register_overview(Card(40, "agreement/_card.html", read_agreement))
