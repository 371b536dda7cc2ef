"""How accurate an annotator is, code by code, compared with blind human labels; and the sentences behind every count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from auditapp.annotators.actions.annotators import record_calibration
from auditapp.annotators.forms import FamilyReasonForm
from auditapp.annotators.queries.prompt_codebook import name_side
from auditapp.annotators.views import count_moved_seen
from auditapp.evaluation.forms import CellForm, ThresholdForm
from auditapp.evaluation.queries.calibration_rows import ANSWERS, CALIBRATION, CodeRow, Source, caption_calibration
from auditapp.evaluation.queries.compared_items import read_compared_items
from auditapp.evaluation.views.charts import draw_calibration
from auditapp.evaluation.views.comparing import Asked, compare, offer_compared, read_asked
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.formats.report_tables import ReportTable
from transcripts.refusals import Refused
from transcripts.statistics.figures import FEW
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.downloads import offer_table, send_report_table
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form

if TYPE_CHECKING:
    from auditapp.evaluation.queries.calibration import Compared

ITEMS_PER_PAGE = 25


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_calibration(request: ProjectRequest) -> HttpResponse:
    """Every figure of one annotator; of families that are read reflexively, why there is none."""
    return _render(request, read_asked(request.project, request.GET))


@require_POST
@project_view(Permission.SET_METHOD)
def compute(request: ProjectRequest) -> HttpResponse:
    """The figures of a family that is read reflexively: once, for a reason that is kept."""
    asked, form = read_asked(request.project, request.POST), FamilyReasonForm(request.POST)
    if asked.annotator is None or not form.is_valid():
        return _render(request, asked, reason_form=form, status=422)
    compared = compare(get_viewer(request), asked.annotator, **asked.scope)
    if compared.is_hidden:
        return _ask_to_unblind(request, asked, compared)
    family, reason = form.cleaned_data["family"], form.cleaned_data["reason"]
    with at_form(form):
        if family not in {each.family for each in compared.codes}:
            raise Refused("The annotator has no labels for this family here.")
        record_calibration(
            project=request.project, annotator=asked.annotator, family=family, reason=reason, by=request.user
        )
        return _render(request, asked, compared=compared, shown_for=(family, reason))
    return _render(request, asked, reason_form=form, status=422)


@require_POST
@project_view(Permission.SEE_ALL_CODINGS)
def download(request: ProjectRequest) -> HttpResponse:
    """The figures the page shows, as a file: those of codes, or (``table``) the answers to their own questions."""
    asked = read_asked(request.project, request.POST)
    if asked.annotator is None:
        return _render(request, asked, status=422)
    compared = compare(get_viewer(request), asked.annotator, **asked.scope)
    if compared.is_hidden:
        return _ask_to_unblind(request, asked, compared)
    measured = measure(asked, compared)
    source = Source(compared, *(measured[name] for name in ("rows", "tables", "seed", "resamples")))
    table = {"": CALIBRATION, "answers": ANSWERS}.get(request.GET.get("table", ""))
    if table is None:
        raise Http404("No such table.")
    return send_table(request, table, source, caption=caption_calibration(compared) if table is CALIBRATION else "")


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def list_cell(request: ProjectRequest) -> HttpResponse:
    """The sentences behind a count: who applied the code and what the machine said."""
    from auditapp.evaluation.queries.calibration import find_listable
    from auditapp.evaluation.queries.calibration import list_cell as find_cell

    asked, form = read_asked(request.project, request.GET), CellForm(request.GET)
    page: dict[str, object] = {"asked": asked, "form": form}
    if asked.annotator is None or not form.is_valid():
        return render(request, "evaluation/calibration_cell.html", page, status=422)
    compared = compare(get_viewer(request), asked.annotator, **asked.scope)
    code, cell = form.cleaned_data["code"], form.cleaned_data["cell"]
    found = compared.find(code)
    places = find_cell(compared, code, cell)
    may_code = Permission.CODE in request.role.permissions
    listable = find_listable(compared, request.user.pk, may_code=may_code).get(code)
    listed = places if listable is None else places[listable[places]]
    wanted = Paginator(listed.tolist(), ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    page |= {
        "compared": compared,
        "unblinding": offer_unblinding(request, compared.interviews, where="calibration"),
        "code": found,
        "cell": dict(form.fields["cell"].choices)[cell],  # type: ignore[attr-defined]
        "page": wanted,
        "not_listed": len(places) - len(listed),
        "items": read_compared_items(compared, [(place, found) for place in wanted], viewer=request.user)
        if found
        else [],
    }
    return render(request, "evaluation/calibration_cell.html", page)


def measure(
    asked: Asked, compared: Compared, *, shown: Sequence[str] = (), resamples: int | None = None
) -> dict[str, Any]:
    """The figures of every family that is not coded reflexively, and of those in ``shown``: all ``rows``, and by family in
    ``tables``, whose rows are None where the family is reflexive; with the draws of turns for intervals."""
    from auditapp.evaluation.pure.calibrating import USUAL_RESAMPLES, calibrate
    from auditapp.evaluation.queries.answer_tables import read_answer_tables

    codes = [each for each in compared.codes if each.family in shown or not asked.is_reflexive(each.family)]
    drawn = {"seed": asked.form.chosen_seed, "resamples": USUAL_RESAMPLES if resamples is None else resamples}
    found, n_clusters = calibrate([each.labels for each in codes], compared.turn_ids, **drawn)
    rows: dict[str, list[CodeRow]] = {}
    for each, figures in zip(codes, found, strict=True):
        changed = (f"means something else since codebook v{each.changed_in}",) if each.changed_in else ()
        row = CodeRow(each.code, each.family, figures, each.set_aside, (*figures["warnings"], *changed))
        rows.setdefault(each.family, []).append(row)
    families = dict.fromkeys(each.family for each in compared.codes)
    sides = {each.family: name_side(each.code.family) for each in compared.codes}
    questions = {family: read_answer_tables(compared, family) for family in rows}
    n_labels, n_units = compared.count_labels()
    return {
        "tables": [
            {
                "identifier": family,
                "name": asked.name_family(family),
                "rows": rows.get(family),
                "questions": questions.get(family, []),
                "unit": "turn" if sides[family] else "sentence",
                "turns_of": sides[family],
            }
            for family in families
        ],
        "rows": [row for family in families for row in rows.get(family, ())],
        "n_clusters": n_clusters,
        "n_labels": n_labels,
        "n_units": n_units,
        "has_answers": any(question.table.n for family in rows for question in questions.get(family, ())),
        **drawn,
    }


def send_table(request: ProjectRequest, table: ReportTable[Any], source: object, *, caption: str = "") -> HttpResponse:
    """A table in the format that was asked for; kept on record."""
    return send_report_table(
        table,
        source,
        request.POST.get("format", "csv"),
        f"preannotation.{table.name}.exported",
        stem=f"{request.project.slug}-{table.name}",
        project=request.project,
        target=f"project:{request.project.pk}",
        by=request.user,
        details={"rows": len(table.list_rows(source))},
        caption=caption,
    )


def _offer_files(request: ProjectRequest, *, has_answers: bool) -> list[dict[str, object]]:
    answers = f"{reverse('evaluation:calibration_file', args=[request.project.slug])}?table=answers"
    offered = [offer_table(CALIBRATION, "These figures")]
    return (
        [*offered, offer_table(ANSWERS, "Answers to the codes’ own questions", lambda _: answers)]
        if has_answers
        else offered
    )


def _ask_to_unblind(request: ProjectRequest, asked: Asked, compared: Compared) -> HttpResponse:
    messages.error(request, "Everything that is compared here is hidden from you. Unblind it first.")
    return _render(request, asked, compared=compared, status=409)


def _render(
    request: ProjectRequest,
    asked: Asked,
    *,
    compared: Compared | None = None,
    shown_for: tuple[str, str] = ("", ""),
    reason_form: FamilyReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    family, reason = shown_for
    page: dict[str, object] = {
        "asked": asked,
        "reason": reason,
        "reason_form": reason_form or FamilyReasonForm(),
        "computed_at": timezone.now(),
        "threshold": ThresholdForm({}).chosen,
        "few": FEW,
    }
    if asked.annotator is not None:
        compared = compared or compare(get_viewer(request), asked.annotator, **asked.scope)
        page["compared"] = compared
        page["unblinding"] = offer_compared(request, asked, compared.interviews, "calibration")
        if not compared.is_hidden:
            measured = measure(asked, compared, shown=[family] if family else ())
            for table in measured["tables"]:
                if table["rows"]:
                    table["chart"] = draw_calibration(
                        table["identifier"], table["name"], table["rows"], threshold=ThresholdForm({}).chosen
                    )
            page["measured"] = measured
            page["offered_tables"] = _offer_files(request, has_answers=measured["has_answers"])
            page["table_files"] = reverse("evaluation:calibration_file", args=[request.project.slug])
            page["query"] = asked.fields
            page |= count_moved_seen(request, asked.annotator)
            page["scarce"] = [row for row in measured["rows"] if row.is_scarce]
            page["weak"] = [row for row in measured["rows"] if row.is_below(ThresholdForm({}).chosen)]
    elif asked.annotators:
        status = 422
    return render(request, "evaluation/calibration.html", page, status=status)
