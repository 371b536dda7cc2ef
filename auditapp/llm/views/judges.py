"""Models as judges: what a study knows of each before it lets one read its interviews."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from auditapp.llm.cards import hides_parts, read_cards
from auditapp.llm.models import ModelVariant
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


@require_safe
@project_view(Permission.VIEW)
def list_judges(request: ProjectRequest) -> HttpResponse:
    """Every model that this study knows something of, with its card's figures."""
    variants = list(ModelVariant.objects.select_related("account"))
    cards = [card for card in read_cards(request.project, variants, request.role.permissions) if card.parts]
    notes = dict.fromkeys(note for card in cards for part in card.parts for note in part.notes)
    context = {"cards": cards, "notes": list(notes), "is_hidden": hides_parts(request.role.permissions)}
    return render(request, "llm/judges.html", context)


@require_safe
@project_view(Permission.VIEW)
def show_judge(request: ProjectRequest, variant_id: int) -> HttpResponse:
    """One model's card, where this study knows anything of it."""
    variant = get_object_or_404(ModelVariant.objects.select_related("account"), pk=variant_id)
    [card] = read_cards(request.project, [variant], request.role.permissions)
    if not card.parts:
        raise Http404("This study knows nothing of that model.")
    return render(request, "llm/judge.html", {"card": card})
