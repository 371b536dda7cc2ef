"""The pages for searching a study and counting its codings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlencode

from django import template
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from transcripts.analysis.search import counts, queries
from transcripts.analysis.search.counts import Wanted
from transcripts.analysis.search.forms import (
    AnswerForm,
    Choices,
    CountForm,
    PairForm,
    SearchForm,
    SheetForm,
    find_default_coder,
    read_model,
)
from transcripts.analysis.search.pure.tables import SheetCell, SheetRow
from transcripts.analysis.search.pure.words import EVERYBODY, OWN, Search, State, Together, read_terms
from transcripts.analysis.search.queries import Catalog, read_catalog
from transcripts.analysis.search.results import build_results, find_visibility, list_coders
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import UnblindingForm, offer_unblinding
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_numbers

RESULTS_PER_PAGE = 50
INTERVIEWS_PER_PAGE = 50
# The label of one chosen value, where the form's own label is in the plural.
LABELS = {"code": "Code"}
# A longer list is not useful; people then reach an interview through its own links.
MAX_INTERVIEWS_OFFERED = 500


@require_safe
@study_view(Permission.VIEW)
def search(request: StudyRequest) -> HttpResponse:
    """Sentences by their words, codes, memos and decisions. The address contains the whole search."""
    catalog = read_catalog(request.study)
    form = SearchForm(request.GET if is_asked(request) else None, offer_choices(request, catalog))
    context: dict[str, object] = {"form": form, "narrowings": [], "findings": None}
    if form.is_valid():
        asked = form.get_search()
        context |= {
            "findings": find(request, asked, catalog),
            "narrowings": list_narrowings(request, form),
            "search": asked,
            "unblinding": offer(request, whose(asked), asked.interview),
        }
    return render(request, "analysis/search/search.html", context, status=422 if form.errors else 200)


def is_asked(request: StudyRequest) -> bool:
    """Whether the request has any search."""
    return any(value for name, value in request.GET.items() if name in SearchForm.base_fields)


def offer_choices(request: StudyRequest, catalog: Catalog) -> Choices:
    """The choices of this person in this study."""
    interviews = request.study.interviews.order_by("pk")
    offered = list(interviews.values_list("pk", "title")[: MAX_INTERVIEWS_OFFERED + 1])
    if len(offered) > MAX_INTERVIEWS_OFFERED:
        chosen = find_numbers([request.GET.get("interview", "")])
        offered = list(interviews.filter(pk__in=chosen).values_list("pk", "title"))
    models = interviews.order_by("model_label").values_list("model_label", flat=True).distinct()
    viewer = get_viewer(request)
    return Choices(
        catalog=catalog,
        models=list(models),
        interviews=offered,
        coders=list_coders(request.study, catalog) if viewer.sees_all else [],
        sees_all=viewer.sees_all,
        codes_herself=viewer.codes,
    )


def find(request: StudyRequest, asked: Search, catalog: Catalog) -> dict[str, object]:
    """A page of the sentences that a search found, and the numbers shown with it."""
    visibility = find_visibility(get_viewer(request), whose(asked))
    found = queries.find_sentences(request.study, asked, catalog, visibility)
    page = Paginator(found, RESULTS_PER_PAGE).get_page(request.GET.get("page"))
    results = build_results(list(page), read_terms(asked.words), visibility, request.user.pk)
    all_sentences, all_interviews = queries.measure(request.study)
    return {
        "page": page,
        "results": results,
        "sentences": found.count_of_sentences,
        "interviews": found.count_of_interviews,
        "all_sentences": all_sentences,
        "all_interviews": all_interviews,
    }


def whose(asked: Search) -> str:
    """Whose codings a search uses; a search for disagreements uses everybody's."""
    return EVERYBODY if asked.state == State.DISAGREED else asked.coder


def list_narrowings(request: StudyRequest, form: SearchForm) -> list[tuple[str, str]]:
    """The filters of the search apart from its words: each with a label, and the query of the search without it."""
    asked = [(name, value) for name in form.fields for value in request.GET.getlist(name) if value]
    found = []
    for name, value in asked:
        if name == "words" or (name == "coder" and value == form.default_coder):
            continue
        field = form.fields[name]
        shown = dict(flatten(getattr(field, "choices", []))).get(value, value)
        without = urlencode([pair for pair in asked if pair != (name, value)])
        found.append((f"{LABELS.get(name, field.label)}: {shown}", without))
    return found


def flatten(choices: object) -> list[tuple[str, str]]:
    """Choices out of their groups."""
    flat: list[tuple[str, str]] = []
    for value, label in choices:  # type: ignore[attr-defined]
        flat += label if isinstance(label, list) else [(str(value), label)]
    return flat


@require_safe
@study_view(Permission.VIEW)
def by_interview(request: StudyRequest) -> HttpResponse:
    """Codes by interview."""
    catalog = read_catalog(request.study)
    form = ask(request, catalog, CountForm)
    context: dict[str, object] = {"form": form, "here": "by_interview", "page": None}
    if form.is_valid():
        interviews = Paginator(request.study.interviews.order_by("pk"), INTERVIEWS_PER_PAGE)
        page = interviews.get_page(request.GET.get("page"))
        context |= {"page": page, "table": counts.tabulate_by_interview(want(request, catalog, form), list(page))}
        context["unblinding"] = offer(request, form.get_coder())
    return render(request, "analysis/search/counts.html", context, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def by_model(request: StudyRequest) -> HttpResponse:
    """Codes by model."""
    catalog = read_catalog(request.study)
    form = ask(request, catalog, CountForm)
    context: dict[str, object] = {"form": form, "here": "by_model"}
    if form.is_valid():
        context |= {"table": counts.tabulate_by_model(want(request, catalog, form))}
        context["unblinding"] = offer(request, form.get_coder())
    return render(request, "analysis/search/counts.html", context, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def by_answer(request: StudyRequest) -> HttpResponse:
    """Codings by their answers to the questions of their codes."""
    catalog = read_catalog(request.study)
    form = AnswerForm(request.GET, offer_choices(request, catalog))
    context: dict[str, object] = {"form": form, "here": "by_answer", "has_questions": bool(catalog.questions)}
    if form.is_valid():
        model = read_model(form.cleaned_data["model"])
        tables = counts.tabulate_answers(want(request, catalog, form), model=model)
        silent = dict.fromkeys(each["question"].code.name for each in tables if not each["is_applied"])
        context |= {"tables": tables, "silent": list(silent)}
        context["unblinding"] = offer(request, form.get_coder())
    return render(request, "analysis/search/answers.html", context, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def cooccurrence(request: StudyRequest) -> HttpResponse:
    """Codes on the same sentence, or in the same turn."""
    catalog = read_catalog(request.study)
    form = ask(request, catalog, PairForm)
    context: dict[str, object] = {"form": form, "here": "cooccurrence"}
    if form.is_valid():
        by_turn = form.cleaned_data["together"] == Together.TURN
        wanted = want(request, catalog, form)
        table = counts.tabulate_pairs(wanted, by_turn=by_turn, enactment=form.get_enactment())
        apart = [(words, codings, put_in(request, enactment=asked)) for words, codings, asked in table["apart"]]
        context |= {"table": table, "apart": apart}
        context["unblinding"] = offer(request, form.get_coder())
    return render(request, "analysis/search/pairs.html", context, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def score_sheets(request: StudyRequest) -> HttpResponse:
    """The interviews, each with a link to its score sheet."""
    page = Paginator(request.study.interviews.order_by("pk"), INTERVIEWS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "analysis/search/score_sheets.html", {"page": page, "here": "score_sheet"})


@require_safe
@study_view(Permission.VIEW)
def score_sheet(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Codes by turn of one interview, of one coder or of two below each other."""
    interview = get_object_or_404(request.study.interviews, pk=interview_id)
    catalog = read_catalog(request.study)
    form = ask(request, catalog, SheetForm, with_enactment=True)
    context: dict[str, object] = {"form": form, "here": "score_sheet", "interview": interview}
    if form.is_valid():
        coders = dict.fromkeys([form.get_coder(), form.cleaned_data.get("beside") or form.get_coder()])
        columns = counts.read_columns(interview)
        wanted = [want(request, catalog, form, coder) for coder in coders]
        context |= {"sheets": [counts.build_score_sheet(each, interview, columns) for each in wanted]}
        context["unblinding"] = offer(request, next((each for each in coders if each != OWN), OWN), interview.pk)
    return render(request, "analysis/search/score_sheet.html", context, status=422 if form.errors else 200)


def offer(request: StudyRequest, coder: str, interview: int | None = None) -> UnblindingForm | None:
    """The unblinding notice of a page that can also show others' codings, of the whole study or of one interview."""
    if coder == OWN:
        return None
    hidden = get_viewer(request).hidden_interviews
    return offer_unblinding(request, hidden if interview is None else hidden & {interview}, where="search")


def put_in(request: StudyRequest, **values: str) -> str:
    """The query of this page with these values."""
    query = request.GET.copy()
    for name, value in values.items():
        query[name] = value
    return query.urlencode()


FormType = TypeVar("FormType", bound=CountForm)


def ask(request: StudyRequest, catalog: Catalog, form: type[FormType], *, with_enactment: bool = False) -> FormType:
    """The request of a page of counts, completed with defaults, so that the form shows the selection of the page."""
    data: QueryDict = request.GET.copy()
    family = counts.choose_family(catalog, with_enactment=with_enactment)
    data.setdefault("family", family)
    choices = offer_choices(request, catalog)
    data.setdefault("coder", find_default_coder(choices))
    return form(data, choices)


def want(request: StudyRequest, catalog: Catalog, form: CountForm, coder: str = "") -> Wanted:
    """The same for the tables."""
    coder = coder or form.get_coder()
    visibility = find_visibility(get_viewer(request), coder)
    return Wanted(request.study, catalog, form.cleaned_data["family"], coder, visibility)


register = template.Library()
"""For templates: ``{% load figures %}``."""


@register.filter
def first_word(words: str) -> str:
    """The number at the beginning of a count in words."""
    return words.partition(" ")[0]


@register.simple_tag
def sheet_query(queries: Mapping[tuple[str, int], str], row: SheetRow, cell: SheetCell) -> str:
    """The query of the search for the sentences that a cell of a score sheet counts."""
    return queries[row.heading.identifier, cell.turn]
