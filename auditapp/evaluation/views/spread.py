"""Several annotators side by side: each by itself and every two of them, apart from people's codings.

A coder sees figures of interviews that she has unblinded. Elsewhere a rate would show what machines said about sentences
that she has still to decide.
"""

from __future__ import annotations

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.annotators.models import Annotator
from auditapp.annotators.queries.annotators import Warnings, list_judge_results, warn_of_family, warn_of_relatives
from auditapp.evaluation.forms import SpreadForm
from auditapp.evaluation.queries.compared_items import read_spread
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.codebook.models import Code
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.models import Project
from transcripts.studies.roles import Permission


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_spread(request: ProjectRequest) -> HttpResponse:
    """How often each annotator applied each code to the sentences that all annotated, and how far every two agree."""
    form, annotators = _read_chosen(request, request.GET)
    seen = get_viewer(request).visible_interviews
    spread, interviews = read_spread(annotators, seen=seen) if len(annotators) > 1 else ([], set[int]())
    codes = Code.objects.filter(version__project=request.project).order_by("version__number")
    context = {
        "form": form,
        "annotators": annotators,
        "by_key": {each.pk: each for each in annotators},
        "spread": spread,
        "unblinding": offer_unblinding(request, interviews, where="spread"),
        "names": dict(codes.values_list("identifier", "name")),
        "versions": sorted({each.version.number for each in annotators}),
        "warnings": _list_warnings(request.project, annotators),
    }
    return render(request, "evaluation/spread.html", context, status=200 if form.is_valid() else 422)


def _read_chosen(request: ProjectRequest, data: QueryDict) -> tuple[SpreadForm, list[Annotator]]:
    """The form, and the annotators it names, or all."""
    form = SpreadForm(data, project=request.project)
    chosen = form.cleaned_data["annotators"] if form.is_valid() else Annotator.objects.none()
    every = Annotator.objects.filter(project=request.project)
    return form, list((chosen or every).select_related("variant__account", "version").order_by("pk"))


def _list_warnings(project: Project, annotators: list[Annotator]) -> Warnings:
    warnings = warn_of_relatives(annotators)
    variants = {each.variant.pk: each.variant for each in annotators if each.variant is not None}
    for variant in variants.values():
        warnings += [*warn_of_family(project, variant, None), *list_judge_results(project, variant)]
    if any(variant.is_fake for variant in variants.values()):
        warnings.append({"code": "fake"})
    return warnings
