"""The one address that unblinds interviews, and what pages offer that lead to it."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_POST

from transcripts.blinding.actions import unblind_interviews
from transcripts.blinding.conditions import open_interviews
from transcripts.blinding.forms import UnblindingForm
from transcripts.blinding.viewers import get_viewer
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form


def offer_unblinding(
    request: ProjectRequest, interview_ids: Iterable[int], *, where: str, back: str = "", to_coders: bool = False
) -> UnblindingForm | None:
    """What a page hands to ``blinding/_notice.html`` as ``unblinding``; ``None`` when it would show her no more.

    ``where`` names the page in the history. ``back`` is the address within the study to return to, this page's own by
    default. ``to_coders``: the page shows others' labels also to somebody whose role sees her own only.
    """
    viewer = get_viewer(request)
    if not (viewer.sees_all or to_coders):
        return None
    return UnblindingForm.offer(viewer, interview_ids, where=where, back=back or request.get_full_path())


@require_POST
@project_view(Permission.CODE)
def unblind(request: ProjectRequest) -> HttpResponse:
    """Unblind the interviews that the form names, and go back to the page that it was on."""
    form = UnblindingForm(request.POST, viewer=get_viewer(request))
    if not form.is_valid():
        return render(request, "blinding/unblind.html", {"unblinding": form}, status=422)
    interviews = list(request.project.interviews.filter(pk__in=form.interview_ids).order_by("pk"))
    with at_form(form):
        if form.opens_conditions:
            open_interviews(project=request.project, interviews=interviews, by=request.user)
        else:
            unblind_interviews(project=request.project, interviews=interviews, by=request.user, where=form.where)
        count = len(interviews)
        if form.opens_conditions:
            messages.success(request, f"{count} thread{pluralize(count, ' is,s are')} open to you now.")
        else:
            messages.success(request, f"You see others’ labels in {count} more interview{pluralize(count)} now.")
        return HttpResponseRedirect(form.back)
    return render(request, "blinding/unblind.html", {"unblinding": form}, status=409)
