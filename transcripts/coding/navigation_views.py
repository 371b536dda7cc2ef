"""Finding one's way through a study: what waits next, and what one did."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from transcripts.coding.own_acts import list_own_acts
from transcripts.coding.rendering import make_desk_url
from transcripts.coding.waiting import find_next
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

NOTHING_WAITS = "Nothing waits for you in this study."
LARGEST_PAGE = 100_000


@require_safe
@never_cache
@project_view(Permission.VIEW)
def go_to_next(request: ProjectRequest) -> HttpResponse:
    """Lead to the next sentence that waits after ``?at=``, and say why; the page's script gets the address."""
    given = request.GET.get("at", "")
    found = find_next(request, at=int(given) if given.isdecimal() and len(given) < 19 else None)
    is_script = "X-Desk" in request.headers
    if found is None:
        if is_script:
            return JsonResponse({"words": NOTHING_WAITS})
        messages.info(request, NOTHING_WAITS)
        return redirect("projects:home", request.project.slug)
    reason, sentence_id, next_interview_id = found
    desk = make_desk_url(request, next_interview_id, None)
    url = f"{desk}?{urlencode({'at': sentence_id, 'why': reason})}#s{sentence_id}"
    if is_script:
        return JsonResponse({"sentence": sentence_id, "url": url, "words": f"Next: {reason.words}."})
    return HttpResponseRedirect(url)


@require_safe
@never_cache
@project_view(Permission.CODE)
def show_acts(request: ProjectRequest) -> HttpResponse:
    """What the person herself did in the study, newest first."""
    given = request.GET.get("page", "1")
    page = int(given) if given.isdecimal() and len(given) < 7 else 1
    acts = list_own_acts(request.project, request.user, page=min(max(page, 1), LARGEST_PAGE))
    return render(request, "coding/acts.html", {"acts": acts})
