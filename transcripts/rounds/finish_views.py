"""Finishing an interview where nothing is assigned, and taking that back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.rounds.finishing import finish_interview, take_back_finish
from transcripts.rounds.forms import FinishForm
from transcripts.rounds.views import render_own_work
from transcripts.ui.acts import at_top


@require_POST
@project_view(Permission.CODE)
def finish(request: ProjectRequest, interview_id: int) -> HttpResponse:
    """Say that one is through with an interview."""
    interview = get_object_or_404(request.project.interviews, pk=interview_id)
    form = FinishForm(request.POST, auto_id=f"%s-{interview.pk}")
    if not form.is_valid():
        return render_own_work(request, form, interview)
    try:
        reason = form.cleaned_data["reason"]
        finish_interview(project=request.project, interview=interview, reason=reason, by=request.user)
    except Refused as error:
        if error.field:
            form.add_error(error.field, str(error))
            return render_own_work(request, form, interview)
        messages.error(request, str(error))
        return render_own_work(request, status=409)
    messages.success(
        request, f"“{interview.title}” is finished. Your codings of it cannot be changed until you reopen it."
    )
    return redirect("rounds:work", request.project.slug)


@require_POST
@project_view(Permission.CODE)
def take_back(request: ProjectRequest, interview_id: int) -> HttpResponse:
    """Take back that one is through with an interview."""
    interview = get_object_or_404(request.project.interviews, pk=interview_id)
    with at_top(request):
        take_back_finish(project=request.project, interview=interview, by=request.user)
        messages.success(request, f"“{interview.title}” is open again.")
        return redirect("rounds:work", request.project.slug)
    return render_own_work(request, status=409)
