"""GET requests to addresses that accept only POST: after an error the browser is on one, and a reload must lead somewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.http import HttpResponseBase
from django.shortcuts import redirect

from auditapp.batches.views.gate import BatchRequest

View = Callable[[BatchRequest], HttpResponseBase]


def leads_back(view: View) -> View:
    """Only forms reach ``view``; whoever looks is led to the batch."""

    @wraps(view)
    def wrapped(request: BatchRequest) -> HttpResponseBase:
        if request.method == "POST":
            return view(request)
        return redirect("batches:detail", request.project.slug, request.batch.pk)

    return wrapped
