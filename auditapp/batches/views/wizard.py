"""Launch in two steps, the same for every feature: the form, then a review of what it would send and cost."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render

from auditapp.batches.forms import LaunchOptionsForm
from auditapp.batches.launching import LaunchPlan, check_grants
from auditapp.batches.models import Batch
from auditapp.batches.pages.reviewing import review_launch
from auditapp.batches.pages.summaries import describe_money
from transcripts.refusals import Refused
from transcripts.studies.access import ProjectRequest

REVIEW, CHANGE, LAUNCH = "review", "change", "launch"


def run_wizard(
    request: ProjectRequest,
    form: LaunchOptionsForm,
    *,
    template: str,
    plan: Callable[[], LaunchPlan],
    launch: Callable[[], Batch],
) -> HttpResponse:
    """The form, then its review, then the batch. ``plan`` and ``launch`` read the valid form and may raise ``Refused``.

    Nothing is written before the last step; each step passes on everything that was typed. A changed form is another
    launch: it comes back with a new idempotency key.
    """
    if request.method != "POST":
        return render(request, template, {"form": form})
    step = request.POST.get("step", REVIEW)
    if form.is_valid() and step != CHANGE:
        try:
            if step == LAUNCH:
                return redirect("batches:detail", request.project.slug, launch().pk)
            planned = plan()
            check_grants(planned, project=request.project, options=form.options(), by=request.user)
            review = review_launch(planned, form.options())
        except Refused as error:
            form.add_error(None, ValidationError(str(error)))
        else:
            options = form.options()
            context = {
                "form": form,
                "review": review,
                "money": describe_money(planned, request.project, request.user),
                "options": options,
                "route_words": Batch.Route(options.route).label,
                "lost_words": Batch.LostAnswers(options.lost_answers).label,
                "has_fake": review["has_fake"],
            }
            return render(request, "batches/review.html", context)
    status = 422 if form.errors else 200
    form.renew()
    return render(request, template, {"form": form}, status=status)
