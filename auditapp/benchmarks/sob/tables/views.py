"""Pages of a study's tables: from a source's label to the group a text targets, and from a value to whom it stands for."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.benchmarks.sob.models import Dataset, MappingTable, TargetTable
from auditapp.benchmarks.sob.pure.loading.normalising import TargetLabels, load_published_targets
from auditapp.benchmarks.sob.pure.measures.mapping import (
    PUBLISHED,
    compare_rows,
    list_new_targets,
    name_mapping_source,
    order_rows,
    published_rows,
)
from auditapp.benchmarks.sob.tables.actions import find_target_table, read_labels, save_mapping, save_targets
from auditapp.benchmarks.sob.tables.forms import (
    MappingForm,
    MappingRowFormSet,
    TargetsForm,
    fill_in,
    list_typed_rows,
    read_pasted,
    read_rows,
    write_rows,
)
from auditapp.benchmarks.sob.tables.queries import find_missing_labels, find_rows, find_table, name_table
from transcripts.history.views import at_next
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_numbers

EMPTY_ROWS = 5
MAX_SHOWN = 200
# Four fields each, and a form of 2,000 fields is refused.
MAX_TYPED = 400
SOURCE_OF_PUBLISHED = "demographic_normalizing.csv, released with the paper (Appendix I)"


@require_safe
@study_view(Permission.VIEW)
def list_tables(request: StudyRequest) -> HttpResponse:
    """The published table, every version of the study's own, and what the datasets' labels lack."""
    tables = TargetTable.objects.filter(study=request.study).annotate(n_datasets=Count("datasets")).order_by("-number")
    newest = find_target_table(request.study)
    context = {
        "tables": tables,
        "newest": newest,
        "published": load_published_targets().rows,
        "source": SOURCE_OF_PUBLISHED,
        "dataset": _find_dataset(request),
        "datasets": Dataset.objects.filter(study=request.study),
        "missing": _list_missing(request, newest),
        "max_shown": MAX_SHOWN,
    }
    return render(request, "sob/targets.html", context)


def _find_dataset(request: StudyRequest) -> Dataset | None:
    chosen = find_numbers([request.GET.get("dataset", "")])
    return Dataset.objects.filter(study=request.study, pk__in=chosen).first()


def _list_missing(request: StudyRequest, table: TargetTable | None) -> list[object]:
    dataset = _find_dataset(request)
    return list(find_missing_labels(dataset, _read(table))) if dataset else []


def _read(table: TargetTable | None) -> TargetLabels:
    return read_labels(table) if table else load_published_targets()


@require_safe
@study_view(Permission.VIEW)
def show_table(request: StudyRequest, number: int) -> HttpResponse:
    """One version, row by row; ``?format=csv`` downloads it in the form that can be pasted."""
    table = _find_table(request.study, number)
    if request.GET.get("format") == "csv":
        response = HttpResponse(content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="targets-{table.number}.csv"'
        response.write(write_rows(table.rows))
        return response
    return render(request, "sob/target_table.html", {"table": table, "datasets": table.datasets.all()})


def _find_table(study: Study, number: int) -> TargetTable:
    try:
        table = find_target_table(study, number)
    except Refused as error:
        raise Http404(str(error)) from error
    assert table is not None  # noqa: S101 - a number is refused where there is none
    return table


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def edit_targets(request: StudyRequest) -> HttpResponse:
    """Write the next version: row by row, or pasted."""
    newest = find_target_table(request.study)
    if request.method != "POST":
        form = TargetsForm(initial={"based_on": newest.number if newest else 0})
        return _render_edit(request, form, _read(newest).rows, newest)
    form, typed = TargetsForm(request.POST), list_typed_rows(request.POST)
    if form.is_valid():
        pasted = form.cleaned_data.pop("pasted")
        with at_next(form, "pasted" if pasted else None):
            rows = read_pasted(pasted) if pasted else typed
            table = save_targets(study=request.study, rows=rows, **form.cleaned_data, by=request.user)
            messages.success(request, f"Target table {table.number} is saved. Datasets loaded from now on can use it.")
            return redirect("sob:target_table", request.study.slug, table.number)
    return _render_edit(request, form, typed, form.latest or newest)


def _render_edit(
    request: StudyRequest, form: TargetsForm, rows: list[dict[str, str]], newest: TargetTable | None
) -> HttpResponse:
    is_new = request.method != "POST"
    missing = _list_missing(request, newest) if is_new else []
    is_too_long = len(rows) > MAX_TYPED
    if is_too_long and is_new:
        form = TargetsForm(initial={**form.initial, "pasted": write_rows(rows)})
    context = {
        "form": form,
        "rows": rows,
        "is_too_long": is_too_long,
        "max_typed": MAX_TYPED,
        "missing": missing[: max(MAX_TYPED - len(rows), 0)],
        "empty": range(EMPTY_ROWS),
        "newest": newest,
    }
    return render(request, "sob/target_edit.html", context, status=form.status)


@require_safe
@study_view(Permission.VIEW)
def list_mappings(request: StudyRequest) -> HttpResponse:
    """Every mapping of the study with its reason and what it changed, newest first."""
    context = {"mappings": _list_versions(request.study), "source": name_mapping_source()}
    return render(request, "sob/mappings.html", context)


@require_safe
@study_view(Permission.VIEW)
def show_mapping(request: StudyRequest, mapping: str) -> HttpResponse:
    """One mapping, "published" or a table by its number: what figures counted by it can be checked against."""
    wanted = mapping if mapping == PUBLISHED else f"table {mapping}"
    found = [version for version in _list_versions(request.study) if version["name"] == wanted]
    if not found:
        raise Http404("There is no such mapping in this study.")
    context = {"mappings": found, "source": name_mapping_source(), "only": found[0]}
    return render(request, "sob/mappings.html", context)


def _list_versions(study: Study) -> list[dict[str, Any]]:
    """Every mapping with what it changes in the one before, newest first; ``table`` is ``None`` for the published one."""
    tables = MappingTable.objects.filter(study=study).order_by("number")
    named = [(None, PUBLISHED, published_rows())]
    named += [(table, name_table(table.number), order_rows(table.rows)) for table in tables]  # type: ignore[misc]
    versions = []
    before = published_rows()
    for table, name, rows in named:
        version = {
            "table": table,
            "name": name,
            "is_in_force": name == named[-1][1],
            "rows": rows,
            "rows_in": list_new_targets(before, rows),
            "rows_out": list_new_targets(rows, before),
            "differences": compare_rows(before, rows),
        }
        versions.append(version)
        before = rows
    return versions[::-1]


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.EDIT_CODEBOOK)
def edit_mapping(request: StudyRequest) -> HttpResponse:
    """Make the study's next mapping from the one in force.

    The mapping is a definition like those of the codebook, so the same permission is needed to edit it.
    """
    newest = find_table(request.study)
    typed = request.POST if request.method == "POST" else None
    form = MappingForm(typed, initial={"based_on": newest.number if newest else 0})
    rows = MappingRowFormSet(typed, initial=fill_in(find_rows(request.study)), prefix="row")
    if all([form.is_valid(), rows.is_valid()]):
        with at_next(form):
            table, warnings = save_mapping(
                study=request.study, rows=read_rows(rows), **form.cleaned_data, by=request.user
            )
            for warning in warnings:
                messages.warning(request, warning)
            messages.success(request, _describe_saved(table))
            return redirect("sob:mappings", request.study.slug)
    elif rows.total_error_count():
        form.add_error(None, "Some rows are invalid; the errors are shown next to them.")
    context = {"form": form, "rows": rows, "newest": form.latest or newest}
    return render(request, "sob/mapping_edit.html", context, status=form.status)


def _describe_saved(table: MappingTable) -> str:
    before = name_table(table.number - 1) if table.number > 1 else f"the {PUBLISHED} mapping"
    return (
        f"Mapping table {table.number} is in force. All batches are recounted with it, including finished ones. "
        f"The social map of a batch can still be asked for by {before}, and so can `sob report --mapping`."
    )
