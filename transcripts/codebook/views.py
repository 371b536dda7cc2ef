"""Pages of the codebook, and the one on which a study begins."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.accounts.models import User
from transcripts.codebook import actions, queries
from transcripts.codebook.forms import CodebookFileForm, StudyForm
from transcripts.codebook.models import CodebookVersion
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.actions import ProjectError
from transcripts.projects.roles import Permission


@require_http_methods(["GET", "HEAD", "POST"])
def start_study(request: HttpRequest) -> HttpResponse:
    """Make a study with the seeded codebook; its maker becomes its owner."""
    form = StudyForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            project = actions.start_study(**form.cleaned_data, by=cast(User, request.user))
        except ProjectError as error:
            # The name is there, so what was refused is the address.
            form.add_error("slug", str(error))
        else:
            messages.success(request, f"{project.name} is set up, with a codebook. Import interviews next.")
            return redirect(project)
    return render(request, "codebook/start_study.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@project_view(Permission.VIEW)
def show_current(request: ProjectRequest) -> HttpResponse:
    """The version people code with; the latest draft where none is published."""
    version = queries.current_version(request.project) or queries.latest_version(request.project)
    if version is None:
        raise Http404("This study has no codebook yet.")
    return _render_version(request, version)


@require_safe
@project_view(Permission.VIEW)
def show_version(request: ProjectRequest, number: int) -> HttpResponse:
    """One version, draft or published."""
    return _render_version(request, get_object_or_404(request.project.codebook_versions, number=number))


@require_POST
@project_view(Permission.EDIT_CODEBOOK)
def publish(request: ProjectRequest, number: int) -> HttpResponse:
    """Freeze a draft."""
    version = get_object_or_404(request.project.codebook_versions, number=number)
    try:
        actions.publish_version(version=version, by=request.user)
    except actions.CodebookError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{version} is published: new codings use it, and it never changes again.")
    return redirect("codebook:version", request.project.slug, number)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.EDIT_CODEBOOK)
def import_file(request: ProjectRequest) -> HttpResponse:
    """Make a draft of a CSV file."""
    form = CodebookFileForm(request.POST, request.FILES) if request.method == "POST" else CodebookFileForm()
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            imported = actions.import_codebook(
                project=request.project, data=file.read(), name=file.name, by=request.user
            )
        except actions.CodebookRefused as error:
            form.add_error("file", error.problems)
        else:
            _tell_of_import(request, imported)
            return redirect("codebook:version", request.project.slug, imported.version.number)
    return render(request, "codebook/import.html", {"form": form}, status=422 if form.errors else 200)


def _tell_of_import(request: ProjectRequest, imported: actions.ImportedCodebook) -> None:
    if imported.created:
        messages.success(request, f"{imported.version} is a draft made of the file. Publish it to code with it.")
    else:
        messages.info(request, f"Nothing changed: {imported.version} holds exactly the codes of the file.")


def _render_version(request: ProjectRequest, version: CodebookVersion) -> HttpResponse:
    versions = list(queries.list_versions(request.project))
    published = [other for other in versions if other.status == CodebookVersion.Status.PUBLISHED]
    earlier = next((other for other in versions if other.number < version.number), None)
    return render(
        request,
        "codebook/version.html",
        {
            "version": version,
            "versions": versions,
            "current": published[0] if published else None,
            "families": queries.read_families(version),
            "changes": queries.find_changes(version, since=earlier) if earlier else None,
        },
    )
