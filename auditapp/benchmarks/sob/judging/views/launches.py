"""Launching a batch in two steps. Importing answers from another run: first a preview of the file, then the batch, with nothing
stored in between. The published wordings, and those that a study has written.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import Batch
from auditapp.batches.views.launch import run_wizard
from auditapp.benchmarks.sob.judging.forms import MAX_UPLOAD_BYTES, ImportForm, LaunchForm, WordingForm
from auditapp.benchmarks.sob.judging.launching import (
    NOT_COMPARABLE,
    add_wording,
    find_instrument,
    import_answers,
    launch_sob,
    plan_sob,
    plan_texts,
)
from auditapp.benchmarks.sob.models import Wording
from auditapp.benchmarks.sob.pure.instruments import (
    BASE,
    BASE_TASK,
    PAPER,
    TASKS,
    Instrument,
    list_variants,
    load_instruments,
)
from auditapp.benchmarks.sob.queries import KIND
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, takes_uploads

CHECK = "check"
NOT_LOOKED_AT = "The file, the texts or the task has changed since the preview. Preview it again, then import it."


PREVIEW, ANEW = "preview", "anew"


@require_safe
@study_view(Permission.VIEW)
def list_wordings(request: StudyRequest) -> HttpResponse:
    """Every wording available for a launch."""
    own: dict[str, list[Wording]] = {}
    for wording in Wording.objects.filter(study=request.study):
        own.setdefault(wording.name, []).append(wording)
    published: dict[str, list[Instrument]] = {}
    for instrument in load_instruments():
        published.setdefault(instrument.variant, []).append(instrument)
    context = {"own": own, "published": published, "base": BASE, "not_comparable": NOT_COMPARABLE}
    return render(request, "sob/wordings.html", context)


@require_safe
@study_view(Permission.VIEW)
def show_wording(request: StudyRequest, wording: str) -> HttpResponse:
    """A wording word for word, its hashes, and the batches that used it."""
    name = wording
    rows = list(Wording.objects.filter(study=request.study, name=name))
    based_on = rows[0].based_on if rows else ""
    instruments = [_find(request.study, task, name) for task, _ in ([(BASE_TASK, BASE)] if name == BASE else TASKS)]
    texts = [{"instrument": each, "difference": _compare(request.study, each, based_on)} for each in instruments]
    context = {
        "name": name,
        "own": rows[0] if rows else None,
        "texts": texts,
        "batches": _list_batches(request.study, name),
        "not_comparable": NOT_COMPARABLE,
        "is_base": name == BASE,
    }
    return render(request, "sob/wording.html", context)


def _find(study: Study, task: str, name: str) -> Instrument:
    try:
        return find_instrument(task, name, study)
    except Refused as error:
        raise Http404(str(error)) from error


def _list_batches(study: Study, name: str) -> QuerySet[Batch]:
    batches = study.batches.filter(kind=KIND)
    if name == BASE:
        return batches.filter(arms__task=BASE_TASK).distinct()
    return batches.filter(parameters__instrument=name)


def _compare(study: Study, instrument: Instrument, based_on: str) -> str:
    if not based_on:
        return ""
    older = _find(study, instrument.task, based_on)
    lines = unified_diff(
        older.text.splitlines(), instrument.text.splitlines(), based_on, instrument.variant, lineterm="", n=1
    )
    return "\n".join(lines)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def write_wording(request: StudyRequest) -> HttpResponse:
    """Write a wording: first the list of characteristics, then a preview of its texts, which can be changed and saved."""
    form = WordingForm(request.POST, study=request.study) if request.method == "POST" else _open_form(request)
    step = request.POST.get("step")
    if form.is_valid():
        with at_form(form):
            name, asked = form.cleaned_data["name"], form.read(is_anew=step == ANEW)
            if step in {PREVIEW, ANEW}:
                written = plan_texts(study=request.study, **asked)
                form = WordingForm({**request.POST.dict(), **written}, study=request.study)
                return render(request, "sob/wording_edit.html", {"form": form, "is_preview": True})
            add_wording(study=request.study, name=name, **asked, by=request.user)
            messages.success(request, f"The wording {name} is saved. {NOT_COMPARABLE}")
            return redirect("sob:wording", request.study.slug, name)
    return render(request, "sob/wording_edit.html", {"form": form}, status=422 if form.errors else 200)


def _open_form(request: StudyRequest) -> WordingForm:
    """The form, filled in from the wording named by ``?from=``."""
    start = request.GET.get("from", PAPER)
    own = Wording.objects.filter(study=request.study, name=start).first()
    if own is None and start not in list_variants():
        start = PAPER
    initial = {"based_on": start}
    if own is not None:
        initial["characteristics"] = "\n".join(name.capitalize() for name in own.characteristics)
    return WordingForm(study=request.study, initial=initial)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def launch(request: StudyRequest) -> HttpResponse:
    """Launch a batch, in two steps."""
    initial = {name: request.GET[name] for name in ("dataset", "instrument") if name in request.GET}
    form = LaunchForm(request.POST or None, study=request.study, initial=initial)

    def plan() -> LaunchPlan:
        planned = plan_sob(**_read_choice(form))
        return replace(planned, facts=_list_facts(form, len(planned.input_ids)))

    return run_wizard(
        request,
        form,
        template="sob/launch.html",
        plan=plan,
        launch=lambda: launch_sob(
            **_read_choice(form),
            options=form.options(),
            confirms_terms=form.cleaned_data.get("notice", False),
            by=request.user,
        ),
    )


def _read_choice(form: LaunchForm) -> dict[str, Any]:
    chosen = form.cleaned_data
    return {
        "dataset": chosen["dataset"],
        "variants": list(chosen["models"]),
        "tasks": chosen["tasks"],
        "instrument_variant": chosen["instrument"],
        "include_base": chosen["include_base"],
        "limit": chosen["limit"],
    }


def _list_facts(form: LaunchForm, texts: int) -> list[tuple[str, str]]:
    """What is about to be launched, as names with values."""
    chosen = form.cleaned_data
    names = dict(TASKS)
    tasks = [names[task] for task in chosen["tasks"]] + (["the Base prompt"] if chosen["include_base"] else [])
    wordings = dict(form.fields["instrument"].choices)  # type: ignore[attr-defined]
    return [
        ("Dataset", chosen["dataset"].name),
        ("Texts", f"{texts:,} of {chosen['dataset'].n_texts:,}"),
        ("Tasks", ", ".join(tasks)),
        ("Wording", str(wordings[chosen["instrument"]])),
    ]


@takes_uploads(MAX_UPLOAD_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def import_results(request: StudyRequest) -> HttpResponse:
    """Preview a file (``step=check`` in the form) or import its answers. htmx requests get only the part below the file field."""
    if request.method != "POST":
        return _render(request, ImportForm(study=request.study))
    form = ImportForm(request.POST, request.FILES, study=request.study)
    if not form.is_valid():
        return _render(request, form)
    typed = form.cleaned_data
    given = {
        "dataset": typed["dataset"],
        "file_name": typed["file"].name,
        "data": typed["file"].read(),
        "task": typed["task"],
    }
    digest = _digest(given)
    is_check = request.POST.get("step") == CHECK
    if not is_check and typed["checked"] != digest:
        form.add_error("file", NOT_LOOKED_AT)
        return _render(request, form)
    with at_form(form, "file"):
        found = import_answers(**given, by=request.user, dry_run=is_check)
        if found["batch"] is None or is_check:
            looked_at = {**request.POST.dict(), "checked": digest}
            return _render(request, ImportForm(looked_at, request.FILES, study=request.study), found)
        said = "This file has already been imported. This is its batch."
        if found["created"]:
            said = f"{found['stored']:,} of {found['rows']:,} answers imported. This is their batch."
        messages.success(request, said)
        return redirect("sob:report", request.study.slug, found["batch"].pk)
    return _render(request, form)


def _digest(given: dict[str, Any]) -> str:
    """A hash of what was previewed: the file, the texts and the task."""
    parts = (hashlib.sha256(given["data"]).hexdigest(), str(given["dataset"].pk), given["task"])
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _render(request: StudyRequest, form: ImportForm, found: dict[str, Any] | None = None) -> HttpResponse:
    """The page; for htmx only the part below the file field, so that the file stays chosen."""
    part = "#found" if request.htmx else ""  # type: ignore[attr-defined]
    context = {"form": form, "found": found}
    return render(request, f"sob/import.html{part}", context, status=422 if form.errors else 200)
