"""What can be concluded over models and targets, and what each rule of counting does to the scores."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.sob.pure.instruments import BASE_TASK
from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.showing.figures import Entry, Figures
from auditapp.sob.pure.showing.rank_plot import draw_rank_plot
from auditapp.sob.pure.showing.rules import lay_out_rules
from auditapp.sob.queries.asked import count_repeats
from auditapp.sob.views.opening import choose, find_batch, open_batch, read_choice
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

PAIRS_SHOWN = 60


@require_safe
@project_view(Permission.VIEW)
def show_statistics(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Tests over targets, the rank plot, pairs of targets, and pairs of models."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe("statistics")
    if opened.figures:
        figures = opened.figures
        tests = figures.find("friedman")
        families = figures.find("friedman_families")
        context |= {
            "tests": sorted([*tests, *families], key=lambda test: test["task"]),
            "plot": draw_rank_plot(tests),
            "posthoc": [_describe_pairs(test) for test in figures.find("posthoc")],
            "paired": {
                "whole": figures.find("paired", target=OVERALL),
                "by_target": [test for test in figures.find("paired") if test["target"] != OVERALL],
            },
        }
    return render(request, "sob/statistics.html", context)


def _describe_pairs(test: Entry) -> dict[str, Any]:
    pairs = sorted(test["pairs"], key=lambda pair: (pair["p"] if pair["p"] is not None else 2.0, pair["a"], pair["b"]))
    return {"test": test, "pairs": pairs[:PAIRS_SHOWN], "left_out": max(0, len(pairs) - PAIRS_SHOWN)}


@require_safe
@project_view(Permission.VIEW)
def show_sensitivity(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """What each rule does to each cell of a model and task; repeats; further targets; the base contrast."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe("sensitivity")
    if opened.figures:
        context |= _describe_sensitivity(opened.figures, read_choice(request, "model", "task"))
        context["repeats_asked"] = count_repeats(opened.batch)
    return render(request, "sob/sensitivity.html", context)


def _describe_sensitivity(figures: Figures, asked: dict[str, str]) -> dict[str, Any]:
    model, task = choose(asked["model"], figures.models), choose(asked["task"], figures.tasks)
    place = {"model": model, "task": task}
    return {
        "chosen": place,
        "base_task": BASE_TASK,
        "rules": lay_out_rules(figures, model, task),
        "repeats": [entry for entry in figures.find("repeats", **place) if entry["n_repeats"] > 1],
        "secondary": figures.find("secondary", **place),
        "contrast": figures.find("secondary_contrast"),
        "base": [{**entry, "scores": _find_scores(figures, entry)} for entry in figures.find("base", target=OVERALL)],
    }


def _find_scores(figures: Figures, entry: Entry) -> list[Entry | None]:
    return [figures.find_cell(entry["model"], task, OVERALL) for task in figures.tasks]
