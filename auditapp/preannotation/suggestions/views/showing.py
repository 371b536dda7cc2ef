"""What coders are shown: the share of turns that never shows suggestions, and draft interviews, where suggestions are open
before one's own decision."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from auditapp.preannotation.models import DraftReading, WithholdingPlan
from auditapp.preannotation.suggestions.actions.drafts import close_draft_reading, open_draft_reading
from auditapp.preannotation.suggestions.actions.withholding import USUAL_SHARE, set_withholding
from auditapp.preannotation.suggestions.forms import DraftForm, WithholdingForm
from auditapp.preannotation.suggestions.queries.arms import count_drawn, list_drafts
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.acts import post
from transcripts.projects.roles import Permission
from transcripts.ui.acts import at_form


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def withholding(request: ProjectRequest) -> HttpResponse:
    """See how turns were drawn, and set the share for interviews drawn from now on."""
    plans = list(WithholdingPlan.objects.filter(project=request.project).order_by("-number"))
    usual = plans[0].share_percent if plans else USUAL_SHARE
    form = WithholdingForm(request.POST or None, initial={"share_percent": usual})
    if request.method == "POST" and form.is_valid():
        with at_form(form):
            plan = set_withholding(project=request.project, by=request.user, **form.cleaned_data)
            messages.success(
                request, f"In interviews drawn from now on, {plan.share_percent} % of the turns are withheld."
            )
            return redirect("preannotation:withholding", request.project.slug)
    drawn = count_drawn(request.project)
    page = {
        "form": form,
        "plans": plans,
        "usual": USUAL_SHARE,
        "drawn": [row for row in drawn if row["turns"]],
        "undrawn": sum(not row["turns"] for row in drawn),
        "turns": sum(row["turns"] for row in drawn),
        "withheld": sum(row["withheld"] for row in drawn),
    }
    return render(request, "preannotation/withholding.html", page, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def drafts(request: ProjectRequest) -> HttpResponse:
    """See which interviews are or were read as drafts, and open another one."""
    form = DraftForm(request.POST or None, project=request.project)
    if request.method == "POST" and form.is_valid():
        with at_form(form):
            reading = open_draft_reading(project=request.project, by=request.user, **form.cleaned_data)
            messages.success(request, f"{reading.interview.title} is now a draft interview.")
            return redirect("preannotation:drafts", request.project.slug)
    page = {"form": form, "drafts": list_drafts(request.project)}
    return render(request, "preannotation/drafts.html", page, status=422 if form.errors else 200)


def _find_draft(request: ProjectRequest, draft_id: int) -> dict[str, Any]:
    reading = get_object_or_404(DraftReading, pk=draft_id, interview__project=request.project)
    return {"project": request.project, "reading": reading}


close_draft = post(close_draft_reading, Permission.SET_METHOD, on=_find_draft, to=("preannotation:drafts",))
