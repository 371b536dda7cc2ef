"""The page that writes the first number of what is written again under a name, or its next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import redirect, render

from transcripts.history.models import Numbered, WrittenMeanwhile
from transcripts.projects.access import ProjectRequest
from transcripts.refusals import Refused
from transcripts.ui.replacing import Clash, list_clashes, post_again


class NumberPage(NamedTuple):
    """What is particular to one history: the words of its page, the address of its list by name, and its style sheet.

    ``initial`` fills the form from the latest number; ``write`` carries out the act, with the latest number or None.
    """

    first_title: str
    next_title: str
    list_title: str
    short: str
    kept: str
    done: str
    back: str
    style: str
    initial: Callable[[Any], dict[str, Any]]
    write: Callable[[ProjectRequest, Any, Any], Numbered]


def write_number(
    request: ProjectRequest, page: NumberPage, kind: type[BaseForm], latest: Any = None, *, notes: Iterable[str] = ()
) -> HttpResponse:
    """Show the form of the first number, or of the one after ``latest``, or store it. Who is late keeps what she entered and
    goes on from what was written meanwhile."""
    clashes: list[Clash] = []
    if request.method != "POST":
        form, status = kind(initial=page.initial(latest) if latest else None), 200
    else:
        form, status = kind(request.POST), 422
        if form.is_valid():
            try:
                written = page.write(request, form, latest)
            except WrittenMeanwhile as error:
                latest, status = error.latest, error.status
                form = kind(post_again(request.POST, based_on=error.latest.number))
                form.add_error(None, str(error))
                clashes = list_clashes(form, page.initial(latest))
            except Refused as error:
                form.add_error(error.field if error.field in form.fields else None, str(error))
            else:
                messages.success(request, f"{written} is written. {page.done}")
                return redirect(page.back, request.project.slug)
    context = {"form": form, "page": page, "latest": latest, "notes": notes, "clashes": clashes}
    return render(request, "history/write_number.html", context, status=status)
