"""Suites of scenarios: which there are, their cases with twins side by side, loading and launching them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.views.wizard import run_wizard
from auditapp.scenarios.actions.runs import launch_scenarios, plan_scenarios
from auditapp.scenarios.actions.scripts import LoadedScripts, load_scripts
from auditapp.scenarios.forms.runs import MAX_UPLOAD_BYTES, LaunchForm, LoadForm
from auditapp.scenarios.pure.scripts import SHIPPED, ScriptText, list_halves, read_scripts, read_shipped
from auditapp.scenarios.queries.runs import KIND, list_cases, list_suites
from transcripts.formats.problems import ReadError
from transcripts.negotiation.queries.cases import list_features
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.acts import post
from transcripts.projects.roles import Permission
from transcripts.refusals import WrongInput
from transcripts.ui.acts import at_form
from transcripts.ui.forms import takes_uploads

MAX_NAMED = 10
"""How many pairs a message names."""


@takes_uploads(MAX_UPLOAD_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def load(request: ProjectRequest) -> HttpResponse:
    """Load a file of scripts."""
    form = LoadForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_valid():
        with at_form(form, "file"):
            scripts = _read(form.cleaned_data["file"], form.cleaned_data["suite"])
            reason = form.cleaned_data["reason"]
            loaded = load_scripts(project=request.project, scripts=scripts, by=request.user, reason=reason)
            messages.success(request, _describe_loaded(loaded))
            if halves := list_halves(scripts):
                named = f"{', '.join(halves[:MAX_NAMED])}{' and others' if len(halves) > MAX_NAMED else ''}"
                messages.warning(
                    request,
                    f"Only one side is in the file of {named}. Pairs are made once the other side is loaded too.",
                )
            return redirect("scenarios:suites", request.project.slug)
    return render(request, "scenarios/load_suite.html", {"form": form}, status=422 if form.errors else 200)


def _read(file: UploadedFile[Any], suite: str) -> list[ScriptText]:
    name = file.name or "file"
    try:
        return read_scripts(file, name=name, suite=suite or name.rpartition(".")[0] or name)
    except ReadError as error:
        raise WrongInput(" ".join(str(error).split()), field="file") from error


def _describe_loaded(loaded: LoadedScripts) -> str:
    unchanged = f" {len(loaded.unchanged)} were there already." if loaded.unchanged else ""
    return f"{len(loaded.written)} script{'' if len(loaded.written) == 1 else 's'} loaded.{unchanged}"


load_shipped = post(
    load_scripts,
    Permission.SET_METHOD,
    on=lambda request: {
        "project": request.project,
        "scripts": read_shipped(),
        "reason": "As it comes with the program.",
    },
    done=_describe_loaded,
    to=("scenarios:suites",),
)


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_suites(request: ProjectRequest) -> HttpResponse:
    """The suites of a study, and the batches that ran one."""
    context = {
        "suites": list_suites(request.project),
        "batches": request.project.batches.filter(kind=KIND).order_by("-pk"),
        "shipped": SHIPPED,
    }
    return render(request, "scenarios/suites.html", context)


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_suite(request: ProjectRequest) -> HttpResponse:
    """The cases of a suite; two sides of a case stand beside each other, each challenge beside its twin."""
    suites = list_suites(request.project)
    name = request.GET.get("name", suites[0].name if suites else "")
    if name not in {each.name for each in suites}:
        raise Http404("There is no such suite.")
    context = {
        "suite": next(each for each in suites if each.name == name),
        "cases": list_cases(request.project, name),
        "features": list_features(request.project),
    }
    return render(request, "scenarios/suite.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def launch(request: ProjectRequest) -> HttpResponse:
    """Launch a suite, in two steps."""
    initial = {"suite": request.GET["suite"]} if "suite" in request.GET else {}
    form = LaunchForm(request.POST or None, project=request.project, initial=initial)

    def plan() -> LaunchPlan:
        return plan_scenarios(project=request.project, **form.read())

    return run_wizard(
        request,
        form,
        template="scenarios/launch.html",
        plan=plan,
        launch=lambda: launch_scenarios(
            project=request.project, **form.read(), options=form.options(), by=request.user
        ),
    )
