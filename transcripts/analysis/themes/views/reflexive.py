"""Pages of the reflexive record: the six-phase board, and the positionality statements."""

from __future__ import annotations

from typing import Any

from django import template
from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.template import RequestContext
from django.views.decorators.http import require_POST, require_safe

from transcripts.analysis.models import PhaseEntry, PositionalityStatement, ThemeVersion
from transcripts.analysis.themes import actions, queries
from transcripts.analysis.themes.actions import EntryChanged, NotYours
from transcripts.analysis.themes.forms import EntryForm, StatementForm
from transcripts.analysis.themes.queries import choose_viewpoint
from transcripts.analysis.themes.views.themes import describe_viewpoint
from transcripts.blinding.viewers import get_viewer
from transcripts.coding.models import Memo
from transcripts.corpus.models import Consent
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import WrongInput
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, post_again
from transcripts.ui.typed_text import find_numbers

REVIEWED = {ThemeVersion.State.REVIEWED, ThemeVersion.State.DEFINED}


@require_safe
@study_view(Permission.VIEW)
def show_phases(request: StudyRequest) -> HttpResponse:
    """The six phases with their results so far. They can be used in any order."""
    return _render_phases(request)


@require_POST
@study_view(Permission.CODE)
def write_entry(request: StudyRequest) -> HttpResponse:
    """Write an entry in a phase."""
    form = EntryForm(request.POST)
    if form.is_valid():
        with at_form(form):
            entry = actions.write_entry(study=request.study, by=request.user, **form.cleaned_data)
            messages.success(request, f"Saved under {entry.get_phase_display().lower()}.")
            return redirect("themes:phases", request.study.slug)
    return _render_phases(request, refused=form, status=422)


@require_POST
@study_view(Permission.CODE)
def change_entry(request: StudyRequest) -> HttpResponse:
    """Change one's own entry."""
    entry = _find_entry(request)
    if entry is None:
        return _ask_for_entry(request)
    text = request.POST.get("text", "")
    try:
        actions.change_entry(entry=entry, text=text, by=request.user)
    except (WrongInput, NotYours) as error:
        messages.error(request, str(error))
        kept = {"entry_id": entry.pk, "phase": entry.phase, "text": text}
        return _render_phases(request, kept=kept, status=422 if isinstance(error, WrongInput) else 409)
    except EntryChanged as error:
        messages.error(request, str(error))
        kept = {"entry_id": error.active.pk if error.active else None, "phase": entry.phase, "text": text}
        return _render_phases(request, kept=kept, status=409)
    messages.success(request, "The entry is changed. The earlier text is kept in the history.")
    return redirect("themes:phases", request.study.slug)


@require_POST
@study_view(Permission.CODE)
def withdraw_entry(request: StudyRequest) -> HttpResponse:
    """Withdraw one's own entry from the board."""
    entry = _find_entry(request)
    if entry is None:
        return _ask_for_entry(request)
    try:
        actions.withdraw_entry(entry=entry, by=request.user)
    except NotYours as error:
        messages.error(request, str(error))
        return _render_phases(request, status=409)
    messages.success(request, "The entry is withdrawn. It is kept in the history.")
    return redirect("themes:phases", request.study.slug)


@require_safe
@study_view(Permission.VIEW)
def show_positionality(request: StudyRequest) -> HttpResponse:
    """One's own statement with its earlier versions; for people who see all codings, everybody's."""
    return _render_positionality(request)


@require_POST
@study_view(Permission.CODE)
def write_statement(request: StudyRequest) -> HttpResponse:
    """Write or change one's positionality statement."""
    form = StatementForm(request.POST)
    if form.is_valid():
        try:
            with at_form(form, ways=WrongInput):
                actions.write_statement(study=request.study, by=request.user, **form.cleaned_data)
                messages.success(request, "Your statement is saved, with today’s date.")
                return redirect("themes:positionality", request.study.slug)
        except EntryChanged as error:
            form = StatementForm(post_again(request.POST, replaces=error.active.pk if error.active else None))
            return _render_positionality(request, form, race=error, status=409)
    return _render_positionality(request, form, status=422)


@require_POST
@study_view(Permission.CODE)
def withdraw_statement(request: StudyRequest) -> HttpResponse:
    """Withdraw one's own statement."""
    actions.withdraw_statement(study=request.study, by=request.user)
    messages.success(request, "You now have no statement in this study. Earlier versions stay in the record.")
    return redirect("themes:positionality", request.study.slug)


@require_POST
@study_view(Permission.CODE)
def postpone_statement(request: StudyRequest) -> HttpResponse:
    """Not now: the study does not ask again until the next sign-in."""
    postponed = request.session.get(POSTPONED, [])
    if request.study.pk not in postponed:
        request.session[POSTPONED] = [*postponed, request.study.pk]
    return redirect("studies:home", request.study.slug)


def _find_entry(request: StudyRequest) -> PhaseEntry | None:
    """The entry that a form names, if any; entries that the person may not see are not found."""
    asked = request.POST.get("entry", "")
    if not asked:
        return None
    entries = PhaseEntry.objects.filter(study=request.study)
    if Permission.SEE_ALL_CODINGS not in request.role.permissions:
        entries = entries.filter(author=request.user)
    entry = entries.filter(pk__in=find_numbers([asked])).first()
    if entry is None:
        raise Http404("There is no such entry on the board.")
    return entry


def _ask_for_entry(request: StudyRequest) -> HttpResponse:
    messages.error(request, "The form did not say which entry to change. Use the form below that entry.")
    return _render_phases(request, status=422)


def _render_phases(
    request: StudyRequest, *, refused: EntryForm | None = None, kept: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    viewpoint = choose_viewpoint(get_viewer(request))
    themes = queries.current_themes(request.study)
    catalogue = queries.read_catalogue(request.study, also={code for each in themes for code in each.codes})
    every = queries.read_quotes(queries.visible_quotes(get_viewer(request)))
    allowed = list_consenting({quote.sentence.turn.interview_id for quote in every}, Consent.Scope.QUOTATION)
    quotes = [quote for quote in every if quote.sentence.turn.interview_id in allowed]
    kinds = (
        Memo.objects.filter(study=request.study).active().visible_to(get_viewer(request)).order_by().values_list("kind")
    )
    context = {
        "columns": _list_phases(request, refused, kept),
        "kept": kept,
        "memos": dict(kinds.annotate(count=Count("pk"))),
        "codes": [code for _, family_codes in catalogue.families for code in family_codes],
        "codes_used": len(queries.count_sentences(viewpoint)),
        "candidates": [each for each in themes if each.state == ThemeVersion.State.CANDIDATE],
        "reviewed": [each for each in themes if each.state in REVIEWED],
        "defined": [each for each in themes if each.state == ThemeVersion.State.DEFINED],
        "dropped": [each for each in themes if each.state == ThemeVersion.State.DROPPED],
        "extracts": [
            (each, own) for each in themes if (own := [quote for quote in quotes if quote.theme_id == each.theme_id])
        ],
        "quotes": quotes,
        "without_consent": len(every) - len(quotes),
        "shows_reasons": Permission.SEE_ALL_CODINGS in request.role.permissions,
        **describe_viewpoint(request, viewpoint),
    }
    return render(request, "analysis/themes/phases.html", context, status=status)


def _list_phases(
    request: StudyRequest, refused: EntryForm | None, kept: dict[str, Any] | None
) -> list[dict[str, object]]:
    """The six phases with their entries and forms; ``kept`` is a text that could not be stored."""
    entries = list(queries.visible_entries(get_viewer(request)))
    columns = []
    for phase in PhaseEntry.Phase:
        text = kept["text"] if kept and kept["entry_id"] is None and kept["phase"] == phase else ""
        form = EntryForm(initial={"phase": phase.value, "text": text}, auto_id=f"id_{phase.value}_%s")
        if refused is not None and refused.data.get("phase") == str(phase.value):
            refused.auto_id = form.auto_id
            form = refused
        columns.append({"phase": phase, "entries": [each for each in entries if each.phase == phase], "form": form})
    return columns


def _render_positionality(
    request: StudyRequest, form: StatementForm | None = None, *, race: EntryChanged | None = None, status: int = 200
) -> HttpResponse:
    statements = list(queries.visible_statements(get_viewer(request)))
    own = next((each for each in statements if each.author_id == request.user.pk), None)
    earlier = PositionalityStatement.objects.filter(
        study=request.study, author=request.user, withdrawn_at__isnull=False
    )
    initial = {"text": own.text, "replaces": own.pk} if own else {}
    context = {
        "own": own,
        "earlier": earlier.order_by("-pk"),
        "others": [each for each in statements if each is not own],
        "form": form or StatementForm(initial=initial),
        "race": race,
        "may_write": get_viewer(request).codes,
        "shows_others": Permission.SEE_ALL_CODINGS in request.role.permissions,
    }
    return render(request, "analysis/themes/positionality.html", context, status=status)


register = template.Library()
"""For templates: ``{% load positionality %}``."""
POSTPONED = "positionality_postponed"
"""The session key of the studies that should not ask again."""


@register.inclusion_tag("analysis/themes/_invitation.html", takes_context=True)
def positionality_invitation(context: RequestContext) -> dict[str, object]:
    """Invites people who code and have never written a statement, unless they chose "not now" since they signed in."""
    request: StudyRequest = context["request"]
    asks = (
        Permission.CODE in request.role.permissions
        and request.study.pk not in request.session.get(POSTPONED, [])
        and not PositionalityStatement.objects.filter(study=request.study, author=request.user).exists()
    )
    return {"asks": asks, "study": request.study, "csrf_token": context.get("csrf_token")}
