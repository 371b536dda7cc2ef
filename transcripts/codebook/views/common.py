"""What the pages of a draft share: how one is opened, and what is said when it cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from transcripts.accounts.models import User
from transcripts.codebook import actions
from transcripts.codebook.models import CodebookVersion
from transcripts.codebook.pure.comparing import show_value
from transcripts.codebook.pure.words import compare_words
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused


def find_coder(request: ProjectRequest) -> User | None:
    """The person who asks, if she codes: she is shown no code of a sentence that she is still to code."""
    return request.user if Permission.CODE in request.role.permissions else None


def add_problems(form: forms.Form, error: actions.CodebookRefused) -> None:
    """Say beside the file what is wrong with it, and in its help how its columns were read."""
    form.add_error("file", error.problems)
    if error.note:
        form.fields["file"].help_text = f"{form.fields['file'].help_text} {error.note}".strip()


def draft_view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """A page of a draft: loads the version for somebody who may edit the codebook.

    A version that is no draft is shown instead. What is sent to one goes through all the same, for its own action says
    that it is closed, and the form it came from is shown again with what was typed.
    """

    @project_view(Permission.EDIT_CODEBOOK)
    def wrapped(request: ProjectRequest, /, number: int, **others: int) -> HttpResponse:
        version = get_object_or_404(request.project.codebook_versions, number=number)
        version.project = request.project
        if version.status != CodebookVersion.Status.DRAFT and request.method in {"GET", "HEAD"}:
            messages.info(
                request, f"{version} is not a draft, so it cannot be changed. Start a draft to change the codebook."
            )
            return redirect(version)
        return view(request, version, **others)

    return wraps(view)(wrapped)


def find_clashes(
    form: forms.Form, mine: object, theirs: object, *, also: Mapping[str, str] | None = None
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


def put_problems(form: forms.Form, error: actions.WrongInput, **fields: str) -> None:
    """Say what is wrong beside the field it is in; ``fields`` renames those that the form calls otherwise."""
    for problem in error.problems:
        name = fields.get(problem.field, problem.field)
        form.add_error(name if name in form.fields else None, problem.sentence)


def refuse(request: ProjectRequest, error: Refused, *, back: str) -> HttpResponse:
    """A page that says why something was not done; with a link to the draft that is in its way."""
    draft = error.draft if isinstance(error, actions.DraftIsOpen) else None
    return render(request, "codebook/refused.html", {"message": str(error), "draft": draft, "back": back}, status=409)
