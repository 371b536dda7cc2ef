"""Scores of threads under normative stances: the page of a study, and that of a thread, on which people score without the desk.

The figures of each stance are shown separately, as a chart of the counts with its table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from transcripts.blinding.viewers import Viewer, get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.charts.figures import Part, Row, RowChart, judge_reliability
from transcripts.codebook.pure.checking import FEATURE_PREFIX, is_feature
from transcripts.coding.models import Coding
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.desk.forms import WrongField, read_uuid
from transcripts.negotiation.actions import CHALLENGES, Evidence, put_score, withdraw_score
from transcripts.negotiation.forms import WITHOUT, ScoreForm
from transcripts.negotiation.models import NormativeStance, Score
from transcripts.negotiation.pure.records import CRITERIA, MAX_VALUE
from transcripts.negotiation.queries.cases import choose_stance, list_latest, list_stances
from transcripts.negotiation.queries.records import read_score_records
from transcripts.negotiation.queries.scores import (
    ShownScore,
    find_hidden,
    group_by_coder,
    read_followed,
    read_shown,
    visible_scores,
)
from transcripts.refusals import Refused, WrongInput
from transcripts.statistics.figures import (
    FEW,
    Figure,
    Reason,
    mark_clusters,
    write_figure,
    write_interval,
    write_number,
    write_p,
)
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.models import MethodChoice
from transcripts.studies.queries import find_method
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_top
from transcripts.ui.typed_text import find_numbers

if TYPE_CHECKING:
    from transcripts.negotiation.pure.scoring import Counts, CriterionFigures, SignTest, Superiority

Criterion = Score.Criterion
THREADS_PER_PAGE = 25


@dataclass
class Place:
    """The subject of one score, with the person's own score and the form that changes it.

    ``about`` names the entry or challenge of a determination; ``is_gone``: she has since removed it.
    """

    key: str
    criterion: str
    about: str = ""
    turn: Turn | None = None
    feature: str = ""
    is_gone: bool = False
    shown: ShownScore | None = None
    form: ScoreForm | None = None

    @property
    def name(self) -> str:
        return Criterion(self.criterion).label


@require_safe
@study_view(Permission.VIEW)
def show_scores(request: StudyRequest) -> HttpResponse:
    """Threads by stances, and the figures of each stance."""
    viewer = get_viewer(request)
    visible = visible_scores(viewer).active()
    scored = set(visible.order_by().values_list("stance", flat=True).distinct())
    every = list_stances(request.study)
    latest = {stance.pk for stance in list_latest(request.study)}
    stances = [each for each in every if each.pk in scored or each.pk in latest]
    is_scored = Exists(visible.filter(interview=OuterRef("pk")))
    threads = request.study.interviews.annotate(is_scored=is_scored).order_by("-is_scored", "pk")
    page = Paginator(threads, THREADS_PER_PAGE).get_page(request.GET.get("page"))
    by_cell: dict[tuple[int, int], list[ShownScore]] = {}
    for each in read_shown(viewer, visible.filter(interview__in=[thread.pk for thread in page])):
        by_cell.setdefault((each.score.interview_id, each.score.stance_id), []).append(each)
    rows = [
        (thread, [(stance, group_by_coder(by_cell.get((thread.pk, stance.pk), []))) for stance in stances])
        for thread in page
    ]
    context = {
        "stances": stances,
        "page": page,
        "rows": rows,
        "criteria": [(key, Criterion(key).label) for key in CRITERIA],
        "unblinding": offer_unblinding(request, find_hidden(viewer), where="scores", to_coders=True),
        **build_figures(viewer, stances, scores_url=reverse("negotiation:scores", args=[request.study.slug])),
    }
    return render(request, "negotiation/scores.html", context)


@require_safe
@study_view(Permission.VIEW)
def show_thread(request: StudyRequest, interview_id: int) -> HttpResponse:
    """One thread under one stance: the four criteria and the determinations, with a form for each."""
    return _render_thread(request, _get_thread(request, interview_id))


@require_POST
@study_view(Permission.CODE)
def put(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Give one score."""
    interview = _get_thread(request, interview_id)
    criterion = request.POST.get("criterion", "")
    form = ScoreForm(request.POST, is_graded=criterion in CRITERIA, hangs=interview.hangs_on_id is not None)
    if not form.is_valid():
        return _render_thread(request, interview, wrong=form)
    given = form.cleaned_data
    stance = request.study.normative_stances.filter(pk=given["stance"]).first()
    if stance is None:
        raise Http404("This study has no such normative stance.")
    turn = interview.turns.filter(pk=given["turn"]).first() if given["turn"] else None
    place = {
        "stance": stance,
        "interview": interview,
        "criterion": criterion,
        "turn": turn,
        "feature": given["feature"],
    }
    try:
        put_score(
            study=request.study,
            **place,
            value=form.given_value,
            by=request.user,
            idempotency_key=given["idempotency_key"],
            evidence=_keep_quotes(
                _find_evidence(interview, given["evidence"], given.get("above", [])),
                Score.objects.active().filter(coder=request.user, **place).first(),
            ),
            note=given["note"],
        )
    except WrongInput as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return _render_thread(request, interview, wrong=form)
    except Refused as error:
        form.add_error(None, str(error))
        return _render_thread(request, interview, wrong=form, status=409)
    messages.success(request, "The score is saved.")
    return _go_back(request, interview.pk, stance.pk, f"#{_name_place(criterion, turn, given['feature'])}")


@require_POST
@study_view(Permission.CODE)
def withdraw(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Withdraw one's own score."""
    _get_thread(request, interview_id)
    try:
        key = read_uuid(request.POST, "score")
    except WrongField as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    scores = Score.objects.select_related("interview", "stance")
    score = get_object_or_404(
        scores, coder=request.user, idempotency_key=key, interview=interview_id, interview__study=request.study
    )
    with at_top(request):
        withdraw_score(study=request.study, score=score, by=request.user)
        messages.success(request, "The score has been withdrawn. It stays in the history.")
    return _go_back(request, interview_id, score.stance_id)


def _get_thread(request: StudyRequest, interview_id: int) -> Interview:
    return get_object_or_404(request.study.interviews.select_related("hangs_on__interview"), pk=interview_id)


def _go_back(request: StudyRequest, interview_id: int, stance_id: int, place: str = "") -> HttpResponse:
    address = reverse("negotiation:thread_scores", args=[request.study.slug, interview_id])
    return redirect(f"{address}?stance={stance_id}{place}")


def _find_evidence(interview: Interview, own: Sequence[str], above: Sequence[str]) -> list[Evidence]:
    """The sentences with these labels, in the thread and in the one from which it continues. Raises ``WrongInput``."""
    evidence = []
    places = [("evidence", interview, own)]
    if above and interview.hangs_on is not None:
        places.append(("above", interview.hangs_on.interview, above))
    for name, thread, labels in places:
        positions = {int(label.rstrip("abcdefghijklmnopqrstuvwxyz")) for label in labels}
        rows = Sentence.objects.current().filter(turn__interview=thread, position__in=positions)
        found = {row.label: row for row in rows.select_related("turn__interview")}
        if missing := [label for label in labels if label not in found]:
            raise WrongInput(
                f"There is no sentence {missing[0]} in that thread. Look up its number at the desk.", field=name
            )
        evidence += [Evidence(found[label]) for label in labels]
    return evidence


def _keep_quotes(evidence: Sequence[Evidence], before: Score | None) -> list[Evidence]:
    """Keep the words that were quoted at the desk, because numbers of sentences do not contain them."""
    rows = before.evidence.select_related("sentence__turn") if before else ()
    quotes = {each.sentence.pk: each.quote for each in read_followed(rows)}
    return [Evidence(each.sentence, quotes.get(each.sentence.pk)) for each in evidence]


def _render_thread(
    request: StudyRequest, interview: Interview, *, wrong: ScoreForm | None = None, status: int = 422
) -> HttpResponse:
    viewer = get_viewer(request)
    stances = list_latest(request.study)
    asked = (wrong.data if wrong else request.GET).get("stance", "")
    older = request.study.normative_stances.filter(pk__in=find_numbers([asked])).first()
    if older is not None and older not in stances:
        # Scores under an earlier number can still be read and corrected.
        stances = [*stances, older]
    stance = choose_stance(stances, asked, request.user.pk)
    places: list[Place] = []
    others: dict[str, list[ShownScore]] = {}
    if stance is not None:
        visible = visible_scores(viewer).active().filter(interview=interview, stance=stance)
        shown = read_shown(viewer, visible)
        own = [each for each in shown if each.score.coder_id == request.user.pk]
        others = group_by_coder(each for each in shown if each.score.coder_id != request.user.pk)
        if viewer.codes:
            places = list(_list_places(interview, stance, own, request.user.pk, wrong))
    hidden = find_hidden(viewer) & {interview.pk}
    context = {
        "interview": interview,
        "stances": stances,
        "stance": stance,
        "criteria": [place for place in places if place.criterion in CRITERIA],
        "entries": [place for place in places if place.criterion == Criterion.WARRANTED],
        "challenges": [place for place in places if place.criterion == Criterion.UPDATED],
        "others": others,
        # Its subject may no longer be on the page: an entry that was removed in the meantime.
        "unplaced": wrong if all(place.form is not wrong for place in places) else None,
        "may_score": viewer.codes,
        "unblinding": offer_unblinding(request, hidden, where="scores", to_coders=True),
    }
    return render(request, "negotiation/thread_scores.html", context, status=status if wrong else 200)


def _list_places(
    interview: Interview, stance: NormativeStance, own: Sequence[ShownScore], user_id: int, wrong: ScoreForm | None
) -> Iterator[Place]:
    """The four criteria, her entries of features, and the challenges that she coded."""
    given = {_name_place(each.score.criterion, each.score.turn, each.score.feature): each for each in own}
    places = [Place(key, key) for key in CRITERIA]
    codings = Coding.objects.active().filter(sentence__turn__interview=interview, coder=user_id)
    rows = codings.select_related("code__family", "sentence__turn").order_by("sentence__turn__position", "pk")
    for coding in rows:
        turn, code = coding.sentence.turn, coding.code
        if is_feature(code.identifier, code.family.identifier):
            status = coding.attributes.get("status", "")
            about = f"Turn {turn.position}: {code.name}{f', {status}' if status else ''}"
            key = _name_place(Criterion.WARRANTED, turn, code.identifier)
            places.append(Place(key, Criterion.WARRANTED, about, turn, code.identifier))
        elif code.family.identifier == CHALLENGES and turn.role == Turn.Role.INTERVIEWER:
            key = _name_place(Criterion.UPDATED, turn, "")
            places.append(
                Place(key, Criterion.UPDATED, f"After the challenge in turn {turn.position}: {code.name}", turn)
            )
    unique = {place.key: place for place in reversed(places)}
    for key, each in given.items():
        if key not in unique:
            judged = each.score
            about = f"Turn {judged.turn.position if judged.turn else ''}: {judged.feature or 'challenge'}"
            unique[key] = Place(key, judged.criterion, about, judged.turn, judged.feature, is_gone=True)
    for place in [
        *(each for each in places if unique.get(each.key) is each),
        *(p for p in unique.values() if p.is_gone),
    ]:
        place.shown = given.get(place.key)
        place.form = _make_form(interview, stance, place, wrong)
        yield place


def _make_form(
    interview: Interview, stance: NormativeStance, place: Place, wrong: ScoreForm | None
) -> ScoreForm | None:
    if place.is_gone:
        return None
    if wrong is not None and _is_of(wrong, place):
        wrong.auto_id = f"{place.key}-%s"
        return wrong
    initial: dict[str, object] = {
        "stance": stance.pk,
        "criterion": place.criterion,
        "turn": place.turn.pk if place.turn else None,
        "feature": place.feature,
    }
    if place.shown is not None:
        score = place.shown.score
        rested = place.shown.evidence
        own = [each.label_now for each in rested if each.interview_id == interview.pk]
        above = [each.label_now for each in rested if each.interview_id != interview.pk]
        initial |= {
            "value": WITHOUT if score.value is None else str(score.value),
            "note": score.note,
            "evidence": ", ".join(dict.fromkeys(own)),
            "above": ", ".join(dict.fromkeys(above)),
        }
    return ScoreForm(
        initial=initial,
        auto_id=f"{place.key}-%s",
        is_graded=place.criterion in CRITERIA,
        hangs=interview.hangs_on_id is not None,
    )


def _is_of(form: ScoreForm, place: Place) -> bool:
    data = form.data
    turn = str(place.turn.pk) if place.turn else ""
    return (data.get("criterion", ""), data.get("turn", ""), data.get("feature", "")) == (
        place.criterion,
        turn,
        place.feature,
    )


def _name_place(criterion: str, turn: Turn | None, feature: str) -> str:
    """The name of the place on the page and in its address; it contains no typed words."""
    parts = [
        criterion,
        *([str(turn.position)] if turn else []),
        *([feature.removeprefix(FEATURE_PREFIX)] if feature else []),
    ]
    return "-".join(parts).replace(".", "-").replace("_", "-")


SERIES = [str(value) for value in range(MAX_VALUE + 1)]
OF_SCORES: dict[str, str] = {
    Reason.NO_PAIR: "fewer than two people scored",
    Reason.NOTHING_SHARED: "no thread was scored by two people",
    Reason.FEW_DRAWN: f"fewer than {FEW} threads, too few to resample",
}
REFLEXIVE = MethodChoice.Method.REFLEXIVE


def build_figures(viewer: Viewer, stances: Sequence[NormativeStance], *, scores_url: str) -> dict[str, Any]:
    """The figures for the stances that have blind scores which the viewer may see.

    Alpha is left out in a study that is read reflexively, because it keeps differing judgements.
    """
    # Figures load numpy, which no start does.
    from transcripts.negotiation.pure.scoring import measure_scores

    records, assisted, gone = read_score_records(viewer)
    measured = measure_scores(records)
    is_reflexive = find_method(viewer.study) == REFLEXIVE
    by_stance = [(stance, measured[stance.label]) for stance in stances if stance.label in measured]
    figures = [
        {
            "stance": stance,
            "chart": _draw_counts(stance, found, scores_url),
            "criteria": [_describe(key, found[key], is_reflexive=is_reflexive) for key in CRITERIA if key in found],
            "determinations": [
                _describe(key, each, is_reflexive=is_reflexive) for key, each in found.items() if key not in CRITERIA
            ],
        }
        for stance, found in by_stance
    ]
    return {"figures": figures, "is_reflexive": is_reflexive, "assisted": assisted, "gone": gone}


def _draw_counts(stance: NormativeStance, found: dict[str, CriterionFigures], scores_url: str) -> RowChart:
    rows = [
        Row(
            coder,
            parts=[Part(amount, place) for place, amount in enumerate(counts.values)],
            text=_count_in_words(counts),
            group=Score.Criterion(key).label,
            href=f"{scores_url}#threads",
        )
        for key in CRITERIA
        if key in found
        for coder, counts in found[key].by_coder.items()
    ]
    return RowChart(
        key=f"scores-{stance.pk}",
        title=f"Threads by score under {stance.label}",
        rows=rows,
        series=SERIES,
        high=None,
        note="Each criterion is reported separately. Nothing is added up or averaged over criteria, people or stances.",
    )


def _count_in_words(counts: Counts) -> str:
    """The number of threads with each score, as in "2 in 1 thread, 3 in 2 threads; not applicable in 1 thread"."""
    words = ", ".join(f"{value} in {_count_threads(times)}" for value, times in enumerate(counts.values) if times)
    without = f"not applicable in {_count_threads(counts.without)}" if counts.without else ""
    return "; ".join(part for part in (words, without) if part)


def _count_threads(number: int) -> str:
    return f"{number} thread{pluralize(number)}"


def _say_of_scores(alpha: Figure) -> Figure:
    """Reasons that agreement gives for units and turns, worded for scores, which are resampled by threads."""
    return alpha._replace(
        reason=OF_SCORES.get(alpha.reason, alpha.reason),
        no_interval=OF_SCORES.get(alpha.no_interval, alpha.no_interval),
    )


def _describe(key: str, found: CriterionFigures, *, is_reflexive: bool) -> dict[str, Any]:
    alpha = _say_of_scores(found.alpha)
    low = alpha.interval.low if alpha.interval else None
    return {
        "name": Score.Criterion(key).label,
        "by_coder": list(found.by_coder.items()),
        "alpha": "" if is_reflexive else write_figure(alpha),
        "no_interval": "" if is_reflexive or alpha.value is None else alpha.no_interval,
        "verdict": None if is_reflexive else judge_reliability(alpha.value, low, alpha.clusters or 0, things="threads"),
        "n_shared": found.n_shared,
        "superiority": [
            (coder, _write_superiority(each.superiority))
            for coder, each in found.comparisons.items()
            if each.superiority is not None
        ],
        "signs": [
            (coder, _write_signs(each.signs)) for coder, each in found.comparisons.items() if each.signs is not None
        ],
    }


def _write_superiority(found: Superiority) -> str:
    (first, second), (n, m) = found.conditions, found.n
    if found.value is None:
        return f"{first} over {second}: not defined, with {n} and {m} threads"
    interval = f", {write_interval(found.interval, 2)}" if found.interval else ""
    mark = mark_clusters(min(n, m))
    said = f", {mark}" if mark else ""
    return f"{first} over {second}: {write_number(found.value)}{interval} ({n} and {m} threads{said})"


def _write_signs(found: SignTest) -> str:
    p = "not defined" if found.p is None else write_p(found.p)
    return f"a higher in {found.higher}, lower in {found.lower}, the same in {found.same} pairs; exact p {p}"
