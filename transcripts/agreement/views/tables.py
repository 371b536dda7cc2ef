"""Agreement of coders by code, and the units behind every count."""

from __future__ import annotations

import hashlib
import io
from typing import NamedTuple

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from transcripts.accounts.models import User
from transcripts.agreement import actions, report
from transcripts.agreement.figures import Agreement
from transcripts.agreement.forms import CELLS, ReasonForm, UnitsForm
from transcripts.agreement.items import list_places, read_items
from transcripts.agreement.selection import Selection
from transcripts.agreement.views.visible import Asked, Stance, VisibleReadings, read_asked, read_visible
from transcripts.blinding.views import offer_unblinding
from transcripts.formats.tabular import write_csv
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

UNITS_PER_PAGE = 25
NOT_REFLEXIVE = (Stance.RELIABILITY.value, Stance.CODEBOOK.value)


class Measured(NamedTuple):
    """Agreement as it was computed, and on what."""

    agreement: Agreement
    rows: list[report.CodeRow]
    coders: dict[str, int]

    @property
    def is_of_two(self) -> bool:
        return len(self.agreement.coders) == 2

    @property
    def first(self) -> int:
        """The number of the first coder."""
        return self.coders[self.agreement.coders[0]]

    @property
    def second(self) -> int:
        """The number of the second coder."""
        return self.coders[self.agreement.coders[1]]

    @property
    def of_few(self) -> int:
        """How many codes rest on so few units that they are marked."""
        return sum(row.is_of_few for row in self.rows)

    @property
    def sets(self) -> list[tuple[str, object]]:
        return [(words, getattr(self.agreement, name)) for name, words in report.SETS.items()]


@require_safe
@never_cache
@project_view(Permission.SEE_ALL_CODINGS)
def show_table(request: ProjectRequest) -> HttpResponse:
    """Agreement on one family; of a family that is read reflexively, why there is none."""
    asked = read_asked(request, request.GET, prefer=NOT_REFLEXIVE)
    return _render_table(request, asked)


@require_POST
@project_view(Permission.SET_METHOD)
def compute(request: ProjectRequest) -> HttpResponse:
    """The figures of a family that is read reflexively: once, for a reason that is kept."""
    asked, form = read_asked(request, request.POST), ReasonForm(request.POST)
    if asked.selection is None or not form.is_valid():
        return _render_table(request, asked, reason_form=form, status=422)
    reason, visible = form.cleaned_data["reason"], read_visible(request, asked.selection)
    if visible.is_hidden:
        return _ask_to_unblind(request, asked, visible)
    try:
        actions.record_computation(
            project=request.project, family=asked.selection.family, reason=reason, by=request.user
        )
    except actions.WrongInput as error:
        form.add_error(error.field, str(error))
        return _render_table(request, asked, reason_form=form, status=422)
    return _render_table(request, asked, reason=reason, visible=visible)


@require_POST
@project_view(Permission.SEE_ALL_CODINGS)
def download(request: ProjectRequest) -> HttpResponse:
    """The table as a file, for families of which the page shows it."""
    asked = read_asked(request, request.POST, prefer=NOT_REFLEXIVE)
    if asked.selection is None or asked.stance == Stance.REFLEXIVE:
        return _render_table(request, asked, status=422)
    visible = read_visible(request, asked.selection)
    if visible.is_hidden:
        return _ask_to_unblind(request, asked, visible)
    measured = _measure(asked, asked.selection, visible)
    stream = io.StringIO()
    rows = write_csv(report.list_file_rows(measured.rows), header=report.HEADER, stream=stream)
    data = stream.getvalue().encode()
    digest = hashlib.sha256(data).hexdigest()
    family = asked.selection.family
    actions.record_download(project=request.project, family=family, sha256=digest, rows=rows, by=request.user)
    response = HttpResponse(data, content_type="text/csv; charset=utf-8")
    name = f"{request.project.slug}-agreement-{family.identifier}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-SHA256"] = digest
    return response


@require_safe
@never_cache
@project_view(Permission.SEE_ALL_CODINGS)
def list_units(request: ProjectRequest) -> HttpResponse:
    """The units behind a count: their words, and what each coder read in them."""
    asked, form = read_asked(request, request.GET, prefer=NOT_REFLEXIVE), UnitsForm(request.GET)
    if asked.selection is None or not form.is_valid():
        return render(request, "agreement/units.html", {"asked": asked, "form": form}, status=422)
    visible = read_visible(request, asked.selection)
    wanted = form.cleaned_data
    page = Paginator(_find_places(visible, wanted), UNITS_PER_PAGE).get_page(request.GET.get("page"))
    names = {user.pk: user.username for user in User.objects.filter(pk__in=visible.table.coders)}
    family = asked.selection.family
    context = {
        "asked": asked,
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


def _measure(asked: Asked, selection: Selection, visible: VisibleReadings) -> Measured:
    from transcripts.agreement.measuring import measure_agreement
    from transcripts.agreement.reading import count_uses, make_label_table

    names = {user.pk: user.username for user in User.objects.filter(pk__in=visible.table.coders)}
    agreement = measure_agreement(make_label_table(visible.table, names), seed=asked.form.chosen_seed)
    codes = list(selection.family.codes.order_by("position"))
    coders = {name: pk for pk, name in names.items()}
    rows = report.list_rows(agreement, codes, uses=count_uses(visible.table), coders=coders)
    return Measured(agreement, rows, coders)


def _ask_to_unblind(request: ProjectRequest, asked: Asked, visible: VisibleReadings) -> HttpResponse:
    """No figures, for those of a table without a reading would say that nobody decided anything."""
    messages.error(request, "All readings asked for are hidden from you: unblind the interviews first.")
    return _render_table(request, asked, visible=visible, status=409)


def _render_table(
    request: ProjectRequest,
    asked: Asked,
    *,
    reason: str = "",
    visible: VisibleReadings | None = None,
    reason_form: ReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    page: dict[str, object] = {
        "asked": asked,
        "reason": reason,
        "reason_form": reason_form or ReasonForm(),
        "computed_at": timezone.now(),
        "few_units": report.FEW_UNITS,
    }
    if asked.selection is not None:
        page["is_reflexive"] = asked.stance == Stance.REFLEXIVE
        if visible is None and asked.stance != Stance.REFLEXIVE:
            visible = read_visible(request, asked.selection)
        page["visible"] = visible
        if visible is not None:
            table = f"{reverse('agreement:table', args=[request.project.slug])}?{asked.query}"
            page["unblinding"] = offer_unblinding(request, visible.blinded, where="agreement", back=table)
        if visible is not None and not visible.is_hidden:
            page["measured"] = _measure(asked, asked.selection, visible)
        page["chosen"] = request.GET.get("code", "")
    elif asked.families:
        status = 422
    return render(request, "agreement/table.html", page, status=status)
