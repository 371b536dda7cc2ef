"""The one gate to a batch: views load it through here, so a view that forgets what is kept back shows nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render

from auditapp.batches.kinds import Sight, find_sight
from auditapp.batches.models import Batch
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

P = ParamSpec("P")


class BatchRequest(ProjectRequest):
    """A request about a batch of a study the person may see. ``sight``: how far she may look into it."""

    batch: Batch
    sight: Sight


def batch_view(
    permission: Permission, *, keeps_to_sight: bool = False
) -> Callable[[Callable[Concatenate[BatchRequest, P], HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Load the batch named by the address (``batch_id``) for a member who holds ``permission``.

    Who may not look into all of it gets the page that says so, unless the view ``keeps_to_sight`` itself.
    """

    def decorate(view: Callable[Concatenate[BatchRequest, P], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def wrapped(request: BatchRequest, batch_id: int, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            request.batch = get_object_or_404(request.project.batches, pk=batch_id)
            request.batch.project = request.project
            request.sight = find_sight(request.batch, request.user, request.role)
            if not (keeps_to_sight or request.sight.is_whole):
                return show_closed(request)
            return view(request, *args, **kwargs)

        opened = project_view(permission)(wrapped)  # type: ignore[arg-type]
        opened.goes_through_the_gate = True  # type: ignore[attr-defined]
        return opened

    return decorate


def show_closed(request: BatchRequest, *, input_id: int | None = None) -> HttpResponse:
    """Why this is closed, and where it can be opened: all of the batch, or what one call was about."""
    opening = request.sight.opening
    if opening and input_id is not None:
        opening = f"{opening}?input={input_id}"
    context = {"batch": request.batch, "sight": request.sight, "opening": opening}
    return render(request, "batches/closed.html", context)
