"""Interview scripts: all numbers, and the forms that write the first and the next."""

from __future__ import annotations

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.scenarios.actions.scripts import ScriptChanged, write_script
from auditapp.scenarios.errors import ScenarioError
from auditapp.scenarios.forms.scripts import NextScriptForm, ScriptForm, describe_script
from auditapp.scenarios.models import Script
from auditapp.scenarios.pure.openings import read_published_openings
from auditapp.scenarios.queries.scripts import latest_scripts, list_scripts
from transcripts.blinding.viewers import get_viewer
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.ui.replacing import post_again

FORM_METHODS = ["GET", "HEAD", "POST"]
USE = Script.Use.INTERVIEW


@require_safe
@project_view(Permission.VIEW)
def show_scripts(request: ProjectRequest) -> HttpResponse:
    """Every interview script with all its numbers."""
    grouped: dict[str, list[Script]] = {}
    for script in list_scripts(request.project, USE):
        grouped.setdefault(script.name, []).append(script)
    context = {"scripts": list(grouped.items()), "tells_intents": get_viewer(request).sees_all}
    return render(request, "scenarios/scripts.html", context)


@require_http_methods(FORM_METHODS)
@project_view(Permission.SET_METHOD)
def write_new(request: ProjectRequest) -> HttpResponse:
    """A script of a name that is new."""
    form = ScriptForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            script = write_script(project=request.project, script=form.read(), by=request.user, based_on=0)
        except ScenarioError as error:
            _add_error(form, error)
        else:
            return _go_back(request, script)
    return _render_form(request, form)


@require_http_methods(FORM_METHODS)
@project_view(Permission.SET_METHOD)
def write_next(request: ProjectRequest, script_id: int) -> HttpResponse:
    """The next number of a script; plays keep the number they began with. Who is late keeps her text and sees what was written."""
    script = get_object_or_404(Script, project=request.project, use=USE, pk=script_id)
    latest = latest_scripts(request.project, USE).get(name=script.name)
    if request.method != "POST":
        return _render_form(request, NextScriptForm(initial=describe_script(latest)), latest=latest)
    form = NextScriptForm(request.POST)
    if not form.is_valid():
        return _render_form(request, form, latest=latest)
    try:
        written = write_script(
            project=request.project,
            script=form.read(script.name),
            by=request.user,
            reason=form.cleaned_data["reason"],
            based_on=form.cleaned_data["based_on"] or 0,
        )
    except ScriptChanged as error:
        form = NextScriptForm(post_again(request.POST, based_on=error.latest.number))
        form.is_valid()
        form.add_error(None, str(error))
        return _render_form(request, form, latest=error.latest, status=409)
    except ScenarioError as error:
        _add_error(form, error)
        return _render_form(request, form, latest=latest)
    return _go_back(request, written)


def _add_error(form: Form, error: ScenarioError) -> None:
    is_of_bank = error.field.startswith("turn")
    place = f"{error.field.replace('turn ', 'Question ')}: " if is_of_bank and error.field != "turns" else ""
    field = "bank" if is_of_bank else error.field
    form.add_error(field if field in form.fields else None, f"{place}{error}")


def _go_back(request: ProjectRequest, script: Script) -> HttpResponse:
    messages.success(request, f"{script.label} is written. Interviews can be held by it.")
    return redirect("scenarios:scripts", request.project.slug)


def _render_form(
    request: ProjectRequest, form: Form, *, latest: Script | None = None, status: int = 200
) -> HttpResponse:
    status = 422 if form.errors and status == 200 else status
    context = {"form": form, "latest": latest, "published": read_published_openings()}
    return render(request, "scenarios/write_script.html", context, status=status)
