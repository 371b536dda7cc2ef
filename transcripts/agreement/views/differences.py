"""Where we read differently: both readings side by side, and nothing scored."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from transcripts.agreement.forms import OpeningForm
from transcripts.agreement.items import list_places, read_items
from transcripts.agreement.views.sight import Stance, is_for_coders, look, read_asked
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.rounds.queries import find_locked_interviews

ITEMS_PER_PAGE = 20


@require_safe
@never_cache
@project_view(Permission.VIEW)
def show_differences(request: ProjectRequest) -> HttpResponse:
    """The units of a family that coders read differently; to coders, once a round is locked."""
    asked = read_asked(request, request.GET, prefer=(Stance.REFLEXIVE.value, Stance.CODEBOOK.value))
    sees_all = Permission.SEE_ALL_CODINGS in request.role.permissions
    context: dict[str, object] = {
        "asked": asked,
        "sees_all": sees_all,
        "opening": OpeningForm(initial={"where": "differences"}),
        "is_allowed": sees_all or is_for_coders(asked.stance),
        "can_write": Permission.CODE in request.role.permissions,
        "can_adjudicate": asked.stance != Stance.REFLEXIVE and sees_all,
    }
    if asked.selection is None:
        return render(request, "agreement/differences.html", context, status=422 if asked.families else 200)
    if context["is_allowed"] and (sees_all or find_locked_interviews(request.project)):
        sight = look(request, asked.selection)
        places = [int(place) for place in sight.table.find_differing()]
        wanted = request.GET.get("code", "")
        if wanted in sight.table.codes:
            row = sight.table.labels[sight.table.codes.index(wanted)].sum(axis=0)
            deciders = sight.table.decided.sum(axis=0)
            places = [place for place in places if 0 < row[place] < deciders[place]]
        page = Paginator(places, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
        family = asked.selection.family
        context |= {
            "sight": sight,
            "page": page,
            "compared": int((sight.table.decided.sum(axis=0) > 1).sum()),
            "items": read_items(family, list_places(sight.table, page), viewer=request.user),
            "codes": family.codes.order_by("position"),
            "wanted": wanted,
        }
    return render(request, "agreement/differences.html", context)
