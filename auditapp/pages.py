"""Help, and the error pages."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from auditapp.outage import is_outage, show_outage
from transcripts.corpus.archive_views import show_left_out
from transcripts.projects.access import visible_projects
from transcripts.ui.navigation import TASKS


@require_safe
@login_not_required
def show_help(request: HttpRequest) -> HttpResponse:
    """How to use the desk, and what the terms mean."""
    return render(request, "help.html")


@require_safe
@login_not_required
def show_formats(request: HttpRequest) -> HttpResponse:
    """Every format of interviews that can be read, and what is read of it."""
    return render(request, "help_formats.html")


@require_safe
@login_not_required
def show_task(request: HttpRequest, task: str) -> HttpResponse:
    """One task, step by step."""
    if task not in TASKS:
        raise Http404
    return render(request, f"help/{task}.html")


def show_bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400."""
    message = "The request could not be understood. Go back, reload the page, and try again."
    return _show(request, 400, "This request is not valid", message)


def show_forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403. The exception says what the person's role is."""
    message = str(exception) if exception and str(exception) else "Your role does not allow this."
    return _show(request, 403, "Not allowed in your role", message)


def show_csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without a valid token."""
    message = (
        "The form was too old or came from another site, so nothing was changed. Reload the page and send it again."
    )
    return _show(request, 403, "Please send the form again", message)


def show_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404, for what does not exist, for what the person may not know about, and for what lies in an archived interview."""
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
    """Shows a page to people who open the address of a button (405). The API and scripts get none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        gets_no_page = (
            request.path.startswith("/api/") or request.headers.get("HX-Request") or request.headers.get("X-Desk")
        )
        if isinstance(response, HttpResponseNotAllowed) and not response.content and not gets_no_page:
            # The same response, which is logged already and names the allowed methods.
            response.content = render_to_string("error.html", _describe_wrong_method(request), request)
        return response


class NoStore:
    """Tells browsers and proxies to keep no page: what somebody saw is gone with her session. Static files never come here."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if "no-store" not in response.get("Cache-Control", ""):
            response["Cache-Control"] = "no-store"
        return response


class FewSlowPages:
    """Lets nobody take more than three of the server's eight places with slow pages: two are made, and one waits.

    Somebody who opened the slowest page of a large study twelve times kept the coders of every study from saving. The page that
    she asked for last waits until one of the others is done, and one that waited before it is refused: a person who clicks on
    while pages are slow has left it, and gets what she wants. Fast pages are not counted, so that a browser may open all its
    tabs again. Nor is what changes something: no work is refused here.
    """

    SLOW_SECONDS = 1.0
    MAX_MADE = 2
    WAIT_SECONDS = 15.0

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._changed = threading.Condition()
        self._begun: dict[int, dict[object, float]] = {}
        self._waiting: dict[int, object] = {}

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        person = request.user.pk if request.method in {"GET", "HEAD"} else None
        if person is None:
            return self.get_response(request)
        mark = object()
        with self._changed:
            if not self._await_place(person, mark):
                return self._refuse(request)
            begun = self._begun.setdefault(person, {})
            begun[mark] = time.monotonic()
        try:
            return self.get_response(request)
        finally:
            with self._changed:
                del begun[mark]
                if not begun and self._begun.get(person) is begun:
                    del self._begun[person]
                self._changed.notify_all()

    def _await_place(self, person: int, mark: object) -> bool:
        """Whether one more page of hers is made: at once, or when one of the slow ones is done, unless she asks for another."""
        if self._has_place(person):
            return True
        self._waiting[person] = mark
        self._changed.notify_all()
        self._changed.wait_for(
            lambda: self._waiting.get(person) is not mark or self._has_place(person), timeout=self.WAIT_SECONDS
        )
        if self._waiting.get(person) is not mark:
            return False
        del self._waiting[person]
        return self._has_place(person)

    def _has_place(self, person: int) -> bool:
        now = time.monotonic()
        return sum(now - at > self.SLOW_SECONDS for at in self._begun.get(person, {}).values()) < self.MAX_MADE

    def _refuse(self, request: HttpRequest) -> HttpResponse:
        message = "Slow pages of yours are being made at this moment. Wait for them, then open this one again."
        response = _show(request, 429, "Too many slow pages at once", message)
        response["Retry-After"] = "10"
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
    if slug and request.user.is_authenticated and visible_projects(request.user).filter(slug=slug).exists():
        context |= {"link": reverse("projects:home", args=[slug]), "link_text": "Go to the study"}
    return context


def _show(request: HttpRequest | None, status: int, title: str, message: str) -> HttpResponse:
    context = {"status": status, "title": title, "message": message}
    return render(request, "error.html", context, status=status)
