"""The page for writing the first or the next number of a numbered text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render

from transcripts.history.models import Numbered, WrittenMeanwhile
from transcripts.studies.access import StudyRequest
from transcripts.ui.forms import NumberField, at_form, list_clashes, post_again


class NumberPage(NamedTuple):
    """The parts that differ between histories: the words of the page, the name of the list's address, and the style sheet.

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
    write: Callable[[StudyRequest, Any, Any], Numbered]


def write_number(
    request: StudyRequest, page: NumberPage, kind: type[NextForm], latest: Any = None, *, notes: Iterable[str] = ()
) -> HttpResponse:
    """Show the form for the first number, or for the one after ``latest``, or store it. A person who is late keeps her input and
    continues from the newer number."""
    initial = page.initial(latest) if latest else None
    form = kind(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        with at_next(form):
            written = page.write(request, form, latest)
            messages.success(request, f"{written} is written. {page.done}")
            return redirect(page.back, request.study.slug)
    clashes = list_clashes(form, page.initial(form.latest)) if form.latest else []
    context = {"form": form, "page": page, "latest": form.latest or latest, "notes": notes, "clashes": clashes}
    return render(request, "history/write_number.html", context, status=form.status)


class NextForm(forms.Form):
    """A form whose act stores the next number. ``based_on`` is the latest that the page showed, 0 for none; ``latest`` is the
    number that somebody wrote after it."""

    based_on = NumberField(min_value=0, required=False, initial=0)

    latest: Any = None

    def clean_based_on(self) -> int:
        return self.cleaned_data["based_on"] or 0

    @property
    def status(self) -> int:
        """The HTTP status of the page that shows it."""
        return 409 if self.latest else 422 if self.errors else 200


@contextmanager
def at_next(form: NextForm, field: str | None = None) -> Iterator[None]:
    """As ``at_form``. A person who is late keeps her input, and continues from the newer number."""
    with at_form(form, field):
        try:
            yield
        except WrittenMeanwhile as error:
            form.latest, form.data = (
                error.latest,
                post_again(cast("QueryDict", form.data), based_on=error.latest.number),
            )
            form.add_error(None, str(error))
