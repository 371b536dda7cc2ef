"""Pages of the texts and of a study's tables: which group a source's label targets, and which group a value represents. Texts are
masked until the reader reveals them, one by one; no address or title contains any of them.

A file is loaded after a preview. Nothing is kept between the two steps: with htmx the file stays chosen, without it the person
chooses the file again, and a file that is not the previewed one is refused.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count
from django.forms import BaseForm
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.benchmarks.sob import queries as dataset_queries
from auditapp.benchmarks.sob.models import Dataset, MappingTable, TargetTable
from auditapp.benchmarks.sob.pure import dataset_sources
from auditapp.benchmarks.sob.pure.attributions import (
    PUBLISHED,
    compare_rows,
    list_new_targets,
    name_mapping_source,
    order_rows,
    published_mapping_rows,
)
from auditapp.benchmarks.sob.pure.dataset_files import MAX_FILE_BYTES
from auditapp.benchmarks.sob.pure.dataset_sources import PREPARED_FORMAT, Preview
from auditapp.benchmarks.sob.pure.dataset_texts import (
    DEFAULT_SEED,
    SampleError,
    TargetLabels,
    load_published_targets,
    make_labels,
)
from auditapp.benchmarks.sob.queries import (
    find_missing_labels,
    find_rows,
    find_table,
    find_target_table,
    name_table,
    read_notes,
    rows_are_places,
    tabulate_texts,
)
from auditapp.benchmarks.sob.texts.actions.derived import (
    combine_datasets,
    plan_combination,
    retarget_dataset,
    sample_dataset,
)
from auditapp.benchmarks.sob.texts.actions.loading import TEXTS, describe_dataset, load_dataset, read_record
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping, save_targets
from auditapp.benchmarks.sob.texts.forms import (
    COLUMN,
    CombineForm,
    FileForm,
    LoadForm,
    MappingForm,
    MappingRowFormSet,
    RecordForm,
    RetargetForm,
    SampleForm,
    TargetsForm,
    fill_in,
    fill_in_rows,
    list_typed_rows,
    read_pasted,
    read_provenance,
    read_rows,
    write_rows,
)
from transcripts.formats.problems import ReadError
from transcripts.history.views import at_next
from transcripts.jobs.actions import start_job
from transcripts.jobs.runs import list_recent_jobs
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui.forms import ChangedMeanwhile, at_form, takes_uploads
from transcripts.ui.typed_text import find_number, find_numbers

PER_PAGE = 25
CHECK = "check"
ANOTHER_FILE = "This is not the file of the preview. Preview it first, then load it."


@require_safe
@study_view(Permission.VIEW)
def list_datasets(request: StudyRequest) -> HttpResponse:
    """All datasets with their counts."""
    lines = dataset_queries.list_datasets(request.study)
    can_combine = len(lines) > 1 and Permission.IMPORT in request.role.permissions
    return render(request, "sob/datasets.html", {"lines": lines, "can_combine": can_combine})


@require_safe
@study_view(Permission.VIEW)
def show_dataset(request: StudyRequest, dataset_id: int) -> HttpResponse:
    """Where the texts of a dataset come from, how they were chosen, how many there are of each target, and the masked texts."""
    dataset = _get_dataset(request, dataset_id)
    chosen = {name: _read_choice(request, name) for name in ("target", "source")}
    counts = dataset_queries.count_texts(dataset)
    texts = dataset_queries.find_texts(dataset, **chosen)
    row = _read_row(request)
    # If the address names a row, its page follows from the number of texts before it.
    number = texts.filter(position__lt=row).count() // PER_PAGE + 1 if row else request.GET.get("page")
    context = {
        "dataset": dataset,
        "notes": read_notes(dataset),
        "rows_are_places": rows_are_places(dataset),
        "row": row,
        "counts": counts,
        "sampling": dataset.sampling,
        "batches": dataset_queries.list_batches(dataset),
        "samples": dataset.samples.all(),
        "chosen": chosen,
        "page": Paginator(texts, PER_PAGE).get_page(number),
    }
    return render(request, "sob/dataset.html", context)


def _read_row(request: StudyRequest) -> int | None:
    """The row that the address names; ``None`` if it is not the number of a row, or if the address names a page."""
    return None if "page" in request.GET else find_number(request.GET.get("row", ""))


def _get_dataset(request: StudyRequest, dataset_id: int) -> Dataset:
    found = Dataset.objects.select_related("study", "target_table", "drawn_from")
    return get_object_or_404(found, study=request.study, pk=dataset_id)


def _read_choice(request: StudyRequest, name: str) -> str | None:
    """The value to which this parameter narrows the texts; ``None`` if it is not given. A lone hyphen means the empty value."""
    value = request.GET.get(name, "").replace("\x00", "")
    return {"": None, "-": ""}.get(value, value)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def draw_sample(request: StudyRequest, dataset_id: int) -> HttpResponse:
    """Draw a sample of a dataset's texts as a new dataset that records how it was drawn."""
    dataset = _get_dataset(request, dataset_id)
    form = SampleForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with at_form(form):
            sample = sample_dataset(dataset=dataset, **form.cleaned_data, by=request.user)
            texts = f"{form.cleaned_data['size']:,} of the texts of {dataset.name}"
            messages.success(request, f"{sample.name} is drawn: {texts}.")
            return redirect("sob:dataset", request.study.slug, sample.pk)
    return _render_form(request, "sample", dataset, form, texts=dataset.texts.count())


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def retarget(request: StudyRequest, dataset_id: int) -> HttpResponse:
    """The same texts with targets from another table, as a new dataset."""
    dataset = _get_dataset(request, dataset_id)
    numbers = TargetTable.objects.filter(study=request.study).values_list("number", flat=True)
    form = RetargetForm(request.POST if request.method == "POST" else None, numbers=list(numbers))
    if form.is_valid():
        with at_form(form):
            table = find_target_table(request.study, number) if (number := form.cleaned_data["targets"]) else None
            made = retarget_dataset(
                dataset=dataset, name=form.cleaned_data["name"], target_table=table, by=request.user
            )
            messages.success(request, f"{made.name} has the texts of {dataset.name} with other targets.")
            return redirect("sob:dataset", request.study.slug, made.pk)
    return _render_form(request, "retarget", dataset, form)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def describe(request: StudyRequest, dataset_id: int) -> HttpResponse:
    """Record where the texts come from and under which terms."""
    dataset = _get_dataset(request, dataset_id)
    form = RecordForm(request.POST if request.method == "POST" else None, stored=read_record(dataset))
    if form.is_valid():
        try:
            with at_form(form):
                seen, provenance = form.cleaned_data["seen"], read_provenance(form)
                describe_dataset(dataset=dataset, provenance=provenance, by=request.user, seen=seen)
                messages.success(request, "The record is saved. The texts did not change.")
                return redirect("sob:dataset", request.study.slug, dataset.pk)
        except ChangedMeanwhile as error:
            return _render_form(request, "describe", dataset, form.rebase(error.stored), status=409)
    return _render_form(request, "describe", dataset, form)


def _render_form(
    request: StudyRequest, name: str, dataset: Dataset, form: BaseForm, *, status: int = 422, **more: object
) -> HttpResponse:
    context = {"form": form, "dataset": dataset, **more}
    return render(request, f"sob/{name}.html", context, status=status if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def combine(request: StudyRequest) -> HttpResponse:
    """Combine several datasets; ``?sets=`` ticks some of them, and the page says what would be kept and left out."""
    is_look = request.POST.get("step") == "check"
    form = CombineForm(
        request.POST if request.method == "POST" else None, initial={"sets": _find_ticked(request)}, study=request.study
    )
    form.fields["name"].required = not is_look
    if form.is_valid() and not is_look:
        with at_form(form):
            chosen = list(form.cleaned_data["sets"])
            made = combine_datasets(datasets=chosen, name=form.cleaned_data["name"], by=request.user)
            counts = f"{made.sampling['kept']:,} texts, of {made.sampling['read']:,}"
            messages.success(request, f"{made.name} has {counts} in {len(chosen)} datasets.")
            return redirect("sob:dataset", request.study.slug, made.pk)
    return _show(request, form, list(form.cleaned_data.get("sets", ()) if form.is_bound else form.initial["sets"]))


def _find_ticked(request: StudyRequest) -> list[Dataset]:
    return list(Dataset.objects.filter(study=request.study, pk__in=find_numbers(request.GET.getlist("sets"))))


def _show(request: StudyRequest, form: CombineForm, chosen: list[Dataset]) -> HttpResponse:
    context: dict[str, object] = {"form": form}
    if chosen:
        try:
            rows, statement, warnings = plan_combination(chosen)
        except Refused as error:
            context["refusal"] = "" if form.errors else str(error)
        else:
            counts = tabulate_texts(Counter((row.target, row.source) for row in rows))
            context |= {"is_planned": True, "warnings": warnings, "sampling": statement.write(), "counts": counts}
    return render(request, "sob/combine.html", context, status=422 if form.errors else 200)


@takes_uploads(MAX_FILE_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def load(request: StudyRequest) -> HttpResponse:
    """Preview a file (``step=check`` in the form) or load it. htmx requests get only the part below the file field."""
    if request.method != "POST":
        return _render(request, FileForm())
    first = FileForm(request.POST, request.FILES)
    if not first.is_valid():
        return _render(request, first)
    try:
        file = first.cleaned_data["file"]
        data = file.read()
        chosen = dataset_sources.preview(data, file.name or "file")
    except ReadError as error:
        first.add_error("file", str(error))
        return _render(request, first)
    is_check = request.POST.get("step") == CHECK
    table = find_target_table(request.study)
    form = _make_form(request, chosen, table, is_check=is_check)
    if not form.is_valid():
        return _render(request, form, chosen)
    if is_check:
        return _show_plan(request, form, chosen, data, table)
    return _load(request, form, chosen, data, table)


def _make_form(request: StudyRequest, chosen: Preview, table: TargetTable | None, *, is_check: bool) -> LoadForm:
    """The whole form: what was typed for this file, and proposals for the fields that were not shown yet."""
    source = chosen.source
    places = {name: str(place) for place, (name, *_) in enumerate(chosen.columns)}
    proposed = {
        **{COLUMN + field: places[column] for field, column in chosen.mapping.items()},
        **chosen.provenance._asdict(),
        "rows": "benchmark",
        "targets": "published" if source else "file",
        "method": "proportional",
        "by_field": "target",
        "seed": str(DEFAULT_SEED),
    }
    typed = request.POST.copy()
    is_another = typed.get("checked", "") not in {"", chosen.sha256}
    if is_another and is_check:
        for name in [name for name in typed if name != "name"]:
            del typed[name]
    form = LoadForm(
        {**fill_in(typed, proposed), "checked": chosen.sha256},
        request.FILES,
        columns=chosen.columns,
        is_published=source is not None,
        newest_table=table.number if table else None,
    )
    if is_another and not is_check:
        form.add_error("file", ANOTHER_FILE)
    return form


def _show_plan(
    request: StudyRequest, form: LoadForm, chosen: Preview, data: bytes, table: TargetTable | None
) -> HttpResponse:
    columns = form.read_columns()
    if columns is not None and "text" not in columns:
        return _render(request, form, chosen, needs_columns=True)
    reading = _read_choices(form, chosen, table)
    own = reading.pop("target_table")
    del reading["provenance"]
    try:
        plan = dataset_sources.plan(data, chosen.name, label_rows=own.rows if own else None, **reading)
    except (ReadError, SampleError) as error:
        form.add_error(None, ValidationError(str(error)))
        return _render(request, form, chosen)
    found = {"plan": plan, "sampling": plan.sampling, "counts": tabulate_texts(plan.counts), "shown": plan.shown}
    return _render(request, form, chosen, **found)


def _load(
    request: StudyRequest, form: LoadForm, chosen: Preview, data: bytes, table: TargetTable | None
) -> HttpResponse:
    if len(data) > dataset_sources.LARGE_BYTES:
        return _leave_to_worker(request, form, chosen, table)
    with at_form(form):
        dataset, is_new = load_dataset(
            study=request.study,
            name=form.cleaned_data["name"],
            file_name=chosen.name,
            data=data,
            by=request.user,
            **_read_choices(form, chosen, table),
        )
        texts = dataset.texts.count()
        words = "is loaded" if is_new else "was already loaded from this file"
        messages.success(request, f"{dataset.name} {words}: {texts:,} text{pluralize(texts)}.")
        return redirect("sob:dataset", request.study.slug, dataset.pk)
    return _render(request, form, chosen)


def _leave_to_worker(request: StudyRequest, form: LoadForm, chosen: Preview, table: TargetTable | None) -> HttpResponse:
    """Have a worker load the file, and redirect to the page that shows its progress."""
    reading = _read_choices(form, chosen, table)
    own = reading.pop("target_table")
    with at_form(form):
        job = start_job(
            study=request.study,
            kind=TEXTS,
            files=[form.cleaned_data["file"]],
            options={"name": form.cleaned_data["name"], "table": own.number if own else None, **reading},
            by=request.user,
        )
        return redirect(job)
    return _render(request, form, chosen)


def _read_choices(form: LoadForm, chosen: Preview, table: TargetTable | None) -> dict[str, Any]:
    """The arguments of ``load_dataset`` that say how the file is read."""
    typed = form.cleaned_data
    columns = form.read_columns()
    if chosen.format == PREPARED_FORMAT and columns == chosen.mapping:
        # The header identifies the format, and the dataset is recorded under it.
        columns = None
    provenance = read_provenance(form)
    return {
        "columns": columns,
        "targets": typed["targets"],
        "target_table": table if typed["targets"] == Dataset.TargetsFrom.TABLE else None,
        "all_rows": typed.get("rows") == "all",
        "drops_repeated": typed["drops_repeated"],
        "draw": form.read_draw(),
        "provenance": None if provenance == chosen.provenance else provenance,
    }


def _render(request: StudyRequest, form: FileForm, chosen: Preview | None = None, **found: object) -> HttpResponse:
    """The page; for htmx only the part below the file field, so that the file stays chosen."""
    jobs = list_recent_jobs(request.study, TEXTS, request.user)
    context = {"form": form, "chosen": chosen, "is_open": isinstance(form, LoadForm), "jobs": jobs, **found}
    part = "#choices" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"sob/load.html{part}", context, status=422 if form.errors else 200)


EMPTY_ROWS = 5
MAX_SHOWN = 200
# Each row has four fields, and a form of 2,000 fields is refused.
MAX_TYPED = 400
SOURCE_OF_PUBLISHED = "demographic_normalizing.csv, released with the paper (Appendix I)"


@require_safe
@study_view(Permission.VIEW)
def list_tables(request: StudyRequest) -> HttpResponse:
    """The published table, every version of the study's own table, and the labels of a chosen dataset that the newest lacks."""
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
    return make_labels(table.rows) if table else load_published_targets()


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
    """Write the next version of the table, row by row or pasted."""
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
    """One mapping, "published" or a table by its number, so that figures counted by it can be checked."""
    wanted = mapping if mapping == PUBLISHED else f"table {mapping}"
    found = [version for version in _list_versions(request.study) if version["name"] == wanted]
    if not found:
        raise Http404("There is no such mapping in this study.")
    context = {"mappings": found, "source": name_mapping_source(), "only": found[0]}
    return render(request, "sob/mappings.html", context)


def _list_versions(study: Study) -> list[dict[str, Any]]:
    """Every mapping with its changes from the one before, newest first; ``table`` is ``None`` for the published one."""
    tables = MappingTable.objects.filter(study=study).order_by("number")
    named = [(None, PUBLISHED, published_mapping_rows())]
    named += [(table, name_table(table.number), order_rows(table.rows)) for table in tables]  # type: ignore[misc]
    versions = []
    before = published_mapping_rows()
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
    rows = MappingRowFormSet(typed, initial=fill_in_rows(find_rows(request.study)), prefix="row")
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
