"""Agreement of coders by code, and the units behind every count."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from transcripts.accounts.models import User
from transcripts.agreement import actions, report
from transcripts.agreement.forms import CELLS, ReasonForm, UnitsForm
from transcripts.agreement.queries import list_places, read_items
from transcripts.agreement.views.adjudication import Queue
from transcripts.agreement.views.visible import MeasuredReadings, Method, PageRequest, VisibleReadings
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.charts.figures import RowChart
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import name_narrowed, offer_table, send_report_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form

UNITS_PER_PAGE = 25
NOT_REFLEXIVE = (Method.RELIABILITY.value, Method.CODEBOOK.value)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_table(request: StudyRequest) -> HttpResponse:
    """Agreement on one family; of a family that uses reflexive thematic analysis, why there is none."""
    page_request = PageRequest(request.study, request.GET, prefer=NOT_REFLEXIVE, is_of_figures=True)
    return _render_table(request, page_request)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_so_far(request: StudyRequest) -> HttpResponse:
    """A part of the overview, loaded after the rest of it: agreement on the first family whose method measures it."""
    page_request = PageRequest(request.study, QueryDict(), prefer=NOT_REFLEXIVE, is_of_figures=True)
    context: dict[str, object] = {"page_request": page_request}
    if page_request.selection is not None and page_request.method != Method.REFLEXIVE:
        # What is left to adjudicate is of all models; figures are of one.
        selection, context["every_model"] = page_request.selection, page_request.query
        context["visible"] = visible = MeasuredReadings(get_viewer(request), page_request)
        if not visible.is_hidden:
            measured = report.measure(page_request.selection, visible.table, seed=page_request.form.chosen_seed)
            queue = Queue(request, selection, visible.every)
            context |= {
                "chart": _draw(request, page_request, measured, visible),
                "compared": queue.compared,
                "waiting": len(queue.places) - len(queue.decided),
            }
    return render(request, "agreement/_so_far.html", context)


@require_POST
@study_view(Permission.SET_METHOD)
def compute(request: StudyRequest) -> HttpResponse:
    """The figures of a family that uses reflexive thematic analysis: once, for a reason that is recorded."""
    page_request, form = PageRequest(request.study, request.POST, is_of_figures=True), ReasonForm(request.POST)
    if page_request.selection is None or not form.is_valid():
        return _render_table(request, page_request, reason_form=form, status=422)
    reason, visible = form.cleaned_data["reason"], MeasuredReadings(get_viewer(request), page_request)
    if visible.is_hidden:
        return _ask_to_unblind(request, page_request, visible)
    with at_form(form):
        actions.record_computation(
            study=request.study, family=page_request.selection.family, reason=reason, by=request.user
        )
        return _render_table(request, page_request, reason=reason, visible=visible)
    return _render_table(request, page_request, reason_form=form, status=422)


@require_POST
@study_view(Permission.SEE_ALL_CODINGS)
def download(request: StudyRequest) -> HttpResponse:
    """The table as a file, for families of which the page shows it."""
    page_request = PageRequest(request.study, request.POST, prefer=NOT_REFLEXIVE, is_of_figures=True)
    if page_request.selection is None or page_request.method == Method.REFLEXIVE:
        return _render_table(request, page_request, status=422)
    visible = MeasuredReadings(get_viewer(request), page_request)
    if visible.is_hidden:
        return _ask_to_unblind(request, page_request, visible)
    measured = report.measure(page_request.selection, visible.table, seed=page_request.form.chosen_seed)
    selection, hidden = page_request.selection, len(visible.blinded)
    basis = report.describe_basis(selection, visible.table, measured["agreement"], hidden=hidden)
    source = report.Measured(measured["rows"], basis)
    is_narrowed = selection.is_narrowed or hidden > 0
    return send_report_table(
        report.TABLE,
        source,
        request.POST.get("format", "csv"),
        "agreement.exported",
        stem=name_narrowed(
            f"{request.study.slug}-agreement-{selection.family.identifier}", basis, is_narrowed=is_narrowed
        ),
        study=request.study,
        target=f"family:{selection.family.identifier}",
        by=request.user,
        details={"rows": len(report.TABLE.list_rows(source)), **basis},
        caption=f"{report.TABLE.caption} {report.caption_basis(basis)}",
        label=f"agreement-{selection.family.identifier}",
    )


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def list_units(request: StudyRequest) -> HttpResponse:
    """The units behind a count: their words, and what each coder read in them."""
    page_request, form = PageRequest(request.study, request.GET, prefer=NOT_REFLEXIVE), UnitsForm(request.GET)
    if page_request.selection is None or not form.is_valid():
        return render(request, "agreement/units.html", {"page_request": page_request, "form": form}, status=422)
    visible = VisibleReadings(get_viewer(request), page_request.selection)
    wanted = form.cleaned_data
    page = Paginator(_find_places(visible, wanted), UNITS_PER_PAGE).get_page(request.GET.get("page"))
    names = {user.pk: user.username for user in User.objects.filter(pk__in=visible.table.coders)}
    family = page_request.selection.family
    context = {
        "page_request": page_request,
        "visible": visible,
        "page": page,
        "items": read_items(family, list_places(visible.table, page), viewer=request.user),
        "unblinding": offer_unblinding(request, visible.blinded, where="agreement"),
        "code": family.codes.filter(identifier=wanted["code"]).first(),
        "first": names.get(wanted["a"]),
        "second": names.get(wanted["b"]),
        "cell": dict(CELLS)[wanted["cell"]],
    }
    return render(request, "agreement/units.html", context)


def _find_places(visible: VisibleReadings, wanted: dict[str, object]) -> list[int]:
    from transcripts.agreement.reading import find_cell, find_shared

    code, a, b = str(wanted["code"]), wanted["a"], wanted["b"]
    if isinstance(a, int) and isinstance(b, int):
        return find_cell(visible.table, code, a, b, str(wanted["cell"]))
    return find_shared(visible.table, code)


def _draw(
    request: StudyRequest, page_request: PageRequest, measured: dict[str, Any], visible: MeasuredReadings
) -> RowChart:
    family = page_request.selection.family.name if page_request.selection else ""
    return report.draw_rows(
        measured["rows"],
        family=", ".join(filter(None, [family, visible.name_models()])),
        units=f"{reverse('agreement:units', args=[request.study.slug])}?{page_request.query}",
        coders=len(measured["agreement"].coders),
    )


def _ask_to_unblind(request: StudyRequest, page_request: PageRequest, visible: MeasuredReadings) -> HttpResponse:
    """No figures, for those of a table without a reading would say that nobody decided anything."""
    messages.error(request, "All these readings are hidden from you. Unblind the interviews first.")
    return _render_table(request, page_request, visible=visible, status=409)


def _render_table(
    request: StudyRequest,
    page_request: PageRequest,
    *,
    reason: str = "",
    visible: MeasuredReadings | None = None,
    reason_form: ReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    page: dict[str, object] = {
        "page_request": page_request,
        "reason": reason,
        "reason_form": reason_form or ReasonForm(),
        "computed_at": timezone.now(),
    }
    if page_request.selection is not None:
        page["is_reflexive"] = page_request.method == Method.REFLEXIVE
        if visible is None and page_request.method != Method.REFLEXIVE:
            visible = MeasuredReadings(get_viewer(request), page_request)
        page["visible"] = visible
        if visible is not None:
            table = f"{reverse('agreement:table', args=[request.study.slug])}?{page_request.query}"
            page["unblinding"] = offer_unblinding(request, visible.offered, where="agreement", back=table)
        if visible is not None and not visible.is_hidden:
            page["measured"] = measured = report.measure(
                page_request.selection, visible.table, seed=page_request.form.chosen_seed
            )
            page["chart"] = _draw(request, page_request, measured, visible)
            page["offered_tables"] = [offer_table(report.TABLE, "This table, with every pair")]
            page["table_files"] = reverse("agreement:download", args=[request.study.slug])
            page["query"] = page_request.fields
        page["chosen"] = request.GET.get("code", "")
    elif page_request.families:
        status = 422
    return render(request, "agreement/table.html", page, status=status)
