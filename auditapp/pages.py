"""Pages that belong to no room: help, and what is shown when a request cannot be answered."""

from __future__ import annotations

import sys
from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from auditapp.outage import is_outage, show_outage
from transcripts.projects.access import visible_projects


@require_safe
@login_not_required
def show_help(request: HttpRequest) -> HttpResponse:
    """How to work at the desk, and what the words mean."""
    return render(request, "help.html")


def show_bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400."""
    message = "The request could not be understood. Go back, reload the page, and try again."
    return _show(request, 400, "That request makes no sense here", message)


def show_forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403; the exception says what one's role is."""
    message = str(exception) if exception and str(exception) else "Your role does not include this."
    return _show(request, 403, "Not in your role", message)


def show_csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without a valid token."""
    message = "The form was too old or came from elsewhere, so nothing was done. Reload the page and send it again."
    return _show(request, 403, "Please send that again", message)


def show_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404, for what is not there and for what one may not know of."""
    message = "There is nothing at this address, or it belongs to a study you are not a member of."
    return _show(request, 404, "Nothing here", message)


def show_failure(request: HttpRequest) -> HttpResponse:
    """500, or 503 while the database is away. Rendered without the request's own context, which may be what failed."""
    if is_outage(sys.exception()):
        return show_outage(request)
    message = "The program failed at this request. Nothing of it was stored. The log of the server says what happened."
    return _show(None, 500, "This did not work", message)


class WordsForWrongMethod:
    """A page for who opens the address of a button (405), as other refusals have one; the API and scripts get none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        gets_no_page = (
            request.path.startswith("/api/") or request.headers.get("HX-Request") or request.headers.get("X-Desk")
        )
        if isinstance(response, HttpResponseNotAllowed) and not response.content and not gets_no_page:
            # The same answer, for it is in the log already and says which methods there are.
            response.content = render_to_string("error.html", _tell_wrong_method(request), request)
        return response


def _tell_wrong_method(request: HttpRequest) -> dict[str, object]:
    context: dict[str, object] = {
        "status": 405,
        "title": "Nothing to look at here",
        "message": (
            "This is the address of a button, not of a page, so nothing was done. Go back to the page with the button, and "
            "press it there."
        ),
    }
    slug = request.resolver_match.kwargs.get("slug") if request.resolver_match else None
    if slug and request.user.is_authenticated and visible_projects(request.user).filter(slug=slug).exists():
        context |= {"link": reverse("projects:home", args=[slug]), "link_text": "To the study"}
    return context


def _show(request: HttpRequest | None, status: int, title: str, message: str) -> HttpResponse:
    context = {"status": status, "title": title, "message": message}
    return render(request, "error.html", context, status=status)
