"""The answers behind a figure of a check, as far as this person may see what machines said of single sentences."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.batches.models import Batch
from auditapp.preannotation.evaluation.queries.asked_again import read_reask
from auditapp.preannotation.evaluation.queries.check_answers import (
    OF_ANSWERS,
    OF_REASK,
    OF_SENTENCES,
    SCOPES,
    list_answer_entries,
    list_planted_rows,
    list_reask_entries,
    list_sentence_entries,
    read_interviews,
    read_places,
)
from auditapp.preannotation.evaluation.queries.checks import find_annotator, name_codes, read_check
from auditapp.preannotation.evaluation.views.checks import get_batch
from auditapp.preannotation.models import KIND
from auditapp.preannotation.suggestions.queries.arms import list_all_withheld
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

PER_PAGE = 25


def _read_asked(data: QueryDict, batch: Batch) -> tuple[str, str, str]:
    """What the page is asked for: a figure, a code where the figure has one, and which of its sentences."""
    figures = OF_REASK if batch.kind == KIND else (*OF_SENTENCES, *OF_ANSWERS)
    figure = data.get("figure", figures[0])
    code = data.get("code", "")
    if figure not in figures:
        raise Http404("No such figure.")
    if figure in OF_SENTENCES:
        annotator = find_annotator(batch)
        known = name_codes(annotator) if annotator else {}
        code = code or next((each for arm in batch.arms.all() for each in arm.settings.get("codes") or []), "")
        if code not in known:
            raise Http404("No such code.")
    scope = data.get("scope", SCOPES[0][0])
    return figure, code, scope if scope in dict(SCOPES) else SCOPES[0][0]


def _find(batch: Batch, figure: str, code: str, scope: str) -> list[Any]:
    """All that is behind a figure, whatever this person may see."""
    if batch.kind == KIND:
        pairs, planted, *_ = read_reask(batch)
        return list_planted_rows(planted) if figure == "planted" else list_reask_entries(pairs, code, scope)
    answers, _, definitions = read_check(batch)
    if figure in OF_ANSWERS:
        return list_answer_entries(answers, figure)
    return list_sentence_entries(answers, definitions, figure, code, scope)


def find_interviews(request: ProjectRequest, turn_ids: Collection[int]) -> dict[int, int]:
    """The interview of each of these turns that may be shown; withheld ones are shown to nobody."""
    return read_interviews(set(turn_ids) - list_all_withheld(request.project))


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def list_answers(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Sentence by sentence what the answers suggested, with the way to each call."""
    batch = get_batch(request, batch_id)
    figure, code, scope = _read_asked(request.GET, batch)
    found = _find(batch, figure, code, scope)
    is_planted, is_of_answers = figure == "planted", figure in OF_ANSWERS
    turns = set() if is_planted else {each["turn_id"] for each in found}
    interviews = find_interviews(request, turns)
    blinded = get_viewer(request).blinded(interviews.values())
    open_turns = {turn_id for turn_id, interview_id in interviews.items() if interview_id not in blinded}
    entries = found if is_planted else [each for each in found if each["turn_id"] in open_turns]
    page = Paginator(entries, PER_PAGE).get_page(request.GET.get("page"))
    annotator = find_annotator(batch)
    names = name_codes(annotator) if annotator else {}
    is_of_sentences = not is_planted and not is_of_answers
    places = read_places([each["sentence_id"] for each in page.object_list]) if is_of_sentences else {}
    context = {
        "batch": batch,
        "annotator": annotator,
        "asked": {"figure": figure, "code": code, "scope": scope},
        "unblinding": offer_unblinding(request, interviews.values(), where="checks"),
        "withheld": len(turns) - len(interviews),
        "behind": 0 if is_planted else len(found),
        "page": page,
        "rows": [(each, places.get(each["sentence_id"]) if is_of_sentences else None) for each in page.object_list],
        "scopes": SCOPES,
        "code": names.get(code),
        "names": names,
        "is_planted": is_planted,
        "is_of_answers": is_of_answers,
    }
    return render(request, "preannotation/check_answers.html", context)
