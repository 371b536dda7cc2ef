"""The page *Negotiation* of one thread: its moves over its turns, its ledger, its episodes, and what moves act on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from transcripts.blinding.viewers import Viewer, get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.coding.models import Layer
from transcripts.corpus.models import Interview, Turn
from transcripts.negotiation.pure.episodes import Episode, list_episodes
from transcripts.negotiation.pure.layout import lay_out_ledger, lay_out_moves, list_columns
from transcripts.negotiation.pure.record_index import CONDUCT, RecordIndex
from transcripts.negotiation.pure.records import CHALLENGES, FEATURES, MOVES, RESPONSES
from transcripts.negotiation.pure.report import make_report
from transcripts.negotiation.queries.records import Asked, Found, read_thread
from transcripts.negotiation.queries.scores import CodeBook
from transcripts.negotiation.queries.threads import list_other_threads
from transcripts.negotiation.views import drawing
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission

OUTCOMES = {
    "revised": "revised",
    "held": "held",
    "conceded": "conceded in words only",
    "sidestepped": "sidestepped",
    "none": "no response applies",
    "undecided": "not decided yet",
}


@require_safe
@study_view(Permission.VIEW)
def show_thread(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Of one coder: a person who codes sees her own codings, and others' once she has unblinded the interview."""
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
    layers = [(Layer(layer).label.lower(), number) for layer, number in sorted(_count_layers(found, kept).items())]
    # Codings of two layers are shown side by side; a share of both together would be of neither.
    is_counted = bool(sheet and total and len(layers) == 1 and not total["in_part"])
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
        "layers": layers,
        "versions": sorted({found.version_of[each.id] for each in kept}),
        "has_codes": {
            "features": bool(book.list_codes(FEATURES)),
            "challenges": bool(book.list_codes(CHALLENGES) and book.list_codes(RESPONSES)),
        },
        "is_coded": bool(kept),
    }


def _count_layers(found: Found, kept: Collection[Any]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for each in kept:
        layer = found.layer_of[each.id]
        counted[layer] = counted.get(layer, 0) + 1
    return counted


def _show_episodes(
    viewer: Viewer, book: CodeBook, found: Found, turns: Mapping[int, Turn], episodes: Collection[Episode]
) -> list[dict[str, Any]]:
    """The challenged turn beside what answers it. Reasoning that is closed to the viewer stays closed. One query at most."""
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
