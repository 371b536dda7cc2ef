"""Pages of normative stances: all numbers, and the forms that write the first and the next."""

from __future__ import annotations

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from transcripts.coding.actions import WrongInput
from transcripts.negotiation.actions.stances import StanceChanged, StanceText, write_stance
from transcripts.negotiation.forms.scores import NextStanceForm, StanceForm
from transcripts.negotiation.models import Stance
from transcripts.negotiation.queries.stances import list_stances
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.ui.replacing import post_again

FORM_METHODS = ["GET", "HEAD", "POST"]


@require_safe
@project_view(Permission.VIEW)
def show_stances(request: ProjectRequest) -> HttpResponse:
    """Every stance with all its numbers."""
    grouped: dict[str, list[Stance]] = {}
    for stance in list_stances(request.project):
        grouped.setdefault(stance.name, []).append(stance)
    return render(request, "negotiation/stances.html", {"stances": list(grouped.items())})


@require_http_methods(FORM_METHODS)
@project_view(Permission.SET_METHOD)
def write_new(request: ProjectRequest) -> HttpResponse:
    """A stance of a name that is new."""
    form = StanceForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            stance = write_stance(
                project=request.project, name=form.cleaned_data["name"], text=form.text, by=request.user
            )
        except WrongInput as error:
            form.add_error(error.field, str(error))
        else:
            return _go_back(request, stance)
    return _render_form(request, form)


@require_http_methods(FORM_METHODS)
@project_view(Permission.SET_METHOD)
def write_next(request: ProjectRequest, stance_id: int) -> HttpResponse:
    """The next number of a stance. Who is late keeps her text and sees what was written meanwhile."""
    stance = get_object_or_404(request.project.normative_stances, pk=stance_id)
    latest = request.project.normative_stances.filter(name=stance.name).order_by("-number")[0]
    if request.method != "POST":
        initial = {field: getattr(latest, field) for field in StanceText._fields}
        return _render_form(request, NextStanceForm(initial={**initial, "based_on": latest.number}), latest=latest)
    form = NextStanceForm(request.POST)
    if not form.is_valid():
        return _render_form(request, form, latest=latest)
    try:
        written = write_stance(
            project=request.project,
            name=stance.name,
            text=form.text,
            by=request.user,
            based_on=form.cleaned_data["based_on"],
            reason=form.cleaned_data["reason"],
        )
    except WrongInput as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return _render_form(request, form, latest=latest)
    except StanceChanged as error:
        form = NextStanceForm(post_again(request.POST, based_on=error.latest.number))
        form.is_valid()
        form.add_error(None, str(error))
        return _render_form(request, form, latest=error.latest, status=409)
    return _go_back(request, written)


def _go_back(request: ProjectRequest, stance: Stance) -> HttpResponse:
    messages.success(request, f"{stance.label} is written. Scores can be given under it.")
    return redirect("negotiation:stances", request.project.slug)


def _render_form(
    request: ProjectRequest, form: Form, *, latest: Stance | None = None, status: int = 200
) -> HttpResponse:
    status = 422 if form.errors and status == 200 else status
    return render(request, "negotiation/write_stance.html", {"form": form, "latest": latest}, status=status)
