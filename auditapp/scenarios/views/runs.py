"""What came of a batch that ran a suite: its threads by case and condition, and its report."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from auditapp.batches.models import Batch
from auditapp.batches.pages.progress import send_batch_table
from auditapp.batches.views.gate import BatchRequest, batch_view, show_closed
from auditapp.llm.queries import list_noted
from auditapp.scenarios.forms.runs import ReportForm
from auditapp.scenarios.pure.measures import PlayOutcome
from auditapp.scenarios.pure.outputs import TABLES, TESTS
from auditapp.scenarios.pure.readings import describe_readings
from auditapp.scenarios.queries.method import describe_run
from auditapp.scenarios.queries.run_report import read_run
from auditapp.scenarios.queries.runs import KIND, count_states, list_labels, read_matrix
from auditapp.scenarios.views.drawing import draw_report
from transcripts.projects.access import ProjectRequest
from transcripts.projects.downloads import address_files, offer_table
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused

NAMES = {
    "retention": "Retention",
    "arms": "Conditions and groups",
    "comparisons": "Comparisons",
    "gaps": "Gaps between groups",
    "calibration": "Calibration",
}


@require_safe
@batch_view(Permission.SEE_ALL_CODINGS, hides_by_itself=True)
def show_run(request: BatchRequest) -> HttpResponse:
    """The plays of a batch: cases by conditions with outcomes and threads, and the report. Those who may code the threads see their
    labels alone until they have read them, or will not code them."""
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
                TABLES[what], NAMES[what], address_files("scenarios:run_file", batch.project.slug, batch.pk, what)
            )
            for what in TABLES
        ],
        "query": [("coder", report["coder"])] if report["coder"] else [],
    }
    return render(request, "scenarios/run.html", context)


def _get_run(request: BatchRequest) -> Batch:
    if request.batch.kind != KIND:
        raise Http404("This batch runs no scenarios.")
    return request.batch


def _show_closed(request: BatchRequest, *, status: int = 200) -> HttpResponse:
    batch = request.batch
    threads = list_labels(batch)
    return show_closed(
        request,
        template="scenarios/run_closed.html",
        status=status,
        back=reverse("scenarios:run", args=[request.project.slug, batch.pk]),
        states=count_states(batch),
        threads=threads,
        has_masked=any(thread.is_masked for thread in threads),
    )


def _read(request: ProjectRequest, batch: Batch) -> tuple[dict[str, Any], dict[int, PlayOutcome]]:
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
