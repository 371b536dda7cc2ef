"""What the pages of every kind of audit do, with their forms. Each kind has its own views, which find the audit and call these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import redirect, render

from auditapp.audits.actions import open_results
from auditapp.audits.models import BaseAudit, BaseItem, BaseMark
from transcripts.studies.access import StudyRequest
from transcripts.studies.roles import Permission
from transcripts.ui.forms import OnceForm, RowForm, at_form


class BaseMarkForm(OnceForm, RowForm):
    """A reviewer's mark of one item; a kind of audit adds what it says. ``number`` is that of the mark the page asks for."""

    number = forms.IntegerField(min_value=1, max_value=30_000, widget=forms.HiddenInput)


class OpenResultsForm(forms.Form):
    """Somebody who could still mark opens the results."""

    confirmed = forms.BooleanField(
        label="I know that my marks are no longer blind from now on.",
        error_messages={"required": "Tick the box to confirm that you know this."},
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="opening_%s")


def draw_sample(
    request: StudyRequest,
    form: BaseForm,
    draw: Callable[..., BaseAudit],
    template: str,
    context: dict[str, Any] | None = None,
) -> HttpResponse:
    """Draw a sample with what was typed in the form, or show the form."""
    if request.method == "POST" and form.is_valid():
        with at_form(form):
            return redirect(draw(by=request.user, **form.cleaned_data))
    status = 422 if request.method == "POST" else 200
    return render(request, template, {**(context or {}), "form": form}, status=status)


def read_state(request: StudyRequest, audit: BaseAudit, marking: Permission) -> dict[str, Any]:
    """How far an audit has come, and whether this person sees its results; ``marking`` is the permission to mark.

    Results are open to people who have marked everything. People who may see all codings can open them earlier; if they
    could still mark, they must ask for it.
    """
    permissions = request.role.permissions
    size, own = audit.items.count(), audit.count_own(request.user)
    has_opened, may_open = audit.has_opened(request.user), Permission.SEE_ALL_CODINGS in permissions
    sees_results = own >= size or (may_open and (has_opened or marking not in permissions))
    return {
        "audit": audit,
        "size": size,
        "own": own,
        "may_mark": marking in permissions,
        "sees_results": sees_results,
        "has_opened": has_opened,
        "opening": OpenResultsForm() if may_open and not sees_results else None,
        "progress": audit.list_progress() if sees_results else [],
    }


def answer_opening(
    request: StudyRequest, audit: BaseAudit, show: Callable[[OpenResultsForm], HttpResponse]
) -> HttpResponse:
    """Open the results to a person who could still mark, and record it; ``show`` brings the audit's page back."""
    form = OpenResultsForm(request.POST)
    if not form.is_valid():
        return show(form)
    open_results(audit=audit, by=request.user)
    return redirect(audit)


def mark_item(
    request: StudyRequest,
    item: BaseItem,
    *,
    form_class: type[BaseMarkForm],
    store: Callable[..., BaseMark],
    template: str,
    describe: Callable[[BaseMark | None], dict[str, Any]],
) -> HttpResponse:
    """Mark one item, or show the form to do so. ``describe`` adds to the page, given the person's own mark."""
    own_mark = item.marks.active().filter(reviewer=request.user).first()
    initial = {"number": own_mark.number + 1 if own_mark else 1, "idempotency_key": uuid4()}
    form = form_class(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        with at_form(form):
            store(item=item, by=request.user, **form.cleaned_data)
            messages.success(request, "Your mark is stored. The machine’s is shown below.")
            return redirect(request.path)
    own, size = item.audit.count_own(request.user), item.audit.items.count()
    context = {
        "audit": item.audit,
        "item": item,
        "form": form,
        "own_mark": own_mark,
        "own": own,
        "size": size,
        "has_opened": own < size and item.audit.has_opened(request.user),
        **describe(own_mark),
    }
    return render(request, template, context, status=422 if request.method == "POST" else 200)
