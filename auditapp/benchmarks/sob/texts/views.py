"""Pages of the texts. They are masked until asked for, one by one; no address or title contains any of them.

A file is loaded after a preview. Nothing is kept between the two steps: with htmx the file stays chosen, without it the same file
is chosen again, and a file that is not the one that was looked at is refused.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.benchmarks.sob.models import Dataset, TargetTable
from auditapp.benchmarks.sob.pure.loading import apart
from auditapp.benchmarks.sob.pure.loading.normalising import DEFAULT_SEED, SampleError
from auditapp.benchmarks.sob.pure.loading.opening import MAX_FILE_BYTES
from auditapp.benchmarks.sob.pure.loading.previewing import Preview
from auditapp.benchmarks.sob.pure.loading.sources import PREPARED_FORMAT
from auditapp.benchmarks.sob.tables.actions import find_target_table
from auditapp.benchmarks.sob.texts import queries as dataset_queries
from auditapp.benchmarks.sob.texts.actions.datasets import TEXTS, describe_dataset, load_dataset, read_record
from auditapp.benchmarks.sob.texts.actions.derived import (
    combine_datasets,
    plan_combination,
    retarget_dataset,
    sample_dataset,
)
from auditapp.benchmarks.sob.texts.forms import (
    COLUMN,
    CombineForm,
    FileForm,
    LoadForm,
    RecordForm,
    RetargetForm,
    SampleForm,
    fill_in,
    read_provenance,
)
from auditapp.benchmarks.sob.texts.queries import read_notes, rows_are_places, tabulate_texts
from transcripts.formats.problems import ReadError
from transcripts.jobs.actions import start_job
from transcripts.jobs.runs import list_recent_jobs
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
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
    """Where its texts come from, how they were chosen, how many there are of each target, and the texts, masked."""
    dataset = _get_dataset(request, dataset_id)
    chosen = {name: _read_choice(request, name) for name in ("target", "source")}
    counts = dataset_queries.count_texts(dataset)
    texts = dataset_queries.find_texts(dataset, **chosen)
    row = _read_row(request)
    # A row's page, where one is asked for: the texts before it fill the pages before.
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
    """The row an address asks for; ``None`` for what is no number of a row, and once another page is turned to."""
    return None if "page" in request.GET else find_number(request.GET.get("row", ""))


def _get_dataset(request: StudyRequest, dataset_id: int) -> Dataset:
    found = Dataset.objects.select_related("study", "target_table", "drawn_from")
    return get_object_or_404(found, study=request.study, pk=dataset_id)


def _read_choice(request: StudyRequest, name: str) -> str | None:
    """What the texts are narrowed to; ``None`` where the address does not say. A lone hyphen stands for no target."""
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
    """Put on record where the texts come from and under which terms."""
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
    """One set of several; ``?sets=`` ticks some of them, and the page says what would be kept and left out."""
    is_look = request.POST.get("step") == "check"
    form = CombineForm(
        request.POST if request.method == "POST" else None,
        initial={"sets": _find_ticked(request)},
        study=request.study,
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
        chosen = apart.preview(data, file.name or "file")
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
    """The whole form: what was typed for this file, and proposals for what was not asked yet."""
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
        plan = apart.plan(data, chosen.name, label_rows=own.rows if own else None, **reading)
    except (ReadError, SampleError) as error:
        form.add_error(None, ValidationError(str(error)))
        return _render(request, form, chosen)
    found = {
        "plan": plan,
        "sampling": plan.sampling,
        "counts": tabulate_texts(plan.counts),
        "shown": plan.shown,
    }
    return _render(request, form, chosen, **found)


def _load(
    request: StudyRequest, form: LoadForm, chosen: Preview, data: bytes, table: TargetTable | None
) -> HttpResponse:
    if len(data) > apart.LARGE_BYTES:
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
    """Have a worker load the file, and go to the page that shows how far it is."""
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
    """The keywords of ``load_dataset`` that say how the file is read."""
    typed = form.cleaned_data
    columns = form.read_columns()
    if chosen.format == PREPARED_FORMAT and columns == chosen.mapping:
        # Known by its header, and on record as what it is.
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
    """The page; for htmx the part below the file, so that it stays chosen."""
    jobs = list_recent_jobs(request.study, TEXTS, request.user)
    context = {"form": form, "chosen": chosen, "is_open": isinstance(form, LoadForm), "jobs": jobs, **found}
    part = "#choices" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"sob/load.html{part}", context, status=422 if form.errors else 200)
