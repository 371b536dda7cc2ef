"""A codebook that comes as a file: what it would bring is shown before anything is stored."""

from __future__ import annotations

import base64

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from transcripts.codebook import actions, queries
from transcripts.codebook.forms.versions import CodebookFileForm, ConfirmForm
from transcripts.codebook.models import CodeChange
from transcripts.codebook.views.common import add_problems
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

FORMS = {"csv": "a table (CSV)", "json": "a codebook (JSON)", "qdc": "a REFI-QDA codebook (.qdc)"}
NOT_SAID = [("", "not given: its codings need re-review"), *CodeChange.Effect.choices]


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.EDIT_CODEBOOK)
def import_file(request: ProjectRequest) -> HttpResponse:
    """Look at a file; when it was looked at, make a draft of it."""
    if request.method != "POST":
        return _show_form(request, CodebookFileForm())
    if "content" in request.POST and "file" not in request.FILES:
        return _confirm(request)
    form = CodebookFileForm(request.POST, request.FILES)
    if form.is_valid():
        file = form.cleaned_data["file"]
        data, name = file.read(), file.name or "file"
        try:
            plan = actions.plan_import(project=request.project, data=data, name=name)
        except actions.CodebookRefused as error:
            add_problems(form, error)
        else:
            content = base64.b64encode(data).decode()
            return _show_plan(
                request, plan, ConfirmForm(initial={"name": name, "content": content, "keep_missing": ""})
            )
    return _show_form(request, form)


def _show_form(request: ProjectRequest, form: CodebookFileForm) -> HttpResponse:
    draft = queries.find_open_draft(request.project)
    context = {"form": form, "draft": draft}
    return render(request, "codebook/import.html", context, status=422 if form.errors else 200)


def _confirm(request: ProjectRequest) -> HttpResponse:
    form = ConfirmForm(request.POST)
    if not form.is_valid():
        file_form = CodebookFileForm(request.POST)
        file_form.add_error("file", "The file was not uploaded completely. Choose it again.")
        return _show_form(request, file_form)
    chosen = {key.removeprefix("effect-"): value for key, value in request.POST.items() if key.startswith("effect-")}
    known = CodeChange.Effect.values
    try:
        version, is_new, warnings = actions.import_codebook(
            project=request.project,
            data=form.cleaned_data["content"],
            name=form.cleaned_data["name"],
            by=request.user,
            effects={identifier: effect for identifier, effect in chosen.items() if effect in known},
            keep_missing=form.cleaned_data["keep_missing"] == "keep",
        )
    except actions.CodebookRefused as error:
        file_form = CodebookFileForm(request.POST)
        file_form.errors.pop("file", None)
        add_problems(file_form, error)
        return _show_form(request, file_form)
    for warning in warnings:
        messages.warning(request, warning)
    if is_new:
        messages.success(request, f"{version} is a draft created from the file. Publish it to code with it.")
    else:
        messages.info(request, f"Nothing changed: {version} already has exactly the codes in the file.")
    return redirect("codebook:version", request.project.slug, version.number)


def _show_plan(request: ProjectRequest, plan: actions.ImportPlan, form: ConfirmForm) -> HttpResponse:
    comparison = plan.comparison
    context = {
        "plan": plan,
        "form": form,
        "read_as": FORMS[plan.form],
        "added": [code for code in comparison.codes if code.is_added],
        "missing": [code for code in comparison.codes if code.is_removed],
        "changed": [code for code in comparison.codes if not (code.is_added or code.is_removed)],
        "effects": NOT_SAID,
        "is_same": comparison.is_empty and not plan.examples,
    }
    return render(request, "codebook/import_plan.html", context)
