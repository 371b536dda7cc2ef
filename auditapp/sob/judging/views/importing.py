"""Import answers of another run: first a preview of the file, then the batch. Nothing is stored in between."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from auditapp.sob.judging.actions.imported_answers import import_answers
from auditapp.sob.judging.forms.launching import MAX_UPLOAD_BYTES, ImportForm
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.ui.acts import at_form
from transcripts.ui.uploads import takes_uploads

CHECK = "check"
NOT_LOOKED_AT = "The file, the texts or the task has changed since the preview. Preview it again, then import it."


@takes_uploads(MAX_UPLOAD_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def import_results(request: ProjectRequest) -> HttpResponse:
    """Preview a file (``step=check`` in the form) or import its answers. htmx requests get only the part below the file field."""
    if request.method != "POST":
        return _render(request, ImportForm(project=request.project))
    form = ImportForm(request.POST, request.FILES, project=request.project)
    if not form.is_valid():
        return _render(request, form)
    typed = form.cleaned_data
    given = {
        "dataset": typed["dataset"],
        "file_name": typed["file"].name,
        "data": typed["file"].read(),
        "task": typed["task"],
    }
    digest = _digest(given)
    is_check = request.POST.get("step") == CHECK
    if not is_check and typed["checked"] != digest:
        form.add_error("file", NOT_LOOKED_AT)
        return _render(request, form)
    with at_form(form, "file"):
        found = import_answers(**given, by=request.user, dry_run=is_check)
        if found["batch"] is None or is_check:
            looked_at = {**request.POST.dict(), "checked": digest}
            return _render(request, ImportForm(looked_at, request.FILES, project=request.project), found)
        said = "This file was imported before. This is its batch."
        if found["created"]:
            said = f"{found['stored']:,} of {found['rows']:,} answers imported. This is their batch."
        messages.success(request, said)
        return redirect("sob:report", request.project.slug, found["batch"].pk)
    return _render(request, form)


def _digest(given: dict[str, Any]) -> str:
    """A hash of what was previewed: the file, the texts and the task."""
    parts = (hashlib.sha256(given["data"]).hexdigest(), str(given["dataset"].pk), given["task"])
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _render(request: ProjectRequest, form: ImportForm, found: dict[str, Any] | None = None) -> HttpResponse:
    """The page; for htmx the part below the file, so that it stays chosen."""
    part = "#found" if request.htmx else ""  # type: ignore[attr-defined]
    context = {"form": form, "found": found}
    return render(request, f"sob/import.html{part}", context, status=422 if form.errors else 200)
