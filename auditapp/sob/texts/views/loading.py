"""Load a file of texts: first a preview, then the dataset.

Nothing is kept between the two steps: with htmx the file stays chosen, without it the same file is chosen again, and a
file that is not the one that was looked at is refused.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods

from auditapp.sob.models import Dataset, TargetTable
from auditapp.sob.pure.loading import apart
from auditapp.sob.pure.loading.drawing import DEFAULT_SEED, SampleError
from auditapp.sob.pure.loading.opening import MAX_FILE_BYTES
from auditapp.sob.pure.loading.previewing import Preview
from auditapp.sob.pure.loading.sources import PREPARED_FORMAT
from auditapp.sob.tables.actions import find_target_table
from auditapp.sob.texts.actions.datasets import load_dataset
from auditapp.sob.texts.actions.import_jobs import TEXTS
from auditapp.sob.texts.forms import COLUMN, FileForm, LoadForm, fill_in, read_provenance
from auditapp.sob.texts.queries import tabulate_texts
from transcripts.formats.problems import ReadError
from transcripts.imports.actions import start_job
from transcripts.imports.queries import list_recent_jobs
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.ui.acts import at_form
from transcripts.ui.uploads import takes_uploads

CHECK = "check"
ANOTHER_FILE = "This is not the file of the preview. Preview it first, then load it."


@takes_uploads(MAX_FILE_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.IMPORT)
def load(request: ProjectRequest) -> HttpResponse:
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
    table = find_target_table(request.project)
    form = _make_form(request, chosen, table, is_check=is_check)
    if not form.is_valid():
        return _render(request, form, chosen)
    if is_check:
        return _show_plan(request, form, chosen, data, table)
    return _load(request, form, chosen, data, table)


def _make_form(request: ProjectRequest, chosen: Preview, table: TargetTable | None, *, is_check: bool) -> LoadForm:
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
    request: ProjectRequest, form: LoadForm, chosen: Preview, data: bytes, table: TargetTable | None
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
    request: ProjectRequest, form: LoadForm, chosen: Preview, data: bytes, table: TargetTable | None
) -> HttpResponse:
    if len(data) > apart.LARGE_BYTES:
        return _leave_to_worker(request, form, chosen, table)
    with at_form(form):
        dataset, is_new = load_dataset(
            project=request.project,
            name=form.cleaned_data["name"],
            file_name=chosen.name,
            data=data,
            by=request.user,
            **_read_choices(form, chosen, table),
        )
        texts = dataset.texts.count()
        words = "is loaded" if is_new else "was already loaded from this file"
        messages.success(request, f"{dataset.name} {words}: {texts:,} text{pluralize(texts)}.")
        return redirect("sob:dataset", request.project.slug, dataset.pk)
    return _render(request, form, chosen)


def _leave_to_worker(
    request: ProjectRequest, form: LoadForm, chosen: Preview, table: TargetTable | None
) -> HttpResponse:
    """Have a worker load the file, and go to the page that shows how far it is."""
    reading = _read_choices(form, chosen, table)
    own = reading.pop("target_table")
    with at_form(form):
        job = start_job(
            project=request.project,
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


def _render(request: ProjectRequest, form: FileForm, chosen: Preview | None = None, **found: object) -> HttpResponse:
    """The page; for htmx the part below the file, so that it stays chosen."""
    jobs = list_recent_jobs(request.project, TEXTS, request.user)
    context = {"form": form, "chosen": chosen, "is_open": isinstance(form, LoadForm), "jobs": jobs, **found}
    part = "#choices" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"sob/load.html{part}", context, status=422 if form.errors else 200)
