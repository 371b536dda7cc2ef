"""The machine panel of the desk, and the launch of a reading. The desk knows this room by its addresses only."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from auditapp.batches.models import Batch
from auditapp.batches.reviewing import LaunchPlan
from auditapp.batches.views.wizard import run_wizard
from auditapp.preannotation import actions
from auditapp.preannotation.card import tell_of_judge
from auditapp.preannotation.forms import PreannotationForm, ResponseForm
from auditapp.preannotation.kind import KIND
from auditapp.preannotation.kinship import warn_of_kin
from auditapp.preannotation.models import Suggestion
from auditapp.preannotation.queries import read_offers
from transcripts.coding.actions import NotDecided, reveal_suggestions
from transcripts.coding.models import Enactment, Level
from transcripts.corpus.models import Sentence
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


@require_POST
@project_view(Permission.CODE)
def show_panel(request: ProjectRequest, sentence_id: int) -> HttpResponse:
    """Reveal the suggestions for one sentence: on record, and only after her own decision. A POST, for it writes."""
    return _panel(request, _find_sentence(request, sentence_id))


def _find_sentence(request: ProjectRequest, sentence_id: int) -> Sentence:
    sentences = Sentence.objects.select_related("turn__interview")
    return get_object_or_404(
        sentences, pk=sentence_id, retired_by__isnull=True, turn__interview__project=request.project
    )


def _panel(request: ProjectRequest, sentence: Sentence, *, error: str = "", open_id: int | None = None) -> HttpResponse:
    try:
        reveal_suggestions(project=request.project, sentence=sentence, by=request.user)
    except NotDecided as refusal:
        return render(request, "preannotation/panel.html#refused", {"refusal": str(refusal)}, status=409)
    context = {
        "sentence": sentence,
        "word": read_offers(sentence, request.user),
        "levels": Level.choices,
        "enactments": Enactment.choices,
        "error": error,
        "open_id": open_id,
    }
    template = "preannotation/panel.html#panel" if request.htmx else "preannotation/panel.html"  # type: ignore[attr-defined]
    return render(request, template, context, status=422 if error else 200)


@require_POST
@project_view(Permission.CODE)
def respond(request: ProjectRequest, suggestion_id: int) -> HttpResponse:
    """Keep, leave or edit one suggestion."""
    suggestion = get_object_or_404(
        Suggestion.objects.select_related("sentence__turn__interview", "code__family"),
        pk=suggestion_id,
        annotator__project=request.project,
    )
    sentence = suggestion.sentence
    form = ResponseForm(request.POST)
    if not form.is_valid():
        return _panel(request, sentence, error="Choose keep, leave or edit.", open_id=suggestion.pk)
    chosen = form.cleaned_data
    try:
        if chosen["act"] == "leave":
            actions.leave_suggestion(
                suggestion=suggestion, project=request.project, by=request.user, reason=chosen["reason"]
            )
        else:
            actions.keep_suggestion(
                suggestion=suggestion,
                project=request.project,
                by=request.user,
                level=chosen["level"] or Level.SEMANTIC,
                enactment=chosen["enactment"],
                note=chosen["note"],
                reason=chosen["reason"],
                edited=chosen["act"] == "edit",
            )
    except actions.PreannotationError as error:
        return _panel(request, sentence, error=str(error), open_id=suggestion.pk)
    if request.htmx:  # type: ignore[attr-defined]
        response = _panel(request, sentence)
        # The desk listens for this and fetches the sentence's row again.
        response["HX-Trigger"] = f'{{"sentence-changed": {{"sentence": {sentence.pk}}}}}'
        return response
    desk = reverse("coding:desk", args=[request.project.slug, sentence.turn.interview_id])
    return redirect(f"{desk}?at={sentence.pk}#s{sentence.pk}")


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def launch(request: ProjectRequest) -> HttpResponse:
    """Have interviews read by a model, in two steps."""
    form = PreannotationForm(request.POST or None, project=request.project)

    def plan() -> LaunchPlan:
        annotator = actions.draft_annotator(project=request.project, variant=form.cleaned_data["model"])
        arms = actions.plan_arms(annotator, form.cleaned_data["families"] or None)
        interviews = list(form.cleaned_data["interviews"]) or None
        turns = actions.list_turns(project=request.project, interviews=interviews)
        warnings = [
            *warn_of_kin(request.project, annotator.variant, interviews),
            *tell_of_judge(request.project, annotator.variant),
        ]
        return LaunchPlan(KIND, arms, turns, warnings)

    def send() -> Batch:
        chosen = form.cleaned_data
        return actions.launch_preannotation(
            project=request.project,
            annotator=actions.ensure_annotator(project=request.project, name=chosen["model"].label, by=request.user),
            interviews=list(chosen["interviews"]) or None,
            families=chosen["families"] or None,
            by=request.user,
            **form.options(),
        )

    return run_wizard(
        request,
        form,
        template="preannotation/launch.html",
        plan=plan,
        launch=send,
        refusals=(actions.PreannotationError,),
    )
