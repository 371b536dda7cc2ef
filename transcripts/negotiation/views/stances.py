"""Pages of normative stances: all numbers, and the forms that write the first and the next."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_safe

from transcripts.history.views import NumberPage, write_number
from transcripts.negotiation.actions.stances import write_stance
from transcripts.negotiation.forms.scores import NextStanceForm, StanceForm
from transcripts.negotiation.models import Stance
from transcripts.negotiation.queries.stances import list_stances
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission


@require_safe
@project_view(Permission.VIEW)
def show_stances(request: ProjectRequest) -> HttpResponse:
    """Every stance with all its numbers."""
    return render(request, "negotiation/stances.html", {"stances": list_stances(request.project)})


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def write_new(request: ProjectRequest) -> HttpResponse:
    """A stance of a name that is new."""
    return write_number(request, PAGE, StanceForm)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def write_next(request: ProjectRequest, stance_id: int) -> HttpResponse:
    """The next number of a stance."""
    stance = get_object_or_404(request.project.normative_stances, pk=stance_id)
    latest = request.project.normative_stances.filter(name=stance.name).order_by("-number")[0]
    return write_number(request, PAGE, NextStanceForm, latest)


def _describe(latest: Stance) -> dict[str, Any]:
    return {"based_on": latest.number, **{field: getattr(latest, field) for field in latest.wording}}


def _write(request: ProjectRequest, form: StanceForm, latest: Stance | None) -> Stance:
    form.instance.project = request.project
    if latest is not None:
        form.instance.name = latest.name
    return write_stance(stance=form.instance, by=request.user, based_on=form.cleaned_data["based_on"])


PAGE = NumberPage(
    first_title="New normative stance",
    next_title="Next number of a normative stance",
    list_title="Normative stances",
    short="stance",
    kept="the scores given under it",
    done="Scores can be given under it.",
    back="negotiation:stances",
    style="css/scores.css",
    initial=_describe,
    write=_write,
)
