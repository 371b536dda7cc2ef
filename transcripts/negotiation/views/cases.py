"""Pages of the case sheet of a thread, of pairs and of normative stances, and scoring a thread at the desk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from django import template
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Max, Prefetch
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.coding.actions.checks import check_readable
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.desk.forms import WrongField, WrongSpan, find_span, read_id, read_idempotency_key, read_uuid
from transcripts.desk.rendering import render_beside
from transcripts.desk.views import FIELD_HEADER, SCRIPT_HEADER, refuse_another
from transcripts.history.models import WrittenMeanwhile
from transcripts.history.views import NumberPage, at_next, write_number
from transcripts.negotiation import actions
from transcripts.negotiation.actions import (
    Evidence,
    put_score,
    restore_score,
    withdraw_score,
    write_case_sheet,
    write_stance,
)
from transcripts.negotiation.forms import (
    GRADES,
    WITHOUT,
    CaseSheetForm,
    NextStanceForm,
    PairForm,
    StanceForm,
    natural_key,
)
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score, ScoreEvidence
from transcripts.negotiation.pure.episodes import NAMES_OF_KINDS
from transcripts.negotiation.pure.records import CRITERIA
from transcripts.negotiation.queries.cases import (
    PairView,
    choose_stance,
    find_pair,
    list_features,
    list_latest,
    list_pairs,
    list_stances,
    visible_sheets,
)
from transcripts.negotiation.queries.scores import read_followed
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, at_top, post_again
from transcripts.ui.typed_text import find_number, find_numbers


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.VIEW)
def show_case_sheet(request: StudyRequest, interview_id: int) -> HttpResponse:
    """The case sheet of a thread with its earlier numbers, and for leads the form of the next."""
    interview = get_object_or_404(request.study.interviews, pk=interview_id)
    latest = interview.case_sheets.order_by("-number").first()
    shown = list(visible_sheets(get_viewer(request)).filter(interview=interview).order_by("-number"))
    # A person who may not see the current sheet cannot change it either, because she would overwrite it unread.
    is_shut = latest is not None and latest not in shown
    may_write = Permission.ADJUDICATE in request.role.permissions and not is_shut
    features = list_features(request.study)
    turns = _list_asked(interview) if may_write else []
    posted = request.POST if request.method == "POST" else None
    if posted is not None and Permission.ADJUDICATE not in request.role.permissions:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    form = CaseSheetForm(posted, features=features, latest=latest, turns=turns) if may_write else None
    if posted is not None and form is None:
        messages.error(request, "Nothing was stored, because this thread has a case sheet that you cannot open yet.")
        return _render(request, interview, latest, shown, None, status=409)
    if form is not None and form.is_valid():
        with at_next(form):
            sheet = write_case_sheet(study=request.study, interview=interview, by=request.user, **form.read())
            messages.success(request, f"Case sheet {sheet.number} is saved.")
            return redirect("negotiation:case_sheet", request.study.slug, interview.pk)
    if form is not None and form.latest:
        return _render_late(request, interview, form)
    return _render(request, interview, latest, shown, form)


def _list_asked(interview: Interview) -> list[Turn]:
    """The interviewer's turns, in order."""
    return list(interview.turns.filter(role=Turn.Role.INTERVIEWER).order_by("position"))


def _render_late(request: StudyRequest, interview: Interview, late: CaseSheetForm) -> HttpResponse:
    """Show what was written in the meantime above the form with her entries; sent again, they become the next number."""
    latest, words = late.latest, str(late.non_field_errors()[0])
    shown = list(visible_sheets(get_viewer(request)).filter(interview=interview).order_by("-number"))
    if latest not in shown:
        messages.error(request, words)
        return _render(request, interview, latest, shown, None, status=409)
    form = CaseSheetForm(late.data, features=late.features, latest=latest, turns=_list_asked(interview))
    form.add_error(None, words)
    return _render(request, interview, latest, shown, form, status=409)


def _render(
    request: StudyRequest,
    interview: Interview,
    latest: CaseSheet | None,
    shown: list[CaseSheet],
    form: CaseSheetForm | None,
    *,
    status: int | None = None,
) -> HttpResponse:
    viewer = get_viewer(request)
    is_shut = latest is not None and latest not in shown
    offers = is_shut and not interview.is_masked
    context: dict[str, Any] = {
        "interview": interview,
        "interview_key": str(interview.pk),
        "features": list_features(request.study),
        "current": next((sheet for sheet in shown if sheet == latest), None),
        "earlier": [sheet for sheet in shown if sheet != latest],
        "is_shut": is_shut,
        "form": form,
        "may_code": viewer.codes,
        "unblinding": offer_unblinding(request, [interview.pk], where="case sheet") if offers else None,
    }
    return render(request, "negotiation/case_sheet.html", context, status=status or (form.status if form else 200))


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.VIEW)
def show_pairs(request: StudyRequest) -> HttpResponse:
    """Every pair, with the person's progress in its threads and, for leads, the form for a new pair."""
    may_write = Permission.SET_METHOD in request.role.permissions
    threads = request.study.interviews.all()
    posted = request.POST if request.method == "POST" else None
    if posted is not None and not may_write:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    form = PairForm(posted, threads=threads, initial={"seen": _find_newest(request)}) if may_write else None
    if form is not None and form.is_valid():
        given = dict(form.cleaned_data)
        known = Pair.objects.filter(study=request.study, name=given["name"], pk__lte=given.pop("seen"))
        based_on = known.aggregate(last=Max("number"))["last"] or 0
        with at_form(form):
            try:
                pair = actions.pair_threads(study=request.study, by=request.user, based_on=based_on, **given)
            except WrittenMeanwhile as error:
                form.data = post_again(request.POST, seen=_find_newest(request))
                form.add_error(None, str(error))
                return _render_list(request, form, status=409)
            messages.success(request, f"The pair “{pair.name}” is saved.")
            return redirect("negotiation:pairs", request.study.slug)
    return _render_list(request, form, status=422 if form and form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def show_pair(request: StudyRequest, pair_name: str) -> HttpResponse:
    """The two threads side by side once the person has decided both; before that, what is left to decide."""
    view = _find(request, pair_name)
    if not view.is_open:
        return render(request, "negotiation/pair_shut.html", {"view": view, "pair": view.pair})
    pair = view.pair
    return render_beside(request, pair.a_id, pair.b_id, template="negotiation/pair.html", pair=pair, view=view)


@require_POST
@study_view(Permission.SET_METHOD)
def withdraw_pair(request: StudyRequest, pair_name: str) -> HttpResponse:
    """Withdraw a pair."""
    view = _find(request, pair_name)
    with at_top(request):
        actions.withdraw_pair(pair=view.pair, by=request.user)
        messages.success(request, f"The pair “{pair_name}” is withdrawn. Its rows are kept.")
    return redirect("negotiation:pairs", request.study.slug)


def _find_newest(request: StudyRequest) -> int:
    return Pair.objects.filter(study=request.study).aggregate(last=Max("pk"))["last"] or 0


def _find(request: StudyRequest, name: str) -> PairView:
    view = find_pair(get_viewer(request), name) if "\x00" not in name else None
    if view is None:
        raise Http404("This study has no pair with this name.")
    return view


def _render_list(request: StudyRequest, form: PairForm | None, *, status: int = 200) -> HttpResponse:
    viewer = get_viewer(request)
    pairs = sorted(list_pairs(viewer), key=lambda view: natural_key(view.pair.name))
    context = {"pairs": pairs, "form": form, "may_code": viewer.codes}
    return render(request, "negotiation/pairs.html", context, status=status)


@require_safe
@study_view(Permission.VIEW)
def show_stances(request: StudyRequest) -> HttpResponse:
    """Every stance with all its numbers."""
    return render(request, "negotiation/stances.html", {"stances": list_stances(request.study)})


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def write_new(request: StudyRequest) -> HttpResponse:
    """Write a stance with a new name."""
    return write_number(request, PAGE, StanceForm)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def write_next(request: StudyRequest, stance_id: int) -> HttpResponse:
    """Write the next number of a stance."""
    stance = get_object_or_404(request.study.normative_stances, pk=stance_id)
    latest = request.study.normative_stances.filter(name=stance.name).order_by("-number")[0]
    return write_number(request, PAGE, NextStanceForm, latest)


def _describe_stance(latest: NormativeStance) -> dict[str, Any]:
    return {"based_on": latest.number, **{field: getattr(latest, field) for field in latest.wording}}


def _write(request: StudyRequest, form: StanceForm, latest: NormativeStance | None) -> NormativeStance:
    form.instance.study = request.study
    if latest is not None:
        form.instance.name = latest.name
    return write_stance(stance=form.instance, by=request.user, based_on=form.cleaned_data["based_on"])


PAGE = NumberPage(
    first_title="New normative stance",
    next_title="Next number of a normative stance",
    list_title="Normative stances",
    short="stance",
    kept="the scores given under it",
    done="You can now give scores under it.",
    back="negotiation:stances",
    style="css/scores.css",
    initial=_describe_stance,
    write=_write,
)


KEPT = "kept"

View = Callable[[StudyRequest, Interview], None]


@require_safe
@study_view(Permission.CODE)
def show_own(request: StudyRequest, interview_id: int) -> HttpResponse:
    """The stances under which the thread can be scored, and the person's own scores of it."""
    interview = get_object_or_404(request.study.interviews, pk=interview_id)
    return JsonResponse(_describe(request, interview))


def _answer(view: View) -> Callable[..., HttpResponseBase]:
    """Carry out an action for the page's script, and answer with the current state or with the refusal."""

    @require_POST
    @study_view(Permission.CODE)
    @wraps(view)
    def answer(request: StudyRequest, interview_id: int) -> HttpResponse:
        if refused := refuse_another(request, request.headers.get(SCRIPT_HEADER)):
            return refused
        interview = get_object_or_404(request.study.interviews, pk=interview_id)
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
def put_at_desk(request: StudyRequest, interview: Interview) -> None:
    """Score the thread or, with ``again``, restore an earlier score."""
    data = request.POST
    key = read_idempotency_key(data)
    if data.get("again"):
        earlier = _get_own(request, interview, data, "again")
        restore_score(study=request.study, score=earlier, by=request.user, idempotency_key=key)
        return
    stance = get_object_or_404(request.study.normative_stances, pk=read_id(data, "stance"))
    criterion = data.get("criterion", "")
    before = Score.objects.active().filter(
        coder=request.user, stance=stance, interview=interview, criterion=criterion, turn=None
    )
    put_score(
        study=request.study,
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
def withdraw_at_desk(request: StudyRequest, interview: Interview) -> None:
    """Withdraw one of the person's own scores."""
    withdraw_score(study=request.study, score=_get_own(request, interview, request.POST, "score"), by=request.user)


def _refuse(words: str, status: int, field: str = "") -> HttpResponse:
    response = HttpResponse(words, status=status, content_type="text/plain; charset=utf-8")
    if field:
        response.headers[FIELD_HEADER] = field
    return response


def _get_own(request: StudyRequest, interview: Interview, data: QueryDict, name: str) -> Score:
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


def _read_evidence(request: StudyRequest, tokens: Sequence[str], before: Score | None) -> list[Evidence]:
    """Sentences as the script names them: "12", "12:3:9" with marked words in UTF-16 units, or "12:kept" with the words of the
    previous score. Sentences of the previous score that were split or merged since may have their old numbers."""
    rows = before.evidence.select_related("sentence__turn") if before else ()
    kept = {row.sentence_id: row.quote for row in rows}
    kept |= {each.sentence.pk: each.quote for each in read_followed(rows)}
    parts = [token.split(":") for token in tokens]
    numbers = [read_id(QueryDict(f"evidence={part[0]}"), "evidence") for part in parts]
    of_study = Sentence.objects.filter(turn__interview__study=request.study)
    found = of_study.select_related("turn__interview").in_bulk(numbers)
    # Checked before quotes are looked for, because that would reveal the length of a text.
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
        raise WrongField("evidence", "the number of a sentence, with the marked words")
    try:
        span = find_span(sentence.read_text(), *marks)
    except WrongSpan as error:
        raise WrongInput(str(error), field="evidence") from error
    return sentence.start + span.start, sentence.start + span.end


def _describe(request: StudyRequest, interview: Interview) -> dict[str, Any]:
    """What the script shows; nothing of other people's."""
    stances = list_latest(request.study)
    chosen = choose_stance(stances, "", request.user.pk)
    own = Score.objects.active().filter(coder=request.user, interview=interview, criterion__in=CRITERIA)
    evidence = ScoreEvidence.objects.select_related("sentence__turn").order_by("sentence__position", "sentence__start")
    scores = own.filter(stance__in=stances).prefetch_related(Prefetch("evidence", evidence)).order_by("pk")
    where = [request.study.slug, interview.pk]
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


register = template.Library()
"""For templates: ``{% load cases %}``."""


@register.filter
def named(feature: str, names: Mapping[str, str]) -> str:
    """The name of a feature, or its identifier if the codebook no longer has it."""
    return names.get(feature, feature)


@register.filter
def intent(kind: str) -> str:
    """The intent of a turn in words; an unknown intent from a script or the API is shown unchanged."""
    return NAMES_OF_KINDS.get(kind, kind)


@register.filter
def at(places: Mapping[str, int], key: str) -> int | str:
    """The sentence of a coding, by its id; "" where it is not known."""
    return places.get(key, "")
