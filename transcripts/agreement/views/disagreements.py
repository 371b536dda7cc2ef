"""Disagreements between coders: their readings side by side, and nothing scored."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from transcripts.agreement.queries import list_places, read_items
from transcripts.agreement.views.visible import PageRequest, Stance, VisibleReadings, is_for_coders
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.rounds.queries import find_locked_interviews

ITEMS_PER_PAGE = 20


@require_safe
@project_view(Permission.VIEW)
def show_disagreements(request: ProjectRequest) -> HttpResponse:
    """The units of a family that coders coded differently. Coders see them once a round is locked."""
    page_request = PageRequest(request.project, request.GET, prefer=(Stance.REFLEXIVE.value, Stance.CODEBOOK.value))
    viewer = get_viewer(request)
    sees_all = viewer.sees_all
    context: dict[str, object] = {
        "page_request": page_request,
        "sees_all": sees_all,
        "is_allowed": sees_all or is_for_coders(page_request.stance),
        "can_write": viewer.codes,
        "can_adjudicate": page_request.stance != Stance.REFLEXIVE and sees_all,
    }
    if page_request.selection is None:
        return render(request, "agreement/disagreements.html", context, status=422 if page_request.families else 200)
    if context["is_allowed"] and (sees_all or find_locked_interviews(request.project)):
        visible = VisibleReadings(viewer, page_request.selection)
        places = [int(place) for place in visible.table.find_differing()]
        wanted = request.GET.get("code", "")
        if wanted in visible.table.codes:
            row = visible.table.labels[visible.table.codes.index(wanted)].sum(axis=0)
            deciders = visible.table.decided.sum(axis=0)
            places = [place for place in places if 0 < row[place] < deciders[place]]
        page = Paginator(places, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
        family = page_request.selection.family
        context |= {
            "visible": visible,
            "unblinding": offer_unblinding(request, visible.blinded, where="differences", to_coders=True),
            "page": page,
            "compared": int((visible.table.decided.sum(axis=0) > 1).sum()),
            "items": read_items(family, list_places(visible.table, page), viewer=request.user),
            "codes": family.codes.order_by("position"),
            "wanted": wanted,
        }
    return render(request, "agreement/disagreements.html", context)
