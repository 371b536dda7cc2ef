"""Two batches of a study side by side, or one beside the published rows."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.sob.models import Dataset
from auditapp.sob.pure.instruments import BASE_TASK, load_instruments
from auditapp.sob.pure.parsing import ATTRIBUTES
from auditapp.sob.pure.published import published_rows, published_source
from auditapp.sob.pure.showing.comparison import (
    Making,
    compare_figures,
    compare_published,
    find_differences,
    is_comparable,
)
from auditapp.sob.pure.showing.figures import TASKS, Figures
from auditapp.sob.queries.arms import KIND, find_schema
from auditapp.sob.report.views.opening import (
    Opened,
    choose,
    find_batch,
    list_wordings,
    name_targets,
    open_batch,
    pick,
    read_choice,
)
from auditapp.sob.texts.queries import count_repeats, hash_asked_texts
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.ui.typed_text import find_number

PUBLISHED = "published"
BATCHES_OFFERED = 100


@require_safe
@project_view(Permission.VIEW)
def compare(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Differences in setup come first; figures that do not measure the same thing get no difference."""
    here = open_batch(find_batch(request, batch_id))
    asked = read_choice(request, "with", "model", "row")
    others = request.project.batches.filter(kind=KIND).exclude(pk=here.batch.pk)[:BATCHES_OFFERED]
    context: dict[str, Any] = {**here.describe(), "others": others, "chosen": asked}
    if here.figures and asked["with"] == PUBLISHED:
        context |= _compare_with_published(here, here.figures, asked)
    elif here.figures and asked["with"]:
        number = find_number(asked["with"])
        if number is None:
            raise Http404("There is no such batch.")
        there = open_batch(find_batch(request, number))
        is_current = here.is_current and there.is_current
        context |= {"there": there.batch, "is_current": is_current, **_compare_batches(here, there)}
        if there.figures is None:
            context |= there.describe_counting()
        if not here.failure:
            context |= {"failure": there.failure, "waiting_for": there.batch}
    return render(request, "sob/compare.html", context)


def _compare_batches(here: Opened, there: Opened) -> dict[str, Any]:
    if here.figures is None or there.figures is None:
        return {"is_waiting": True}
    differences = find_differences(_describe_making(here), _describe_making(there))
    comparable = is_comparable(differences)
    models = set(here.figures.models) & set(there.figures.models)
    return {
        "differences": differences,
        "comparable": comparable,
        "cells": compare_figures(here.figures, there.figures, draws=comparable),
        "only_here": [model for model in here.figures.models if model not in models],
        "only_there": [model for model in there.figures.models if model not in models],
        "name_there": f"batch {there.batch.pk}",
    }


def _describe_making(opened: Opened) -> Making:
    batch, dataset = opened.batch, opened.dataset
    versions = opened.figures.report.get("versions", {}) if opened.figures else {}
    texts, sha256, targets_sha256 = hash_asked_texts([arm.arm_id for arm in opened.arms])
    # The base task asks for no characteristics.
    schemas = {tuple(find_schema(arm)) for arm in batch.arms.exclude(task=BASE_TASK)}
    return {
        "wordings": {each["task"]: (each["name"], each["sha256"]) for each in list_wordings(batch)},
        "dataset": (_describe_texts(dataset, texts), sha256),
        "texts": texts,
        "schema": tuple(sorted({name for schema in schemas for name in schema})),
        "targets": name_targets(dataset),
        "targets_sha256": targets_sha256,
        "parser": str(versions.get("parser", "")),
        "lexicon": str(versions.get("lexicon", "")),
        "repeats": count_repeats(batch),
        "mapping": str(versions.get("mapping", "")),
    }


def _describe_texts(dataset: Dataset | None, asked: int) -> str:
    """The set of the texts with how it was drawn, and how many of them were asked about."""
    if dataset is None:
        return f"{asked:,} texts of no set"
    parts = [dataset.name, f"{asked:,} texts asked", *([f"split {dataset.split}"] if dataset.split else [])]
    sampling = dataset.sampling
    if sampling.get("method"):
        parts.append(f"drawn: {sampling['method']}" + (f" by {sampling['by']}" if sampling.get("by") else ""))
    if sampling.get("seed") is not None:
        parts.append(f"seed {sampling['seed']}")
    if sampling.get("dropped"):
        parts.append(f"{sum(sampling['dropped'].values()):,} rows left out")
    return ", ".join(parts)


def _compare_with_published(here: Opened, figures: Figures, asked: dict[str, str]) -> dict[str, Any]:
    rows = [row for row in published_rows() if row.task in figures.tasks]
    labels = list(dict.fromkeys(row.model for row in rows))
    model = choose(asked["model"], figures.models)
    label = choose(asked["row"], labels) if asked["row"] else pick(model, labels)
    making = _describe_making(here)
    return {
        "differences": find_differences(making, _describe_published(making)),
        "comparable": False,
        "cells": compare_published(figures, model, [row for row in rows if row.model == label]),
        "own_models": figures.models,
        "labels": labels,
        "model": model,
        "label": label,
        "name_there": f"published {label}",
        "source": published_source(),
    }


def _describe_published(own: Making) -> Making:
    """How the published figures were made. Both published wordings are the paper's: it does not say which it used."""
    published = {each.task: (each.variant, each.sha256) for each in reversed(load_instruments())}
    hashes = {each.sha256 for each in load_instruments()}
    return {
        "wordings": {
            task: own["wordings"][task] if task in own["wordings"] and own["wordings"][task][1] in hashes else words
            for task, words in published.items()
            if task in TASKS
        },
        "dataset": ("the paper’s 2,457 texts, which cannot be rebuilt exactly", PUBLISHED),
        "texts": own["texts"],
        "schema": tuple(sorted(ATTRIBUTES)),
        "targets": "the paper’s, re-annotated in part by its authors",
        "parser": "the authors’ own",
        "lexicon": own["lexicon"],
        "repeats": 1,
        "mapping": own["mapping"],
    }
