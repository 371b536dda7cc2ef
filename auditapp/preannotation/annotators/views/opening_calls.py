"""Opening what machines said call by call, for those who may code what a batch read."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from auditapp.batches.models import Batch
from auditapp.preannotation.annotators.queries.batch_visibility import list_read_interviews
from auditapp.preannotation.batch_kinds import CHECK_KIND, CRITIC_KIND, KIND
from transcripts.blinding.actions import UnblindingRefused, unblind_interviews
from transcripts.blinding.forms import OpeningForm
from transcripts.blinding.viewers import get_viewer
from transcripts.projects.access import MAX_ID, ProjectRequest, project_view
from transcripts.projects.roles import Permission

MOST_DIGITS = len(str(MAX_ID))


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SEE_ALL_CODINGS)
def open_calls(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Open the interviews that a batch read, or the one that one of its inputs is of, after saying so."""
    kinds = (KIND, CHECK_KIND, CRITIC_KIND)
    batch = get_object_or_404(Batch, pk=batch_id, project=request.project, kind__in=kinds)
    input_id = _read_key((request.POST if request.method == "POST" else request.GET).get("input", ""))
    interviews = list_read_interviews(batch, input_id=input_id)
    unopened = get_viewer(request).blinded(interviews)
    context: dict[str, Any] = {"batch": batch, "input_id": input_id, "unopened": unopened, "opening": OpeningForm()}
    if request.method != "POST":
        return render(request, "preannotation/open_calls.html", context)
    form = context["opening"] = OpeningForm(request.POST)
    if not form.is_valid():
        return render(request, "preannotation/open_calls.html", context, status=422)
    rows = list(request.project.interviews.filter(pk__in=unopened).order_by("pk"))
    try:
        unblind_interviews(project=request.project, interviews=rows, by=request.user, where="calls")
    except UnblindingRefused as error:
        form.add_error(None, str(error))
        return render(request, "preannotation/open_calls.html", context, status=409)
    return redirect("batches:detail", request.project.slug, batch.pk)


def _read_key(value: str) -> int | None:
    if not value.isascii() or not value.isdigit() or len(value) > MOST_DIGITS:
        return None
    return int(value) if int(value) <= MAX_ID else None
