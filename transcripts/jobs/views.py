"""The page of an import or export that a worker carries out."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from transcripts.jobs import actions, runs
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import JobKind, find_kind
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, post, study_view
from transcripts.studies.downloads import sends_files
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_top

MOVING = (ImportJob.State.UPLOADING, ImportJob.State.WAITING, ImportJob.State.RUNNING)


@require_safe
@study_view(Permission.VIEW)
def show_job(request: StudyRequest, job_id: int) -> HttpResponse:
    """The progress of a job, the contents of its files, the result, and the file that it made."""
    job, kind = _get_job(request, job_id)
    form = kind.make_form(None, job.options) if kind.make_form else None
    return _render_job(request, job, kind, form)


def _render_job(request: StudyRequest, job: ImportJob, kind: JobKind, form: Form | None) -> HttpResponse:
    is_closed = job.is_closed_to(request.user.pk)
    runs.cover(job, request.user)
    context = {
        "job": job,
        "is_closed": is_closed,
        "kind": kind,
        "is_moving": job.state in MOVING,
        "waits_long": runs.waits_long(job),
        "chosen": form,
        "lies_in": kind.page,
    }
    return render(request, "jobs/job.html", context, status=422 if form is not None and form.errors else 200)


@require_POST
@study_view(Permission.VIEW)
def import_checked(request: StudyRequest, job_id: int) -> HttpResponse:
    """Import the checked files; with ``check`` in the form, check them again with the choices."""
    job, kind = _get_job(request, job_id)
    check_again = "check" in request.POST
    form = kind.make_form(request.POST, job.options) if kind.make_form else None
    if form is not None and not check_again and job.state == ImportJob.State.CHECKED and not form.is_valid():
        return _render_job(request, job, kind, form)
    with at_top(request):
        if job.is_closed_to(request.user.pk):
            raise Refused(
                f"These files will be imported masked. Only {job.asked_by_name} can see their content and import them."
            )
        choices = kind.read_choices(request.POST)
        actions.import_checked(job=job, by=request.user, choices=choices, check_again=check_again)
    return redirect(job)


@sends_files
@require_POST
@study_view(Permission.VIEW)
def take_file(request: StudyRequest, job_id: int) -> HttpResponseBase:
    """Send a job's file. It is a POST, because downloads are recorded."""
    job, kind = _get_job(request, job_id)
    with at_top(request):
        if not job.has_file:
            raise Refused("The file is no longer kept. Create it again.")
        kind.check_taking(job, request.user, request.role)
        actions.record_taking(job=job, by=request.user)
        file = job.outcome["file"]
        response = StreamingHttpResponse(runs.read_result(job), content_type=file["content_type"])
        response["Content-Length"] = str(job.result_size)
        response["Content-Disposition"] = content_disposition_header(True, file["name"]) or ""
        response["X-Content-SHA256"] = file["sha256"]
        return response
    return redirect(job)


def _get_job(request: StudyRequest, job_id: int) -> tuple[ImportJob, JobKind]:
    """A job that this person may see, and its kind."""
    job = get_object_or_404(ImportJob.objects.select_related("study"), study=request.study, pk=job_id)
    kind = find_kind(job.kind)
    if kind.is_own and job.asked_by_id != request.user.pk:
        raise Http404("No such job.")
    if kind.permission(job) not in request.role.permissions:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    return job, kind


def _find(request: StudyRequest, job_id: int) -> dict[str, ImportJob]:
    return {"job": _get_job(request, job_id)[0]}


cancel = post(actions.cancel_job, Permission.VIEW, on=_find, to=("jobs:job", "job_id"))
delete_file = post(actions.delete_result, Permission.VIEW, on=_find, to=("jobs:job", "job_id"))
