"""Pages of annotators: their settings, their exact instructions, and how their answers were parsed; runs with rules or a
learnt annotator, and a preview of what a launch would use; the launch of a model, in two steps; and the study's control
sentences.
"""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.annotators.actions.annotators import (
    add_built_in_control_sentences,
    add_control_sentence,
    draft_annotator,
    read_prompts,
    record_calibration,
    withdraw_control_sentence,
)
from auditapp.annotators.actions.launching import (
    cancel_run,
    launch_model,
    launch_offline,
    plan_annotation,
    preview_rules,
    preview_training_set,
)
from auditapp.annotators.forms import ControlSentenceForm, FamilyReasonForm, OfflineForm, PreannotationForm
from auditapp.annotators.launch_review import add_review
from auditapp.annotators.models import CHECK_KIND, CRITIC_KIND, KIND, Annotator, ControlSentence, OfflineRun
from auditapp.annotators.offline import ACTIVE, list_runs, read_run_progress
from auditapp.annotators.pure.answers import EXAMPLE_NUMBERS, write_answer_schema
from auditapp.annotators.pure.learning import MIN_POSITIVES
from auditapp.annotators.pure.prompts import MAX_EARLIER, sends_earlier
from auditapp.annotators.queries.annotators import (
    find_codes,
    list_annotators,
    read_choices,
    read_code_names,
    read_learnt,
    read_own_set,
)
from auditapp.annotators.queries.boundary_edits import count_moved
from auditapp.annotators.queries.turn_answers import AnswerCounts, count_by_batch, find_turn_answers, list_batches
from auditapp.annotators.withholding import list_run_interviews, list_seen_turns
from auditapp.batches.kinds import get_kind
from auditapp.batches.launching import LaunchPlan
from auditapp.batches.ledger.leases import is_worker_alive
from auditapp.batches.ledger.prompts import hash_prompt
from auditapp.batches.models import Batch
from auditapp.batches.views.launch import run_wizard
from auditapp.llm.models import Capabilities
from auditapp.llm.pure.json_answers import strip_limits
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.codebook.queries import current_version
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, post, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form
from transcripts.ui.typed_text import find_number

MAX_LISTED = 10


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_annotators(request: StudyRequest) -> HttpResponse:
    """Every annotator of the study."""
    context = {"rows": list_annotators(request.study), "names": read_code_names(request.study)}
    return render(request, "annotators/annotators.html", context)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_annotator(request: StudyRequest, annotator_id: int) -> HttpResponse:
    """One annotator with its exact instructions, its batches, and how its answers were understood."""
    return _render_annotator(request, _find_annotator(request, annotator_id))


@require_POST
@study_view(Permission.SET_METHOD)
def compute_learnt(request: StudyRequest, annotator_id: int) -> HttpResponse:
    """The results of learning a family that is coded reflexively: shown once, for a reason that is kept."""
    annotator = _find_annotator(request, annotator_id)
    form, learnt = FamilyReasonForm(request.POST), read_learnt(annotator)
    if form.is_valid():
        with at_form(form):
            if learnt is None or form.cleaned_data["family"] not in dict(learnt["hidden"]):
                raise Refused("No family of this name has hidden figures.")
            record_calibration(study=request.study, annotator=annotator, by=request.user, **form.cleaned_data)
            return _render_annotator(request, annotator, **form.cleaned_data)
    return _render_annotator(request, annotator, reason_form=form, status=422)


def _render_annotator(
    request: StudyRequest,
    annotator: Annotator,
    *,
    reason_form: FamilyReasonForm | None = None,
    family: str = "",
    reason: str = "",
    status: int = 200,
) -> HttpResponse:
    counts, batches = count_by_batch(annotator), list_batches(annotator)
    prompts = read_prompts(annotator)
    context = {
        "annotator": annotator,
        "prompts": [
            (prompt, hash_prompt(prompt["text"]), _write_example_schema(annotator, prompt)) for prompt in prompts
        ],
        "earlier": MAX_EARLIER if any(sends_earlier(prompt["text"]) for prompt in prompts) else 0,
        "rules": annotator.recipe.get("rules", {}) if annotator.kind == Annotator.Kind.RULES else {},
        "batches": [
            (batch, counts.get(batch.pk, AnswerCounts()) if _is_whole(request, batch) else None)
            for batch in batches[KIND]
        ],
        "checks": batches[CHECK_KIND],
        "critics": batches[CRITIC_KIND],
        "runs": list(annotator.runs.order_by("-pk")),
        "chosen_for": read_choices(request.study).get(annotator.pk, []),
        "names": read_code_names(request.study),
        "learnt": read_learnt(annotator, shown=family),
        "reason_form": reason_form or FamilyReasonForm(),
        "reason": reason,
        **count_moved_seen(request, annotator),
    }
    return render(request, "annotators/annotator.html", context, status=status)


def _write_example_schema(annotator: Annotator, prompt: dict[str, Any]) -> str:
    """The JSON schema that is sent with these instructions, for a turn of two sentences; empty if none is sent."""
    held = annotator.recipe.get("answer_schema")
    if not held:
        return ""
    is_full = held["form"] == Capabilities.AnswerSchema.FULL
    schema = write_answer_schema(prompt["text"], prompt["codes"], EXAMPLE_NUMBERS, is_ordered=is_full)
    return json.dumps(schema if is_full else strip_limits(schema), ensure_ascii=False, indent=1)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_turn_answers(request: StudyRequest, annotator_id: int) -> HttpResponse:
    """The single answers behind a count, each with its call."""
    annotator = _find_annotator(request, annotator_id)
    chosen = {name: request.GET.get(name, "") for name in ("what", "reason")}
    batch, after = (find_number(request.GET.get(name, "")) for name in ("batch", "after"))
    may_code = get_viewer(request).codes
    turns = list_seen_turns(get_viewer(request)).values("pk") if may_code else None
    rows, following = find_turn_answers(annotator, batch=batch, after=after or 0, turns=turns, **chosen)
    context = {
        "annotator": annotator,
        "rows": rows,
        "following": following,
        "batch": batch,
        "may_code": may_code,
        **chosen,
        **count_moved_seen(request, annotator, batch=batch),
    }
    return render(request, "annotators/turn_answers.html", context)


def _is_whole(request: StudyRequest, batch: Batch) -> bool:
    batch.study = request.study
    return get_kind(batch.kind).find_visibility(batch, get_viewer(request)).is_whole


def _find_annotator(request: StudyRequest, annotator_id: int) -> Annotator:
    annotators = Annotator.objects.select_related("variant__account", "version__study", "study")
    return get_object_or_404(annotators, pk=annotator_id, study=request.study)


def count_moved_seen(request: StudyRequest, annotator: Annotator, *, batch: int | None = None) -> dict[str, object]:
    """Context of ``annotators/_moved_suggestions.html``. People who may code get the counts of interviews they have
    unblinded: boundary edits are few, so a count over all would reveal suggestions for single sentences."""
    seen = get_viewer(request).visible_interviews
    return {"moved": count_moved(annotator, batch=batch, interviews=seen), "is_of_unblinded": seen is not None}


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def list_control_sentences(request: StudyRequest) -> HttpResponse:
    """The control sentences, and the form to add one."""
    form = ControlSentenceForm(request.POST if request.method == "POST" else None, study=request.study)
    if form.is_valid():
        with at_form(form, "text"):
            add_control_sentence(study=request.study, by=request.user, **form.cleaned_data)
            messages.success(request, "The control sentence will be used from the next batch on.")
            return redirect("annotators:control_sentences", request.study.slug)
    sentences = list(ControlSentence.objects.filter(study=request.study).order_by("-pk"))
    context = {
        "form": form,
        "current": [each for each in sentences if each.withdrawn_at is None],
        "withdrawn": [each for each in sentences if each.withdrawn_at is not None],
        "own_set": read_own_set(),
        "names": {code.identifier: code for code in find_codes(request.study)},
    }
    return render(request, "annotators/control_sentences.html", context, status=422 if form.errors else 200)


def _find(request: StudyRequest, control_id: int) -> dict[str, ControlSentence]:
    return {"controls": get_object_or_404(ControlSentence, pk=control_id, study=request.study)}


add_control_set = post(
    add_built_in_control_sentences,
    Permission.RUN_BATCHES,
    done=lambda added: f"{len(added)} sentence{pluralize(len(added))} added. They will be used from the next batch on.",
    to=("annotators:control_sentences",),
)
withdraw_sentence = post(
    withdraw_control_sentence,
    Permission.RUN_BATCHES,
    on=_find,
    done="Withdrawn. Earlier answers about it still count.",
    to=("annotators:control_sentences",),
)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def show_offline_launch(request: StudyRequest) -> HttpResponse:
    """What a launch would use, and the launch itself. Trying another number of examples writes nothing. A form that is shown
    again counts as another launch."""
    form = OfflineForm(request.POST if request.method == "POST" else None, study=request.study)
    if form.is_valid() and "look" not in request.POST:
        with at_form(form):
            run = launch_offline(study=request.study, by=request.user, **form.cleaned_data)
            return redirect("annotators:run", request.study.slug, run.pk)
    preview = _preview(request, form)
    if form.is_bound:
        form.renew()
    context = {
        "form": form,
        "runs": list_runs(request.study)[:MAX_LISTED],
        "names": read_code_names(request.study),
        **preview,
    }
    return render(request, "annotators/launch_offline.html", context, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_run(request: StudyRequest, run_id: int) -> HttpResponse:
    """The progress of a run. It shows only sums: suggestions appear at the desk, after one's own decision."""
    run = _find_run(request, run_id)["run"]
    unblinding = offer_unblinding(request, list_run_interviews(run), where="offline run")
    context = {
        "run": run,
        "unblinding": unblinding,
        "annotator": run.annotator,
        "progress": read_run_progress(run),
        # The number would tell, as it grows, in which interview something was suggested.
        "tells_suggestions": unblinding is None,
        "is_active": run.state in ACTIVE,
        "has_worker": is_worker_alive(),
        "names": read_code_names(request.study),
        "learnt": read_learnt(run.annotator),
        "rules": run.annotator.recipe.get("rules", {}),
    }
    return render(request, "annotators/run.html", context)


def _preview(request: StudyRequest, form: OfflineForm) -> dict[str, object]:
    """What a launch would use now, or the sentence of the refusal if no launch is possible."""
    chosen = getattr(form, "cleaned_data", {}) if form.is_bound else {}
    minimum = chosen.get("minimum") or MIN_POSITIVES
    try:
        rules = preview_rules(request.study)
        training_set = preview_training_set(request.study, minimum=minimum)
    except Refused as error:
        return {"refusal": str(error)}
    version = current_version(request.study)
    codes = [{"code": code, **found} for code, found in training_set["codes"].items()]
    return {
        "rules": rules,
        "taught": training_set["taught"],
        "learnable": [each for each in codes if not each["reason"]],
        "scarce": [each for each in codes if each["reason"]],
        "version": version,
        "minimum": minimum,
    }


def _find_run(request: StudyRequest, run_id: int) -> dict[str, OfflineRun]:
    runs = OfflineRun.objects.select_related("annotator__version__study", "annotator__study")
    return {"run": get_object_or_404(runs, pk=run_id, annotator__study=request.study)}


cancel_offline = post(cancel_run, Permission.RUN_BATCHES, on=_find_run, to=("annotators:run", "run_id"))


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
