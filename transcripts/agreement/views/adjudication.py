"""Disagreements between coders: their readings side by side, the queue of them, and what is decided about each."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from transcripts.agreement import actions, queries
from transcripts.agreement.forms import VerdictForm
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.figures import Readings, fingerprint, list_stored, name_letter, order_readings
from transcripts.agreement.queries import Place, Selection, list_places, read_items
from transcripts.agreement.views.visible import Method, PageRequest, VisibleReadings, is_for_coders
from transcripts.blinding.forms import UnblindingForm
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.codebook.models import CodeFamily
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused, WrongInput
from transcripts.rounds.queries import find_locked_interviews
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import post_again
from transcripts.ui.typed_text import find_number

NOT_REFLEXIVE = (Method.RELIABILITY.value, Method.CODEBOOK.value)
ITEMS_PER_PAGE = 20


class Queue:
    """The disagreements somebody may see, in the order of the text, and what was decided about them.

    ``places`` are places of the table. Readings are looked up one by one, for a large study has tens of thousands.
    ``decided``: the places where a decision is active, on the readings as they are. ``within`` keeps some interviews;
    ``visible`` has been read already.
    """

    def __init__(
        self,
        request: StudyRequest,
        selection: Selection,
        visible: VisibleReadings | None = None,
        *,
        within: Collection[int] | None = None,
    ) -> None:
        self.visible = visible or VisibleReadings(get_viewer(request), selection, within=within)
        self.table = self.visible.table
        self.places = list(map(int, self.table.find_differing()))
        self._active = queries.find_active(request.study, selection.family.identifier)
        self.decided = frozenset(place for place in self.places if self._is_decided(place))

    @property
    def compared(self) -> int:
        """How many units two or more decided."""
        return int((self.table.decided.sum(axis=0) > 1).sum())

    def show(self, place: int) -> Place:
        """The unit at a place, with its readings."""
        return self.name(place), self.table.list_readings(place)

    def list_readings(self, place: int) -> Readings:
        """The readings of the unit at a place, as A, B, C."""
        return order_readings(*self.show(place))

    def name(self, place: int) -> int:
        """The number of the sentence at a place."""
        return int(self.table.sentence_ids[place])

    def find(self, sentence_id: int | None) -> int | None:
        """The place of a sentence, if it is in the queue."""
        return next((place for place in self.places if self.name(place) == sentence_id), None)

    def find_revision(self, place: int) -> int:
        """The number of the active decision about a place; 0 without any."""
        row = self._active.get(self.name(place))
        return row.revision if row else 0

    def _is_decided(self, place: int) -> bool:
        row = self._active.get(self.name(place))
        return row is not None and row.readings == list_stored(self.list_readings(place))

    def find_next(self, after: int | None) -> int | None:
        """The next open place after one, going on from the beginning; its sentence is given by ``name``."""
        start = self.places.index(after) + 1 if after is not None else 0
        around = self.places[start:] + self.places[:start]
        return next((place for place in around if place != after and place not in self.decided), None)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_queue(request: StudyRequest) -> HttpResponse:
    """One item of the queue: the one at ``?at=``, or the first that is open, after ``?after=`` if that is named."""
    page_request = PageRequest(request.study, request.GET, prefer=NOT_REFLEXIVE)
    if page_request.selection is None or page_request.method == Method.REFLEXIVE:
        return _render(
            request, page_request, status=422 if page_request.families and page_request.selection is None else 200
        )
    queue = Queue(request, page_request.selection)
    place = queue.find(find_number(request.GET.get("at", "")))
    if place is None:
        place = queue.find_next(queue.find(find_number(request.GET.get("after", ""))))
    return _render(request, page_request, queue, place)


@require_POST
@study_view(Permission.ADJUDICATE)
def adjudicate(request: StudyRequest) -> HttpResponse:
    """Decide about one item and go on to the next. Only the interview of the item is read, unless it is shown again."""
    page_request = PageRequest(request.study, request.POST, prefer=NOT_REFLEXIVE)
    at = find_number(request.POST.get("at", ""))
    if page_request.selection is None or page_request.method == Method.REFLEXIVE or at is None:
        return _render(request, page_request, status=422)
    family, sentence = page_request.selection.family, _find_sentence(request, at)
    queue = Queue(request, page_request.selection, within=[sentence.turn.interview_id] if sentence else [])
    place = queue.find(at)
    if sentence is None or place is None:
        messages.error(request, "Coders do not disagree about this sentence, or you have not unblinded its interview.")
        queue = Queue(request, page_request.selection)
        return _render(request, page_request, queue, queue.find_next(None), status=409)
    form = VerdictForm(request.POST, readings=queue.list_readings(place), family=family)
    if not form.is_valid():
        return _show_again(request, page_request, at, form, status=422)
    try:
        row = actions.adjudicate(study=request.study, family=family, sentence=sentence, by=request.user, **form.read())
    except WrongInput as error:
        form.add_error(error.field, str(error))
        return _show_again(request, page_request, at, form, status=422)
    except (actions.Overtaken, actions.ReadingsChanged, actions.UsedForAnother) as error:
        messages.warning(request, str(error))
        return _show_again(request, page_request, at, None, status=409)
    except Refused as error:
        messages.error(request, str(error))
        return _show_again(request, page_request, at, form, status=409)
    messages.success(request, f"Decided: {row.get_outcome_display().lower()}.")
    return HttpResponseRedirect(
        f"{reverse('agreement:queue', args=[request.study.slug])}?{page_request.query}&after={at}"
    )


def _find_sentence(request: StudyRequest, sentence_id: int) -> Sentence | None:
    sentences = Sentence.objects.current().filter(turn__interview__study=request.study)
    return sentences.select_related("turn").filter(pk=sentence_id).first()


def _show_again(
    request: StudyRequest, page_request: PageRequest, at: int, form: VerdictForm | None, *, status: int
) -> HttpResponse:
    """The item with what was typed; without ``form``, what was typed in one to be sent about what is there now."""
    assert page_request.selection is not None  # noqa: S101 - something was decided about it
    queue = Queue(request, page_request.selection)
    place = queue.find(at)
    if form is None and place is not None:
        form = _renew(request, queue, place, page_request.selection.family)
    return _render(request, page_request, queue, place, form, status=status)


def _renew(request: StudyRequest, queue: Queue, place: int, family: CodeFamily) -> VerdictForm:
    readings = queue.list_readings(place)
    now = {"shown": fingerprint(readings), "revision": queue.find_revision(place), "idempotency_key": uuid4()}
    return VerdictForm(post_again(request.POST, **now), readings=readings, family=family)


def _render(
    request: StudyRequest,
    page_request: PageRequest,
    queue: Queue | None = None,
    place: int | None = None,
    form: VerdictForm | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, object] = {
        "page_request": page_request,
        "visible": queue and queue.visible,
        "queue": queue,
        "unblinding": _offer(request, page_request, queue),
        "can_decide": Permission.ADJUDICATE in request.role.permissions,
    }
    if page_request.selection is not None and queue is not None and place is not None:
        context |= _describe(request, page_request.selection.family, queue, place, form)
    return render(request, "agreement/queue.html", context, status=status)


def _offer(request: StudyRequest, page_request: PageRequest, queue: Queue | None) -> UnblindingForm | None:
    """The notice; the page may answer a form, so the way back is the queue's own address."""
    if queue is None:
        return None
    back = f"{reverse('agreement:queue', args=[request.study.slug])}?{page_request.query}"
    return offer_unblinding(request, queue.visible.blinded, where="adjudication", back=back)


def _describe(
    request: StudyRequest, family: CodeFamily, queue: Queue, place: int, form: VerdictForm | None
) -> dict[str, object]:
    """Everything about the item at a place."""
    unit, readings = queue.show(place), queue.list_readings(place)
    coders = list(unit[1])
    [item] = read_items(family, [unit], viewer=request.user)
    number, following = queue.places.index(place), queue.find_next(place)
    initial = {"shown": fingerprint(readings), "revision": queue.find_revision(place)}
    is_own = request.user.pk in coders
    names = dict(family.codes.values_list("identifier", "name"))
    decisions = [_show_decision(row, names) for row in queries.list_versions(item.sentence, family.identifier)]
    return {
        "item": item,
        "number": number + 1,
        "previous": queue.name(queue.places[number - 1]) if number else None,
        "following": queue.name(following) if following is not None else None,
        "form": form or VerdictForm(readings=readings, family=family, initial=initial),
        "active": next((each for each in decisions if each["row"].withdrawn_at is None), None),
        "is_decided": place in queue.decided,
        "decisions": decisions,
        "is_own": is_own,
        "others": queries.find_other_judges(request.study, coders) if is_own else [],
    }


def _show_decision(row: Adjudication, names: dict[str, str]) -> dict[str, Any]:
    """A decision, with the letter of the reading it chose, if any, and with the current names of its codes."""
    coders = [reading["coder"] for reading in row.readings]
    letter = name_letter(coders.index(row.chosen_coder_id)) if row.chosen_coder_id in coders else ""
    return {"row": row, "letter": letter, "codes": [names.get(code, code) for code in row.codes]}


@require_safe
@study_view(Permission.VIEW)
def show_disagreements(request: StudyRequest) -> HttpResponse:
    """The units of a family that coders coded differently. Coders see them once a round is locked."""
    page_request = PageRequest(request.study, request.GET, prefer=(Method.REFLEXIVE.value, Method.CODEBOOK.value))
    viewer = get_viewer(request)
    sees_all = viewer.sees_all
    context: dict[str, object] = {
        "page_request": page_request,
        "sees_all": sees_all,
        "is_allowed": sees_all or is_for_coders(page_request.method),
        "can_write": viewer.codes,
        "can_adjudicate": page_request.method != Method.REFLEXIVE and sees_all,
    }
    if page_request.selection is None:
        return render(request, "agreement/disagreements.html", context, status=422 if page_request.families else 200)
    if context["is_allowed"] and (sees_all or find_locked_interviews(request.study)):
        visible = VisibleReadings(viewer, page_request.selection)
        places = [int(place) for place in visible.table.find_differing()]
        wanted = request.GET.get("code", "")
        if wanted in visible.table.codes:
            row = visible.table.labels[visible.table.codes.index(wanted)].sum(axis=0)
            deciders = visible.table.decided.sum(axis=0)
            places = [place for place in places if 0 < row[place] < deciders[place]]
        page = Paginator(places, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
        family = page_request.selection.family
        context |= {
            "visible": visible,
            "unblinding": offer_unblinding(request, visible.blinded, where="differences", to_coders=True),
            "page": page,
            "compared": int((visible.table.decided.sum(axis=0) > 1).sum()),
            "items": read_items(family, list_places(visible.table, page), viewer=request.user),
            "codes": family.codes.order_by("position"),
            "wanted": wanted,
        }
    return render(request, "agreement/disagreements.html", context)
