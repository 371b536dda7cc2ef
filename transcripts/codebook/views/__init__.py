"""Pages of the codebook, and the one on which a study begins.

This module has what the pages of a draft share: how one is opened, and what is said when it cannot be written.
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
    """The person who asks, if she codes: she is shown no code of a sentence that she is still to code."""
    return request.user if Permission.CODE in request.role.permissions else None


def add_problems(form: forms.BaseForm, error: actions.CodebookRefused) -> None:
    """Show next to the file what is wrong with it, and in its help how its columns were read."""
    form.add_error("file", error.problems)
    if error.note:
        form.fields["file"].help_text = f"{form.fields['file'].help_text} {error.note}".strip()


def refuse(request: StudyRequest, error: Refused, *, back: str) -> HttpResponse:
    """A page that says why something was not done; with a link to the draft that is in its way."""
    draft = error.draft if isinstance(error, actions.DraftIsOpen) else None
    return render(request, "codebook/refused.html", {"message": str(error), "draft": draft, "back": back}, status=409)


def refusing(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """What the view refuses to do is answered with a page that says why, and leads back to the codebook."""

    def wrapped(request: StudyRequest, /, *args: Any, **address: int) -> HttpResponse:
        try:
            return view(request, *args, **address)
        except Refused as error:
            return refuse(request, error, back=reverse("codebook:current", args=[request.study.slug]))

    return wraps(view)(wrapped)


def draft_url(version: CodebookVersion) -> str:
    """The page on which a draft is edited; that of the version, once it is no draft."""
    return reverse("codebook:draft", args=[version.study.slug, version.number])


def draft_view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """A page of a draft: loads the version for somebody who may edit the codebook.

    A version that is no draft is shown instead. What is sent to one goes through all the same, for its own action says
    that it is closed, and the form it came from is shown again with what was typed. What a view leaves refused is said on a
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
    """As ``at_form`` for what was typed. Who is late reads what is there now and what to do ``again``: her form is then based on
    it, by its revision or by what is ``seen``."""
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
    """Where what was typed differs from what somebody else stored meanwhile.

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
