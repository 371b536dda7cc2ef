"""The texts of a batch, and one text with every model's answers side by side. Texts are masked until asked for."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from auditapp.sob.answer_keys import Choice
from auditapp.sob.answers import Answer, read_answers_on_text
from auditapp.sob.mappings import find_mapping
from auditapp.sob.models import Text
from auditapp.sob.pure.instruments import BASE_TASK
from auditapp.sob.pure.showing.figures import Figures, in_words
from auditapp.sob.queries.arms import AskedArm
from auditapp.sob.text_totals import sum_texts
from auditapp.sob.views.opening import Opened, check_target, find_batch, open_batch, read_choice
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

PER_PAGE = 50
LISTS_KEPT = 8


@require_safe
@project_view(Permission.VIEW)
def list_texts(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The texts with an answer, those that drew most attributes first."""
    opened = open_batch(find_batch(request, batch_id))
    chosen = read_choice(request, "target")
    check_target(opened.batch, chosen["target"])
    page = Paginator(_sum_texts(opened, chosen["target"]), PER_PAGE).get_page(request.GET.get("page"))
    totals = list(page)
    texts = Text.objects.in_bulk([total["text"] for total in totals])
    context = {
        **opened.describe("texts"),
        "page": page,
        "rows": [(texts[total["text"]], total) for total in totals],
        "has_verdicts": any(arm.task == BASE_TASK for arm in opened.arms),
        "chosen": chosen,
        "targets": (opened.figures or Figures({})).targets,
    }
    return render(request, "sob/texts.html", context)


def _sum_texts(opened: Opened, target: str) -> list[dict[str, int]]:
    """The totals as of the report: a million answers take seconds to add up, so that the last lists are kept."""
    arms = tuple(arm.arm_id for arm in opened.arms)
    return sum_texts(arms, target) if opened.as_of is None else _sum_texts_as_of(arms, target, opened.as_of)


@lru_cache(maxsize=LISTS_KEPT)
def _sum_texts_as_of(arms: tuple[int, ...], target: str, as_of: datetime.datetime) -> list[dict[str, int]]:
    return sum_texts(arms, target)


@require_safe
@project_view(Permission.VIEW)
def show_text(request: ProjectRequest, batch_id: int, text_id: int) -> HttpResponse:
    """One text: every model's answer to each task, with the harms of each (Tables 3 and 7, arXiv 2606.17506)."""
    batch = find_batch(request, batch_id)
    text = get_object_or_404(Text, pk=text_id, dataset__project=request.project)
    opened = open_batch(batch)
    choice = Choice(opened.batch, opened.arms, text=text.pk, mapping=find_mapping(request.project))
    answers = read_answers_on_text(choice)
    tasks = list(dict.fromkeys(arm.task for arm in sorted(opened.arms, key=lambda arm: arm.task)))
    context = {
        **opened.describe("texts"),
        "text": text,
        "tasks": [in_words(task) for task in tasks],
        "rows": _lay_out(opened.arms, tasks, answers),
        "n_answers": sum(answer.task != BASE_TASK for answer in answers),
        "n_verdicts": sum(answer.task == BASE_TASK for answer in answers),
    }
    return render(request, "sob/text.html", context)


def _lay_out(arms: Sequence[AskedArm], tasks: Sequence[str], answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """One row per model, one column per task, the repeats of an answer below each other."""
    cells: dict[tuple[str, str], list[Answer]] = {}
    for answer in answers:
        cells.setdefault((answer.model, answer.task), []).append(answer)
    models = dict.fromkeys(arm.model for arm in arms)
    return [{"model": model, "cells": [cells.get((model, task), []) for task in tasks]} for model in models]
