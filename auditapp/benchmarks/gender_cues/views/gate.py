"""The one way to the pages of the probe: where no owner has written its purpose, they explain it and do nothing else; where one has
withdrawn it, earlier figures can be read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render

from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.models import Purpose
from auditapp.benchmarks.gender_cues.pure.instruments import cite_source, load_prompts
from auditapp.benchmarks.gender_cues.queries.purposes import (
    ProbeIsOff,
    describe_withdrawal,
    find_latest,
    require_figures,
    require_purpose,
)
from auditapp.benchmarks.gender_cues.queries.trials import KIND
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission

P = ParamSpec("P")


class ProbeRequest(ProjectRequest):
    """A request about the probe of a study that has allowed it. ``purpose`` is the latest; it may have been withdrawn where the
    view only reads."""

    purpose: Purpose


def probe_view(
    permission: Permission, *, reads_figures: bool = False
) -> Callable[[Callable[Concatenate[ProbeRequest, P], HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """As ``project_view``, for a study whose owner has written the probe's purpose; another gets 403 with the explanation. One that
    ``reads_figures`` is there also after the purpose was withdrawn."""

    def decorate(view: Callable[Concatenate[ProbeRequest, P], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def wrapped(request: ProbeRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                request.purpose = (require_figures if reads_figures else require_purpose)(request.project)
            except ProbeIsOff as error:
                return render_explanation(request, refused=str(error), status=403)
            return view(request, *args, **kwargs)

        return project_view(permission)(wrapped)  # type: ignore[arg-type]

    return decorate


def render_explanation(request: ProjectRequest, *, status: int = 200, **context: object) -> HttpResponse:
    """The page that says what the probe is, and whether it is on."""
    latest = find_latest(request.project)
    told = {
        "purpose": latest if latest and not latest.is_withdrawn else None,
        "withdrawn": latest if latest and latest.is_withdrawn else None,
        "withdrawal": describe_withdrawal(latest) if latest else "",
        "source": cite_source(),
        "prompts": list(load_prompts().values()),
        **context,
    }
    return render(request, "gender_cues/home.html", told, status=status)


def find_batch(request: ProjectRequest, batch_id: int) -> Batch:
    """A probe of the study, or 404."""
    batch: Batch = get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)
    batch.project = request.project
    return batch
