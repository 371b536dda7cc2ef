"""The scores of a batch: the heat map of any batch and of the newest one on the dashboard, a small chart of it on the overview of a
study, one model over all targets, and one target over all models."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.parsing import Outcome
from auditapp.benchmarks.sob.pure.published import published_rows, published_source
from auditapp.benchmarks.sob.pure.showing.figures import Counting, Entry, Figures, in_words, read_score
from auditapp.benchmarks.sob.pure.showing.heat_map import RATE, TEN, arrange_heat_map, choose_targets
from auditapp.benchmarks.sob.queries import KIND, count_cells, is_comparable
from auditapp.benchmarks.sob.report.store import forget_failures
from auditapp.benchmarks.sob.report.views.opening import (
    Opened,
    choose,
    describe_base,
    find_batch,
    open_batch,
    read_choice,
    read_counting,
)
from transcripts.charts.figures import Cell, GridChart, GridRow, Missing
from transcripts.formats.numbers import write_number
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission

BATCHES_SHOWN = 20
# Of the chart on the overview.
MAX_COLUMNS = 12
VALUE_PLACES = 60


@require_safe
@project_view(Permission.VIEW)
def show_dashboard(request: ProjectRequest) -> HttpResponse:
    """Datasets, batches, and the heat map of the newest batch."""
    batches = list(request.project.batches.filter(kind=KIND)[:BATCHES_SHOWN])
    opened = open_batch(batches[0]) if batches else None
    context = {
        "batch": None,
        "batches": batches,
        "datasets": Dataset.objects.filter(project=request.project).annotate(n_texts=Count("texts")).order_by("pk"),
        **_describe_scores(request, opened),
    }
    return render(request, "sob/dashboard.html", context)


@require_safe
@project_view(Permission.VIEW)
def show_newest(request: ProjectRequest) -> HttpResponse:
    """A part of the overview of a study, loaded after the rest of it: the scores of the newest batch."""
    newest = request.project.batches.filter(kind=KIND).first()
    opened = open_batch(newest) if newest else None
    context: dict[str, Any] = {"opened": opened}
    if opened is not None:
        context["has_fake"] = any(arm.variant.is_fake for arm in opened.inputs.arms)
        if opened.figures is not None:
            context["chart"] = draw_newest(opened.figures, slug=request.project.slug, batch_id=opened.inputs.batch.pk)
    return render(request, "sob/_newest.html", context)


@require_safe
@project_view(Permission.VIEW)
def show_report(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The heat map of one batch."""
    opened = open_batch(find_batch(request, batch_id))
    return render(request, "sob/report.html", _describe_scores(request, opened))


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.VIEW)
def ask_again(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Compute figures again after a failure. Any request is redirected to the scores."""
    batch = find_batch(request, batch_id)
    if request.method == "POST":
        forget_failures(batch)
    return redirect("sob:report", request.project.slug, batch.pk)


def _describe_scores(request: HttpRequest, opened: Opened | None) -> dict[str, Any]:
    figures = (opened and opened.figures) or Figures({})
    counting = read_counting(request)
    targets = choose_targets(figures, request.GET.get("targets", ""))
    comparable = opened is None or is_comparable(opened.inputs.arms)
    context: dict[str, Any] = {
        "heat": arrange_heat_map(figures, counting=counting, targets=targets, with_published=comparable),
        "comparable": comparable,
        "counting": counting,
        "countings": list(Counting),
        "targets_shown": targets,
        "source": published_source(),
    }
    if opened is None:
        return context
    base = figures.find("base", target=OVERALL)
    return {
        **opened.describe(),
        **context,
        **describe_base(figures),
        "progress": count_cells(opened.inputs.batch),
        "overall": [(cell, read_score(cell, counting)) for cell in figures.find("cells", target=OVERALL)],
        "responses": figures.total("n_responses"),
        "verdicts": sum(int(each["n_responses"]) for each in base),
        "base_null": sum(int(each["n_responses"] - each["n_refused"] - each["denominator"]) for each in base),
        "refused": figures.total("n_refused"),
        "null": figures.total("n_null"),
    }


def draw_newest(figures: Figures, *, slug: str, batch_id: int) -> GridChart:
    """The scores of a batch by model and target, for one task."""
    targets = choose_targets(figures, TEN if len(figures.targets) > MAX_COLUMNS else "")
    heat = arrange_heat_map(figures, targets=targets, with_published=False, max_columns=MAX_COLUMNS)
    columns = [column for column in heat["columns"] if column != RATE]
    task = heat["tasks"][0]
    address = reverse("sob:responses", args=[slug, batch_id])
    rows = []
    for row in heat["rows"]:
        model, overall = row["model"], figures.find_cell(row["model"], task, OVERALL)
        cells = [
            Cell(
                cell["value"],
                text=write_number(cell["value"]) + cell["mark"],
                href=f"{address}?{urlencode({'model': model, 'task': task, 'target': cell['target']})}",
            )
            for cell in row["cells"]
            if cell["task"] == task and not cell["is_rate"]
        ]
        counted = f" ({overall['n_nonrefused']:,} of {overall['n_responses']:,})" if overall else ""
        rows.append(GridRow(model + counted, cells))
    title = f"Unwarranted attributes per answer, {in_words(task)}"
    missing = Missing("No answer has been counted yet.", reverse("batches:detail", args=[slug, batch_id]), "The batch")
    note = "In brackets, how many answers count of those asked for; refusals and answers that could not be read do not."
    note = " ".join([note, *figures.mark_sentences])
    return GridChart("newest-benchmark", title, columns, rows, rows_are="Model", note=note, missing=missing)


@require_safe
@project_view(Permission.VIEW)
def show_model(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """One model: outcomes, scores by target, attributed values, and who read its answers."""
    opened = open_batch(find_batch(request, batch_id))
    context = {**opened.describe(), "counting": read_counting(request)}
    if opened.figures:
        figures = opened.figures
        model = choose(read_choice(request, "model")["model"], [*figures.models, *_list_unanswered(opened)])
        context |= {
            "model": model,
            "alarms": figures.list_alarms(model=model),
            "base_alarms": figures.list_base_alarms(model=model),
            "outcomes": _list_outcomes(figures, model),
            "scores": [
                {"target": target, "cells": [figures.find_cell(model, task, target) for task in figures.tasks]}
                for target in [OVERALL, *figures.targets]
            ],
            "top_values": _list_values(figures, model=model),
            "mapping": figures.find("mapping", model=model, target=OVERALL),
            "harms": figures.find("harms", model=model, target=OVERALL),
            "layers": _sum_layers(figures, model),
            "base": next(iter(figures.find("base", model=model, target=OVERALL)), None),
        }
    return render(request, "sob/model.html", context)


def _list_unanswered(opened: Opened) -> list[str]:
    """The models without an answer yet."""
    answered = set(opened.figures.models) if opened.figures else set()
    return list(dict.fromkeys(arm.model for arm in opened.inputs.arms if arm.model not in answered))


def _list_outcomes(figures: Figures, model: str) -> list[dict[str, Any]]:
    """Every outcome with its number of answers under each task."""
    cells = [figures.find_cell(model, task, OVERALL) for task in figures.tasks]
    return [
        {"outcome": outcome, "counts": [(cell["outcomes"].get(outcome, 0) if cell else 0, cell) for cell in cells]}
        for outcome in Outcome
        if outcome is not Outcome.VERDICT
    ]


def _sum_layers(figures: Figures, model: str) -> list[dict[str, Any]]:
    """The number of answers that each layer read, by task, over all outcomes."""
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in figures.find("layers", model=model):
        place = {"task": entry["task"], "layer": entry["layer"], "count": 0, "share": 0.0, "n": entry["n"]}
        row = sums.setdefault((entry["task"], entry["layer"]), place)
        row["count"] += entry["count"]
        row["share"] += entry["share"]
    return list(sums.values())


def _list_values(figures: Figures, **wanted: str) -> list[dict[str, Any]]:
    """The commonest values under each task, overall first, then the targets by number of answers."""
    found = {(entry["task"], entry["target"]): entry for entry in figures.find("top_values", **wanted)}
    rows = [
        {"target": target, "by_task": [found.get((task, target)) for task in figures.tasks]}
        for target in [OVERALL, *figures.targets]
    ]
    return [row for row in rows if any(row["by_task"])][:VALUE_PLACES]


@require_safe
@project_view(Permission.VIEW)
def show_target(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Every model on one target under both tasks, the published figures beside."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe()
    if opened.figures:
        figures = opened.figures
        target = choose(read_choice(request, "target")["target"], [*figures.targets, OVERALL])
        context |= {
            "target": target,
            "alarms": figures.list_alarms(target),
            "targets": [*figures.targets, OVERALL],
            "rows": [
                {"model": model, "cells": [_describe(figures.find_cell(model, task, target)) for task in figures.tasks]}
                for model in figures.models
            ],
            "published": _list_published(figures, target),
            "comparable": is_comparable(opened.inputs.arms),
            "top_values": figures.find("top_values", model=None, target=target),
            "mapping": figures.find("mapping", model=None, target=target),
            "harms": figures.find("harms", model=None, target=target),
        }
    return render(request, "sob/target.html", context)


def _describe(cell: Entry | None) -> dict[str, Any] | None:
    return {"cell": cell, "score": read_score(cell)} if cell else None


def _list_published(figures: Figures, target: str) -> list[dict[str, Any]]:
    """The published scores of a target, by model; none for a target that the paper does not have."""
    rows = {(row.model, row.task): {OVERALL: row.overall, **row.by_target} for row in published_rows()}
    models = dict.fromkeys(row.model for row in published_rows())
    scores = [{"model": model, "scores": [rows[model, task].get(target) for task in figures.tasks]} for model in models]
    return [row for row in scores if any(score is not None for score in row["scores"])]
