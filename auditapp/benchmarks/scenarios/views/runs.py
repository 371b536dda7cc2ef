"""Suites of scenarios: their cases, loading and launching them, and what came of a batch that ran one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import Batch
from auditapp.batches.pages.progress import send_batch_table
from auditapp.batches.views.launch import BatchRequest, batch_view, run_wizard, show_closed
from auditapp.benchmarks.scenarios.actions.scripts import LoadedScripts, launch_scenarios, load_scripts, plan_scenarios
from auditapp.benchmarks.scenarios.forms import MAX_UPLOAD_BYTES, LaunchForm, LoadForm, ReportForm
from auditapp.benchmarks.scenarios.pure.measures import SessionOutcome
from auditapp.benchmarks.scenarios.pure.outcomes import describe_readings
from auditapp.benchmarks.scenarios.pure.outputs import TABLES, TESTS
from auditapp.benchmarks.scenarios.pure.scripts import SHIPPED, ScriptText, list_halves, read_scripts, read_shipped
from auditapp.benchmarks.scenarios.queries.method import describe_run
from auditapp.benchmarks.scenarios.queries.run_report import read_run
from auditapp.benchmarks.scenarios.queries.runs import (
    KIND,
    count_states,
    list_cases,
    list_labels,
    list_suites,
    read_matrix,
)
from auditapp.benchmarks.scenarios.views.drawing import draw_report
from auditapp.llm.queries import list_noted
from transcripts.formats.problems import ReadError
from transcripts.negotiation.queries.cases import list_features
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.access import StudyRequest, post, study_view
from transcripts.studies.downloads import address_files, offer_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, takes_uploads

NAMES = {
    "retention": "Retention",
    "arms": "Conditions and groups",
    "comparisons": "Comparisons",
    "gaps": "Gaps between groups",
    "calibration": "Calibration",
}
MAX_NAMED = 10
"""How many pairs a message names."""


@require_safe
@batch_view(Permission.SEE_ALL_CODINGS, hides_by_itself=True)
def show_run(request: BatchRequest) -> HttpResponse:
    """The sessions of a batch: cases by conditions with outcomes and threads, and the report. Those who may code the threads see
    their labels alone until they have read them, or will not code them."""
    batch = _get_run(request)
    if not request.visibility.is_whole:
        return _show_closed(request)
    report, outcomes = _read(request, batch)
    form = ReportForm(request.GET, report["coders"])
    form.is_valid()
    only_unexpected = bool(form.cleaned_data.get("only"))
    arms, rows = read_matrix(batch, outcomes, only_unexpected=only_unexpected)
    context: dict[str, Any] = {
        "batch": batch,
        "states": count_states(batch),
        "arms": arms,
        "rows": rows,
        "report": report,
        "readings": describe_readings(report),
        "form": form,
        "only_unexpected": only_unexpected,
        "sections": draw_report(report),
        "notes": describe_run(batch),
        "tests": TESTS,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
        "offered_tables": [
            offer_table(
                TABLES[what], NAMES[what], address_files("scenarios:run_file", batch.study.slug, batch.pk, what)
            )
            for what in TABLES
        ],
        "query": [("coder", report["coder"])] if report["coder"] else [],
    }
    return render(request, "scenarios/run.html", context)


def _get_run(request: BatchRequest) -> Batch:
    if request.batch.kind != KIND:
        raise Http404("This batch does not run scenarios.")
    return request.batch


def _show_closed(request: BatchRequest, *, status: int = 200) -> HttpResponse:
    batch = request.batch
    threads = list_labels(batch)
    return show_closed(
        request,
        template="scenarios/run_closed.html",
        status=status,
        back=reverse("scenarios:run", args=[request.study.slug, batch.pk]),
        states=count_states(batch),
        threads=threads,
        has_masked=any(thread.is_masked for thread in threads),
    )


def _read(request: StudyRequest, batch: Batch) -> tuple[dict[str, Any], dict[int, SessionOutcome]]:
    asked = request.POST if request.method == "POST" else request.GET
    try:
        return read_run(batch, coder=asked.get("coder", ""))
    except Refused:
        return read_run(batch)


@require_POST
@batch_view(Permission.SEE_ALL_CODINGS, hides_by_itself=True)
def download(request: BatchRequest, what: str, format: str) -> HttpResponse:
    """A table as a file. A POST, because downloads are recorded."""
    batch = _get_run(request)
    if what not in TABLES:
        raise Http404("No such file.")
    if not request.visibility.is_whole:
        return _show_closed(request, status=403)
    table, (report, _) = TABLES[what], _read(request, batch)
    return send_batch_table(
        table,
        report,
        format,
        "scenarios.report.downloaded",
        batch=batch,
        report="scenarios",
        by=request.user,
        caption=f"{table.caption} {TESTS}",
    )


@takes_uploads(MAX_UPLOAD_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def load(request: StudyRequest) -> HttpResponse:
    """Load a file of scripts."""
    form = LoadForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_valid():
        with at_form(form, "file"):
            scripts = _read_suite(form.cleaned_data["file"], form.cleaned_data["suite"])
            reason = form.cleaned_data["reason"]
            loaded = load_scripts(study=request.study, scripts=scripts, by=request.user, reason=reason)
            messages.success(request, _describe_loaded(loaded))
            if halves := list_halves(scripts):
                named = f"{', '.join(halves[:MAX_NAMED])}{' and others' if len(halves) > MAX_NAMED else ''}"
                messages.warning(
                    request,
                    f"Only one side of a pair is in the file for {named}. Pairs are made once the other side is loaded too.",
                )
            return redirect("scenarios:suites", request.study.slug)
    return render(request, "scenarios/load_suite.html", {"form": form}, status=422 if form.errors else 200)


def _read_suite(file: UploadedFile[Any], suite: str) -> list[ScriptText]:
    name = file.name or "file"
    try:
        return read_scripts(file, name=name, suite=suite or name.rpartition(".")[0] or name)
    except ReadError as error:
        raise WrongInput(" ".join(str(error).split()), field="file") from error


def _describe_loaded(loaded: LoadedScripts) -> str:
    unchanged = f" {len(loaded.unchanged)} were already there." if loaded.unchanged else ""
    return f"{len(loaded.written)} script{'' if len(loaded.written) == 1 else 's'} loaded.{unchanged}"


load_shipped = post(
    load_scripts,
    Permission.SET_METHOD,
    on=lambda request: {
        "study": request.study,
        "scripts": read_shipped(),
        "reason": "As included with the program.",
    },
    done=_describe_loaded,
    to=("scenarios:suites",),
)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_suites(request: StudyRequest) -> HttpResponse:
    """The suites of a study, and the batches that ran one."""
    context = {
        "suites": list_suites(request.study),
        "batches": request.study.batches.filter(kind=KIND).order_by("-pk"),
        "shipped": SHIPPED,
    }
    return render(request, "scenarios/suites.html", context)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_suite(request: StudyRequest) -> HttpResponse:
    """The cases of a suite; two sides of a case stand beside each other, each challenge beside its twin."""
    suites = list_suites(request.study)
    name = request.GET.get("name", suites[0].name if suites else "")
    if name not in {each.name for each in suites}:
        raise Http404("This study has no such suite.")
    context = {
        "suite": next(each for each in suites if each.name == name),
        "cases": list_cases(request.study, name),
        "features": list_features(request.study),
    }
    return render(request, "scenarios/suite.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def launch(request: StudyRequest) -> HttpResponse:
    """Launch a suite, in two steps."""
    initial = {"suite": request.GET["suite"]} if "suite" in request.GET else {}
    form = LaunchForm(request.POST or None, study=request.study, initial=initial)

    def plan() -> LaunchPlan:
        return plan_scenarios(study=request.study, **form.read())

    return run_wizard(
        request,
        form,
        template="scenarios/launch.html",
        plan=plan,
        launch=lambda: launch_scenarios(study=request.study, **form.read(), options=form.options(), by=request.user),
    )
