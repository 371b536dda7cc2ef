"""Choose an annotator for each code, with its figures in view."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.annotators.models import Annotator, CodeChoice
from auditapp.annotators.queries.annotators import find_criticised
from auditapp.evaluation.actions import choose_annotator, sort_disagreement
from auditapp.evaluation.forms import ChoiceForm, DisagreementForm, FilterForm, ThresholdForm
from auditapp.evaluation.models import Disagreement
from auditapp.evaluation.queries.calibration_tables import CodeRow, read_compared_items
from auditapp.evaluation.views.calibration import Asked, compare, measure, offer_compared, read_asked
from transcripts.blinding.viewers import get_viewer
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version, find_open_draft
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused
from transcripts.statistics.figures import FEW
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form

if TYPE_CHECKING:
    from auditapp.evaluation.queries.calibration import Compared, Difference


MAX_CANDIDATES = 8

# An annotator as made, or without what a critic rejected, with its key in the form and its figures by code.
Candidate = dict[str, Any]


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def choose(request: StudyRequest) -> HttpResponse:
    """See every code by every annotator, and choose one for a code, with a reason."""
    asked = read_asked(request.study, request.GET)
    candidates = _list_candidates(request, asked)
    named = [(each["key"], each["name"]) for each in candidates]
    data, initial = request.POST if request.method == "POST" else None, {"code": request.GET.get("code", "")}
    form = ChoiceForm(data, candidates=named, initial=initial)
    if form.is_valid():
        chosen: Candidate = next((each for each in candidates if each["key"] == form.cleaned_data["candidate"]), {})
        with at_form(form):
            choose_annotator(
                study=request.study,
                code_identifier=form.cleaned_data["code"],
                annotator=chosen.get("annotator"),
                with_critic=chosen.get("with_critic", False),
                reason=form.cleaned_data["reason"],
                by=request.user,
            )
            messages.success(request, "Chosen.")
            return redirect("evaluation:choose", request.study.slug)
    return _render(request, asked, candidates, form)


def _list_candidates(request: StudyRequest, asked: Asked) -> list[Candidate]:
    """The newest annotators and those chosen, with figures of the interviews this person may see."""
    from transcripts.coding.blind import read_blind

    chosen = set(_read_choices(request).values_list("annotator", "with_critic"))
    criticised = find_criticised(request.study.pk)
    wanted = [(each, False) for each in asked.annotators]
    wanted += [(each, True) for each in asked.annotators if each.pk in criticised]
    current = [pair for pair in wanted if (pair[0].pk, pair[1]) in chosen]
    wanted = [*current, *(pair for pair in wanted if pair not in current)][: max(MAX_CANDIDATES, len(current))]
    turn_answers = read_blind(request.study) if wanted else None
    candidates = []
    for annotator, with_critic in wanted:
        annotator.study = request.study
        compared = compare(get_viewer(request), annotator, with_critic=with_critic, turn_answers=turn_answers)
        rows = {row.code.identifier: row for row in measure(asked, compared, resamples=0)["rows"]}
        candidates.append(
            {
                "annotator": annotator,
                "with_critic": with_critic,
                "compared": compared,
                "rows": rows,
                "key": f"{annotator.pk}{'-critic' if with_critic else ''}",
                "name": f"{annotator}{' with critic' if with_critic else ''} · v{annotator.version.number}",
            }
        )
    return candidates


def _render(request: StudyRequest, asked: Asked, candidates: list[Candidate], form: ChoiceForm) -> HttpResponse:
    threshold = ThresholdForm(request.GET)
    lines = _list_lines(request, asked, candidates, threshold.chosen)
    named = form["code"].value()
    hidden = {pk for each in candidates for pk in each["compared"].interviews}
    page = {
        "asked": asked,
        "form": form,
        "candidates": candidates,
        "left_out": max(0, len(asked.annotators) - len({each["annotator"].pk for each in candidates})),
        "lines": lines,
        "chosen_line": next((line for line in lines if line["code"].identifier == named), None),
        "threshold_form": threshold,
        "threshold": threshold.chosen,
        "few": FEW,
        "unblinding": offer_compared(request, asked, hidden, "choose"),
    }
    status = 422 if form.errors or not threshold.is_valid() else 200
    return render(request, "evaluation/choose.html", page, status=status)


def _list_lines(
    request: StudyRequest, asked: Asked, candidates: list[Candidate], threshold: float
) -> list[dict[str, Any]]:
    codes = Code.objects.filter(version=current_version(request.study), family__unit=CodeFamily.Unit.SENTENCE)
    choices = {row.code_identifier: row for row in _read_choices(request).select_related("annotator__version")}
    lines = []
    for code in codes.select_related("family").order_by("family__position", "position"):
        figures = [(each, each["rows"].get(code.identifier)) for each in candidates]
        choice = choices.get(code.identifier)
        rests_on = None
        if choice is not None:
            key = f"{choice.annotator_id}{'-critic' if choice.with_critic else ''}"
            rests_on = next((row for each, row in figures if each["key"] == key), None)
        hidden = asked.is_reflexive(code.family.identifier)
        lines.append(
            {
                "code": code,
                "is_reflexive": hidden,
                "figures": figures,
                "choice": choice,
                "rests_on": rests_on,
                "advice": _advise(figures, threshold),
            }
        )
    return lines


def _advise(figures: list[tuple[Candidate, CodeRow | None]], threshold: float) -> str:
    """What to try where every annotator of the code is below the threshold: the key of a sentence in
    ``evaluation/_advice.html``."""
    read = [row for _, row in figures if row is not None]
    known = [(each, row) for each, row in figures if row is not None and not row.is_scarce]
    if read and not known:
        return "too_few"
    if not known or not all(row.is_below(threshold) for _, row in known):
        return ""
    is_asked_alone = any(each["annotator"].mode == Annotator.Mode.CODE for each, _ in known)
    return "below_alone" if is_asked_alone else "below"


def _read_choices(request: StudyRequest) -> QuerySet[CodeChoice]:
    return CodeChoice.objects.filter(study=request.study, superseded_at__isnull=True)


ITEMS_PER_PAGE = 15


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_disagreements(request: StudyRequest) -> HttpResponse:
    """The sentences on which an annotator and people differ, code by code."""
    return _render_disagreements(request, read_asked(request.study, request.GET))


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_unsorted(request: StudyRequest) -> HttpResponse:
    """A part of the overview, loaded after the rest of it: how many differences from the newest annotator wait."""
    asked = read_asked(request.study, QueryDict())
    context: dict[str, object] = {"asked": asked}
    if asked.annotator is not None:
        compared = compare(get_viewer(request), asked.annotator, **asked.scope, with_alternatives=True)
        keys, current = _key(compared, _list(request, compared, "")), _read_current(asked.annotator)
        context |= {
            "waiting": sum(key not in current for key in keys),
            "differences": len(keys),
            "not_listed": _count_unlisted(compared, len(keys), ""),
        }
    return render(request, "evaluation/_unsorted.html", context)


@require_POST
@study_view(Permission.ADJUDICATE)
def sort(request: StudyRequest) -> HttpResponse:
    """Say why they differ; what was said before is superseded, and stays."""
    asked, form = read_asked(request.study, request.POST), DisagreementForm(request.POST)
    if asked.annotator is None or not form.is_valid():
        return _render_disagreements(request, asked, wrong=form, status=422)
    data = form.cleaned_data
    compared = compare(get_viewer(request), asked.annotator, **asked.scope, with_alternatives=True)
    with at_form(form):
        if (data["sentence"], data["code"]) not in _key(compared, _list(request, compared, "")):
            raise Refused(
                "Here the annotator and the people whose labels you may see do not differ, or no longer differ."
            )
        sort_disagreement(
            study=request.study,
            annotator=asked.annotator,
            sentence=Sentence.objects.select_related("turn__interview").get(pk=data["sentence"]),
            code_identifier=data["code"],
            category=data["category"],
            note=data["note"],
            replaces=data["replaces"],
            by=request.user,
        )
        messages.success(request, "Sorted.")
        return redirect(_find_next(request, asked, compared, (data["sentence"], data["code"])))
    return _render_disagreements(request, asked, wrong=form, compared=compared, status=409)


def _find_next(request: StudyRequest, asked: Asked, compared: Compared, done: tuple[int, str]) -> str:
    """The next unsorted disagreement: after this one, else the first, else this one again."""
    code, state = request.POST.get("filter_code", ""), request.POST.get("state", "")
    current = _read_current(compared.annotator)
    keys = list(_key(compared, _list(request, compared, code)))
    after = keys.index(done) + 1 if done in keys else 0
    goal = next((key for key in keys[after:] + keys[:after] if key not in current), done)
    kept = [key for key in keys if _fits(current.get(key), state)]
    page = kept.index(goal) // ITEMS_PER_PAGE + 1 if goal in kept else 1
    query = f"{asked.query}&{urlencode({'code': code, 'state': state, 'page': page})}"
    mark = f"#{_name_place(*goal)}" if goal in kept else ""
    return f"{reverse('evaluation:disagreements', args=[request.study.slug])}?{query}{mark}"


def _key(compared: Compared, differences: list[Difference]) -> dict[tuple[int, str], Difference]:
    """Differences by sentence and code."""
    return {(int(compared.sentence_ids[each[0]]), each[1].code.identifier): each for each in differences}


def _name_place(sentence: int, code: str) -> str:
    """The name by which an address points at a difference on its page."""
    return f"difference-{sentence}-{code}"


def _list(request: StudyRequest, compared: Compared, code: str) -> list[Difference]:
    """The differences this person may meet one by one."""
    from auditapp.evaluation.queries.calibration import find_listable, list_differences

    may_code = Permission.CODE in request.role.permissions
    listable = find_listable(compared, request.user.pk, may_code=may_code)
    found = list_differences(compared, [code] if code else [])
    return [each for each in found if listable[each[1].code.identifier][each[0]]]


def _count_unlisted(compared: Compared, listed: int, code: str) -> int:
    from auditapp.evaluation.queries.calibration import list_differences

    return len(list_differences(compared, [code] if code else [])) - listed


def _render_disagreements(
    request: StudyRequest,
    asked: Asked,
    *,
    compared: Compared | None = None,
    wrong: DisagreementForm | None = None,
    status: int = 200,
) -> HttpResponse:
    page: dict[str, object] = {
        "asked": asked,
        "wrong": wrong,
        "causes": Disagreement.Category.choices,
    }
    if asked.annotator is None:
        status = 422 if asked.annotators else status
        return render(request, "evaluation/disagreements.html", page, status=status)
    compared = compared or compare(get_viewer(request), asked.annotator, **asked.scope, with_alternatives=True)
    data = request.GET if request.method != "POST" else {}
    chosen = FilterForm(data, codes=[(each.code.identifier, each.code.name) for each in compared.codes])
    if not chosen.is_valid():
        return render(request, "evaluation/disagreements.html", page | {"filter": chosen}, status=422)
    current = _read_current(asked.annotator)
    state = chosen.cleaned_data["state"]
    found = _list(request, compared, chosen.cleaned_data["code"])
    keys = _key(compared, found)
    kept = [each for key, each in keys.items() if _fits(current.get(key), state)]
    wanted = Paginator(kept, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    page |= {
        "compared": compared,
        "unblinding": offer_compared(
            request, asked, compared.interviews, "disagreements", query=_write_query(asked, chosen)
        ),
        "filter": chosen,
        "page": wanted,
        "shown": _show(request, asked, compared, list(wanted), current=current, wrong=wrong),
        "categories": _count(current, {key: code.code.name for key, (_, code, *_) in keys.items()}),
        "differences": len(keys),
        "not_listed": _count_unlisted(compared, len(found), chosen.cleaned_data["code"]),
        "sorted": sum(key in current for key in keys),
    }
    return render(request, "evaluation/disagreements.html", page, status=status)


def _write_query(asked: Asked, chosen: FilterForm) -> str:
    return urlencode([*asked.fields, *((name, value) for name, value in chosen.cleaned_data.items() if value)])


def _fits(row: Disagreement | None, state: str) -> bool:
    if state == "open":
        return row is None
    return not state or (row is not None and row.category == state)


def _read_current(annotator: Annotator) -> dict[tuple[int, str], Disagreement]:
    rows = Disagreement.objects.filter(annotator=annotator, superseded_by__isnull=True).select_related("sorted_by")
    return {(row.sentence_id, row.code_identifier): row for row in rows}


def _count(current: dict[tuple[int, str], Disagreement], names: dict[tuple[int, str], str]) -> list[dict[str, object]]:
    """Only differences that are still there, and that this person may meet, are counted."""
    by_category: dict[str, Counter[str]] = {}
    for key, name in names.items():
        if key in current:
            by_category.setdefault(current[key].category, Counter())[name] += 1
    rows = []
    for value, label in Disagreement.Category.choices:
        by_code = by_category.get(value, Counter())
        rows.append({"value": value, "label": label, "number": by_code.total(), "codes": sorted(by_code.items())})
    return rows


def _show(
    request: StudyRequest,
    asked: Asked,
    compared: Compared,
    differences: list[Difference],
    *,
    current: dict[tuple[int, str], Disagreement],
    wrong: DisagreementForm | None,
) -> list[dict[str, object]]:
    """Each difference with what was said of it and the form to sort it; ``wrong`` is a form that was refused."""
    items = read_compared_items(compared, [(place, code) for place, code, *_ in differences], viewer=request.user)
    draft = find_open_draft(request.study)
    drafted = Code.objects.filter(version=draft).select_related("version") if draft else Code.objects.none()
    editable = {code.identifier: code for code in drafted}
    shown = []
    for (_, compared_code, yes, no), item in zip(differences, items, strict=True):
        sentence, code = item["item"].sentence.pk, compared_code.code.identifier
        row = current.get((sentence, code))
        form = DisagreementForm(
            auto_id=f"d{sentence}-{compared_code.code.pk}-%s",
            initial={
                "annotator": asked.annotator.pk if asked.annotator else None,
                "sentence": sentence,
                "code": code,
                "replaces": row.pk if row else None,
                "category": row.category if row else None,
                "note": row.note if row else "",
            },
        )
        if wrong is not None and (wrong.data.get("sentence"), wrong.data.get("code")) == (str(sentence), code):
            wrong.auto_id = form.auto_id
            form = wrong
        shown.append(
            {
                "compared": item,
                "yes": yes,
                "people": yes + no,
                "current": row,
                "form": form,
                "edited": editable.get(code),
                "mark": _name_place(sentence, code),
            }
        )
    return shown
