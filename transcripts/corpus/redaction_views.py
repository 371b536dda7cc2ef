"""The page of the redaction list: its entries, what they would change, and the lists before."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from transcripts.corpus.consent_forms import RedactionForm
from transcripts.corpus.models import RedactionList
from transcripts.corpus.pure.redacting import read_stored, write_lines
from transcripts.corpus.queries import find_redaction
from transcripts.corpus.redaction import save_redaction, tidy_entries
from transcripts.corpus.redaction_preview import preview, suggest_entries
from transcripts.history.forms import at_next
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


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
