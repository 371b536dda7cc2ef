"""Several annotators side by side: each by itself and every two of them, apart from people's codings."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.preannotation.annotator_kin import list_relatives
from auditapp.preannotation.card import tell_of_judge
from auditapp.preannotation.forms.critic import SpreadForm
from auditapp.preannotation.kinship import warn_of_kin
from auditapp.preannotation.models import Annotator
from auditapp.preannotation.queries.spread import read_spread
from transcripts.codebook.models import Code
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_spread(request: ProjectRequest) -> HttpResponse:
    """How often each annotator put each code on the sentences all of them read, and how far every two agree."""
    form = SpreadForm(request.GET, project=request.project)
    chosen = form.cleaned_data["annotators"] if form.is_valid() else Annotator.objects.none()
    every = Annotator.objects.filter(project=request.project)
    annotators = list((chosen or every).select_related("variant__account", "version").order_by("pk"))
    codes = Code.objects.filter(version__project=request.project).order_by("version__number")
    context = {
        "form": form,
        "annotators": annotators,
        "by_key": {each.pk: each for each in annotators},
        "spread": read_spread(annotators) if len(annotators) > 1 else [],
        "names": dict(codes.values_list("identifier", "name")),
        "versions": sorted({each.version.number for each in annotators}),
        "warnings": _list_warnings(request.project, annotators),
    }
    return render(request, "preannotation/spread.html", context, status=200 if form.is_valid() else 422)


def _list_warnings(project: Project, annotators: list[Annotator]) -> list[str]:
    warnings = list_relatives(annotators)
    variants = {each.variant.pk: each.variant for each in annotators if each.variant is not None}
    for variant in variants.values():
        warnings += [*warn_of_kin(project, variant, None), *tell_of_judge(project, variant)]
    if any(variant.is_fake for variant in variants.values()):
        warnings.append("An annotator here asks the fake provider, which invents its answers: they are no data.")
    return warnings
