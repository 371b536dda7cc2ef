"""Pages of moves and trajectories.

*Threads compared* shows figures on the threads of a study, the turns that each number counts, and the numbers as a file.
*Negotiation* shows one thread: its moves over its turns, its ledger, its episodes, and what moves act on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from transcripts.blinding.viewers import Viewer, get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.coding.models import Blinding
from transcripts.corpus.models import Interview, Turn
from transcripts.formats.report_tables import ReportTable, TableRow, declare
from transcripts.negotiation.forms import StudyForm
from transcripts.negotiation.pure.episodes import Episode, list_episodes
from transcripts.negotiation.pure.layout import lay_out_ledger, lay_out_moves, list_columns
from transcripts.negotiation.pure.records import (
    ALL_STAGES,
    CHALLENGES,
    CONDUCT,
    FEATURES,
    MOVES,
    RESPONSES,
    RecordIndex,
)
from transcripts.negotiation.pure.report import NAMES, choose_threads, make_report
from transcripts.negotiation.pure.sequences import find_counted_turns
from transcripts.negotiation.queries.cases import list_other_threads
from transcripts.negotiation.queries.records import (
    Asked,
    Found,
    count_threads_read,
    find_main_reader,
    list_conditions,
    list_readers,
    read,
    read_places,
    read_thread,
)
from transcripts.negotiation.queries.scores import CodeBook, read_code_book
from transcripts.negotiation.views import drawing
from transcripts.negotiation.views.drawing import ENACTMENTS, STAGES, Addresses
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import name_narrowed, offer_table, send_report_table
from transcripts.studies.models import MethodChoice
from transcripts.studies.queries import find_method
from transcripts.studies.roles import Permission

ROWS_PER_PAGE = 50
MAX_KEYS = 6
"""The greatest depth of the figures in a report."""
KEYS = ("figure", *(f"key_{number}" for number in range(1, MAX_KEYS)))
# The basis of a file, which each of its rows contains, including every filter of the page.
FILTERS = ("round", "model", "condition", "kind", "outcome", "stage", "openings")
BASIS = (
    *(*declare(str, "blinding"), *declare(int, "codebook_version"), *declare(str, "coded_versions", *FILTERS)),
    *declare(int, "threads hidden_interviews"),
)
TITLES = {
    "presence": "Moves",
    "transitions": "Transitions",
    "episodes": "Challenges and revisions",
    "pressure": "Sustained pressure",
    "intents": "Challenges as meant",
    "ledger": "The ledger",
    "links": "Moves by features",
    "pairs": "Counterfactual pairs",
    "agreement": "Agreement on status",
}
WORDS_OF_KEYS = {
    **STAGES,
    **drawing.SIDES,
    **drawing.EXPECTATIONS,
    **ENACTMENTS,
    **drawing.OUTCOMES,
    "explained": "Revised and explained",
    **{key: name for key, (name, *_) in drawing.SHARES.items()},
    **{f"{key}_of": f"{name}: what it is out of" for key, (name, *_) in drawing.SHARES.items()},
}


@dataclass
class Compared:
    """The request, and what was read for it. ``coder`` is the person whose figures are shown; "" if there is none. ``models``
    and ``kinds`` are those of the threads; several are pooled.
    """

    form: StudyForm
    viewer: Viewer
    book: CodeBook
    found: Found | None = None
    coder: str = ""
    models: Sequence[str] = ()
    kinds: Sequence[str] = ()

    @cached_property
    def report(self) -> Mapping[str, Any] | None:
        """The report on what was read, computed on first use because it takes seconds for a large study."""
        if self.found is None:
            return None
        records, outcome = self.found.records, self.form.cleaned_data.get("outcome")
        # An outcome that nobody coded shows in no thread; the report asks for a code that there is.
        outcomes = [outcome] if outcome and any(each.code == outcome for each in records.codings) else []
        return make_report(records, shown=[self.coder], outcomes=outcomes, all_stages=self.is_all_stages)

    @property
    def figures(self) -> Mapping[str, Any] | None:
        """The figures of the coder."""
        return self.report["by_coder"].get(self.coder) if self.report else None

    @property
    def is_all_stages(self) -> bool:
        return self.form.cleaned_data.get("stage") == "all"


def compare(request: StudyRequest, given: QueryDict, *, is_of_one: bool = False) -> Compared:
    """Read what the page needs: blind readings, and others' as far as the viewer may see them. Scores have a separate page.

    The default is interviews, and the model of which the coder has coded most threads.

    ``is_of_one``: only the figures of one coder are wanted, without agreement, so others' work is not read.
    """
    viewer, book = get_viewer(request), read_code_book(request.study)
    own = request.user.username
    readers = list_readers(request.study) if viewer.sees_all else []
    coders = [*readers, own] if viewer.sees_all and viewer.codes and own not in readers else readers
    choices = [(each, book.name(each)) for family in (MOVES, RESPONSES) for each in book.list_codes(family)]
    conditions = list_conditions(request.study)
    data = given.copy()
    if coders:
        # A person's first coding does not replace another's figures with an almost empty page.
        data.setdefault("coder", find_main_reader(request.study, own) or (own if own in readers else coders[0]))
    read_by_coder = count_threads_read(request.study, data.get("coder") if coders else own)
    chosen, left = choose_threads(read_by_coder, {name: data.get(name, "") for name in NAMES})
    for name, value in chosen.items():
        data[name] = value
    kinds, models = (sorted({each[place] for each in left}) for place in range(len(NAMES)))
    form = StudyForm(data, study=request.study, coders=coders, codes=choices, conditions=conditions)
    compared = Compared(form, viewer, book, models=models, kinds=kinds)
    if not form.is_valid():
        return compared
    compared.coder = form.cleaned_data.get("coder") or own
    outcome = form.cleaned_data.get("outcome")
    asked = Asked(
        request.study,
        viewer,
        coders=None if coders else [own],
        interviews=form.find_interviews(request.study),
        before_reasoning=form.cleaned_data.get("openings") == "before",
        has_scores=False,
    )
    # Whether an outcome has to be enacted depends on how everybody codes it.
    if is_of_one and not outcome:
        compared.found = read(replace(asked, coders=[compared.coder]))
    # Without any decision every thread would count as read, so a coder who decided nothing is computed together with the others.
    if compared.found is None or not compared.found.records.decided:
        compared.found = read(asked)
    return compared


@require_safe
@study_view(Permission.VIEW)
def show_study(request: StudyRequest) -> HttpResponse:
    """The threads of a study compared, as one coder read them."""
    compared = compare(request, request.GET)
    context: dict[str, Any] = {
        "form": compared.form,
        "compared": compared,
        "offered_tables": [offer_table(TABLE, "Every figure")],
        "table_files": reverse("negotiation:download", args=[request.study.slug]),
    }
    if compared.found is not None:
        context |= _describe(request, compared, compared.found)
        hidden = compared.viewer.hidden_interviews if compared.viewer.sees_all else frozenset()
        context["hidden"] = len(hidden)
        context["unblinding"] = offer_unblinding(request, hidden, where="negotiation")
    return render(request, "negotiation/study.html", context, status=422 if compared.form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def list_behind(request: StudyRequest) -> HttpResponse:
    """The turns that a number of the page counts, each with a link to the desk."""
    compared = compare(request, request.GET, is_of_one=request.GET.get("figure") != "agreement")
    figure, keys = request.GET.get("figure", ""), request.GET.getlist("key")
    rows: list[dict[str, Any]] = []
    if compared.found is not None:
        rows = _list_rows(request, compared, figure, keys)
    page = Paginator(rows, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "form": compared.form,
        "coder": compared.coder,
        "figure": TITLES.get(figure, ""),
        "keys": [_name_key(key, figure, compared.book) for key in keys],
        "back": f"{reverse('negotiation:study', args=[request.study.slug])}?{request.GET.urlencode()}",
    }
    return render(request, "negotiation/behind.html", context, status=422 if compared.form.errors else 200)


@require_POST
@study_view(Permission.VIEW)
def download(request: StudyRequest) -> HttpResponse:
    """Every figure of the page as a table with one number a row."""
    compared = compare(request, request.POST, is_of_one=True)
    if compared.figures is None:
        context = {"form": compared.form, "compared": compared}
        return render(request, "negotiation/study.html", context, status=422)
    basis = _describe_basis(compared)
    source = Flat(compared.coder, compared.figures, basis)
    is_narrowed = bool(basis["hidden_interviews"]) or any(basis[name] for name in FILTERS)
    return send_report_table(
        TABLE,
        source,
        request.POST.get("format", "csv"),
        "negotiation.exported",
        stem=name_narrowed(f"{request.study.slug}-negotiation-{compared.coder}", basis, is_narrowed=is_narrowed),
        study=request.study,
        target=f"study:{request.study.pk}",
        by=request.user,
        details={"coder": compared.coder, "rows": len(TABLE.list_rows(source)), **basis},
    )


def _describe_basis(compared: Compared) -> dict[str, object]:
    """The basis of the figures in a file, by the names of ``BASIS``."""
    found, viewer = compared.found, compared.viewer
    assert found is not None  # noqa: S101 - there are figures
    own = [each.id for each in found.records.codings if each.coder == compared.coder]
    of_others = viewer.sees_all and compared.coder != viewer.user.username
    asked = compared.form.find_interviews(viewer.study)
    hidden = viewer.hidden_interviews if of_others else frozenset[int]()
    return {
        "blinding": Blinding.BLIND.value,
        "codebook_version": compared.book.version,
        "coded_versions": sorted({found.version_of[each] for each in own}),
        **{name: compared.form.chosen.get(name) or None for name in FILTERS},
        "threads": len(found.records.threads),
        "hidden_interviews": len(hidden if asked is None else hidden & set(asked)),
    }


def _describe(request: StudyRequest, compared: Compared, found: Found) -> dict[str, Any]:
    """The sections of the page, and their basis."""
    book, figures = compared.book, compared.figures
    records, report = found.records, compared.report
    own = [each for each in records.codings if each.coder == compared.coder]
    context: dict[str, Any] = {
        "coder": compared.coder,
        "is_own": compared.coder == request.user.username,
        "threads": len(records.threads),
        "read": len({each.thread for each in own}),
        "codings": len(own),
        "left_out": found.left_out,
        "versions": sorted({found.version_of[each.id] for each in own}),
        "version": book.version,
        "warnings": report["warnings"] if report else [],
        "lacks": [
            name
            for family, name in ((MOVES, "moves"), (FEATURES, "case features"), (CHALLENGES, "challenges"))
            if not book.list_codes(family)
        ],
        "query": compared.form.query,
    }
    if figures is None:
        return context
    titles = dict(request.study.interviews.values_list("external_id", "title"))
    addresses = Addresses(reverse("negotiation:behind", args=[request.study.slug]), compared.form.query)
    sections = [
        drawing.draw_ledger(figures["ledger"]["total"], addresses),
        drawing.draw_episodes(figures["episodes"], book, addresses),
        drawing.draw_pressure(figures["episodes"]["pressure"], titles, addresses),
        drawing.draw_intents(figures["intents"], book, addresses),
        drawing.draw_pairs(figures["pairs"], book, addresses, known=len(records.pairs)),
        drawing.draw_presence(figures, book, addresses),
        drawing.draw_transitions(figures["transitions"], book, addresses),
        drawing.draw_links(figures["links"], book, addresses=addresses),
        drawing.draw_distances(figures["distances"], titles, len(figures["positions"])),
    ]
    status = report["agreement"]["status"] if report else None
    context["is_reflexive"] = find_method(request.study, FEATURES) == MethodChoice.Method.REFLEXIVE
    if status is not None and not context["is_reflexive"]:
        sections.append(drawing.draw_agreement(status, addresses))
    return {**context, "sections": sections, "figures": figures, "agreement": status}


def _list_rows(request: StudyRequest, compared: Compared, figure: str, keys: list[str]) -> list[dict[str, Any]]:
    found = compared.found
    if found is None or (figure == "agreement" and not compared.viewer.sees_all):
        return []
    index = RecordIndex(found.records)
    work = index.work.get(compared.coder)
    if work is None:
        return []
    outcome = compared.form.cleaned_data.get("outcome")
    stages = ALL_STAGES if compared.is_all_stages else CONDUCT
    rows = find_counted_turns(index, work, figure, keys, stages=stages, outcomes=[outcome] if outcome else [])
    numbers = {found.numbers[each.thread] for each in rows}
    interviews = request.study.interviews.in_bulk(numbers)
    places = read_places(request.study, list(numbers)) if numbers else {}
    listed = []
    for each in rows:
        interview = interviews[found.numbers[each.thread]]
        place = places.get((each.thread, each.turn)) if each.turn is not None else None
        sentence = found.sentences.get(each.coding) or (place.sentence if place else None)
        listed.append(
            {
                "interview": interview,
                "turn": each.turn,
                "sentence": sentence,
                "codes": [compared.book.name(code) for code in each.codes],
                "words": each.words,
            }
        )
    return listed


class Flat(NamedTuple):
    """The data of the file: a coder's figures, and their basis by the names of ``BASIS``."""

    coder: str
    figures: Mapping[str, Any]
    basis: Mapping[str, object]


def _read_values(source: Flat) -> Iterator[TableRow]:
    """Every number and word in a coder's figures, with the names that lead to it. Yes is 1 and no 0."""
    for path, value in _flatten(source.figures, ()):
        keys = dict(zip(KEYS, [*path[:MAX_KEYS], *([""] * (MAX_KEYS - len(path)))], strict=True))
        kept = (
            {"words": value} if isinstance(value, str) else {"value": int(value) if isinstance(value, bool) else value}
        )
        yield {**source.basis, **keys, "coder": source.coder, **kept}


TABLE = ReportTable(
    "negotiation",
    "All figures on a coder's moves and trajectories.",
    (
        *(*declare(str, "coder", *KEYS), *declare(float, "value"), *declare(str, "words")),
        *BASIS,
    ),
    _read_values,
    is_printed=False,
)


def _name_key(key: str, figure: str, book: CodeBook) -> str:
    if figure in {"episodes", "intents"} and f"challenge.{key}" in book.names:
        return book.name(f"challenge.{key}")
    return WORDS_OF_KEYS.get(key, book.name(key))


def _flatten(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(inner, (*path, str(key)))
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _flatten(inner, (*path, str(number)))
    elif value is not None:
        yield path, value


OUTCOMES = {key: words.lower() for key, words in drawing.OUTCOMES.items()} | {"undecided": "not decided yet"}


@require_safe
@study_view(Permission.VIEW)
def show_thread(request: StudyRequest, interview_id: int) -> HttpResponse:
    """One coder's codings of a thread: a person who codes sees her own, and others' once she has unblinded the interview."""
    interview = get_object_or_404(request.study.interviews, pk=interview_id)
    viewer = get_viewer(request)
    may_see_others = viewer.sees_all and (not viewer.codes or interview.pk in viewer.unblinded)
    asked = Asked(
        request.study,
        viewer,
        coders=None if may_see_others else [request.user.username],
        interviews=[interview.pk],
        is_blind=False,
    )
    found, turns = read_thread(asked, interview)
    coders = sorted({each.coder for each in found.records.codings})
    coder = _choose_coder(request, coders)
    context: dict[str, Any] = {
        "interview": interview,
        "coders": coders if may_see_others else [],
        "coder": coder,
        "is_own": coder == request.user.username,
        "others": list_other_threads(viewer, interview),
        "may_code": viewer.codes,
    }
    if viewer.codes and viewer.sees_all and not may_see_others:
        hidden = viewer.hidden_interviews & {interview.pk}
        context["unblinding"] = offer_unblinding(request, hidden, where="negotiation")
    context |= _lay_out(request, interview, found=found, turns=turns, coder=coder)
    return render(request, "negotiation/thread.html", context)


def _choose_coder(request: StudyRequest, coders: Collection[str]) -> str:
    chosen = request.GET.get("coder", "")
    if chosen in coders:
        return chosen
    own = request.user.username
    return own if own in coders or not coders else next(iter(coders))


def _lay_out(
    request: StudyRequest, interview: Interview, *, found: Found, turns: Mapping[int, Turn], coder: str
) -> dict[str, Any]:
    book, records = found.code_book, found.records
    kept = [each for each in records.codings if each.coder == coder]
    records.codings, records.decided = kept, [each for each in records.decided if each.coder == coder]
    index = RecordIndex(records)
    work = index.work.get(coder)
    report = make_report(records, all_stages=False)["by_coder"].get(coder) if work else None
    episodes = list_episodes(index, work, CONDUCT) if work else []
    columns = list_columns(index.turns[interview.external_id], {each.turn for each in episodes})
    ledger = report["ledger"]["threads"].get(interview.external_id) if report else None
    entries = {(each.turn, each.code): each.id for each in kept if each.family == FEATURES}
    moves = list(dict.fromkeys([*book.list_codes(MOVES), *(each.code for each in kept if each.family == MOVES)]))
    links = report["links"] if report else None
    total = report["ledger"]["total"] if report else None
    sheet = found.sheets.get(interview.external_id)
    blindings = [
        (Blinding(blinding).label.lower(), number) for blinding, number in sorted(_count_blindings(found, kept).items())
    ]
    # Blind and assisted codings are both shown; a share over both together would describe neither.
    is_counted = bool(sheet and total and len(blindings) == 1 and not total["in_part"])
    return {
        "names": book.names,
        "columns": columns,
        "lanes": lay_out_moves(columns, kept, moves) if report else [],
        "tracks": lay_out_ledger(columns, ledger or {}, book.list_codes(FEATURES), entries) if report else [],
        "ledger": ledger,
        "episodes": _show_episodes(get_viewer(request), book, found, turns, episodes),
        "links": links,
        "matrix": drawing.draw_links(links, book, key="thread-links") if links else None,
        "sheet": sheet,
        "shares": drawing.list_shares(total) if total and is_counted else [],
        "sentences": found.sentences,
        "desk": reverse("desk:desk", args=[request.study.slug, interview.pk]),
        "blindings": blindings,
        "versions": sorted({found.version_of[each.id] for each in kept}),
        "has_codes": {
            "features": bool(book.list_codes(FEATURES)),
            "challenges": bool(book.list_codes(CHALLENGES) and book.list_codes(RESPONSES)),
        },
        "is_coded": bool(kept),
    }


def _count_blindings(found: Found, kept: Collection[Any]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for each in kept:
        blinding = found.blinding_of[each.id]
        counted[blinding] = counted.get(blinding, 0) + 1
    return counted


def _show_episodes(
    viewer: Viewer, book: CodeBook, found: Found, turns: Mapping[int, Turn], episodes: Collection[Episode]
) -> list[dict[str, Any]]:
    """Each challenged turn with its answers. Reasoning that is closed to the viewer stays closed. One query at most."""
    answers = (turns[turn] for each in episodes for turn in each.answers)
    reasoning = [each.pk for each in answers if each.channel == Turn.Channel.REASONING]
    closed = viewer.find_closed(reasoning) if reasoning else frozenset()
    responses: dict[int, list[str]] = {}
    for coding in found.records.codings:
        if coding.family == RESPONSES:
            responses.setdefault(coding.turn, []).append(book.name(coding.code))
    return [
        {
            "turn": turns[each.turn],
            "kind": book.name(f"challenge.{each.kind}"),
            "outcome": OUTCOMES.get(each.outcome, each.outcome),
            "is_revised": each.outcome == "revised",
            "is_explained": each.is_explained,
            "answers": [
                {"turn": turns[turn], "is_closed": turns[turn].pk in closed, "responses": responses.get(turn, [])}
                for turn in each.answers
            ],
        }
        for each in episodes
    ]
