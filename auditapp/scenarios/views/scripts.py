"""Interview scripts: all numbers, and the forms that write the first and the next."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.scenarios.actions.scripts import write_script
from auditapp.scenarios.forms.scripts import NextScriptForm, ScriptForm, describe_script
from auditapp.scenarios.models import Script
from auditapp.scenarios.pure.scripts import read_published_openings
from auditapp.scenarios.queries.plays import latest_scripts, list_scripts
from transcripts.blinding.viewers import get_viewer
from transcripts.history.views import NumberPage, write_number
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused

USE = Script.Use.INTERVIEW


@require_safe
@project_view(Permission.VIEW)
def show_scripts(request: ProjectRequest) -> HttpResponse:
    """Every interview script with all its numbers."""
    context = {"scripts": list_scripts(request.project, USE), "tells_intents": get_viewer(request).sees_all}
    return render(request, "scenarios/scripts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def write_new(request: ProjectRequest) -> HttpResponse:
    """A script of a name that is new."""
    notes = [
        f"The opening [{each.id}] is quoted word for word from {each.source}." for each in read_published_openings()
    ]
    return write_number(request, PAGE, ScriptForm, notes=notes)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def write_next(request: ProjectRequest, script_id: int) -> HttpResponse:
    """The next number of a script; plays keep the number they began with."""
    script = get_object_or_404(Script, project=request.project, use=USE, pk=script_id)
    return write_number(request, PAGE, NextScriptForm, latest_scripts(request.project, USE).get(name=script.name))


def _write(request: ProjectRequest, form: ScriptForm, latest: Script | None) -> Script:
    try:
        return write_script(
            project=request.project,
            script=form.read(latest.name if latest else ""),
            by=request.user,
            reason=form.cleaned_data.get("reason", ""),
            based_on=form.cleaned_data["based_on"],
        )
    except Refused as error:
        if not error.field.startswith("turn"):
            raise
        place = f"{error.field.replace('turn ', 'Question ')}: " if error.field != "turns" else ""
        raise Refused(f"{place}{error}", field="bank") from error


PAGE = NumberPage(
    first_title="New interview script",
    next_title="Next number of an interview script",
    list_title="Interview scripts",
    short="script",
    kept="the interviews held by it",
    done="Interviews can be held by it.",
    back="scenarios:scripts",
    style="css/console.css",
    initial=describe_script,
    write=_write,
)
