"""Scores at the desk: what its script asks for and sends. It gets back all scores of the person on the thread, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.db.models import Prefetch
from django.http import HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from transcripts.coding.actions.checks import check_readable
from transcripts.corpus.models import Interview, Sentence
from transcripts.desk.forms import WrongField, read_id, read_idempotency_key, read_uuid
from transcripts.desk.quoting import WrongSpan, find_span
from transcripts.negotiation.actions.scores import Evidence, put_score, restore_score, withdraw_score
from transcripts.negotiation.forms.scores import GRADES, WITHOUT
from transcripts.negotiation.models import Score, ScoreEvidence
from transcripts.negotiation.pure.records import CRITERIA
from transcripts.negotiation.queries.evidence import read_followed
from transcripts.negotiation.queries.stances import choose_stance, list_latest
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number, find_numbers

SCRIPT_HEADER = "X-Desk"
FIELD_HEADER = "X-Desk-Field"
KEPT = "kept"

View = Callable[[ProjectRequest, Interview], None]


@require_safe
@project_view(Permission.CODE)
def show_own(request: ProjectRequest, interview_id: int) -> HttpResponse:
    """The stances to score under, and the person's own scores of the thread."""
    interview = get_object_or_404(request.project.interviews, pk=interview_id)
    return JsonResponse(_describe(request, interview))


def _answer(view: View) -> Callable[..., HttpResponseBase]:
    """Do an act of the script's, and answer with what holds now, or with the sentence that refuses it."""

    @require_POST
    @project_view(Permission.CODE)
    @wraps(view)
    def answer(request: ProjectRequest, interview_id: int) -> HttpResponse:
        if request.headers.get(SCRIPT_HEADER, str(request.user.pk)) != str(request.user.pk):
            return HttpResponse("Somebody else is signed in now. Sign in as yourself to save this.", status=401)
        interview = get_object_or_404(request.project.interviews, pk=interview_id)
        try:
            view(request, interview)
        except WrongInput as error:
            return _refuse(str(error), 422, error.field)
        except WrongField as error:
            return _refuse(str(error), 422, error.name)
        except Refused as error:
            return _refuse(str(error), 409)
        return JsonResponse(_describe(request, interview))

    return answer


@_answer
def put_at_desk(request: ProjectRequest, interview: Interview) -> None:
    """Score the thread, or with ``again`` give an earlier score again as it was."""
    data = request.POST
    key = read_idempotency_key(data)
    if data.get("again"):
        earlier = _get_own(request, interview, data, "again")
        restore_score(project=request.project, score=earlier, by=request.user, idempotency_key=key)
        return
    stance = get_object_or_404(request.project.normative_stances, pk=read_id(data, "stance"))
    criterion = data.get("criterion", "")
    before = Score.objects.active().filter(
        coder=request.user, stance=stance, interview=interview, criterion=criterion, turn=None
    )
    put_score(
        project=request.project,
        stance=stance,
        interview=interview,
        criterion=criterion,
        value=_read_value(data),
        by=request.user,
        idempotency_key=key,
        evidence=_read_evidence(request, data.getlist("evidence"), before.first()),
        note=data.get("note", ""),
    )


@_answer
def withdraw_at_desk(request: ProjectRequest, interview: Interview) -> None:
    """Withdraw one of the person's own scores."""
    withdraw_score(project=request.project, score=_get_own(request, interview, request.POST, "score"), by=request.user)


def _refuse(words: str, status: int, field: str = "") -> HttpResponse:
    response = HttpResponse(words, status=status, content_type="text/plain; charset=utf-8")
    if field:
        response.headers[FIELD_HEADER] = field
    return response


def _get_own(request: ProjectRequest, interview: Interview, data: QueryDict, name: str) -> Score:
    scores = Score.objects.select_related("interview", "stance", "turn")
    return get_object_or_404(scores, coder=request.user, interview=interview, idempotency_key=read_uuid(data, name))


def _read_value(data: QueryDict) -> int | None:
    given = data.get("value", "")
    if given == WITHOUT:
        return None
    value = find_number(given, most=99)
    if value is None:
        raise WrongInput("A score is 0, 1, 2, 3 or not applicable.", field="value")
    return value


def _read_evidence(request: ProjectRequest, tokens: Sequence[str], before: Score | None) -> list[Evidence]:
    """Sentences as the script names them: "12", with words that were marked "12:3:9" in UTF-16 units, or as the score before
    had them "12:kept". Those of the score before that were split or merged since may be named by their old numbers too."""
    rows = before.evidence.select_related("sentence__turn") if before else ()
    kept = {row.sentence_id: row.quote for row in rows}
    kept |= {each.sentence.pk: each.quote for each in read_followed(rows)}
    parts = [token.split(":") for token in tokens]
    numbers = [_read_number(part[0]) for part in parts]
    of_study = Sentence.objects.filter(turn__interview__project=request.project)
    found = of_study.select_related("turn__interview").in_bulk(numbers)
    # Before quotes are looked for, which would tell how long a text is.
    check_readable([each.turn for each in found.values()], request.user, field="evidence")
    evidence = []
    for number, (_, *marked) in zip(numbers, parts, strict=True):
        sentence = found.get(number)
        if sentence is None:
            raise WrongInput("There is no such sentence. Reload the page.", field="evidence")
        if marked == [KEPT]:
            evidence.append(Evidence(sentence, kept.get(number)))
        elif marked:
            evidence.append(Evidence(sentence, _read_quote(sentence, marked)))
        else:
            evidence.append(Evidence(sentence))
    return evidence


def _read_quote(sentence: Sentence, marked: Sequence[str]) -> tuple[int, int]:
    marks = find_numbers(marked)
    if not len(marked) == len(marks) == 2:
        raise WrongField("evidence", "the number of a sentence, with the words that are marked")
    try:
        span = find_span(sentence.read_text(), *marks)
    except WrongSpan as error:
        raise WrongInput(str(error), field="evidence") from error
    return sentence.start + span.start, sentence.start + span.end


def _read_number(text: str) -> int:
    return read_id(QueryDict(f"evidence={text}"), "evidence")


def _describe(request: ProjectRequest, interview: Interview) -> dict[str, Any]:
    """What the script shows: nothing of anybody else."""
    stances = list_latest(request.project)
    chosen = choose_stance(stances, "", request.user.pk)
    own = Score.objects.active().filter(coder=request.user, interview=interview, criterion__in=CRITERIA)
    evidence = ScoreEvidence.objects.select_related("sentence__turn").order_by("sentence__position", "sentence__start")
    scores = own.filter(stance__in=stances).prefetch_related(Prefetch("evidence", evidence)).order_by("pk")
    where = [request.project.slug, interview.pk]
    return {
        "page": reverse("negotiation:thread_scores", args=where),
        "put": reverse("negotiation:put_at_desk", args=where),
        "withdraw": reverse("negotiation:withdraw_at_desk", args=where),
        "chosen": chosen.pk if chosen else None,
        "stances": [
            {"id": each.pk, "label": each.label, "author": each.author, "statement": each.statement} for each in stances
        ],
        "criteria": [{"id": key, "name": Score.Criterion(key).label} for key in CRITERIA],
        "values": [{"id": value, "name": words} for value, words in GRADES],
        "scores": [
            {
                "id": each.idempotency_key.hex,
                "stance": each.stance_id,
                "criterion": each.criterion,
                "value": WITHOUT if each.value is None else str(each.value),
                "note": each.note,
                "evidence": [
                    {"sentence": str(row.sentence.pk), "number": row.sentence.label}
                    for row in read_followed(each.evidence.all())
                ],
            }
            for each in scores
        ],
    }
