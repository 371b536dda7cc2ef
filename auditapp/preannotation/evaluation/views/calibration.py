"""How far an annotator is to be believed, code by code, on blind labels; and the sentences behind every count."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from typing import NamedTuple

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from auditapp.preannotation.annotators.actions.reflexive import record_calibration, record_download
from auditapp.preannotation.annotators.forms.reflexive import FamilyReasonForm
from auditapp.preannotation.annotators.views.opened import tell_cut_anew
from auditapp.preannotation.errors import PreannotationError
from auditapp.preannotation.evaluation.forms.calibration import CellForm, FormatForm, OpeningForm, ThresholdForm
from auditapp.preannotation.evaluation.pure.figures import FEW_POSITIVES
from auditapp.preannotation.evaluation.queries.calibration_rows import HEADER, CodeRow, Drawn, list_records
from auditapp.preannotation.evaluation.queries.compared_items import read_compared_items
from auditapp.preannotation.evaluation.views.calibration_sight import Asked, Sight, look, make_scope, read_asked
from transcripts.formats.tabular import write_csv
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

ITEMS_PER_PAGE = 25


class FamilyTable(NamedTuple):
    """A family of the page. ``rows`` is None where it is read reflexively and nobody gave a reason."""

    identifier: str
    name: str
    rows: list[CodeRow] | None


class Measured(NamedTuple):
    """The tables, and the turns that were drawn for intervals."""

    tables: list[FamilyTable]
    drawn: Drawn
    n_clusters: int
    n_labels: int
    n_units: int

    @property
    def rows(self) -> list[CodeRow]:
        return [row for table in self.tables for row in table.rows or ()]

    @property
    def hidden(self) -> list[FamilyTable]:
        return [table for table in self.tables if table.rows is None]


@require_safe
@never_cache
@project_view(Permission.SEE_ALL_CODINGS)
def show_calibration(request: ProjectRequest) -> HttpResponse:
    """Every figure of one annotator; of families that are read reflexively, why there is none."""
    return _render(request, read_asked(request, request.GET))


@require_POST
@project_view(Permission.SET_METHOD)
def compute(request: ProjectRequest) -> HttpResponse:
    """The figures of a family that is read reflexively: once, for a reason that is kept."""
    asked, form = read_asked(request, request.POST), FamilyReasonForm(request.POST)
    if asked.annotator is None or not form.is_valid():
        return _render(request, asked, reason_form=form, status=422)
    sight = look(request, make_scope(asked, asked.annotator))
    if sight.is_closed:
        return _ask_to_open(request, asked, sight)
    family, reason = form.cleaned_data["family"], form.cleaned_data["reason"]
    try:
        if family not in {each.family for each in sight.compared.codes}:
            raise PreannotationError("The annotator read for no such family here.")
        record_calibration(
            project=request.project, annotator=asked.annotator, family=family, reason=reason, by=request.user
        )
    except PreannotationError as error:
        form.add_error("reason", str(error))
        return _render(request, asked, reason_form=form, status=422)
    return _render(request, asked, sight=sight, shown_for=(family, reason))


@require_POST
@project_view(Permission.SEE_ALL_CODINGS)
def download(request: ProjectRequest) -> HttpResponse:
    """The figures the page shows, as a file."""
    asked, form = read_asked(request, request.POST), FormatForm(request.POST)
    if asked.annotator is None or not form.is_valid():
        return _render(request, asked, status=422)
    scope = make_scope(asked, asked.annotator)
    sight = look(request, scope)
    if sight.is_closed:
        return _ask_to_open(request, asked, sight)
    measured = measure(asked, sight)
    records = list(list_records(measured.rows, scope, measured.drawn))
    return send_table(request, "calibration", HEADER, records, form.cleaned_data["format"])


@require_safe
@never_cache
@project_view(Permission.SEE_ALL_CODINGS)
def list_cell(request: ProjectRequest) -> HttpResponse:
    """The sentences behind a count, each masked until it is opened: who put the code and what the machine said."""
    from auditapp.preannotation.evaluation.queries.calibration import find_listable
    from auditapp.preannotation.evaluation.queries.calibration import list_cell as find_cell

    asked, form = read_asked(request, request.GET), CellForm(request.GET)
    page: dict[str, object] = {"asked": asked, "form": form}
    if asked.annotator is None or not form.is_valid():
        return render(request, "preannotation/calibration_cell.html", page, status=422)
    sight = look(request, make_scope(asked, asked.annotator))
    code, cell = form.cleaned_data["code"], form.cleaned_data["cell"]
    found = sight.compared.find(code)
    places = find_cell(sight.compared, code, cell)
    may_code = Permission.CODE in request.role.permissions
    listable = find_listable(sight.compared, request.user.pk, may_code=may_code).get(code)
    listed = places if listable is None else places[listable[places]]
    wanted = Paginator(listed.tolist(), ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    page |= {
        "sight": sight,
        "opening": OpeningForm(initial={"where": "calibration"}),
        "code": found,
        "cell": dict(form.fields["cell"].choices)[cell],  # type: ignore[attr-defined]
        "page": wanted,
        "not_listed": len(places) - len(listed),
        "items": read_compared_items(sight.compared, [(place, found) for place in wanted], viewer=request.user)
        if found
        else [],
    }
    return render(request, "preannotation/calibration_cell.html", page)


def measure(asked: Asked, sight: Sight, *, shown: Sequence[str] = (), resamples: int | None = None) -> Measured:
    """The figures of every family that is not read reflexively, and of those in ``shown``."""
    from auditapp.preannotation.evaluation.pure.calibrating import USUAL_RESAMPLES, calibrate

    compared = sight.compared
    codes = [each for each in compared.codes if each.family in shown or not asked.is_reflexive(each.family)]
    drawn = Drawn(asked.form.chosen_seed, USUAL_RESAMPLES if resamples is None else resamples)
    found = calibrate([each.labels for each in codes], compared.turn_ids, seed=drawn.seed, resamples=drawn.resamples)
    rows: dict[str, list[CodeRow]] = {}
    for each, figures in zip(codes, found.codes, strict=True):
        changed = (f"means something else since codebook v{each.changed_in}",) if each.changed_in else ()
        row = CodeRow(each.code, each.family, figures, each.set_aside, (*figures.warnings, *changed))
        rows.setdefault(each.family, []).append(row)
    families = dict.fromkeys(each.family for each in compared.codes)
    tables = [FamilyTable(family, asked.name_family(family), rows.get(family)) for family in families]
    return Measured(tables, drawn, found.n_clusters, *compared.count_labels())


def send_table(
    request: ProjectRequest, what: str, header: Sequence[str], records: Sequence[dict[str, object]], form: str
) -> HttpResponse:
    """A table as CSV or JSON, kept on record."""
    if form == "json":
        data = json.dumps({"rows": records}, allow_nan=False, ensure_ascii=False).encode()
    else:
        stream = io.StringIO()
        write_csv((list(record.values()) for record in records), header=list(header), stream=stream)
        data = stream.getvalue().encode()
    digest = hashlib.sha256(data).hexdigest()
    record_download(project=request.project, what=what, form=form, sha256=digest, rows=len(records), by=request.user)
    kinds = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
    response = HttpResponse(data, content_type=kinds[form])
    response["Content-Disposition"] = f'attachment; filename="{request.project.slug}-{what}.{form}"'
    response["X-Content-SHA256"] = digest
    return response


def _ask_to_open(request: ProjectRequest, asked: Asked, sight: Sight) -> HttpResponse:
    messages.error(request, "All that is compared here is closed to you: open it first.")
    return _render(request, asked, sight=sight, status=409)


def _render(
    request: ProjectRequest,
    asked: Asked,
    *,
    sight: Sight | None = None,
    shown_for: tuple[str, str] = ("", ""),
    reason_form: FamilyReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    family, reason = shown_for
    page: dict[str, object] = {
        "asked": asked,
        "reason": reason,
        "reason_form": reason_form or FamilyReasonForm(),
        "opening": OpeningForm(initial={"where": "calibration"}),
        "computed_at": timezone.now(),
        "threshold": ThresholdForm({}).chosen,
        "few_positives": FEW_POSITIVES,
    }
    if asked.annotator is not None:
        sight = sight or look(request, make_scope(asked, asked.annotator))
        page["sight"] = sight
        if not sight.is_closed:
            measured = measure(asked, sight, shown=[family] if family else ())
            page["measured"] = measured
            page |= tell_cut_anew(request, asked.annotator)
            page["scarce"] = [row for row in measured.rows if row.is_scarce]
            page["weak"] = [row for row in measured.rows if row.is_below(ThresholdForm({}).chosen)]
    elif asked.annotators:
        status = 422
    return render(request, "preannotation/calibration.html", page, status=status)
