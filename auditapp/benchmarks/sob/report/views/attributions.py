"""Which values models attribute, and the social map they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from auditapp.benchmarks.sob.models import MappingTable
from auditapp.benchmarks.sob.pure.measures.mapping import PUBLISHED, Rule, published_source, read_mapping
from auditapp.benchmarks.sob.pure.measures.top_values import TOP
from auditapp.benchmarks.sob.pure.showing.figures import in_words
from auditapp.benchmarks.sob.pure.showing.social_map import CELLS, arrange_map, list_mapped
from auditapp.benchmarks.sob.report.computing import ReportChoice
from auditapp.benchmarks.sob.report.views.charts import draw_values
from auditapp.benchmarks.sob.report.views.opening import Opened, choose, find_batch, open_batch, pick, read_choice
from auditapp.benchmarks.sob.tables.queries import (
    IN_FORCE,
    UnknownMapping,
    find_rows,
    find_table,
    name_choice,
    name_in_force,
    name_table,
)
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.models import Project
from transcripts.studies.roles import Permission

NUMBERS_OF_VALUES = (3, 5, 10, 20)


@require_safe
@project_view(Permission.VIEW)
def show_values(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The most frequent values per target."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe() | _read_place(request, opened)
    if opened.figures is not None:
        held = max((len(entry["values"]) for entry in opened.figures.find("top_values")), default=0)
        offered = [str(n) for n in NUMBERS_OF_VALUES if n <= max(held, TOP)]
        k = pick(request.GET.get("k", str(TOP)), [str(TOP), *offered])
        entries = opened.figures.find("top_values", model=context["model"] or None, task=context["task"])
        rows = [{**entry, "values": entry["values"][: int(k)]} for entry in entries]
        chosen = {name: context[name] for name in ("model", "task")}
        texts = opened.figures.count_texts(**chosen)
        answers = reverse("sob:responses", args=[request.project.slug, batch_id])
        context |= {
            "alarms": opened.figures.list_alarms(**_drop_empty(chosen)),
            "k": k,
            "ks": offered,
            "rows": rows,
            "ranks": range(1, int(k) + 1),
            "chart": draw_values(
                rows,
                texts=texts,
                whose=f"{chosen['model'] or 'all models together'}, {in_words(chosen['task'])}",
                link=lambda **place: f"{answers}?{urlencode({**chosen, **place})}",
            ),
        }
    return render(request, "sob/values.html", context)


@require_safe
@project_view(Permission.VIEW)
def show_map(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The social map, and how often what is attributed is the target itself or the dominant group, by the mapping in force or
    by the one that the address names."""
    in_force = name_in_force(request.project)
    choice = _read_mapping(request, in_force)
    batch = find_batch(request, batch_id)
    opened = open_batch(batch, ReportChoice(mapping=choice) if choice else None)
    context = opened.describe() | _read_place(request, opened)
    context |= {"mapping_choice": choice, "mapping_choices": _list_choices(request.project)}
    if opened.figures is not None:
        name = str(context["versions"].get("mapping", PUBLISHED))
        model = context["model"] or None
        mapping = read_mapping(find_rows(request.project, name), name)
        rule = Rule(pick(request.GET.get("rule", ""), list(Rule)))
        texts = opened.figures.count_texts(model=model, task=context["task"])
        maps = opened.figures.find("social_map", model=model, task=context["task"])
        context |= {
            # The shares of self and dominant group are of both tasks.
            "alarms": opened.figures.list_alarms(**_drop_empty({"model": model})),
            "map": arrange_map(maps[0], mapping, texts) if maps else None,
            "rule": rule,
            "cells": CELLS,
            "rows": list_mapped(opened.figures, model, rule),
            "mapping_name": name,
            "mapping_table": find_table(request.project, name_choice(name)),
            "newest_name": in_force,
            "source": published_source(),
        }
    return render(request, "sob/map.html", context)


def _drop_empty(place: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in place.items() if value}


def _read_mapping(request: ProjectRequest, in_force: str) -> str:
    """The mapping that an address asks for; empty for the one in force, under any name."""
    asked = read_choice(request, "mapping")["mapping"]
    try:
        find_table(request.project, asked)
    except UnknownMapping as error:
        raise Http404(str(error)) from error
    return IN_FORCE if asked == name_choice(in_force) else asked


def _list_choices(project: Project) -> list[tuple[str, str]]:
    """Every mapping as it is written in an address and on a page, the one in force first; none if there is only one."""
    numbers = MappingTable.objects.filter(project=project).order_by("-number").values_list("number", flat=True)
    names = [*map(name_table, numbers), PUBLISHED]
    if len(names) == 1:
        return []
    return [(IN_FORCE, f"{names[0]}, in force"), *((name_choice(name), name) for name in names[1:])]


def _read_place(request: ProjectRequest, opened: Opened) -> dict[str, Any]:
    """The model ("" is all together) and the task that an address asks for, and those there are."""
    chosen = read_choice(request, "model", "task")
    models = opened.figures.models if opened.figures else []
    tasks = opened.figures.tasks if opened.figures else []
    model = choose(chosen["model"], models) if chosen["model"] else ""
    return {"model": model, "models": models, "task": choose(chosen["task"], tasks), "tasks": tasks}
