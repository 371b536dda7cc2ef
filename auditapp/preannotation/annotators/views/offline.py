"""Reading by rules or by what was learnt: the launch with what it would go by, and the page of a run."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.ledger.worker_signs import is_worker_alive
from auditapp.preannotation.annotators.actions.offline import (
    cancel_run,
    launch_offline,
    preview_rules,
    preview_training_set,
)
from auditapp.preannotation.annotators.forms import OfflineForm
from auditapp.preannotation.annotators.pure.learning import MIN_POSITIVES
from auditapp.preannotation.annotators.queries.annotators import read_code_names, read_learnt
from auditapp.preannotation.annotators.queries.batch_visibility import list_run_interviews
from auditapp.preannotation.annotators.queries.offline import ACTIVE, list_runs, read_run_progress
from auditapp.preannotation.models import OfflineRun
from transcripts.blinding.views import offer_unblinding
from transcripts.codebook.queries import current_version
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.acts import post
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.ui.acts import at_form

MAX_LISTED = 10


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def launch(request: ProjectRequest) -> HttpResponse:
    """What there is to go by, and the launch. Trying another number of examples writes nothing. A form that comes back
    is another launch."""
    form = OfflineForm(request.POST if request.method == "POST" else None, project=request.project)
    if form.is_valid() and "look" not in request.POST:
        with at_form(form):
            run = launch_offline(project=request.project, by=request.user, **form.cleaned_data)
            return redirect("preannotation:run", request.project.slug, run.pk)
    preview = _preview(request, form)
    if form.is_bound:
        form.renew()
    context = {
        "form": form,
        "runs": list_runs(request.project)[:MAX_LISTED],
        "names": read_code_names(request.project),
        **preview,
    }
    return render(request, "preannotation/launch_offline.html", context, status=422 if form.errors else 200)


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_run(request: ProjectRequest, run_id: int) -> HttpResponse:
    """How far a run has come. Sums only: where something was suggested shows at the desk, after one's own decision."""
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
        "names": read_code_names(request.project),
        "learnt": read_learnt(run.annotator),
        "rules": run.annotator.recipe.get("rules", {}),
    }
    return render(request, "preannotation/run.html", context)


def _preview(request: ProjectRequest, form: OfflineForm) -> dict[str, object]:
    """What a launch would go by now; with the sentence of the refusal where there can be none."""
    chosen = getattr(form, "cleaned_data", {}) if form.is_bound else {}
    minimum = chosen.get("minimum") or MIN_POSITIVES
    try:
        rules = preview_rules(request.project)
        training_set = preview_training_set(request.project, minimum=minimum)
    except Refused as error:
        return {"refusal": str(error)}
    version = current_version(request.project)
    codes = [{"code": code, **found} for code, found in training_set["codes"].items()]
    return {
        "rules": rules,
        "taught": training_set["taught"],
        "learnable": [each for each in codes if not each["reason"]],
        "scarce": [each for each in codes if each["reason"]],
        "version": version,
        "minimum": minimum,
    }


def _find_run(request: ProjectRequest, run_id: int) -> dict[str, OfflineRun]:
    runs = OfflineRun.objects.select_related("annotator__version__project", "annotator__project")
    return {"run": get_object_or_404(runs, pk=run_id, annotator__project=request.project)}


cancel = post(cancel_run, Permission.RUN_BATCHES, on=_find_run, to=("preannotation:run", "run_id"))
