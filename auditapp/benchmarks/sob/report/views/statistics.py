"""Tests over targets, and how each rule of counting changes the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from auditapp.benchmarks.sob.pure.measures.report import rank_published
from auditapp.benchmarks.sob.pure.measures.secondary import RULES
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.showing.figures import TASKS, Entry, Figures, in_words
from auditapp.benchmarks.sob.pure.showing.heat_map import draw_rank_plot
from auditapp.benchmarks.sob.report.views.charts import draw_contrast, draw_rules
from auditapp.benchmarks.sob.report.views.reports import choose, describe_base, find_batch, open_batch, read_choice
from auditapp.benchmarks.sob.texts.queries import count_repeats
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission

PAIRS_SHOWN = 60


@require_safe
@study_view(Permission.VIEW)
def show_statistics(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Tests over targets, the rank plot and pairs of targets."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe()
    if opened.figures:
        figures = opened.figures
        tests = figures.find("friedman")
        families = figures.find("friedman_families")
        context |= {
            "alarms": figures.list_alarms(),
            "tests": sorted([*tests, *families], key=lambda test: test["task"]),
            "plot": draw_rank_plot(figures),
            "ranks": list_mean_ranks(tests),
            "posthoc": [_describe_pairs(test) for test in figures.find("posthoc")],
        }
    return render(request, "sob/statistics.html", context)


def list_mean_ranks(tests: Sequence[Entry]) -> list[dict[str, Any]]:
    """The mean rank of each target under both tasks, highest first, beside that of the published scores."""
    ranks: dict[str, Mapping[str, float]] = {test["task"]: test["mean_ranks"] or {} for test in tests}
    published = rank_published()
    targets = list(dict.fromkeys(target for by_target in ranks.values() for target in by_target))
    first = next((ranks[task] for task in TASKS if ranks.get(task)), {})
    targets.sort(key=lambda target: (-first.get(target, 0.0), target))
    return [
        {
            "target": target,
            "ranks": [ranks.get(task, {}).get(target) for task in TASKS],
            "published": [published[task].get(target) for task in TASKS],
        }
        for target in targets
    ]


def _describe_pairs(test: Entry) -> dict[str, Any]:
    pairs = sorted(test["pairs"], key=lambda pair: (pair["p"] if pair["p"] is not None else 2.0, pair["a"], pair["b"]))
    return {"test": test, "pairs": pairs[:PAIRS_SHOWN], "left_out": max(0, len(pairs) - PAIRS_SHOWN)}


@require_safe
@study_view(Permission.VIEW)
def show_sensitivity(request: StudyRequest, batch_id: int) -> HttpResponse:
    """How each rule changes each cell of a model and task; repeats; further targets; the base task."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe()
    if opened.figures:
        context |= _describe_sensitivity(opened.figures, read_choice(request, "model", "task"))
        chosen = context["chosen"]
        answers = reverse("sob:responses", args=[request.study.slug, batch_id])
        context["rules_chart"] = draw_rules(
            context["rules"],
            whose=f"{chosen['model']}, {in_words(chosen['task'])}",
            link=lambda **place: f"{answers}?{urlencode({**chosen, **place})}",
        )
        context["contrast_chart"] = draw_contrast(context["contrast"])
        context["repeats_asked"] = count_repeats(opened.inputs.batch)
    return render(request, "sob/sensitivity.html", context)


def _describe_sensitivity(figures: Figures, asked: dict[str, str]) -> dict[str, Any]:
    model, task = choose(asked["model"], figures.models), choose(asked["task"], figures.tasks)
    place = {"model": model, "task": task}
    return {
        "chosen": place,
        "alarms": figures.list_alarms(**place),
        **describe_base(figures),
        "rules": _lay_out_rules(figures, model, task),
        "repeats": [entry for entry in figures.find("repeats", **place) if entry["n_repeats"] > 1],
        "secondary": figures.find("secondary", **place),
        "contrast": figures.find("secondary_contrast"),
    }


def _lay_out_rules(figures: Figures, model: str, task: str) -> dict[str, Any]:
    """The scores under each rule of counting, a row for each target: overall first, then by number of answers."""
    entries = figures.find("sensitivity", model=model, task=task)
    found = {(entry["rule"], entry["target"]): entry for entry in entries}
    occurring = {entry["target"] for entry in entries}
    targets = [target for target in [OVERALL, *figures.targets] if target in occurring]
    rules = list(dict.fromkeys(str(entry["rule"]) for entry in entries))
    return {
        "rules": [(rule, RULES.get(rule, "")) for rule in rules],
        "rows": [
            {
                "target": target,
                "base": figures.find_cell(model, task, target),
                "cells": [(rule, found.get((rule, target))) for rule in rules],
            }
            for target in targets
        ],
    }
