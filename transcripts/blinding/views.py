"""The one form and the one address that unblind interviews, the signed token in the form that says which, and what pages offer
that leads to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from django import forms, template
from django.contrib import messages
from django.core import signing
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods, require_POST

from transcripts.blinding.actions import (
    describe_condition,
    find_opening,
    open_condition,
    open_interviews,
    unblind_interviews,
    unmask_interviews,
)
from transcripts.blinding.viewers import Viewer, find_unopened, get_viewer
from transcripts.coding.models import NOT_CODING
from transcripts.corpus import queries
from transcripts.corpus.models import Interview, MaskedFacts
from transcripts.refusals import Refused
from transcripts.rounds.queries import find_open, find_unlocked_rounds
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form
from transcripts.ui.typed_text import MAX_REASON, find_numbers

_signer = signing.Signer(salt="transcripts.blinding")
OUT_OF_DATE = "This page is out of date, or was opened by another person. Open it again and confirm there."


class UnblindingForm(forms.Form):
    """Unblind the interviews that the token names. The token is made for one person in one study.

    It contains no time, so that an unchanged page stays identical byte for byte; the action checks everything again. If she can
    no longer code any of them, as after completion or a lock, she has nothing to confirm.
    """

    confirmed = forms.BooleanField(
        label="I know that what I code in these interviews from now on counts as assisted.",
        error_messages={"required": "Tick the box to confirm that you know this."},
    )
    token = forms.CharField(widget=forms.HiddenInput, error_messages={"required": OUT_OF_DATE})

    def __init__(self, data: Any = None, *, viewer: Viewer, initial: dict[str, str] | None = None) -> None:
        super().__init__(data, initial=initial, auto_id="unblinding_%s")
        self.viewer = viewer
        self.interview_ids: list[int] = []
        self.where = self.back = ""
        self.opens_conditions = False
        token = data.get("token") if data is not None else self.initial.get("token")
        self.is_readable = bool(token) and self._read(str(token))
        self.open_count = len(set(self.interview_ids).intersection(find_open(viewer.study, viewer.user)[0]))
        if not (self.open_count or self.opens_conditions):
            del self.fields["confirmed"]

    @classmethod
    def offer(cls, viewer: Viewer, interview_ids: Iterable[int], *, where: str, back: str) -> Self | None:
        """The form for the interviews that the viewer has not unblinded; ``None`` if there are none. If she says that she will not
        code them, interviews whose condition is masked for her count too."""
        interview_ids = set(interview_ids)
        closed = viewer.blinded(interview_ids)
        if where == NOT_CODING:
            closed |= find_unopened(viewer.user_id, interview_ids)
        blinded = sorted(closed)
        if not blinded:
            return None
        return cls(viewer=viewer, initial={"token": _write(viewer, blinded, where, back)})

    @property
    def count(self) -> int:
        """The number of interviews in the form."""
        return len(self.interview_ids)

    def clean_token(self) -> str:
        if not self.is_readable:
            raise forms.ValidationError(OUT_OF_DATE)
        return str(self.cleaned_data["token"])

    def _read(self, token: str) -> bool:
        try:
            study, user, self.interview_ids, self.where, self.back = _signer.unsign_object(token)
        except (signing.BadSignature, ValueError):
            return False
        self.opens_conditions = self.where == NOT_CODING
        return [study, user] == [self.viewer.study.pk, self.viewer.user_id]


def _write(viewer: Viewer, interview_ids: Sequence[int], where: str, back: str) -> str:
    return _signer.sign_object([viewer.study.pk, viewer.user_id, interview_ids, where, back], compress=True)


class ConditionForm(forms.Form):
    """Open the condition of one masked interview for oneself."""

    confirmed = forms.BooleanField(
        label="I know that what I code in this interview from now on counts as assisted, and that this is on record.",
        error_messages={"required": "Tick the box to confirm that you know this."},
    )

    def __init__(self, data: Any = None, *, is_open: bool) -> None:
        """``is_open``: she can still code it. If she cannot, there is nothing to confirm."""
        super().__init__(data)
        if not is_open:
            del self.fields["confirmed"]


class UnmaskForm(forms.Form):
    """Unmask interviews for everybody."""

    reason = forms.CharField(
        max_length=MAX_REASON,
        help_text="Such as “All rounds are locked”. It is kept in the history of each interview.",
        error_messages={"required": "Give a reason for unmasking the interviews."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


def offer_unblinding(
    request: StudyRequest, interview_ids: Iterable[int], *, where: str, back: str = "", to_coders: bool = False
) -> UnblindingForm | None:
    """The value of ``unblinding`` for ``blinding/_notice.html``; ``None`` if unblinding would show her nothing more.

    ``where`` names the page in the history. ``back`` is the address within the study to return to, this page's own by
    default. ``to_coders``: the page shows others' labels also to somebody whose role sees her own only.
    """
    viewer = get_viewer(request)
    if not (viewer.sees_all or to_coders):
        return None
    return UnblindingForm.offer(viewer, interview_ids, where=where, back=back or request.get_full_path())


@require_POST
@study_view(Permission.CODE)
def unblind(request: StudyRequest) -> HttpResponse:
    """Unblind the interviews that the form names, and go back to the page that it was on."""
    form = UnblindingForm(request.POST, viewer=get_viewer(request))
    if not form.is_valid():
        return render(request, "blinding/unblind.html", {"unblinding": form}, status=422)
    interviews = list(request.study.interviews.filter(pk__in=form.interview_ids).order_by("pk"))
    with at_form(form):
        if form.opens_conditions:
            open_interviews(study=request.study, interviews=interviews, by=request.user)
        else:
            unblind_interviews(study=request.study, interviews=interviews, by=request.user, where=form.where)
        count = len(interviews)
        if form.opens_conditions:
            messages.success(request, f"{count} thread{pluralize(count, ' is,s are')} open to you now.")
        else:
            messages.success(request, f"You see others’ labels in {count} more interview{pluralize(count)} now.")
        return HttpResponseRedirect(form.back)
    return render(request, "blinding/unblind.html", {"unblinding": form}, status=409)


LABELS_SHOWN = 50


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def show_condition(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Ask whether she wants to open the condition of a masked interview; after that, show it only to her."""
    interview = get_object_or_404(request.study.every_interview.kept(), pk=interview_id)
    is_open = interview.pk in find_open(request.study, request.user)[0]
    form = ConditionForm(request.POST if request.method == "POST" else None, is_open=is_open)
    if request.method == "POST" and form.is_valid():
        with at_form(form):
            open_condition(study=request.study, interview=interview, by=request.user)
            return redirect("blinding:condition", request.study.slug, interview.pk)
    opening = find_opening(interview, request.user) if interview.is_masked else None
    context: dict[str, object] = {"interview": interview, "form": form, "opening": opening}
    if opening is not None:
        context |= describe_condition(MaskedFacts.objects.select_related("interview").get(interview=interview))
    return render(request, "blinding/condition.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def unmask(request: StudyRequest) -> HttpResponse:
    """Show which interviews would be unmasked, ask for a reason, and unmask them."""
    chosen = _find_chosen(request)
    is_asked = request.method == "POST" and "unmask" in request.POST
    form = UnmaskForm(request.POST if is_asked else None)
    status = 200
    if is_asked and form.is_valid():
        try:
            unmasked = unmask_interviews(
                study=request.study, interviews=chosen, reason=form.cleaned_data["reason"], by=request.user
            )
        except Refused as error:
            form.add_error(None, str(error))
            status = 409
        else:
            count = len(unmasked)
            messages.success(
                request, f"{count} interview{pluralize(count)} unmasked. Everything that was sealed is visible again."
            )
            return redirect("corpus:interviews", request.study.slug)
    elif form.errors:
        status = 422
    context = {
        "form": form,
        "chosen": chosen,
        "shown": chosen[:LABELS_SHOWN],
        "more": max(0, len(chosen) - LABELS_SHOWN),
        "rounds": find_unlocked_rounds(request.study, [each.pk for each in chosen]),
    }
    return render(request, "blinding/unmask.html", context, status=status)


def _find_chosen(request: StudyRequest) -> list[Interview]:
    """The masked interviews among the ticked ones, or among all that match the filter of the list."""
    asked = request.POST if request.method == "POST" else request.GET
    if "every" in asked:
        return [row for row in queries.list_matching(request.study, queries.read_wanted(asked), None) if row.is_masked]
    ticked = find_numbers(asked.getlist("interview"))
    kept = request.study.every_interview.kept().masked().filter(pk__in=ticked).order_by("pk")
    return list(kept.only("pk", "title", "mask_label", "unmasked_at", "owning_study"))


register = template.Library()
"""For templates: ``{% load conditions %}``."""
register.simple_tag(find_opening, name="condition_opening")
