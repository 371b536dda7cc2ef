"""Pages of consent and of redaction: what may be done with each interview, and what is replaced in copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.corpus.consent import preview, record_consent, save_redaction, suggest_entries, tidy_entries
from transcripts.corpus.forms import ConsentForm, RedactionForm
from transcripts.corpus.listing import list_matching, read_wanted
from transcripts.corpus.models import Consent, Interview, RedactionList
from transcripts.corpus.pure.redacting import read_stored, write_lines
from transcripts.corpus.queries import STATES, count_states, find_redaction, holds, list_consents, list_scopes
from transcripts.history.forms import at_next
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form
from transcripts.ui.typed_text import find_numbers

INTERVIEWS_PER_PAGE = 100


@require_safe
@project_view(Permission.VIEW)
def list_consent(request: ProjectRequest) -> HttpResponse:
    """Every interview and what may be done with it; ``?model=``, ``?in_scope=`` with ``?state=`` keep some."""
    return _render_list(request, ConsentForm(initial={"scope": request.GET.get("in_scope", "")}))


@require_POST
@project_view(Permission.SET_METHOD)
def record(request: ProjectRequest) -> HttpResponse:
    """Put a consent on record for the interviews ticked, or for all that the filter shows."""
    form = ConsentForm(request.POST)
    chosen = _read_chosen(request)
    if form.is_valid():
        with at_form(form):
            rows = record_consent(
                project=request.project,
                interviews=chosen,
                scope=form.cleaned_data["scope"],
                is_given=form.is_given,
                basis=form.cleaned_data["basis"],
                by=request.user,
            )
            what = Consent.Scope(form.cleaned_data["scope"]).label
            said = "given" if form.is_given else "not given"
            messages.success(request, f"{what}: {said}, recorded for {len(rows)} interview{pluralize(len(rows))}.")
            return redirect("corpus:consent", request.project.slug)
    return _render_list(request, form, {interview.pk for interview in chosen})


@require_safe
@project_view(Permission.VIEW)
def show_history(request: ProjectRequest, interview_id: int) -> HttpResponse:
    """Every record of one interview, newest first."""
    interview = get_object_or_404(request.project.interviews, pk=interview_id)
    context = {
        "interview": interview,
        "scopes": list_scopes(interview),
        "records": interview.consents.order_by("-pk"),
        "form": ConsentForm(),
    }
    return render(request, "corpus/interview_consent.html", context)


def _read_chosen(request: ProjectRequest) -> list[Interview]:
    """The interviews a person has ticked; those of other studies and those that are no numbers are left out."""
    if "every" in request.POST and "sort" in request.POST:
        # From the list of interviews, which is narrowed in another way.
        return list_matching(request.project, read_wanted(request.POST), None)
    if "every" in request.POST:
        shown = [line["pk"] for line in _filter(list_consents(request.project), request.POST)]
        return list(request.project.interviews.filter(pk__in=shown))
    ticked = find_numbers(request.POST.getlist("interview"))
    return list(request.project.interviews.filter(pk__in=ticked))


def _filter(lines: Sequence[dict[str, Any]], asked: QueryDict) -> list[dict[str, Any]]:
    model, scope, state = asked.get("model", ""), asked.get("in_scope", ""), asked.get("state", "")
    return [
        line
        for line in lines
        if (not model or line["model_label"] == model) and (not scope or not state or holds(line, scope, state))
    ]


def _render_list(request: ProjectRequest, form: ConsentForm, ticked: set[int] | None = None) -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    every = list_consents(request.project)
    shown = _filter(every, asked)
    context = {
        "form": form,
        "page": Paginator(shown, INTERVIEWS_PER_PAGE).get_page(asked.get("page")),
        "counts": count_states(every),
        "ticked": ticked or set(),
        "every": "every" in asked,
        "asked": {name: asked.get(name, "") for name in ("model", "in_scope", "state")},
        "models": sorted({line["model_label"] for line in every if line["model_label"]}),
        "scopes": Consent.Scope.choices,
        "states": STATES.items(),
        "study_is_empty": not every,
        "may_record": Permission.SET_METHOD in request.role.permissions,
    }
    return render(request, "corpus/consent.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def edit_redaction(request: ProjectRequest) -> HttpResponse:
    """Show the list that holds, show what another would change (``check`` in the form), or save it.

    ``?suggested=1`` puts the names that came in with the interviews below the entries.
    """
    current = find_redaction(request.project)
    form = RedactionForm(request.POST if request.method == "POST" else None, initial=_describe(request, current))
    if form.is_valid():
        with at_next(form, "entries"):
            if "check" in request.POST:
                effects = preview(request.project, tidy_entries(form.cleaned_data["entries"]))
                return _render(request, form, current, effects)
            row = save_redaction(project=request.project, by=request.user, **form.cleaned_data)
            messages.success(request, f"List {row.number} is now in use, for every copy that has not been sent yet.")
            return redirect("corpus:redaction", request.project.slug)
    # Who is late sees her own entries again, next to the list that came between; saved once more, they take its place.
    return _render(request, form, form.latest or current)


def _describe(request: ProjectRequest, current: RedactionList | None) -> dict[str, object]:
    entries = read_stored(current.entries) if current else []
    if "suggested" in request.GET:
        entries = [*entries, *suggest_entries(request.project, entries)]
    return {"entries": write_lines(entries), "based_on": current.number if current else 0}


def _render(
    request: ProjectRequest,
    form: RedactionForm,
    current: RedactionList | None,
    effects: list[dict[str, object]] | None = None,
) -> HttpResponse:
    held = read_stored(current.entries) if current else []
    context = {
        "form": form,
        "current": current,
        "held": held,
        "effects": effects,
        "suggested": suggest_entries(request.project, held),
        "lists": request.project.redaction_lists.order_by("-number"),
    }
    return render(request, "corpus/redaction.html", context, status=form.status)
