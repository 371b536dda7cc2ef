"""The models of a batch compared with each other, two batches over their common texts, or a batch and the published rows; tests
over targets, and how each rule of counting changes the scores. Downloads of a batch: its report in several formats, and the bundle
from which the report can be derived.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES, OVERALL
from auditapp.benchmarks.sob.pure.figures import (
    TASKS,
    Entry,
    Figures,
    Making,
    compare_figures,
    compare_published,
    draw_rank_plot,
    find_differences,
    in_words,
    name_pair,
    write_pair_finding,
    write_rank_finding,
)
from auditapp.benchmarks.sob.pure.instruments import load_instruments, published_rows, published_source
from auditapp.benchmarks.sob.pure.ranks import explain_family
from auditapp.benchmarks.sob.pure.report import rank_published
from auditapp.benchmarks.sob.pure.secondary import RULES
from auditapp.benchmarks.sob.pure.tables import DOCUMENTS, FIGURES, FORMATS, TABLE_FILES, name_file, write_file
from auditapp.benchmarks.sob.queries import KIND, count_repeats, find_asked_texts, find_rows, is_comparable
from auditapp.benchmarks.sob.report.actions import (
    BUNDLE,
    TAKEN_OUT,
    name_bundle,
    record_bundle,
    start_bundle,
    write_bundle_file,
)
from auditapp.benchmarks.sob.report.comparisons import (
    choose_models,
    compare_sides,
    describe_making,
    list_alarms,
    pick,
    read_side,
)
from auditapp.benchmarks.sob.report.stored_reports import find_failure, read_inputs, read_report
from auditapp.benchmarks.sob.report.views.reports import (
    Opened,
    choose,
    describe_base,
    draw_contrast,
    draw_pairs,
    draw_rules,
    find_batch,
    judge_pair,
    open_batch,
    read_choice,
    write_rule_finding,
)
from transcripts.charts.svg import NoRenderer
from transcripts.exchange.actions.exporting import TooLong, watch_time
from transcripts.refusals import Refused
from transcripts.statistics.figures import explain_marks
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import CONTENT_TYPES, send_download, sends_files
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number

PUBLISHED = "published"
BATCHES_OFFERED = 100


@require_safe
@study_view(Permission.VIEW)
def compare(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Without another batch, compare every two models of this one. With another batch, show the differences in setup first, then
    compare models over the texts that both batches asked about."""
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
    """Every two models of the batch; if two were chosen, these two for every target."""
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
    """Tests of pairs as a chart and a table: every target for one pair; for several pairs, all texts, with links to the targets."""
    shown = [test for test in tests if is_pair or test["target"] == OVERALL]
    lines = [
        {
            "test": test,
            "name": name_pair(test),
            "verdict": judge_pair(test),
            "href": "" if is_pair else f"?{urlencode({**address, 'model': test['model_a'], 'other': test['model_b']})}",
        }
        for test in shown
    ]
    return {
        "lines": lines,
        "finding": write_pair_finding(shown),
        "is_pair": is_pair,
        "pairs_chart": draw_pairs(lines, by_target=is_pair),
        "marks": [*filter(None, [explain_family(tests)]), *explain_marks((test["mark"] for test in tests), "texts")],
    }


def _compare_with_published(here: Opened, figures: Figures, asked: dict[str, str]) -> dict[str, Any]:
    rows = [row for row in published_rows() if row.task in figures.tasks]
    labels = list(dict.fromkeys(row.model for row in rows))
    model = choose(asked["model"], figures.models)
    label = choose(asked["row"], labels) if asked["row"] else pick(model, labels)
    # There is no hash of the paper's texts to compare with, so only the number of texts is compared.
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
    """How the published figures were made. Both published wordings count as the paper's, because it does not say which it used."""
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


PAIRS_SHOWN = 60


@require_safe
@study_view(Permission.VIEW)
def show_statistics(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Tests over targets, the rank plot, and pairs of targets."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe()
    if opened.figures:
        figures = opened.figures
        tests = figures.find("friedman")
        families = figures.find("friedman_families")
        lettered, warnings = letter_warnings(sorted([*tests, *families], key=lambda test: test["task"]))
        context |= {
            "alarms": figures.list_alarms(),
            "finding": write_rank_finding(figures),
            "tests": lettered,
            "test_warnings": warnings,
            "left_out": any(test["dropped"] for test in lettered),
            "plot": draw_rank_plot(figures),
            "ranks": list_mean_ranks(tests),
            "posthoc": [_describe_pairs(test) for test in figures.find("posthoc")],
        }
    return render(request, "sob/statistics.html", context)


def letter_warnings(tests: Sequence[Entry]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """The tests, each with the letters of its ``warnings``, and every warning once with its letter, in the order of the tests."""
    sentences = list(dict.fromkeys(sentence for test in tests for sentence in test["warnings"]))
    letters = {sentence: chr(ord("a") + place) for place, sentence in enumerate(sentences)}
    lettered = [{**test, "letters": [letters[sentence] for sentence in test["warnings"]]} for test in tests]
    return lettered, [(letter, sentence) for sentence, letter in letters.items()]


def list_mean_ranks(tests: Sequence[Entry]) -> list[dict[str, Any]]:
    """The mean rank of each target under both tasks, highest first, and its mean rank in the published scores."""
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
    """How each rule of counting changes the cells of a model and task; repeats; further targets; the base task."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe()
    if opened.figures:
        context |= _describe_sensitivity(opened.figures, read_choice(request, "model", "task"))
        chosen = context["chosen"]
        whose = f"{chosen['model']}, {in_words(chosen['task'])}"
        answers = reverse("sob:responses", args=[request.study.slug, batch_id])
        context["rules_chart"] = draw_rules(
            context["rules"],
            whose=whose,
            link=lambda **place: f"{answers}?{urlencode({**chosen, **place})}",
        )
        context["finding"] = write_rule_finding(context["rules_chart"], whose)
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
    """The scores under each rule of counting, with a row for each target: overall first, then by number of answers."""
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


@require_safe
@study_view(Permission.EXPORT)
def show_files(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The list of downloads."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe() | {"documents": DOCUMENTS, "drawings": FIGURES, "tables": TABLE_FILES}
    return render(request, "sob/files.html", context)


@sends_files
@require_POST
@study_view(Permission.EXPORT)
def download(request: StudyRequest, batch_id: int, what: str, format: str) -> HttpResponseBase:
    """Write a file and send it. A POST, because exports are recorded."""
    batch = find_batch(request, batch_id)
    if (what, format) == (BUNDLE, "zip"):
        return _send_bundle(request, batch)
    if format not in FORMATS.get(what, ()):
        raise Http404("No such file.")
    inputs = read_inputs(batch)
    stored = read_report(inputs)
    if stored is None:
        failure = find_failure(batch, inputs.choice)
        waiting = "The figures are still being computed. Try again in a few seconds."
        messages.error(request, f"The figures could not be computed. {failure.failure_reason}" if failure else waiting)
        return redirect("sob:files", request.study.slug, batch.pk)
    report = stored.report
    try:
        data = write_file(
            report,
            what,
            format,
            mapping=find_rows(request.study, str(report["versions"]["mapping"])),
            model=_choose_model(request, report),
            exact=request.POST.get("exact") == "on",
            with_published=is_comparable(inputs.arms),
        )
    except NoRenderer as error:
        messages.error(request, str(error))
        return redirect("sob:files", request.study.slug, batch.pk)
    return send_download(
        data,
        TAKEN_OUT,
        name=name_file(batch.pk, stored.report, what, format),
        content_type=CONTENT_TYPES[format],
        study=request.study,
        target=batch,
        by=request.user,
        details={"what": what, "format": format},
    )


def _choose_model(request: StudyRequest, report: dict[str, list[dict[str, object]]]) -> str | None:
    asked = request.POST.get("model", "")
    return asked if any(cell["model"] == asked for cell in report["cells"]) else None


def _send_bundle(request: StudyRequest, batch: Batch) -> HttpResponseBase:
    """Write the bundle and send it; if it takes long, leave it to a worker and show the progress."""
    with_texts = request.POST.get("texts") == "on"
    # The folder with the file is deleted when the response is closed.
    folder = tempfile.TemporaryDirectory(prefix="auditapp-bundle-")
    name = name_bundle(batch.pk)
    try:
        facts = write_bundle_file(
            batch=batch,
            path=Path(folder.name) / name,
            with_texts=with_texts,
            watch=watch_time(),
            record=lambda facts: record_bundle(batch=batch, by=request.user, facts=facts, with_texts=with_texts),
        )
    except TooLong:
        folder.cleanup()
        try:
            return redirect(start_bundle(batch=batch, with_texts=with_texts, by=request.user))
        except Refused as error:
            messages.error(request, str(error))
            return redirect("sob:files", request.study.slug, batch.pk)
    except Refused as error:
        folder.cleanup()
        messages.error(request, str(error))
        return redirect("sob:files", request.study.slug, batch.pk)
    response = FileResponse(
        facts["path"].open("rb"), as_attachment=True, filename=name, content_type=CONTENT_TYPES["zip"]
    )
    response["X-Content-SHA256"] = facts["sha256"]
    response._resource_closers.append(folder.cleanup)  # type: ignore[attr-defined]  # noqa: SLF001
    return response
