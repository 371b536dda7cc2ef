"""The one way to the pages of the probe: where no owner has written its purpose, they explain it and do nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render

from auditapp.batches.models import Batch
from auditapp.probe.models import Purpose
from auditapp.probe.pure.instruments import cite_source, load_prompts
from auditapp.probe.queries.purposes import IS_OFF, find_purpose
from auditapp.probe.queries.trials import KIND
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

P = ParamSpec("P")


class ProbeRequest(ProjectRequest):
    """A request about the probe of a study that has allowed it."""

    purpose: Purpose


def probe_view(
    permission: Permission,
) -> Callable[[Callable[Concatenate[ProbeRequest, P], HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """As ``project_view``, for a study whose owner has written the probe's purpose; another gets 403 with the explanation."""

    def decorate(view: Callable[Concatenate[ProbeRequest, P], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def wrapped(request: ProbeRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            purpose = find_purpose(request.project)
            if purpose is None:
                return render_explanation(request, refused=IS_OFF, status=403)
            request.purpose = purpose
            return view(request, *args, **kwargs)

        return project_view(permission)(wrapped)  # type: ignore[arg-type]

    return decorate


def render_explanation(request: ProjectRequest, *, status: int = 200, **context: object) -> HttpResponse:
    """The page that says what the probe is."""
    told = {"source": cite_source(), "prompts": list(load_prompts().values()), **context}
    return render(request, "probe/home.html", told, status=status)


def find_batch(request: ProjectRequest, batch_id: int) -> Batch:
    """A probe of the study, or 404."""
    batch: Batch = get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)
    batch.project = request.project
    return batch
