"""The study's invented sentences with known codes."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods

from auditapp.preannotation.annotators.actions.planted import plant_own_set, plant_sentence, withdraw_planted
from auditapp.preannotation.annotators.forms import PlantedForm
from auditapp.preannotation.annotators.queries.planted import find_codes, read_own_set
from auditapp.preannotation.models import PlantedSentence
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.acts import post
from transcripts.projects.roles import Permission
from transcripts.ui.acts import at_form


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def list_planted(request: ProjectRequest) -> HttpResponse:
    """The sentences, and the form for another."""
    form = PlantedForm(request.POST if request.method == "POST" else None, project=request.project)
    if form.is_valid():
        with at_form(form, "text"):
            plant_sentence(project=request.project, by=request.user, **form.cleaned_data)
            messages.success(request, "The sentence will be planted from the next batch on.")
            return redirect("preannotation:planted", request.project.slug)
    sentences = list(PlantedSentence.objects.filter(project=request.project).order_by("-pk"))
    context = {
        "form": form,
        "current": [each for each in sentences if each.withdrawn_at is None],
        "withdrawn": [each for each in sentences if each.withdrawn_at is not None],
        "own_set": read_own_set(),
        "names": {code.identifier: code for code in find_codes(request.project)},
    }
    return render(request, "preannotation/planted.html", context, status=422 if form.errors else 200)


def _find(request: ProjectRequest, planted_id: int) -> dict[str, PlantedSentence]:
    return {"planted": get_object_or_404(PlantedSentence, pk=planted_id, project=request.project)}


plant_set = post(
    plant_own_set,
    Permission.RUN_BATCHES,
    done=lambda added: f"{len(added)} sentence{pluralize(len(added))} planted, from the next batch on.",
    to=("preannotation:planted",),
)
withdraw = post(
    withdraw_planted,
    Permission.RUN_BATCHES,
    on=_find,
    done="Withdrawn. Earlier answers about it still count.",
    to=("preannotation:planted",),
)
