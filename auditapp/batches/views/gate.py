"""The one way to a batch: views load it here, so that a view that forgets about visibility shows nothing hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from auditapp.batches.kinds import Visibility, find_visibility, list_interviews
from auditapp.batches.models import Batch
from transcripts.blinding.forms import UnblindingForm
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.coding.models import NOT_CODING
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission

P = ParamSpec("P")


class BatchRequest(ProjectRequest):
    """A request about a batch of a study that the person may see. ``visibility``: what she may see of its calls."""

    batch: Batch
    visibility: Visibility


def batch_view(
    permission: Permission, *, hides_by_itself: bool = False
) -> Callable[[Callable[Concatenate[BatchRequest, P], HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Load the batch named by the address (``batch_id``) for a member who holds ``permission``.

    Who may not see all of it gets the page that says so, unless the view ``hides_by_itself`` what is hidden.
    """

    def decorate(view: Callable[Concatenate[BatchRequest, P], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def wrapped(request: BatchRequest, batch_id: int, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            request.batch = get_object_or_404(request.project.batches, pk=batch_id)
            request.batch.project = request.project
            request.visibility = find_visibility(request.batch, get_viewer(request))
            if not (hides_by_itself or request.visibility.is_whole):
                return show_closed(request)
            return view(request, *args, **kwargs)

        opened = project_view(permission)(wrapped)  # type: ignore[arg-type]
        opened.goes_through_the_gate = True  # type: ignore[attr-defined]
        return opened

    return decorate


def offer_calls(request: BatchRequest, *, input_id: int | None = None, back: str = "") -> UnblindingForm | None:
    """The form that unblinds the interviews of the batch, or of one input, where that would show more of it. It leads back to the
    page itself, or after a POST to ``back``, the batch by default."""
    visibility = request.visibility
    interviews: Iterable[int] = visibility.interviews
    if not interviews:
        return None
    # Any call of a run may show the condition of all of them.
    if input_id is not None and not visibility.names_conditions:
        interviews = list_interviews(request.batch, input_id=input_id)
    where = NOT_CODING if visibility.names_conditions else "calls"
    # A download is a POST, to whose address nobody can be sent back.
    if request.method in ("GET", "HEAD"):
        back = ""
    elif not back:
        back = reverse("batches:detail", args=[request.project.slug, request.batch.pk])
    return offer_unblinding(request, interviews, where=where, back=back)


def show_closed(
    request: BatchRequest,
    *,
    input_id: int | None = None,
    template: str = "batches/closed.html",
    status: int = 200,
    back: str = "",
    **more: object,
) -> HttpResponse:
    """Why the calls of the batch, or those of one input, are hidden, and the form that unblinds them. Every page that hides them
    is rendered here, so that none names a way out without it."""
    unblinding = offer_calls(request, input_id=input_id, back=back)
    context = {"batch": request.batch, "visibility": request.visibility, "unblinding": unblinding, **more}
    return render(request, template, context, status=status)


def control_view(view: Callable[[BatchRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Only what people who run batches POST reaches ``view``; other requests are redirected to the batch."""

    @require_http_methods(["GET", "HEAD", "POST"])
    @batch_view(Permission.RUN_BATCHES, hides_by_itself=True)
    @wraps(view)
    def wrapped(request: BatchRequest) -> HttpResponseBase:
        if request.method == "POST":
            return view(request)
        return redirect("batches:detail", request.project.slug, request.batch.pk)

    return wrapped
