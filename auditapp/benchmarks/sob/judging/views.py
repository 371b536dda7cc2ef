"""Launching a batch in two steps, or importing answers of another run: first a preview of the file, then the batch, with
nothing stored in between. How answers were read, reader by reader, with the queue of those that only a person can read. The
published wordings, and those a study has written.

People who read an answer see neither the model that gave it nor what a formatter made of it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import Batch
from auditapp.batches.views.launch import run_wizard
from auditapp.benchmarks.sob.judging import queries as interpretation_queries
from auditapp.benchmarks.sob.judging.actions.imported_answers import import_answers
from auditapp.benchmarks.sob.judging.actions.interpretations import launch_formatter, plan_formatter, read_by_person
from auditapp.benchmarks.sob.judging.actions.launching import (
    NOT_COMPARABLE,
    add_wording,
    find_instrument,
    launch_sob,
    plan_sob,
    plan_texts,
)
from auditapp.benchmarks.sob.judging.forms import (
    MAX_UPLOAD_BYTES,
    FormatterForm,
    ImportForm,
    InterpretationForm,
    LaunchForm,
    WordingForm,
)
from auditapp.benchmarks.sob.judging.kind import READABLE_OUTCOMES, find_current_interpretations, list_for_formatter
from auditapp.benchmarks.sob.models import Interpretation, Judgment, Wording
from auditapp.benchmarks.sob.pure.instruments import (
    BASE,
    BASE_TASK,
    PAPER,
    TASKS,
    Instrument,
    list_variants,
    load_instruments,
)
from auditapp.benchmarks.sob.pure.parsing import Outcome
from auditapp.benchmarks.sob.queries import KIND, count_readers, find_cell_range, find_schema
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, takes_uploads
from transcripts.ui.typed_text import find_number

CHECK = "check"
NOT_LOOKED_AT = "The file, the texts or the task has changed since the preview. Preview it again, then import it."


@require_safe
@study_view(Permission.VIEW)
def show_interpretations(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The share of each reader and outcome per model, and what is left for a formatter and for people."""
    batch = _find_batch(request, batch_id)
    arms = list(batch.arms.select_related("variant__account"))
    context = {
        "batch": batch,
        "table": interpretation_queries.count_readers(batch),
        "runs": interpretation_queries.list_formatter_runs(batch),
        **{str(outcome): len(list_for_formatter(batch, [outcome])) for outcome in READABLE_OUTCOMES},
        "waiting": len(interpretation_queries.list_queue(batch, request.user.pk)),
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "read_counts": count_readers([arm.pk for arm in arms], find_cell_range(batch)),
    }
    return render(request, "sob/interpretations.html", context)


def _read_formatter(chosen: dict[str, Any]) -> dict[str, Any]:
    return {"outcomes": chosen["outcomes"], "without_schema": chosen["without_schema"]}


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def read_by_formatter(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Have a formatter read what the rules could not, in two steps."""
    batch = _find_batch(request, batch_id)
    form = FormatterForm(request.POST or None, source=batch)

    def plan() -> LaunchPlan:
        chosen = form.cleaned_data
        return plan_formatter(batch=batch, variant=chosen["model"], **_read_formatter(chosen))

    def send() -> Batch:
        chosen = form.cleaned_data
        return launch_formatter(
            batch=batch, variant=chosen["model"], **_read_formatter(chosen), by=request.user, options=form.options()
        )

    return run_wizard(request, form, template="sob/formatter_launch.html", plan=plan, launch=send)


@require_safe
@study_view(Permission.CODE)
def read_next(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Redirect to the next answer that needs a person; ``after`` skips one."""
    batch = _find_batch(request, batch_id)
    after = request.GET.get("after", "")
    queue = interpretation_queries.list_queue(batch, request.user.pk)
    following = interpretation_queries.choose_next(queue, request.user.pk, find_number(after))
    if following is None:
        messages.info(request, "No answers of this batch need a person.")
        return redirect("sob:interpretations", request.study.slug, batch.pk)
    return redirect("sob:read_answer", request.study.slug, batch.pk, following)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def read_answer(request: StudyRequest, batch_id: int, cell_id: int) -> HttpResponse:
    """Read one answer as a person."""
    batch = _find_batch(request, batch_id)
    judgment = _find_judgment(batch, cell_id)
    current = find_current_interpretations([judgment.pk]).get(judgment.pk)
    number = current.number + 1 if current else 1
    form = InterpretationForm(
        request.POST if request.method == "POST" else None,
        task=judgment.arm.task,
        schema=find_schema(judgment.arm),
        initial={"number": number},
    )
    may_read = _may_read(request, judgment, current)
    if form.is_valid():
        with at_form(form):
            if not may_read:
                raise Refused(
                    "Another person has read this answer since you opened the page. A lead can read it again."
                )
            read_by_person(judgment=judgment, by=request.user, **form.read())
            messages.success(request, "Your interpretation is stored.")
            here = reverse("sob:read_next", args=[request.study.slug, batch.pk])
            return redirect(f"{here}?after={judgment.pk}")
    context = {"batch": batch, "judgment": judgment, "form": form, "may_read": may_read}
    return render(request, "sob/interpretation.html", context, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_history(request: StudyRequest, batch_id: int, cell_id: int) -> HttpResponse:
    """Every interpretation of one answer, the rules' first, the current one last."""
    batch = _find_batch(request, batch_id)
    judgment = _find_judgment(batch, cell_id)
    later = interpretation_queries.list_history(judgment)
    return render(request, "sob/interpretation_history.html", {"batch": batch, "judgment": judgment, "later": later})


def _may_read(request: StudyRequest, judgment: Judgment, current: Interpretation | None) -> bool:
    """Whether this user may read the answer: it needs a person, the user has read it before, or the user is a lead."""
    if Permission.SEE_ALL_CODINGS in request.role.permissions:
        return True
    if current is not None and current.reader == Interpretation.Reader.PERSON:
        return current.read_by_id == request.user.pk
    return (current or judgment).outcome == Outcome.OFF_FORMAT


def _find_batch(request: StudyRequest, batch_id: int) -> Batch:
    return get_object_or_404(request.study.batches, pk=batch_id, kind=KIND)


def _find_judgment(batch: Batch, cell_id: int) -> Judgment:
    found = Judgment.objects.select_related("arm__batch", "arm__variant", "text", "cell__result__attempt")
    return get_object_or_404(found, pk=cell_id, arm__batch=batch, cell__result__isnull=False)


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
    """A wording word for word, its hashes, and the batches that asked with it."""
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
    """Write a wording: the list of characteristics, then its texts to be looked at and changed, then kept."""
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
    """What is asked about what, by name."""
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
    """The page; for htmx the part below the file, so that it stays chosen."""
    part = "#found" if request.htmx else ""  # type: ignore[attr-defined]
    context = {"form": form, "found": found}
    return render(request, f"sob/import.html{part}", context, status=422 if form.errors else 200)
