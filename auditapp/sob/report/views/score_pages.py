"""One model over all targets, and one target over all models."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.parsing import Outcome
from auditapp.sob.pure.published import published_rows
from auditapp.sob.pure.showing.figures import Entry, Figures, read_score
from auditapp.sob.queries import is_comparable
from auditapp.sob.report.views.opening import Opened, choose, find_batch, open_batch, read_choice, read_counting
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

VALUE_PLACES = 60


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
