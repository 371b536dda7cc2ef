"""Views of acts in a study, made from what an act takes and where it leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured
from django.forms import BaseForm
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form, at_top

R = TypeVar("R")


def post(
    act: Callable[..., R],
    permission: Permission,
    *,
    form: type[BaseForm] | None = None,
    page: Callable[..., HttpResponse] | None = None,
    on: Callable[..., dict[str, Any]] = lambda request: {"project": request.project},
    done: str | Callable[[R], str] = "",
    to: tuple[str, ...] = (),
    then: Callable[[ProjectRequest, R], HttpResponse] | None = None,
) -> Callable[..., HttpResponseBase]:
    """The view that carries out ``act`` for people who hold ``permission``.

    The act gets what ``on`` finds by the request and its address, what was typed into ``form``, and the person as ``by``. Once
    it is done, ``then`` answers; or ``done`` is said at the top of the page ``to``: its name, and what its address has of this
    one. An act that is refused says so in its form, which ``page`` shows again; without a form, at the top of the page ``to``.
    Raises ``ImproperlyConfigured`` where there is no page for one of these.
    """
    if (form is not None and page is None) or (page is None and not to) or (then is None and not to):
        raise ImproperlyConfigured("A form needs the page that shows it again, and an act a page that it leads to.")

    @require_POST
    @project_view(permission)
    def view(request: ProjectRequest, /, **address: Any) -> HttpResponse:
        found = on(request, **address)
        typed = form(request.POST) if form else None
        if typed is None or typed.is_valid():
            with at_form(typed) if typed else at_top(request):
                result = act(**found, **(typed.cleaned_data if typed else {}), by=request.user)
                if then is not None:
                    return then(request, result)
                if done:
                    messages.success(request, done if isinstance(done, str) else done(result))
                return redirect(to[0], request.project.slug, *(address[name] for name in to[1:]))
        if page is not None:
            return page(request, typed, **address)
        return redirect(to[0], request.project.slug, *(address[name] for name in to[1:]))

    return view
