"""Navigation in a study: the next sentence that needs the person, and the history of what she did."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from transcripts.coding.history import list_history
from transcripts.coding.next_sentence import describe_reason, find_next
from transcripts.coding.rendering import make_desk_url, render_beside
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.ui.typed_text import find_number

NOTHING_LEFT = "No sentence of this study needs you now."
MAX_PAGE = 100_000


@require_safe
@project_view(Permission.VIEW)
def go_to_next(request: ProjectRequest) -> HttpResponse:
    """Redirect to the next sentence after ``?at=`` that needs the person, and say why. The page's script gets the address."""
    at = find_number(request.GET.get("at", ""))
    found = find_next(request, at=at)
    is_script = "X-Desk" in request.headers
    if found is None:
        if is_script:
            return JsonResponse({"words": NOTHING_LEFT})
        messages.info(request, NOTHING_LEFT)
        return redirect("projects:home", request.project.slug)
    reason, sentence_id, next_interview_id = found
    desk = make_desk_url(request, next_interview_id, None)
    url = f"{desk}?{urlencode({'at': sentence_id, 'why': reason})}#s{sentence_id}"
    if is_script:
        words = describe_reason(request, reason, interview_id=next_interview_id)
        words = f"This is the only sentence that needs you now: {words}." if sentence_id == at else f"Next: {words}."
        return JsonResponse({"sentence": sentence_id, "url": url, "words": words})
    return HttpResponseRedirect(url)


@require_safe
@project_view(Permission.CODE)
def show_history(request: ProjectRequest) -> HttpResponse:
    """What the person did in the study, newest first."""
    page = min(find_number(request.GET.get("page", "")) or 1, MAX_PAGE)
    entries, has_older = list_history(request.project, request.user, page=page)
    context = {"entries": entries, "page": page, "newer": page - 1, "older": page + 1 if has_older else None}
    return render(request, "coding/history.html", context)


@require_safe
@project_view(Permission.VIEW)
def show_beside(request: ProjectRequest, interview_id: int, other_id: int) -> HttpResponse:
    """Two threads of the study side by side, to read."""
    return render_beside(request, interview_id, other_id)
