"""The models of a batch against each other, two batches over their common texts, or one beside the published rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.benchmarks.sob.pure.instruments import load_instruments, published_rows, published_source
from auditapp.benchmarks.sob.pure.measures.ranks import explain_family
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.parsing import ATTRIBUTES
from auditapp.benchmarks.sob.pure.showing.figures import (
    TASKS,
    Entry,
    Figures,
    Making,
    compare_figures,
    compare_published,
    find_differences,
    name_pair,
)
from auditapp.benchmarks.sob.queries import KIND
from auditapp.benchmarks.sob.report.comparing import (
    choose_models,
    compare_sides,
    describe_making,
    list_alarms,
    read_side,
)
from auditapp.benchmarks.sob.report.views.charts import draw_pairs, judge_pair
from auditapp.benchmarks.sob.report.views.reports import Opened, choose, find_batch, open_batch, pick, read_choice
from auditapp.benchmarks.sob.texts.queries import find_asked_texts
from transcripts.refusals import Refused
from transcripts.statistics.figures import explain_marks
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number

PUBLISHED = "published"
BATCHES_OFFERED = 100


@require_safe
@study_view(Permission.VIEW)
def compare(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Without another batch, every two models of this one. With one, differences in setup come first, and models are compared over
    the texts that both batches asked about."""
    here = open_batch(find_batch(request, batch_id))
    asked = read_choice(request, "with", "model", "other", "row")
    others = request.study.batches.filter(kind=KIND).exclude(pk=here.inputs.batch.pk)[:BATCHES_OFFERED]
    context: dict[str, Any] = {**here.describe(), "others": others, "chosen": asked}
    if here.figures and asked["with"] == PUBLISHED:
        context |= _compare_with_published(here, here.figures, asked)
    elif here.figures and asked["with"]:
        number = find_number(asked["with"])
        if number is None:
            raise Http404("There is no such batch.")
        there = open_batch(find_batch(request, number))
        is_current = here.is_current and there.is_current
        context |= {"there": there.inputs.batch, "is_current": is_current, **_compare_batches(here, there, asked)}
        if there.figures is None:
            context |= there.describe_counting()
        if not here.failure:
            context |= {"failure": there.failure, "waiting_for": there.inputs.batch}
    elif here.figures:
        context |= _compare_models(here.figures, asked)
    return render(request, "sob/compare.html", context)


def _compare_models(figures: Figures, asked: dict[str, str]) -> dict[str, Any]:
    """Every two models of the batch; of two that were chosen, every target."""
    chosen = {choose(asked[name], figures.models) for name in ("model", "other") if asked[name]}
    tests = [test for test in figures.find("paired") if chosen <= {test["model_a"], test["model_b"]}]
    models = {"own_models": figures.models, "other_models": figures.models}
    return {**models, **_show_pairs(tests, is_pair=len(chosen) > 1, address={})}


def _compare_batches(here: Opened, there: Opened, asked: dict[str, str]) -> dict[str, Any]:
    if here.figures is None or there.figures is None:
        return {"is_waiting": True}
    own, other = (read_side(each.inputs, each.figures.report["versions"]) for each in (here, there) if each.figures)
    try:
        pair = choose_models(own, other, asked["model"], asked["other"])
    except Refused as error:
        raise Http404(str(error)) from None
    compared = compare_sides(own, other, pair)
    models = set(here.figures.models) & set(there.figures.models)
    return {
        **compared,
        "own_models": own.models,
        "other_models": other.models,
        **_show_pairs(compared["paired"], is_pair=pair is not None, address={"with": there.inputs.batch.pk}),
        "cells": compare_figures(here.figures, there.figures),
        "only_here": [model for model in here.figures.models if model not in models],
        "only_there": [model for model in there.figures.models if model not in models],
        "name_there": f"batch {there.inputs.batch.pk}",
        "alarms": list_alarms({each.inputs.batch.pk: each.figures for each in (here, there) if each.figures}),
        "mark_sentences": dict.fromkeys([*here.figures.mark_sentences, *there.figures.mark_sentences]),
    }


def _show_pairs(tests: Sequence[Entry], *, is_pair: bool, address: dict[str, object]) -> dict[str, Any]:
    """Tests of pairs as a chart and a table: of one pair every target, of several all texts, each with a link to its targets."""
    lines = [
        {
            "test": test,
            "name": name_pair(test),
            "verdict": judge_pair(test),
            "href": "" if is_pair else f"?{urlencode({**address, 'model': test['model_a'], 'other': test['model_b']})}",
        }
        for test in tests
        if is_pair or test["target"] == OVERALL
    ]
    return {
        "lines": lines,
        "is_pair": is_pair,
        "pairs_chart": draw_pairs(lines, by_target=is_pair),
        "marks": [*filter(None, [explain_family(tests)]), *explain_marks((test["mark"] for test in tests), "texts")],
    }


def _compare_with_published(here: Opened, figures: Figures, asked: dict[str, str]) -> dict[str, Any]:
    rows = [row for row in published_rows() if row.task in figures.tasks]
    labels = list(dict.fromkeys(row.model for row in rows))
    model = choose(asked["model"], figures.models)
    label = choose(asked["row"], labels) if asked["row"] else pick(model, labels)
    # The paper's texts have no hash that another set could have: only how many were asked about is said.
    texts = find_asked_texts([arm.arm_id for arm in here.inputs.arms]).count()
    making = describe_making(here.inputs, figures.report.get("versions", {}), (texts, "", ""))
    return {
        "differences": find_differences(making, _describe_published(making)),
        "comparable": False,
        "cells": compare_published(figures, model, [row for row in rows if row.model == label]),
        "own_models": figures.models,
        "labels": labels,
        "model": model,
        "label": label,
        "name_there": f"published {label}",
        "alarms": figures.list_alarms(),
        "mark_sentences": figures.mark_sentences,
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
