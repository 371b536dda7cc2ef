"""Pages of agreement: coders compared by code, the units in every count, disagreements, and the decisions about them.

A page states the request, and which of its readings the person may see: if she codes, those she has unblinded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from transcripts.accounts.models import User
from transcripts.agreement import actions, queries, report
from transcripts.agreement.forms import CELLS, NOT_KNOWN, ReasonForm, SelectionForm, UnitsForm, VerdictForm
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.figures import Readings, fingerprint, list_stored, name_letter, order_readings
from transcripts.agreement.queries import Place, Selection, find_interviews, list_families, list_places, read_items
from transcripts.blinding.viewers import Viewer, get_viewer
from transcripts.blinding.views import UnblindingForm, offer_unblinding
from transcripts.charts.figures import RowChart
from transcripts.codebook.models import CodeFamily
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused, WrongInput
from transcripts.rounds.queries import find_locked_interviews
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import name_narrowed, offer_table, send_report_table
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import read_methods
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, post_again
from transcripts.ui.typed_text import find_number

Method = MethodChoice.Method


class PageRequest:
    """The request of a page. ``selection`` is ``None`` if the form is invalid or no codebook is published.

    The default family is the first one with a method in ``prefer``, or else the first. ``is_of_figures``: see the form.
    """

    def __init__(
        self, study: Study, data: QueryDict, *, prefer: tuple[str, ...] = (), is_of_figures: bool = False
    ) -> None:
        self.families, self.methods = list_families(study), read_methods(study)
        self._data = data.copy()
        self.form = SelectionForm(self._data, study=study, families=self.families, is_of_figures=is_of_figures)
        preferred = [each for each in self.families if self.methods.find(each.identifier) in prefer]
        usual = next(iter([*preferred, *self.families]), None)
        self.selection = self.form.read(usual=usual) if usual and self.form.is_valid() else None

    @property
    def is_model_asked(self) -> bool:
        """Whether a model, or all models together, were requested."""
        return bool(self.form.cleaned_data.get("model"))

    def choose_model(self, label: str) -> None:
        """Continue as if this model had been requested."""
        if self.selection is not None:
            self._data["model"] = label or NOT_KNOWN
            self.selection = self.selection._replace(model=label)

    @property
    def method(self) -> str:
        """The family’s method."""
        return self.methods.find(self.selection.family.identifier) if self.selection else self.methods.find()

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The selection as names and values, to be sent again by another form."""
        data = self.form.data
        given = [
            (name, value)
            for name in self.form.fields
            if isinstance(data, QueryDict) and name != "family"
            for value in data.getlist(name)
            if value
        ]
        return [("family", self.selection.family.identifier), *given] if self.selection else given

    @property
    def query(self) -> str:
        """The same as a query string."""
        return urlencode(self.fields)


class VisibleReadings:
    """The readings of the selection, or of its interviews ``within``, that this person may see now.

    ``shared``: the number of interviews in which two or more decided; ``blinded``: those of them that she would have to unblind
    to see more. A person whose role does not see every coding sees interviews whose rounds are locked, in families whose method
    allows it.
    """

    def __init__(self, viewer: Viewer, selection: Selection, *, within: Collection[int] | None = None) -> None:
        from transcripts.agreement.label_tables import find_shared_interviews, keep_interviews, read_table

        interviews = find_interviews(viewer.study, selection)
        if not viewer.sees_all:
            locked = find_locked_interviews(viewer.study)
            interviews = sorted(locked if interviews is None else locked & set(interviews))
        if within is not None:
            interviews = sorted(set(within) if interviews is None else set(within) & set(interviews))
        table = read_table(viewer.study, selection, interviews=interviews)
        shared = find_shared_interviews(table)
        self.blinded = viewer.blinded(shared)
        self.shared = len(shared)
        self.table = keep_interviews(table, shared - self.blinded)

    @property
    def seen(self) -> int:
        """The number of shared interviews that she sees."""
        return self.shared - len(self.blinded)

    @property
    def is_hidden(self) -> bool:
        """Whether there are shared interviews and she sees none of them."""
        return bool(self.blinded) and not self.seen


class MeasuredReadings(VisibleReadings):
    """The visible readings for the figures. If no model was requested and there are several, they are those of the model with
    most units that two or more decided, which is then set in the request.

    ``models``: the number of such units of each model. ``every``: the readings of every model, of which ``offered`` are the
    interviews that she may unblind.
    """

    def __init__(self, viewer: Viewer, page_request: PageRequest) -> None:
        from transcripts.agreement.label_tables import count_shared, keep_interviews

        assert page_request.selection is not None  # noqa: S101 - figures are of a family
        self.every = VisibleReadings(viewer, page_request.selection)
        self.table, self.shared = self.every.table, self.every.shared
        self.offered = self.blinded = self.every.blinded
        units = count_shared(self.table)
        rows = viewer.study.interviews.filter(pk__in=[*units, *self.blinded]).values_list("pk", "model_label")
        labels = dict(rows)
        counts = Counter[str]()
        for interview, number in units.items():
            counts[labels[interview]] += number
        self.models = dict(counts.most_common())
        if len(set(labels.values())) > 1 and self.models and not page_request.is_model_asked:
            label = next(iter(self.models))
            page_request.choose_model(label)
            of_model = {interview for interview, each in labels.items() if each == label}
            self.models = {label: self.models[label]}
            self.blinded = self.blinded & of_model
            self.shared = len(of_model)
            self.table = keep_interviews(self.table, of_model)

    def name_models(self) -> str:
        """The models of the figures, in words."""
        names = [label or "a model that is not known" for label in self.models]
        return names[0] if len(names) == 1 else f"{len(names)} models together" if names else ""


def is_for_coders(method: str) -> bool:
    """Whether coders may see colleagues' readings once a round is locked: not if reliability is claimed."""
    return method != Method.RELIABILITY


NOT_REFLEXIVE = (Method.RELIABILITY.value, Method.CODEBOOK.value)
ITEMS_PER_PAGE = 20


class Queue:
    """The disagreements that a person may see, in the order of the text, and the decisions about them.

    ``places`` are positions in the table. Readings are looked up one by one, because a large study has tens of thousands.
    ``decided``: the places with an active decision on the present readings. ``within`` limits the interviews; ``visible`` are
    readings that are already loaded.
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
        """The next open place after one, continuing at the beginning; ``name`` gives its sentence."""
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
    """Decide one item and go to the next. Only the interview of the item is read, unless it is shown again."""
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
    """The item with the input; without ``form``, the input in a new form that is based on the present readings."""
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
    """The unblinding notice; the page may answer a form, so it leads back to the queue's own address."""
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
    """A decision, with the letter of the chosen reading, if any, and the current names of its codes."""
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


UNITS_PER_PAGE = 25


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_table(request: StudyRequest) -> HttpResponse:
    """Agreement on one family or, if it uses reflexive thematic analysis, why there is none."""
    page_request = PageRequest(request.study, request.GET, prefer=NOT_REFLEXIVE, is_of_figures=True)
    return _render_table(request, page_request)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_so_far(request: StudyRequest) -> HttpResponse:
    """A part of the overview, loaded after the rest of it: agreement on the first family whose method measures it."""
    page_request = PageRequest(request.study, QueryDict(), prefer=NOT_REFLEXIVE, is_of_figures=True)
    context: dict[str, object] = {"page_request": page_request}
    if page_request.selection is not None and page_request.method != Method.REFLEXIVE:
        # The count of open adjudications covers all models; the figures cover one.
        selection, context["every_model"] = page_request.selection, page_request.query
        context["visible"] = visible = MeasuredReadings(get_viewer(request), page_request)
        if not visible.is_hidden:
            measured = report.measure(page_request.selection, visible.table, seed=page_request.form.chosen_seed)
            queue = Queue(request, selection, visible.every)
            context |= {
                "chart": _draw(request, page_request, measured, visible),
                "compared": queue.compared,
                "waiting": len(queue.places) - len(queue.decided),
            }
    return render(request, "agreement/_so_far.html", context)


@require_POST
@study_view(Permission.SET_METHOD)
def compute(request: StudyRequest) -> HttpResponse:
    """The figures of a family that uses reflexive thematic analysis: once, for a reason that is recorded."""
    page_request, form = PageRequest(request.study, request.POST, is_of_figures=True), ReasonForm(request.POST)
    if page_request.selection is None or not form.is_valid():
        return _render_table(request, page_request, reason_form=form, status=422)
    reason, visible = form.cleaned_data["reason"], MeasuredReadings(get_viewer(request), page_request)
    if visible.is_hidden:
        return _ask_to_unblind(request, page_request, visible)
    with at_form(form):
        actions.record_computation(
            study=request.study, family=page_request.selection.family, reason=reason, by=request.user
        )
        return _render_table(request, page_request, reason=reason, visible=visible)
    return _render_table(request, page_request, reason_form=form, status=422)


@require_POST
@study_view(Permission.SEE_ALL_CODINGS)
def download(request: StudyRequest) -> HttpResponse:
    """The table as a file, for families of which the page shows it."""
    page_request = PageRequest(request.study, request.POST, prefer=NOT_REFLEXIVE, is_of_figures=True)
    if page_request.selection is None or page_request.method == Method.REFLEXIVE:
        return _render_table(request, page_request, status=422)
    visible = MeasuredReadings(get_viewer(request), page_request)
    if visible.is_hidden:
        return _ask_to_unblind(request, page_request, visible)
    measured = report.measure(page_request.selection, visible.table, seed=page_request.form.chosen_seed)
    selection, hidden = page_request.selection, len(visible.blinded)
    basis = report.describe_basis(selection, visible.table, measured["agreement"], hidden=hidden)
    source = report.Measured(measured["rows"], basis)
    is_narrowed = selection.is_narrowed or hidden > 0
    return send_report_table(
        report.TABLE,
        source,
        request.POST.get("format", "csv"),
        "agreement.exported",
        stem=name_narrowed(
            f"{request.study.slug}-agreement-{selection.family.identifier}", basis, is_narrowed=is_narrowed
        ),
        study=request.study,
        target=f"family:{selection.family.identifier}",
        by=request.user,
        details={"rows": len(report.TABLE.list_rows(source)), **basis},
        caption=f"{report.TABLE.caption} {report.caption_basis(basis)}",
        label=f"agreement-{selection.family.identifier}",
    )


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def list_units(request: StudyRequest) -> HttpResponse:
    """The units in a count: their words, and each coder's reading."""
    page_request, form = PageRequest(request.study, request.GET, prefer=NOT_REFLEXIVE), UnitsForm(request.GET)
    if page_request.selection is None or not form.is_valid():
        return render(request, "agreement/units.html", {"page_request": page_request, "form": form}, status=422)
    visible = VisibleReadings(get_viewer(request), page_request.selection)
    wanted = form.cleaned_data
    page = Paginator(_find_places(visible, wanted), UNITS_PER_PAGE).get_page(request.GET.get("page"))
    names = {user.pk: user.username for user in User.objects.filter(pk__in=visible.table.coders)}
    family = page_request.selection.family
    context = {
        "page_request": page_request,
        "visible": visible,
        "page": page,
        "items": read_items(family, list_places(visible.table, page), viewer=request.user),
        "unblinding": offer_unblinding(request, visible.blinded, where="agreement"),
        "code": family.codes.filter(identifier=wanted["code"]).first(),
        "first": names.get(wanted["a"]),
        "second": names.get(wanted["b"]),
        "cell": dict(CELLS)[wanted["cell"]],
    }
    return render(request, "agreement/units.html", context)


def _find_places(visible: VisibleReadings, wanted: dict[str, object]) -> list[int]:
    from transcripts.agreement.label_tables import find_cell, find_shared

    code, a, b = str(wanted["code"]), wanted["a"], wanted["b"]
    if isinstance(a, int) and isinstance(b, int):
        return find_cell(visible.table, code, a, b, str(wanted["cell"]))
    return find_shared(visible.table, code)


def _draw(
    request: StudyRequest, page_request: PageRequest, measured: dict[str, Any], visible: MeasuredReadings
) -> RowChart:
    family = page_request.selection.family.name if page_request.selection else ""
    return report.draw_rows(
        measured["rows"],
        family=", ".join(filter(None, [family, visible.name_models()])),
        units=f"{reverse('agreement:units', args=[request.study.slug])}?{page_request.query}",
        coders=len(measured["agreement"].coders),
    )


def _ask_to_unblind(request: StudyRequest, page_request: PageRequest, visible: MeasuredReadings) -> HttpResponse:
    """Show the notice and no figures, because figures of an empty table would say that nobody decided anything."""
    messages.error(request, "All these readings are hidden from you. Unblind the interviews first.")
    return _render_table(request, page_request, visible=visible, status=409)


def _render_table(
    request: StudyRequest,
    page_request: PageRequest,
    *,
    reason: str = "",
    visible: MeasuredReadings | None = None,
    reason_form: ReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    page: dict[str, object] = {
        "page_request": page_request,
        "reason": reason,
        "reason_form": reason_form or ReasonForm(),
        "computed_at": timezone.now(),
    }
    if page_request.selection is not None:
        page["is_reflexive"] = page_request.method == Method.REFLEXIVE
        if visible is None and page_request.method != Method.REFLEXIVE:
            visible = MeasuredReadings(get_viewer(request), page_request)
        page["visible"] = visible
        if visible is not None:
            table = f"{reverse('agreement:table', args=[request.study.slug])}?{page_request.query}"
            page["unblinding"] = offer_unblinding(request, visible.offered, where="agreement", back=table)
        if visible is not None and not visible.is_hidden:
            page["measured"] = measured = report.measure(
                page_request.selection, visible.table, seed=page_request.form.chosen_seed
            )
            page["chart"] = _draw(request, page_request, measured, visible)
            page["offered_tables"] = [offer_table(report.TABLE, "This table, with every pair")]
            page["table_files"] = reverse("agreement:download", args=[request.study.slug])
            page["query"] = page_request.fields
        page["chosen"] = request.GET.get("code", "")
    elif page_request.families:
        status = 422
    return render(request, "agreement/table.html", page, status=status)
