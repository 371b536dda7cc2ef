"""Models as judges: what a study knows of each before it lets one read its interviews."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from auditapp.llm.models import ModelVariant
from auditapp.llm.scorecards import hides_parts, read_scorecards
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


@require_safe
@project_view(Permission.VIEW)
def list_judges(request: ProjectRequest) -> HttpResponse:
    """Every model that this study knows something of, with its card's figures."""
    variants = list(ModelVariant.objects.select_related("account"))
    parts = read_scorecards(request.project, variants, request.role.permissions)
    cards = [(variant, own) for variant, own in zip(variants, parts, strict=True) if own]
    notes = dict.fromkeys(note for _, own in cards for part in own for note in part.notes)
    context = {"cards": cards, "notes": list(notes), "is_hidden": hides_parts(request.role.permissions)}
    return render(request, "llm/judges.html", context)


@require_safe
@project_view(Permission.VIEW)
def show_judge(request: ProjectRequest, variant_id: int) -> HttpResponse:
    """One model's card, where this study knows anything of it."""
    variant = get_object_or_404(ModelVariant.objects.select_related("account"), pk=variant_id)
    [parts] = read_scorecards(request.project, [variant], request.role.permissions)
    if not parts:
        raise Http404("This study has no figures for that model.")
    return render(request, "llm/judge.html", {"variant": variant, "parts": parts})
