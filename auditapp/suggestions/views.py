"""The machine panel of the desk, which knows this room by its addresses only; and what coders are shown: the share of turns that
never shows suggestions, and draft interviews. With the forms of both.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from auditapp.annotators.models import DraftInterview, Suggestion, WithholdingPlan
from auditapp.annotators.queries.boundary_edits import find_current_sentences
from auditapp.annotators.withholding import (
    USUAL_SHARE,
    close_draft_interview,
    count_drawn,
    list_drafts,
    open_draft_interview,
    set_withholding,
)
from auditapp.suggestions.actions import (
    PLACED_NOWHERE,
    accept_suggestion,
    close_showings,
    redo_response,
    reject_suggestion,
    show_suggestions,
    undo_response,
)
from auditapp.suggestions.models import Response
from auditapp.suggestions.queries import PanelState, find_look_at
from transcripts.coding.actions import NotDecided
from transcripts.coding.models import Coding, Enactment, Level
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.desk.forms import read_answers
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, post, study_view
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui.forms import RowForm, at_form

SCRIPT_HEADER = "X-Desk"
ACTS = [("accept", "Accept"), ("reject", "Reject"), ("edit", "Edit"), ("undo", "Take back"), ("redo", "Do again")]


class ResponseForm(RowForm):
    """What a person makes of a suggestion. An edit says why."""

    act = forms.ChoiceField(choices=ACTS, error_messages={"required": "Choose accept, edit or reject."})
    others: ClassVar = {Coding: ("level", "enactment", "note")}
    optional = ("level",)

    class Meta(RowForm.Meta):
        model = Response
        fields = ("reason",)

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("act") == "edit" and not self.cleaned_data.get("reason"):
            self.add_error("reason", "Give the reason for your changes in one line.")
        return self.cleaned_data

    def list_errors(self) -> list[str]:
        """What is wrong, whichever field it is about."""
        return [str(error) for errors in self.errors.values() for error in errors]


class WithholdingForm(RowForm):
    """The share of turns that never shows suggestions, for interviews drawn from now on."""

    needed = ("reason",)
    optional = ("seed",)

    class Meta(RowForm.Meta):
        model = WithholdingPlan
        fields = ("share_percent", "seed", "reason")


class DraftForm(RowForm):
    """An interview to be read as a draft, and why."""

    interview = forms.ModelChoiceField(queryset=Interview.objects.none())
    field_order = ("interview", "reason")

    class Meta(RowForm.Meta):
        model = DraftInterview
        fields = ("reason",)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        opened = DraftInterview.objects.filter(closed_at__isnull=True).values("interview")
        interviews = Interview.objects.filter(study=study).exclude(pk__in=opened)
        self.fields["interview"].queryset = interviews  # type: ignore[attr-defined]


@require_POST
@study_view(Permission.CODE)
def show_panel(request: StudyRequest, sentence_id: int) -> HttpResponse:
    """Reveal the suggestions for one sentence: on record, and only after her own decision. A POST, for it writes."""
    return _panel(request, _find_sentence(request, sentence_id))


def _find_sentence(request: StudyRequest, sentence_id: int) -> Sentence:
    """The sentence; of a turn of the interviewer its first one, where all is that is suggested for it."""
    sentences = Sentence.objects.current().select_related("turn__interview__study")
    sentence = get_object_or_404(sentences, pk=sentence_id, turn__interview__study=request.study)
    if sentence.turn.role != Turn.Role.INTERVIEWER:
        return sentence
    return sentences.filter(turn=sentence.turn_id).order_by("start")[0]


def _panel(
    request: StudyRequest, sentence: Sentence, *, error: str = "", field: str = "", open_id: int | None = None
) -> HttpResponse:
    """The suggestions for a sentence; with an ``error`` the form of ``open_id`` stays open with what was typed.

    The message is at the ``field`` that it is about, which has the focus; at the top if it is about none. An enactment that
    is missing is chosen beside the button "Accept" (``accept_id``).
    """
    try:
        shown = show_suggestions(study=request.study, sentence=sentence, by=request.user)
    except NotDecided as refusal:
        return render(request, "suggestions/panel.html#refused", {"refusal": str(refusal)}, status=409)
    is_at_accept = field == "enactment" and request.POST.get("act") == "accept"
    context = {
        "sentence": sentence,
        "shown": shown,
        "levels": Level.choices,
        "enactments": Enactment.choices,
        "error": error,
        "field": field if field and _is_editable(shown, open_id, field) else "",
        "open_id": None if is_at_accept else open_id,
        "accept_id": open_id if is_at_accept else None,
        "held": request.POST if error else {},
    }
    template = "suggestions/panel.html#panel" if request.htmx else "suggestions/panel.html"  # type: ignore[attr-defined]
    response = render(request, template, context, status=422 if error else 200)
    if shown.is_draft and shown.showing is not None and not shown.is_withheld:
        # The desk asks for reasons from now on.
        response["HX-Trigger"] = json.dumps({"draft-opened": {"sentence": sentence.pk}})
    return response


def _is_editable(panel: PanelState, suggestion_id: int | None, field: str) -> bool:
    """Whether the form "Accept with changes" of that suggestion is there, with that field in it."""
    offered = (each for each in panel.offers if each["suggestion"].pk == suggestion_id)
    code = next((each["code"] for each in offered if not each["response"]), None)
    if code is None:
        return False
    carries = {"level": code.family.carries_level, "note": code.family.carries_level, "reason": True}
    return bool(carries.get(field, field == "enactment" and code.family.carries_enactment))


@require_POST
@study_view(Permission.CODE)
def close_panel(request: StudyRequest, sentence_id: int) -> HttpResponse:
    """Record that she has moved on from the suggestions of this sentence. The desk's script calls this."""
    sentence = _find_sentence(request, sentence_id)
    close_showings(study=request.study, by=request.user)
    return HttpResponse(status=204) if SCRIPT_HEADER in request.headers else _go_back(request, sentence)


@require_POST
@study_view(Permission.CODE)
def respond(request: StudyRequest, suggestion_id: int) -> HttpResponse:
    """Accept, reject or edit one suggestion, take the answer back, or give it again."""
    suggestion = get_object_or_404(
        Suggestion.objects.select_related("sentence__turn__interview", "code__version", "code__family"),
        pk=suggestion_id,
        annotator__study=request.study,
    )
    if find_look_at(suggestion, request.user) is None:
        # As if there were none: she must not know yet that a machine applied something there; on withheld turns, never.
        raise Http404("No such suggestion.")
    sentence = find_current_sentences([suggestion])[suggestion.pk]
    if sentence is None:
        # A page that was open while somebody edited the boundaries.
        return render(request, "suggestions/panel.html#refused", {"refusal": PLACED_NOWHERE}, status=409)
    form = ResponseForm(request.POST)
    if not form.is_valid():
        return _panel(
            request, sentence, error=" ".join(form.list_errors()), field=next(iter(form.errors)), open_id=suggestion.pk
        )
    try:
        response = _store(request, suggestion, form)
    except Refused as error:
        return _panel(request, sentence, error=str(error), field=error.field, open_id=suggestion.pk)
    if request.htmx:  # type: ignore[attr-defined]
        answer = _panel(request, sentence)
        # The desk listens for these: it fetches the sentence's row again, and can take the answer back.
        is_back = response is None or response.verdict == Response.Verdict.UNDONE
        what: dict[str, object] = {"sentence": sentence.pk, "suggestion": suggestion.pk}
        if response is not None:
            what |= {"verdict": response.verdict, "address": request.path}
        triggers = {"sentence-changed": what, "suggestion-taken-back" if is_back else "suggestion-answered": what}
        answer["HX-Trigger"] = json.dumps(triggers)
        return answer
    return _go_back(request, sentence)


def _go_back(request: StudyRequest, sentence: Sentence) -> HttpResponse:
    desk = reverse("desk:desk", args=[request.study.slug, sentence.turn.interview_id])
    return redirect(f"{desk}?at={sentence.pk}#s{sentence.pk}")


def _store(request: StudyRequest, suggestion: Suggestion, form: ResponseForm) -> Response | None:
    chosen = form.cleaned_data
    if chosen["act"] == "undo":
        return undo_response(suggestion=suggestion, study=request.study, by=request.user)
    if chosen["act"] == "redo":
        return redo_response(suggestion=suggestion, study=request.study, by=request.user)
    if chosen["act"] == "reject":
        return reject_suggestion(suggestion=suggestion, study=request.study, by=request.user, reason=chosen["reason"])
    is_edit = chosen["act"] == "edit"
    values = {"level": chosen["level"], "note": chosen["note"]} if is_edit else {}
    return accept_suggestion(
        suggestion=suggestion,
        study=request.study,
        by=request.user,
        reason=chosen["reason"],
        edited=is_edit,
        enactment=chosen["enactment"],
        answers=read_answers(request.POST),
        **values,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def withholding(request: StudyRequest) -> HttpResponse:
    """See how turns were drawn, and set the share for interviews drawn from now on."""
    plans = list(WithholdingPlan.objects.filter(study=request.study).order_by("-number"))
    usual = plans[0].share_percent if plans else USUAL_SHARE
    form = WithholdingForm(request.POST or None, initial={"share_percent": usual})
    if request.method == "POST" and form.is_valid():
        with at_form(form):
            plan = set_withholding(study=request.study, by=request.user, **form.cleaned_data)
            messages.success(
                request, f"In interviews drawn from now on, {plan.share_percent} % of the turns are withheld."
            )
            return redirect("suggestions:withholding", request.study.slug)
    drawn = count_drawn(request.study)
    page = {
        "form": form,
        "plans": plans,
        "usual": USUAL_SHARE,
        "drawn": [row for row in drawn if row["turns"]],
        "undrawn": sum(not row["turns"] for row in drawn),
        "turns": sum(row["turns"] for row in drawn),
        "withheld": sum(row["withheld"] for row in drawn),
    }
    return render(request, "suggestions/withholding.html", page, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def drafts(request: StudyRequest) -> HttpResponse:
    """See which interviews are or were read as drafts, and open another one."""
    form = DraftForm(request.POST or None, study=request.study)
    if request.method == "POST" and form.is_valid():
        with at_form(form):
            draft = open_draft_interview(study=request.study, by=request.user, **form.cleaned_data)
            messages.success(request, f"{draft.interview.title} is now a draft interview.")
            return redirect("suggestions:drafts", request.study.slug)
    page = {"form": form, "drafts": list_drafts(request.study)}
    return render(request, "suggestions/drafts.html", page, status=422 if form.errors else 200)


def _find_draft(request: StudyRequest, draft_id: int) -> dict[str, Any]:
    draft = get_object_or_404(DraftInterview, pk=draft_id, interview__study=request.study)
    return {"study": request.study, "draft": draft}


close_draft = post(close_draft_interview, Permission.SET_METHOD, on=_find_draft, to=("suggestions:drafts",))
