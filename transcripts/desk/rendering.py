"""The responses of the desk: the whole page, the annotations of a place, or the values of one coding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse

from transcripts.codebook.models import CodeFamily
from transcripts.coding import queries
from transcripts.coding.models import Coding, Memo
from transcripts.coding.next_sentence import Reason, describe_reason, find_differing_in, list_shown_to
from transcripts.coding.queries import WAYS, Closure, is_draft
from transcripts.coding.values import CHOICE_FIELDS
from transcripts.corpus.models import Sentence, Turn
from transcripts.corpus.queries import list_scopes
from transcripts.desk.annotations import read_annotations_at
from transcripts.desk.desk import DeskPage, build_page
from transcripts.desk.exchanges import list_choices
from transcripts.desk.forms import ANSWER
from transcripts.desk.keys import Choices, build_card, list_code_keys, resolve_keys
from transcripts.desk.templatetags.desk_rows import write_marks
from transcripts.studies.access import StudyRequest
from transcripts.studies.roles import Permission

ACT_NAMES = ("add", "withdraw", "link", "unlink", "decide", "reopen", "memo", "open")


class Refusal(NamedTuple):
    """The refusal of a plain form: ``field`` names the field at fault, ``held`` the values of the form.

    ``action`` and ``again`` are the posted form, to be sent again with the missing line.
    """

    message: str
    field: str
    held: dict[str, str]
    action: str

    @property
    def again(self) -> dict[str, str]:
        return {name: value for name, value in self.held.items() if name not in {"reason", "csrfmiddlewaretoken"}}


@lru_cache(maxsize=1000)
def _find_suggestions_url(slug: str) -> tuple[str, str] | None:
    """The address of the suggestions panel, before and after the sentence's id; ``None`` on a site without suggestions.

    The desk knows nothing else about machines.
    """
    try:
        before, _, after = reverse("suggestions:panel", args=[slug, 0]).rpartition("/0/")
    except NoReverseMatch:
        return None
    return f"{before}/", f"/{after}"


def _is_read(turn: Turn) -> bool:
    """Whether machines may annotate it: they annotate what the model says."""
    return turn.role == Turn.Role.MODEL and turn.channel == Turn.Channel.UTTERANCE


@lru_cache(maxsize=1000)
def _list_urls(slug: str, interview_id: int) -> dict[str, str]:
    """The addresses to which changes in one interview are posted, and that of its codings' details."""
    desk = reverse("desk:desk", args=[slug, interview_id])
    return {**{name: f"{desk}{name}/" for name in ACT_NAMES}, "codings": f"{desk}codings/"}


def render_marks(request: StudyRequest, sentence: Sentence | None, *, units: Sequence[str]) -> HttpResponse:
    """The requested annotations of a sentence, its turn and its interview, each with its id on the page."""
    if sentence is None:
        return HttpResponse(status=204)
    interview_id = sentence.turn.interview_id
    urls = _list_urls(request.study.slug, interview_id)
    places = {
        CodeFamily.Unit.SENTENCE: ("m", sentence.pk),
        CodeFamily.Unit.TURN: ("tm", sentence.turn_id),
        CodeFamily.Unit.INTERVIEW: ("im", interview_id),
    }
    html = []
    for unit in units:
        marks = read_annotations_at(queries.find_place(sentence, unit).pk, request.user.pk)
        apart = {other: marks.split_off(other) for other in (CodeFamily.Unit.TURN, CodeFamily.Unit.INTERVIEW)}
        place, place_id = places[CodeFamily.Unit(unit)]
        is_answer = unit == CodeFamily.Unit.SENTENCE and _is_read(sentence.turn)
        suggestions = _find_suggestions_url(request.study.slug) if is_answer else None
        html.append(
            write_marks(
                apart.get(CodeFamily.Unit(unit), marks), place, place_id, urls, writable=True, suggestions=suggestions
            )
        )
    return HttpResponse("".join(html))


def render_desk(
    request: StudyRequest,
    interview_id: int,
    *,
    at: int | None,
    show: str = "",
    status: int = 200,
    refusal: Refusal | None = None,
) -> HttpResponse:
    """One interview with the person's own work and, if she codes, the codes next to it."""
    found = queries.find_interview(request.study, interview_id, request.user.pk)
    if found is None:
        raise Http404("This interview is not in this study.")
    interview, place, closure, keys = found
    has_panel = Permission.CODE in request.role.permissions
    sees_all = not has_panel and Permission.SEE_ALL_CODINGS in request.role.permissions
    may_see_differences = interview_id in list_shown_to(request)
    differing = find_differing_in(interview) if may_see_differences and show == Reason.DISAGREED else None
    page = build_page(
        request.study,
        interview,
        request.user.pk,
        sees_all=sees_all,
        closes_reasoning=has_panel,
        at=at,
        show=show,
        differing=differing,
    )
    closed = closure.sentence if has_panel else ""
    context = {
        "page": page,
        "place": place,
        "has_panel": has_panel,
        "writable": has_panel and not closed,
        "closed": closed,
        "way_out": _find_way_out(request, closure) if closed else None,
        "sees_all": sees_all,
        "memo_kinds": Memo.Kind.choices,
        "suggestions": _find_suggestions_url(request.study.slug) if has_panel else None,
        "is_draft": is_draft(interview_id),
        "refusal": refusal,
        "urls": _list_urls(request.study.slug, interview_id),
        "filters": list_choices(codes_herself=has_panel, may_see_differences=may_see_differences),
        "why": describe_reason(request, request.GET.get("why", ""), interview_id=interview_id),
        "may_edit_boundaries": Permission.EDIT_BOUNDARIES in request.role.permissions,
        **(_list_keys(keys, page) if has_panel else {}),
        "marks_url": reverse("desk:marks", args=[request.study.slug, interview_id, 0]),
        "consent": list_scopes(interview),
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
    }
    response = render(request, "desk/desk.html", context, status=status)
    if has_panel and place["next_id"]:
        response["Speculation-Rules"] = f'"{static("js/prefetch.speculationrules")}"'
    return response


def render_beside(
    request: StudyRequest, *interview_ids: int, template: str = "desk/beside.html", **more: object
) -> HttpResponse:
    """Threads side by side, each with the person's own work, for reading. ``more`` is the context of another ``template``."""
    has_panel = Permission.CODE in request.role.permissions
    sides = []
    for interview_id in interview_ids:
        interview = request.study.interviews.filter(pk=interview_id).first()
        if interview is None:
            raise Http404("This interview is not in this study.")
        page = build_page(
            request.study,
            interview,
            request.user.pk,
            sees_all=not has_panel and Permission.SEE_ALL_CODINGS in request.role.permissions,
            closes_reasoning=has_panel,
            at=None,
        )
        sides.append(
            {
                "page": page,
                "urls": _list_urls(request.study.slug, interview_id),
                "desk_url": reverse("desk:desk", args=[request.study.slug, interview_id]),
            }
        )
    context = {"sides": sides, "shown": None, "current_id": None, "writable": False, "suggestions": None, **more}
    return render(request, template, context)


def _find_way_out(request: StudyRequest, closure: Closure) -> tuple[str, str] | None:
    """The page on which the person can open a closed interview again, and the text of its link; none if she may not."""
    permission, name, words = WAYS[closure]
    return (reverse(name, args=[request.study.slug]), words) if permission in request.role.permissions else None


def _list_keys(keys: Choices, page: DeskPage) -> dict[str, object]:
    """This person's keys, for the page's script, and the card that lists them."""
    keymap, clashes = resolve_keys(list_code_keys(page.families), keys)
    card = build_card(keymap, clashes, page.families)
    return {"keymap": keymap, "card": card, "has_code_keys": any(keymap["codes"].values())}


def render_details(
    request: StudyRequest, coding: Coding, *, status: int = 200, refusal: Refusal | None = None
) -> HttpResponse:
    """The form with all values of a coding: an existing one, or one that is not stored yet."""
    text = queries.read_text(coding.sentence_id)
    start = coding.sentence.start
    quote = text[coding.quote[0] - start : coding.quote[1] - start] if coding.quote else ""
    held = refusal.held if refusal else {}
    context = {
        "coding": coding,
        "text": text,
        "quote": held.get("quote", quote),
        "note": held.get("note", coding.note),
        "reason": held.get("reason", ""),
        "choices": [
            (name, field, held.get(name, getattr(coding, name)))
            for name, field in CHOICE_FIELDS.items()
            if field.applies_to(coding.code.family)
        ],
        "questions": [
            {**question, "answer": held.get(ANSWER + question["key"], coding.attributes.get(question["key"], ""))}
            for question in coding.code.attributes
        ],
        "refusal": refusal,
        "has_seen_others": queries.read_active_labels(coding.sentence_id, request.user.pk).has_seen_others,
        "urls": _list_urls(request.study.slug, coding.sentence.turn.interview_id),
        "desk_url": make_desk_url(request, coding.sentence.turn.interview_id, coding.sentence_id),
    }
    return render(request, "desk/details.html", context, status=status)


def make_desk_url(request: StudyRequest, interview_id: int, at: int | None) -> str:
    url = reverse("desk:desk", args=[request.study.slug, interview_id])
    return f"{url}?at={at}#s{at}" if at else url
