"""The page of the redaction list: its entries, what they would change, and the lists before."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from transcripts.corpus.consent_forms import RedactionForm
from transcripts.corpus.models import RedactionList
from transcripts.corpus.pure.redacting import BadEntry, check_entries, read_stored, write_lines
from transcripts.corpus.queries import find_redaction
from transcripts.corpus.redaction import save_redaction
from transcripts.corpus.redaction_preview import preview, suggest_entries
from transcripts.history.models import WrittenMeanwhile
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.ui.replacing import post_again


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.SET_METHOD)
def edit_redaction(request: ProjectRequest) -> HttpResponse:
    """Show the list that holds, show what another would change (``check`` in the form), or save it.

    ``?suggested=1`` puts the names that came in with the interviews below the entries.
    """
    current = find_redaction(request.project)
    if request.method != "POST":
        return _render(request, _make_form(request, current), current)
    form = RedactionForm(request.POST)
    if not form.is_valid():
        return _render(request, form, current)
    entries = form.cleaned_data["entries"]
    try:
        if "check" in request.POST:
            check_entries(entries)
            return _render(request, form, current, preview(request.project, entries))
        row = save_redaction(
            project=request.project,
            entries=entries,
            reason=form.cleaned_data["reason"],
            by=request.user,
            based_on=form.cleaned_data["based_on"],
        )
    except WrittenMeanwhile as error:
        # Her own entries again, next to the list that came between; saved once more, they take its place.
        form = RedactionForm(post_again(request.POST, based_on=error.latest.number))
        form.add_error("entries", str(error))
        return _render(request, form, error.latest, status=error.status)
    except (Refused, BadEntry) as error:
        form.add_error("entries", str(error))
        return _render(request, form, current)
    messages.success(request, f"List {row.number} is now in use, for every copy that has not been sent yet.")
    return redirect("corpus:redaction", request.project.slug)


def _make_form(request: ProjectRequest, current: RedactionList | None) -> RedactionForm:
    entries = read_stored(current.entries) if current else []
    if "suggested" in request.GET:
        entries = [*entries, *suggest_entries(request.project, entries)]
    return RedactionForm(initial={"entries": write_lines(entries), "based_on": current.number if current else 0})


def _render(
    request: ProjectRequest,
    form: RedactionForm,
    current: RedactionList | None,
    effects: list[dict[str, object]] | None = None,
    *,
    status: int = 422,
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
    return render(request, "corpus/redaction.html", context, status=status if form.errors else 200)
