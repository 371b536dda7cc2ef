"""The page of an import that a worker carries out."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from transcripts.imports import actions, queries
from transcripts.imports.kinds import find_kind
from transcripts.imports.models import ImportJob
from transcripts.imports.runs import JobRefused
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

MOVING = (ImportJob.State.UPLOADING, ImportJob.State.WAITING, ImportJob.State.RUNNING)


@require_safe
@project_view(Permission.IMPORT)
def show_job(request: ProjectRequest, job_id: int) -> HttpResponse:
    """How far it is, what was found in the files, and what became of them."""
    job = _get_job(request, job_id)
    context = {
        "job": job,
        "kind": find_kind(job.kind),
        "is_moving": job.state in MOVING,
        "waits_long": queries.waits_long(job),
    }
    return render(request, "imports/job.html", context)


@require_POST
@project_view(Permission.IMPORT)
def import_checked(request: ProjectRequest, job_id: int) -> HttpResponse:
    """Import what was only checked until now."""
    job = _get_job(request, job_id)
    try:
        actions.import_checked(job=job, by=request.user)
    except JobRefused as error:
        messages.error(request, str(error))
    return redirect(job)


@require_POST
@project_view(Permission.IMPORT)
def cancel(request: ProjectRequest, job_id: int) -> HttpResponse:
    """Stop it; nothing of it stays."""
    job = _get_job(request, job_id)
    try:
        actions.cancel_job(job=job, by=request.user)
    except JobRefused as error:
        messages.error(request, str(error))
    return redirect(job)


def _get_job(request: ProjectRequest, job_id: int) -> ImportJob:
    return get_object_or_404(ImportJob.objects.select_related("project"), project=request.project, pk=job_id)
