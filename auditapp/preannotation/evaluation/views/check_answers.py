"""The answers behind a figure of a check, as far as this person may see what machines said of single sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from auditapp.batches.models import Batch
from auditapp.preannotation.batch_kinds import KIND
from auditapp.preannotation.evaluation.queries.asked_again import read_reask
from auditapp.preannotation.evaluation.queries.check_answers import (
    OF_ANSWERS,
    OF_REASK,
    OF_SENTENCES,
    SCOPES,
    AnswerEntry,
    PlantedRow,
    SentenceEntry,
    list_answer_entries,
    list_planted_rows,
    list_reask_entries,
    list_sentence_entries,
    read_interviews,
    read_places,
)
from auditapp.preannotation.evaluation.queries.checks import find_annotator, name_codes, read_check
from auditapp.preannotation.evaluation.views.checks import get_batch
from auditapp.preannotation.suggestions.queries.arms import list_withheld
from transcripts.blinding.actions import UnblindingRefused, unblind_interviews
from transcripts.blinding.forms import OpeningForm
from transcripts.blinding.viewers import get_viewer
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

PER_PAGE = 25


class Asked(NamedTuple):
    """What the page was asked for: a figure, a code where the figure has one, and which of its sentences."""

    figure: str
    code: str
    scope: str

    @property
    def query(self) -> str:
        return urlencode([(name, value) for name, value in self._asdict().items() if value])


class Found(NamedTuple):
    """All that is behind a figure, whoever asks."""

    sentences: Sequence[SentenceEntry] = ()
    answers: Sequence[AnswerEntry] = ()
    planted: Sequence[PlantedRow] = ()


class Sight(NamedTuple):
    """What of it this person may see now: turns that are not withheld, of interviews that are open to her."""

    turns: set[int]
    unopened: set[int]
    withheld: int


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def list_answers(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Sentence by sentence what the answers put, with the way to each call."""
    batch = get_batch(request, batch_id)
    asked = _read_asked(request.GET, batch)
    return _render(request, batch, asked, OpeningForm())


@require_POST
@project_view(Permission.SEE_ALL_CODINGS)
def open_answers(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """Open what the machine said in these interviews, after saying so: what one codes there later is assisted."""
    batch = get_batch(request, batch_id)
    asked = _read_asked(request.POST, batch)
    form = OpeningForm(request.POST)
    if not form.is_valid():
        return _render(request, batch, asked, form, status=422)
    unopened = look(request, _list_turns(_find(batch, asked))).unopened
    interviews = list(request.project.interviews.filter(pk__in=unopened).order_by("pk"))
    try:
        unblind_interviews(project=request.project, interviews=interviews, by=request.user, where="checks")
    except UnblindingRefused as error:
        form.add_error(None, str(error))
        return _render(request, batch, asked, form, status=409)
    address = reverse("preannotation:check_answers", args=[request.project.slug, batch.pk])
    return redirect(f"{address}?{asked.query}")


def _read_asked(data: QueryDict, batch: Batch) -> Asked:
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
    return Asked(figure, code, scope if scope in dict(SCOPES) else SCOPES[0][0])


def _find(batch: Batch, asked: Asked) -> Found:
    if batch.kind == KIND:
        reask = read_reask(batch)
        if asked.figure == "planted":
            return Found(planted=list_planted_rows(reask))
        return Found(sentences=list_reask_entries(reask, asked.code, asked.scope))
    check = read_check(batch)
    if asked.figure in OF_ANSWERS:
        return Found(answers=list_answer_entries(check, asked.figure))
    return Found(sentences=list_sentence_entries(check, asked.figure, asked.code, asked.scope))


def _list_turns(found: Found) -> set[int]:
    return {each.turn_id for each in found.sentences} | {each.turn_id for each in found.answers}


def look(request: ProjectRequest, turn_ids: Collection[int]) -> Sight:
    """Which of the turns may be shown: withheld ones to nobody, others once their interview was opened by whoever codes."""
    withheld = list_withheld(request.project) & set(turn_ids)
    interviews = read_interviews(set(turn_ids) - withheld)
    unopened = get_viewer(request).blinded(interviews.values())
    turns = {turn_id for turn_id, interview_id in interviews.items() if interview_id not in unopened}
    return Sight(turns, unopened, len(withheld))


def _render(
    request: ProjectRequest, batch: Batch, asked: Asked, form: OpeningForm, *, status: int = 200
) -> HttpResponse:
    found = _find(batch, asked)
    sight = look(request, _list_turns(found))
    behind: list[SentenceEntry | AnswerEntry] = [*found.sentences, *found.answers]
    entries: list[Any] = [each for each in behind if each.turn_id in sight.turns]
    page = Paginator([*entries, *found.planted], PER_PAGE).get_page(request.GET.get("page"))
    annotator = find_annotator(batch)
    names = name_codes(annotator) if annotator else {}
    context = {
        "batch": batch,
        "annotator": annotator,
        "asked": asked,
        "opening": form,
        "sight": sight,
        "behind": len(behind),
        "page": page,
        "rows": _place(list(page.object_list), is_of_sentences=bool(found.sentences)),
        "scopes": SCOPES,
        "code": names.get(asked.code),
        "names": names,
        "is_planted": asked.figure == "planted",
        "is_of_answers": asked.figure in OF_ANSWERS,
    }
    return render(request, "preannotation/check_answers.html", context, status=status)


def _place(entries: Sequence[Any], *, is_of_sentences: bool) -> list[tuple[Any, Any]]:
    """The entries of a page, each of a sentence with its place and words."""
    places = read_places([each.sentence_id for each in entries]) if is_of_sentences else {}
    return [(each, places.get(each.sentence_id) if is_of_sentences else None) for each in entries]
