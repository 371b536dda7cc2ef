"""The line on a study's page that asks a coder what she brings to the reading: ``{% load positionality %}``."""

from __future__ import annotations

from django import template
from django.template import RequestContext

from transcripts.analysis.models import PositionalityStatement
from transcripts.studies.access import StudyRequest
from transcripts.studies.roles import Permission

register = template.Library()
POSTPONED = "positionality_postponed"
"""The session key of the studies that are not to ask again."""


@register.inclusion_tag("analysis/themes/_invitation.html", takes_context=True)
def positionality_invitation(context: RequestContext) -> dict[str, object]:
    """Asks those who code and have never written a statement, unless they said "not now" since they signed in."""
    request: StudyRequest = context["request"]
    asks = (
        Permission.CODE in request.role.permissions
        and request.study.pk not in request.session.get(POSTPONED, [])
        and not PositionalityStatement.objects.filter(study=request.study, author=request.user).exists()
    )
    return {"asks": asks, "study": request.study, "csrf_token": context.get("csrf_token")}
