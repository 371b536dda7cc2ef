"""Addresses that only take forms, looked at: after an error the browser stands on one, and a reload must lead somewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect

from transcripts.projects.access import ProjectRequest

View = Callable[[ProjectRequest, int], HttpResponseBase]


def leads_back(view: View) -> View:
    """Only forms reach ``view``; whoever looks is led to the batch."""

    @wraps(view)
    def wrapped(request: ProjectRequest, batch_id: int) -> HttpResponseBase:
        if request.method == "POST":
            return view(request, batch_id)
        batch = get_object_or_404(request.project.batches, pk=batch_id)
        return redirect("batches:detail", request.project.slug, batch.pk)

    return wrapped
