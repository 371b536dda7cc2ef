"""The page of a thread's case sheet."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.corpus.models import Interview, Turn
from transcripts.history.forms import at_next
from transcripts.negotiation.actions.cases import write_case_sheet
from transcripts.negotiation.forms.cases import CaseSheetForm
from transcripts.negotiation.models import CaseSheet
from transcripts.negotiation.queries.cases import list_features, visible_sheets
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.VIEW)
def show_case_sheet(request: ProjectRequest, interview_id: int) -> HttpResponse:
    """The case sheet of a thread with its earlier numbers, and for leads the form of the next."""
    interview = get_object_or_404(request.project.interviews, pk=interview_id)
    latest = interview.case_sheets.order_by("-number").first()
    shown = list(visible_sheets(get_viewer(request)).filter(interview=interview).order_by("-number"))
    # Who may not see what holds cannot change it either: she would overwrite it unread.
    is_shut = latest is not None and latest not in shown
    may_write = Permission.ADJUDICATE in request.role.permissions and not is_shut
    features = list_features(request.project)
    turns = _list_asked(interview) if may_write else []
    posted = request.POST if request.method == "POST" else None
    if posted is not None and Permission.ADJUDICATE not in request.role.permissions:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    form = CaseSheetForm(posted, features=features, latest=latest, turns=turns) if may_write else None
    if posted is not None and form is None:
        messages.error(request, "Nothing was stored: this thread has a case sheet that is closed to you.")
        return _render(request, interview, latest, shown, None, status=409)
    if form is not None and form.is_valid():
        with at_next(form):
            sheet = write_case_sheet(project=request.project, interview=interview, by=request.user, **form.read())
            messages.success(request, f"Case sheet {sheet.number} is saved.")
            return redirect("negotiation:case_sheet", request.project.slug, interview.pk)
    if form is not None and form.latest:
        return _render_late(request, interview, form)
    return _render(request, interview, latest, shown, form)


def _list_asked(interview: Interview) -> list[Turn]:
    """The interviewer's turns, in order."""
    return list(interview.turns.filter(role=Turn.Role.INTERVIEWER).order_by("position"))


def _render_late(request: ProjectRequest, interview: Interview, late: CaseSheetForm) -> HttpResponse:
    """What was written meanwhile, above the form with what she entered: sent again, it is the next number."""
    latest, words = late.latest, str(late.non_field_errors()[0])
    shown = list(visible_sheets(get_viewer(request)).filter(interview=interview).order_by("-number"))
    if latest not in shown:
        messages.error(request, words)
        return _render(request, interview, latest, shown, None, status=409)
    form = CaseSheetForm(late.data, features=late.features, latest=latest, turns=_list_asked(interview))
    form.add_error(None, words)
    return _render(request, interview, latest, shown, form, status=409)


def _render(
    request: ProjectRequest,
    interview: Interview,
    latest: CaseSheet | None,
    shown: list[CaseSheet],
    form: CaseSheetForm | None,
    *,
    status: int | None = None,
) -> HttpResponse:
    viewer = get_viewer(request)
    is_shut = latest is not None and latest not in shown
    offers = is_shut and not interview.is_masked
    context: dict[str, Any] = {
        "interview": interview,
        "interview_key": str(interview.pk),
        "features": list_features(request.project),
        "current": next((sheet for sheet in shown if sheet == latest), None),
        "earlier": [sheet for sheet in shown if sheet != latest],
        "is_shut": is_shut,
        "form": form,
        "may_code": viewer.codes,
        "unblinding": offer_unblinding(request, [interview.pk], where="case sheet") if offers else None,
    }
    return render(request, "negotiation/case_sheet.html", context, status=status or (form.status if form else 200))
