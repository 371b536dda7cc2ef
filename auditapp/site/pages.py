"""Help, the error pages, and the addresses that pages had before release 1.0.0, for bookmarks and links in documents."""

from __future__ import annotations

import sys
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponsePermanentRedirect,
    JsonResponse,
)
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from auditapp.site.clients import find_client
from auditapp.site.guides import list_guides, render_guide
from auditapp.site.log_lines import is_outage, show_outage
from transcripts.accounts.models import Scope
from transcripts.corpus.views import show_left_out
from transcripts.studies.access import visible_studies
from transcripts.studies.downloads import sends_large_files

# Earlier addresses of the pages of help.
MOVED = {
    "code-an-interview": "guide/desk",
    "compare-two-coders": "guide/agreement",
    "formats": "guide/files",
    "hold-an-interview": "guide/interviewing",
    "import-interviews": "guide/interviews",
    "invite-a-coder": "guide/accounts",
    "launch-a-benchmark": "guide/second-order-bias",
    "session-scenarios": "guide/scenarios",
    "probe-gender-cues": "guide/gender-cue-probe",
    "read-the-heat-map": "guide/second-order-bias",
    "read-the-ledger": "guide/negotiation",
    "report-an-experiment": "guide/experiments",
    "score-a-thread": "guide/negotiation",
}


@require_safe
def show_api(request: HttpRequest) -> HttpResponse:
    """The documentation of the API, drawn by Swagger UI from its schema."""
    page = {"server": settings.BASE_URL, "scopes": Scope.choices}
    return render(request, "api.html", page)


@require_safe
@login_not_required
def show_guide(request: HttpRequest, place: str = "") -> HttpResponse:
    """A document of ``docs/``; the first one lists all others."""
    if place in MOVED:
        return redirect("help_page", MOVED[place], permanent=True)
    if place not in list_guides():
        raise Http404
    return render(request, "guide.html", render_guide(place) | {"is_list": not place})


def show_bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400."""
    message = "The request could not be understood. Go back, reload the page, and try again."
    return _show(request, 400, "This request is not valid", message)


def show_forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403. The exception says which role the person has."""
    message = str(exception) if exception and str(exception) else "Your role does not allow this."
    return _show(request, 403, "Not allowed in your role", message)


def show_csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without a valid token."""
    message = (
        "The form was too old or came from another site, so nothing was changed. Reload the page and send it again."
    )
    return _show(request, 403, "Please send the form again", message)


def show_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404, for objects that do not exist, that the person may not know about, or that belong to an archived interview."""
    if (page := show_left_out(request)) is not None:
        return page
    message = "There is nothing at this address, or it belongs to a study you are not a member of."
    return _show(request, 404, "Page not found", message)


def show_failure(request: HttpRequest) -> HttpResponse:
    """500, or 503 while the database is unavailable. Rendered without the request's context, which may be what failed."""
    if is_outage(sys.exception()):
        return show_outage(request)
    message = "The program failed on this request, and nothing was stored. The server's log has the details."
    return _show(None, 500, "Something went wrong", message)


class WrongMethodPage:
    """Shows a page (405) to people who open the address of a button. The API and scripts get no page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        gets_no_page = (
            request.path.startswith("/api/") or request.headers.get("HX-Request") or request.headers.get("X-Desk")
        )
        if isinstance(response, HttpResponseNotAllowed) and not response.content and not gets_no_page:
            # The same response object, which has already been logged and names the allowed methods.
            response.content = render_to_string("error.html", _describe_wrong_method(request), request)
        return response


class NoStore:
    """Asks browsers and proxies to store no page, so that a person's pages are gone after her session. Static files are exempt."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if "no-store" not in response.get("Cache-Control", ""):
            response["Cache-Control"] = "no-store"
        return response


class KnownToServer:
    """Lets the web server know whose request it is, so that it can divide its places fairly between people, and asks it for a place
    before a large file is made and sent."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        client = find_client(request)
        if client is not None and request.user.pk is not None:
            client.set_person(request.user.pk)
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], arguments: object, named: object
    ) -> HttpResponseBase | None:
        """Refuse to send a file if too many are being sent already, before anything is recorded or unblinded for it."""
        client = find_client(request)
        if client is None or not sends_large_files(view) or not (problem := client.begin_file()):
            return None
        response: HttpResponse
        if request.path.startswith("/api/"):
            error = {"code": "too_many_files", "message": problem, "fields": None}
            response = JsonResponse({"error": error}, status=429)
        else:
            response = _show(request, 429, "Too many files at once", problem)
        response["Retry-After"] = "60"
        return response


def _describe_wrong_method(request: HttpRequest) -> dict[str, object]:
    context: dict[str, object] = {
        "status": 405,
        "title": "This is not a page",
        "message": (
            "This is the address of a button, not of a page, so nothing was changed. Go back to the page and press the "
            "button there."
        ),
    }
    slug = request.resolver_match.kwargs.get("slug") if request.resolver_match else None
    if slug and request.user.is_authenticated and visible_studies(request.user).filter(slug=slug).exists():
        context |= {"link": reverse("studies:home", args=[slug]), "link_text": "Go to the study"}
    return context


def _show(request: HttpRequest | None, status: int, title: str, message: str) -> HttpResponse:
    context = {"status": status, "title": title, "message": message}
    return render(request, "error.html", context, status=status)


# How the part of an address after the study began before release 1.0.0, and how it begins now. The first match is used.
RENAMED = (
    ("interviews-held/", "live-interviews/"),
    ("codings/together/", "codings/co-occurrence/"),
    ("work/", "my-work/"),
    ("keys/", "shortcuts/"),
    ("probe/", "gender-cues/"),
    ("preannotation/launch/", "annotators/launch/"),
    ("preannotation/offline/", "annotators/offline/"),
    ("preannotation/runs/", "annotators/runs/"),
    ("preannotation/annotators/", "annotators/"),
    ("preannotation/planted/", "annotators/control-sentences/"),
    ("preannotation/withholding/", "suggestions/withholding/"),
    ("preannotation/drafts/", "suggestions/drafts/"),
    ("preannotation/reversals/", "evaluation/rejections/"),
    ("preannotation/", "evaluation/"),
)


@require_safe
def redirect_to_study(request: HttpRequest, rest: str) -> HttpResponsePermanentRedirect:
    """Redirect from an address under ``/p/`` to the same page under ``/studies/``, with its query."""
    slug, _, rest = rest.partition("/")
    for old, new in RENAMED:
        if rest.startswith(old):
            rest = new + rest.removeprefix(old)
            break
    query = request.META.get("QUERY_STRING", "")
    return HttpResponsePermanentRedirect(f"/studies/{slug}/{rest}{'?' if query else ''}{query}")
