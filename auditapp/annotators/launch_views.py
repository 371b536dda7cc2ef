"""The launch of a reading by a model, in two steps."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from auditapp.annotators.actions.annotators import draft_annotator
from auditapp.annotators.actions.launching import launch_model, plan_annotation
from auditapp.annotators.forms import PreannotationForm
from auditapp.annotators.launch_review import add_review
from auditapp.batches.launching import LaunchPlan
from auditapp.batches.views.launch import run_wizard
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def launch(request: StudyRequest) -> HttpResponse:
    """Annotate interviews with a model, in two steps."""
    initial = {name: request.GET[name] for name in ("model", "mode") if name in request.GET}
    form = PreannotationForm(request.POST or None, study=request.study, initial=initial)

    def plan() -> LaunchPlan:
        annotator = draft_annotator(study=request.study, **_read_annotator(form))
        turn_answer = plan_annotation(study=request.study, annotator=annotator, **_read_choice(form))
        form.settle_pilot(turn_answer.arms, turn_answer.input_ids)
        return add_review(turn_answer, annotator)

    return run_wizard(
        request,
        form,
        template="annotators/launch.html",
        plan=plan,
        launch=lambda: launch_model(
            study=request.study,
            reason=form.cleaned_data["latent_reason"],
            by=request.user,
            **_read_annotator(form),
            **_read_choice(form),
            options=form.options(),
        ),
    )


def _read_annotator(form: PreannotationForm) -> dict[str, Any]:
    chosen = form.cleaned_data
    return {
        "variant": chosen["model"],
        "mode": chosen["mode"],
        "reads_latent": chosen["reads_latent"],
        "answer_schema": False if chosen["without_schema"] else None,
    }


def _read_choice(form: PreannotationForm) -> dict[str, Any]:
    chosen = form.cleaned_data
    return {"interviews": list(chosen["interviews"]) or None, "families": chosen["families"] or None}
