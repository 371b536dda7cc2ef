"""Pages of the codebook, and the one on which a study begins.

This module has what the pages of a draft share: opening a draft, and the answers if it cannot be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from transcripts.accounts.models import User
from transcripts.codebook import actions
from transcripts.codebook.forms import NeedsReason
from transcripts.codebook.models import CodebookVersion
from transcripts.codebook.pure.comparing import compare_words, show_value
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, post_again


def find_coder(request: StudyRequest) -> User | None:
    """The person who requests the page, if she codes: she is not shown codes of sentences that she has yet to code."""
    return request.user if Permission.CODE in request.role.permissions else None


def add_problems(form: forms.BaseForm, error: actions.CodebookRefused) -> None:
    """Show the problems of a file next to its field, and in the help of the field how its columns were read."""
    form.add_error("file", error.problems)
    if error.note:
        form.fields["file"].help_text = f"{form.fields['file'].help_text} {error.note}".strip()


def refuse(request: StudyRequest, error: Refused, *, back: str) -> HttpResponse:
    """A page that says why something was not done, with a link to a draft that prevents it."""
    draft = error.draft if isinstance(error, actions.DraftIsOpen) else None
    return render(request, "codebook/refused.html", {"message": str(error), "draft": draft, "back": back}, status=409)


def refusing(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer a refusal of the view with a page that says why and leads back to the codebook."""

    def wrapped(request: StudyRequest, /, *args: Any, **address: int) -> HttpResponse:
        try:
            return view(request, *args, **address)
        except Refused as error:
            return refuse(request, error, back=reverse("codebook:current", args=[request.study.slug]))

    return wraps(view)(wrapped)


def draft_url(version: CodebookVersion) -> str:
    """The page on which a draft is edited, or the page of the version if it is no longer a draft."""
    return reverse("codebook:draft", args=[version.study.slug, version.number])


def draft_view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """A page of a draft: loads the version for somebody who may edit the codebook.

    If the version is not a draft, its page is shown instead. Posted forms are still passed to the view, because its action says
    that the draft is closed and the form is shown again with the input. A refusal that the view does not handle is shown on a
    page that leads back to the draft.
    """

    @study_view(Permission.EDIT_CODEBOOK)
    def wrapped(request: StudyRequest, /, number: int, **others: int) -> HttpResponse:
        version = get_object_or_404(request.study.codebook_versions, number=number)
        version.study = request.study
        if version.status != CodebookVersion.Status.DRAFT and request.method in {"GET", "HEAD"}:
            messages.info(
                request, f"{version} is not a draft, so it cannot be changed. Start a draft to change the codebook."
            )
            return redirect(version)
        try:
            return view(request, version, **others)
        except Refused as error:
            return refuse(request, error, back=draft_url(version))

    return wraps(view)(wrapped)


@contextmanager
def at_edit(form: NeedsReason, again: str, *, seen: str | None = None, **renamed: str) -> Iterator[None]:
    """As ``at_form`` for an edit. A person who is late sees the present state and what to do ``again``: her form is then based on
    that state, by its revision or by what is ``seen``."""
    try:
        with at_form(form, ways=actions.WrongInput, **renamed):
            yield
    except actions.EditConflict as error:
        form.current = error.current
        now = {"revision": form.current.revision} if seen is None else {"seen": seen}
        form.data = post_again(cast("QueryDict", form.data), **now)
        form.add_error(None, f"{error} {again}")


def find_clashes(
    form: forms.BaseForm, mine: object, theirs: object, *, also: Mapping[str, str] | None = None
) -> list[dict[str, object]]:
    """The differences between the input and what somebody else has stored in the meantime.

    ``also`` names further values, with their labels, that are not fields of the form.
    """
    labels = {field.name: str(field.label) for field in form if hasattr(mine, field.name)} | dict(also or {})
    found: list[dict[str, object]] = []
    for name, label in labels.items():
        here, there = (show_value(getattr(side, name)) for side in (mine, theirs))
        if here != there:
            pieces = compare_words(there, here)
            found.append({"name": name, "label": label, "mine": here, "theirs": there, "pieces": pieces})
    return found
