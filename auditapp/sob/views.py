"""Pages of the benchmark. Texts are masked until asked for, one by one; nothing of them stands in an address or a title."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.models import Batch
from auditapp.batches.progress import read_progress
from auditapp.batches.reviewing import LaunchPlan
from auditapp.batches.views.wizard import run_wizard
from auditapp.sob import actions, queries
from auditapp.sob.forms import DatasetForm, LaunchForm
from auditapp.sob.heat import draw_heat_map
from auditapp.sob.kind import KIND
from auditapp.sob.metrics import OVERALL
from auditapp.sob.models import Dataset
from auditapp.sob.parsing import Outcome
from auditapp.sob.published import published_source
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

PER_PAGE = 25


@require_safe
@project_view(Permission.VIEW)
def show_dashboard(request: ProjectRequest) -> HttpResponse:
    """Datasets, batches, and the heat map of the newest batch."""
    batches = list(request.project.batches.filter(kind=KIND)[:20])
    datasets = Dataset.objects.filter(project=request.project)
    context = {"batches": batches, "datasets": datasets, **_report(batches[0] if batches else None)}
    return render(request, "sob/dashboard.html", context)


@require_safe
@project_view(Permission.VIEW)
def show_report(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The heat map of one batch."""
    batch = get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)
    return render(request, "sob/report.html", _report(batch))


def _report(batch: Batch | None) -> dict[str, object]:
    if batch is None:
        return {"batch": None, "heat": draw_heat_map([]), "source": published_source()}
    cells = queries.score_batch(batch)
    whole = [cell for cell in cells if cell.target == OVERALL]
    arms = list(batch.arms.select_related("variant__account"))
    return {
        "batch": batch,
        "progress": read_progress(batch),
        "dataset": queries.find_dataset(batch),
        "arms": arms,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "heat": draw_heat_map(cells),
        "overall": whole,
        "responses": sum(cell.n_responses for cell in whole),
        "refused": sum(cell.n_refused for cell in whole),
        "null": sum(cell.n_null for cell in whole),
        "source": published_source(),
    }


@require_safe
@project_view(Permission.VIEW)
def list_responses(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The answers behind a number: what was made of each, the text and the answer as it came on demand."""
    batch = get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)
    chosen = {name: request.GET.get(name, "").replace("\x00", "") for name in ("model", "task", "target", "outcome")}
    found = queries.find_judgments(batch, **chosen)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    cell = next(
        (
            cell
            for cell in queries.score_batch(batch)
            if (cell.model, cell.task, cell.target) == (chosen["model"], chosen["task"], chosen["target"] or OVERALL)
        ),
        None,
    )
    arms = list(batch.arms.select_related("variant__account"))
    context = {
        "batch": batch,
        "page": page,
        "chosen": chosen,
        "cell": cell,
        "outcomes": [str(outcome) for outcome in Outcome],
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "models": list(dict.fromkeys(arm.variant.label for arm in arms)),
        "tasks": list(dict.fromkeys(arm.task for arm in arms)),
        "targets": _list_targets(batch),
    }
    return render(request, "sob/responses.html", context)


def _list_targets(batch: Batch) -> list[str]:
    dataset = queries.find_dataset(batch)
    return list(queries.count_targets(dataset)) if dataset else []


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.IMPORT)
def load_dataset(request: ProjectRequest) -> HttpResponse:
    """Load a file of texts."""
    form = DatasetForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            loaded = actions.load_dataset(
                project=request.project,
                name=form.cleaned_data["name"],
                file_name=file.name,
                data=file.read(),
                columns=form.get_columns(),
                by=request.user,
            )
        except actions.SobError as error:
            form.add_error("file", str(error))
        else:
            dataset = loaded.dataset
            words = "is loaded" if loaded.created else "was already loaded from this file"
            messages.success(request, f"{dataset.name} {words}: {dataset.texts.count():,} texts.")
            return redirect("sob:dashboard", request.project.slug)
    return render(request, "sob/load.html", {"form": form}, status=422 if request.method == "POST" else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def launch(request: ProjectRequest) -> HttpResponse:
    """Launch a batch, in two steps."""
    form = LaunchForm(request.POST or None, project=request.project)

    def plan() -> LaunchPlan:
        arms, ids = actions.plan_sob(**_read_choice(form))
        return LaunchPlan(KIND, arms, ids)

    return run_wizard(
        request,
        form,
        template="sob/launch.html",
        plan=plan,
        launch=lambda: actions.launch_sob(**_read_choice(form), **form.options(), by=request.user),
        refusals=(actions.SobError,),
    )


def _read_choice(form: LaunchForm) -> dict[str, Any]:
    chosen = form.cleaned_data
    return {
        "dataset": chosen["dataset"],
        "variants": list(chosen["models"]),
        "tasks": chosen["tasks"],
        "instrument_variant": chosen["instrument"],
        "limit": chosen["limit"],
    }
