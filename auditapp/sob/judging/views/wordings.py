"""Pages of the instruments: the published ones, and those a study has written."""

from __future__ import annotations

from difflib import unified_diff

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.models import Batch
from auditapp.sob.judging.actions.wordings import NOT_COMPARABLE, add_wording, find_instrument, plan_texts
from auditapp.sob.judging.forms.wordings import WordingForm
from auditapp.sob.models import Wording
from auditapp.sob.pure.instruments import BASE, BASE_TASK, PAPER, TASKS, Instrument, list_variants, load_instruments
from auditapp.sob.queries.arms import KIND
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.ui.acts import at_form

PREVIEW, ANEW = "preview", "anew"


@require_safe
@project_view(Permission.VIEW)
def list_wordings(request: ProjectRequest) -> HttpResponse:
    """Every wording available for a launch."""
    own: dict[str, list[Wording]] = {}
    for wording in Wording.objects.filter(project=request.project):
        own.setdefault(wording.name, []).append(wording)
    published: dict[str, list[Instrument]] = {}
    for instrument in load_instruments():
        published.setdefault(instrument.variant, []).append(instrument)
    context = {"own": own, "published": published, "base": BASE, "not_comparable": NOT_COMPARABLE}
    return render(request, "sob/wordings.html", context)


@require_safe
@project_view(Permission.VIEW)
def show_wording(request: ProjectRequest, wording: str) -> HttpResponse:
    """A wording word for word, its hashes, and the batches that asked with it."""
    name = wording
    rows = list(Wording.objects.filter(project=request.project, name=name))
    based_on = rows[0].based_on if rows else ""
    instruments = [_find(request.project, task, name) for task, _ in ([(BASE_TASK, BASE)] if name == BASE else TASKS)]
    texts = [{"instrument": each, "difference": _compare(request.project, each, based_on)} for each in instruments]
    context = {
        "name": name,
        "own": rows[0] if rows else None,
        "texts": texts,
        "batches": _list_batches(request.project, name),
        "not_comparable": NOT_COMPARABLE,
        "is_base": name == BASE,
    }
    return render(request, "sob/wording.html", context)


def _find(project: Project, task: str, name: str) -> Instrument:
    try:
        return find_instrument(task, name, project)
    except Refused as error:
        raise Http404(str(error)) from error


def _list_batches(project: Project, name: str) -> QuerySet[Batch]:
    batches = project.batches.filter(kind=KIND)
    if name == BASE:
        return batches.filter(arms__task=BASE_TASK).distinct()
    return batches.filter(parameters__instrument=name)


def _compare(project: Project, instrument: Instrument, based_on: str) -> str:
    if not based_on:
        return ""
    older = _find(project, instrument.task, based_on)
    lines = unified_diff(
        older.text.splitlines(), instrument.text.splitlines(), based_on, instrument.variant, lineterm="", n=1
    )
    return "\n".join(lines)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def add(request: ProjectRequest) -> HttpResponse:
    """Write a wording: the list of characteristics, then its texts to be looked at and changed, then kept."""
    form = WordingForm(request.POST, project=request.project) if request.method == "POST" else _open_form(request)
    step = request.POST.get("step")
    if form.is_valid():
        with at_form(form):
            name, asked = form.cleaned_data["name"], form.read(is_anew=step == ANEW)
            if step in {PREVIEW, ANEW}:
                written = plan_texts(project=request.project, **asked)
                form = WordingForm({**request.POST.dict(), **written}, project=request.project)
                return render(request, "sob/wording_edit.html", {"form": form, "is_preview": True})
            add_wording(project=request.project, name=name, **asked, by=request.user)
            messages.success(request, f"The wording {name} is saved. {NOT_COMPARABLE}")
            return redirect("sob:wording", request.project.slug, name)
    return render(request, "sob/wording_edit.html", {"form": form}, status=422 if form.errors else 200)


def _open_form(request: ProjectRequest) -> WordingForm:
    """The form, filled in from the wording named by ``?from=``."""
    start = request.GET.get("from", PAPER)
    own = Wording.objects.filter(project=request.project, name=start).first()
    if own is None and start not in list_variants():
        start = PAPER
    initial = {"based_on": start}
    if own is not None:
        initial["characteristics"] = "\n".join(name.capitalize() for name in own.characteristics)
    return WordingForm(project=request.project, initial=initial)
