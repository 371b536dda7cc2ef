"""Pages for all memos that a person may read: search, timeline, and writing on any subject."""

from __future__ import annotations

import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.analysis.notebook import actions, queries
from transcripts.analysis.notebook.actions import MemoChanged
from transcripts.analysis.notebook.queries import Place, PlaceNotFound, find_place
from transcripts.analysis.search.forms import check_words
from transcripts.analysis.search.pure.words import MAX_LENGTH, read_terms
from transcripts.analysis.themes.queries import Catalogue, read_catalogue
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.coding.models import Memo
from transcripts.corpus.models import Sentence
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import NumberField, OnceForm, RowForm, at_form, at_top
from transcripts.ui.typed_text import MAX_TEXT

ANY = ("", "any")
FIRST_YEAR, LAST_YEAR = 1900, 9998
MEMOS_PER_PAGE = 50
PLACE_FIELDS = ("sentence", "interview", "code", "theme")


def check_year(date: datetime.date) -> None:
    """Raises ``ValidationError`` for a date outside the years that a search can name."""
    if not FIRST_YEAR <= date.year <= LAST_YEAR:
        raise ValidationError(f"Choose a date in the years {FIRST_YEAR} to {LAST_YEAR}.")


class MemoForm(OnceForm, RowForm):
    """A memo."""

    text = forms.CharField(label="Memo", max_length=MAX_TEXT, widget=forms.Textarea({"rows": 10, "dir": "auto"}))
    needed = ("idempotency_key",)

    class Meta(RowForm.Meta):
        model = Memo
        fields = ("kind",)


class MemoSearchForm(forms.Form):
    """A search of memos. Nothing has to be filled in."""

    words = forms.CharField(
        label="Words",
        required=False,
        max_length=MAX_LENGTH,
        validators=[check_words],
        widget=forms.TextInput({"type": "search", "autocomplete": "off", "dir": "auto"}),
    )
    kind = forms.ChoiceField(label="Kind", required=False, choices=[ANY, *Memo.Kind.choices])
    subject = forms.ChoiceField(label="On", required=False, choices=[("", "anything"), *Memo.Subject.choices])
    code = forms.ChoiceField(label="Code", required=False)
    author = forms.ChoiceField(label="By", required=False)
    since = forms.DateField(
        label="From", required=False, validators=[check_year], widget=forms.DateInput({"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, validators=[check_year], widget=forms.DateInput({"type": "date"})
    )
    key = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)
    interview = NumberField(required=False)

    def __init__(self, data: object, *, catalogue: Catalogue, authors: list[str]) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        grouped = [
            (family.name, [(code.identifier, code.name) for code in codes]) for family, codes in catalogue.families
        ]
        self.fields["code"].choices = [ANY, *grouped]  # type: ignore[attr-defined]
        self.fields["author"].choices = [("", "anybody"), *((name, name) for name in authors)]  # type: ignore[attr-defined]

    def get_filters(self) -> dict[str, Any]:
        """The arguments of ``narrow_memos``: all fields but the words. The form must be valid."""
        return {name: value for name, value in self.cleaned_data.items() if name != "words"}


@require_safe
@study_view(Permission.VIEW)
def list_memos(request: StudyRequest) -> HttpResponse:
    """Every memo that the person may read, day by day; the address contains the whole search."""
    viewer = get_viewer(request)
    memos = Memo.objects.active().visible_to(viewer)
    form = MemoSearchForm(request.GET, catalogue=read_catalogue(request.study), authors=queries.list_authors(memos))
    hidden = viewer.hidden_interviews if viewer.sees_all else frozenset()
    context: dict[str, object] = {"form": form, "unblinding": offer_unblinding(request, hidden, where="memos")}
    if form.is_valid():
        context |= _find(request, queries.narrow_memos(memos, **form.get_filters()), form.cleaned_data["words"])
    return render(request, "analysis/notebook/list.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def write(request: StudyRequest) -> HttpResponse:
    """A new memo. ``?sentence=``, ``?interview=``, ``?code=`` or ``?theme=`` says on what; without, on the study."""
    place = _find_asked_place(request)
    is_sent = request.method == "POST"
    if not is_sent and place.interview and (own := actions.find_own(place, request.user)) is not None:
        return redirect("notebook:memo", request.study.slug, own.pk)
    kind = request.GET.get("kind", "")
    form = MemoForm(request.POST if is_sent else None, initial={"kind": kind} if kind in Memo.Kind.values else None)
    if form.is_valid():
        with at_form(form):
            try:
                memo = actions.write_memo(study=request.study, place=place, by=request.user, **form.cleaned_data)
            except MemoChanged as error:
                return _render_conflict(request, error, form)
            messages.success(request, "The memo is saved.")
            return redirect("notebook:memo", request.study.slug, memo.pk)
    return _render_new(request, place, form)


@require_safe
@study_view(Permission.VIEW)
def show_memo(request: StudyRequest, memo_id: int) -> HttpResponse:
    """One memo with its earlier versions; its author can change it here. For an earlier version the active one is shown."""
    return _render_memo(request, _get_memo(request, memo_id))


@require_POST
@study_view(Permission.CODE)
def revise(request: StudyRequest, memo_id: int) -> HttpResponse:
    """Change one's own memo. The address names the version the text is based on."""
    memo = _get_memo(request, memo_id)
    form = MemoForm(request.POST)
    if form.is_valid():
        with at_form(form):
            try:
                revised = actions.revise_memo(memo=memo, by=request.user, **form.cleaned_data)
            except MemoChanged as error:
                return _render_conflict(request, error, form, memo=memo)
            messages.success(request, "The memo is saved. The earlier version is kept.")
            return redirect("notebook:memo", request.study.slug, revised.pk)
        return _render_memo(request, memo, form=form, status=422 if memo.author_id == request.user.pk else 409)
    return _render_memo(request, memo, form=form, status=422)


@require_POST
@study_view(Permission.CODE)
def withdraw(request: StudyRequest, memo_id: int) -> HttpResponse:
    """Withdraw one's own memo."""
    memo = _get_memo(request, memo_id)
    with at_top(request):
        actions.withdraw_memo(memo=memo, by=request.user)
        messages.success(request, "The memo is withdrawn. Its text stays in the record.")
        return redirect("notebook:list", request.study.slug)
    return _render_memo(request, memo, status=409)


def _find(request: StudyRequest, memos: QuerySet[Memo], words: str) -> dict[str, object]:
    """A page of the requested memos. Without words the database counts and cuts; words are compared here."""
    terms, number = read_terms(words), request.GET.get("page")
    page: Page[int] | Page[Memo]
    if terms:
        page = Paginator(queries.find_memos(memos, terms), MEMOS_PER_PAGE).get_page(number)
        rows = list(_load(Memo.objects.filter(pk__in=list(page)).order_by("-pk")))
    else:
        page = Paginator(_load(memos), MEMOS_PER_PAGE).get_page(number)
        rows = list(page)
    return {"page": page, "days": queries.show_memos(request.study, rows, terms)}


def _get_memo(request: StudyRequest, memo_id: int) -> Memo:
    """A memo this person may read, active or not."""
    memos = Memo.objects.visible_to(get_viewer(request))
    memo = memos.select_related("author", "interview", "sentence__turn__interview").filter(pk=memo_id).first()
    if memo is None:
        raise Http404("There is no such memo.")
    return memo


def _find_asked_place(request: StudyRequest) -> Place:
    asked = request.POST if request.method == "POST" else request.GET
    try:
        return find_place(request.study, {name: asked.get(name, "") for name in PLACE_FIELDS})
    except PlaceNotFound as error:
        raise Http404(str(error)) from error


def _load(memos: QuerySet[Memo]) -> QuerySet[Memo]:
    return memos.select_related("author", "interview", "sentence")


def _render_new(request: StudyRequest, place: Place, form: MemoForm) -> HttpResponse:
    [(name, href)] = queries.name_places(request.study, [_as_memo(place)])
    is_closed = _is_closed(request, place.sentence)
    context = {"form": form, "place": place, "name": name, "href": href, "is_closed": is_closed}
    return render(request, "analysis/notebook/new.html", context, status=422 if form.errors else 200)


def _is_closed(request: StudyRequest, sentence: Sentence | None) -> bool:
    """Whether the sentence is reasoning of a model that this person has not yet opened at the desk."""
    return sentence is not None and bool(get_viewer(request).find_closed([sentence.turn_id]))


def _as_memo(place: Place) -> Memo:
    """An unsaved memo, used to name its place."""
    return Memo(subject=place.subject, subject_key=place.key, interview=place.interview, sentence=place.sentence)


def _render_memo(
    request: StudyRequest,
    memo: Memo,
    *,
    form: MemoForm | None = None,
    conflict: MemoChanged | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page of a memo: of the active version, else of the one asked for."""
    versions = actions.list_versions(memo)
    latest = versions[0] if versions else memo
    is_active = latest.withdrawn_at is None
    [(name, href)] = queries.name_places(request.study, [memo])
    own = memo.author_id == request.user.pk and get_viewer(request).codes
    context = {
        "memo": latest,
        "is_closed": _is_closed(request, latest.sentence),
        "name": name,
        "href": href,
        "earlier": [each for each in versions if each.pk != latest.pk],
        "is_active": is_active,
        "form": (form or MemoForm(initial={"kind": latest.kind, "text": latest.text})) if own and is_active else None,
        "conflict": conflict,
        "kept": form if own and not is_active else None,
        "again": _link_new(request, Place.of(memo)),
    }
    return render(request, "analysis/notebook/memo.html", context, status=status)


def _link_new(request: StudyRequest, place: Place) -> str:
    query = QueryDict(mutable=True)
    query.update(place.fields)
    return f"{reverse('notebook:new', args=[request.study.slug])}?{query.urlencode()}"


def _render_conflict(
    request: StudyRequest, error: MemoChanged, form: MemoForm, *, memo: Memo | None = None
) -> HttpResponse:
    """Show both texts: the active one, and the input in a form based on it, with a new idempotency key."""
    shown = error.memo or memo
    assert shown is not None  # noqa: S101 - a new memo only conflicts with one that is active
    initial = {"kind": form.cleaned_data["kind"], "text": form.cleaned_data["text"]}
    return _render_memo(request, shown, form=MemoForm(initial=initial), conflict=error, status=409)
