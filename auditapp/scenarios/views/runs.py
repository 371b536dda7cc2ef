"""What came of a batch that ran a suite: its threads by case and condition, and its report."""

from __future__ import annotations

import io
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from auditapp.batches.kinds import Visibility, find_visibility
from auditapp.batches.models import Batch
from auditapp.batches.pages.table_files import FORMATS, send_table
from auditapp.llm.queries import list_noted
from auditapp.scenarios.errors import ScenarioError
from auditapp.scenarios.forms.runs import ReportForm
from auditapp.scenarios.pure.outputs import TABLES, TESTS, write_latex
from auditapp.scenarios.pure.readings import describe_readings
from auditapp.scenarios.queries.method import describe_run
from auditapp.scenarios.queries.run_matrix import list_labels, read_matrix
from auditapp.scenarios.queries.run_report import read_run_report
from auditapp.scenarios.queries.runs import KIND, count_states
from auditapp.scenarios.views.drawing import draw_report
from transcripts.blinding.viewers import get_viewer
from transcripts.formats.tabular import write_csv
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

NAMES = {"retention": "Retention", "arms": "Conditions and groups", "gaps": "Gaps between groups"}


def find_run(request: ProjectRequest, batch_id: int) -> tuple[Batch, Visibility]:
    """A batch of scenarios of the study, and what the person may see of it; or 404."""
    batch: Batch = get_object_or_404(request.project.batches, pk=batch_id, kind=KIND)
    batch.project = request.project
    return batch, find_visibility(batch, get_viewer(request))


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def show_run(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The plays of a batch: cases by conditions with their threads, and the report. Those who may code the threads see their
    labels alone until they have read them."""
    batch, visibility = find_run(request, batch_id)
    context: dict[str, Any] = {"batch": batch, "visibility": visibility, "states": count_states(batch)}
    if not visibility.is_whole:
        context["threads"] = list_labels(batch)
        return render(request, "scenarios/run_closed.html", context)
    arms, rows = read_matrix(batch)
    report = _read(request, batch)
    context |= {
        "arms": arms,
        "rows": rows,
        "report": report,
        "readings": describe_readings(report),
        "form": ReportForm(request.GET, report["coders"]) if report["coders"] else None,
        "sections": draw_report(report),
        "notes": describe_run(batch),
        "tests": TESTS,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
        "files": [
            (what, format, f"{NAMES[what]} as {words}")
            for what in TABLES
            for format, words in (("csv", "CSV"), ("tex", "LaTeX"))
        ],
    }
    return render(request, "scenarios/run.html", context)


def _read(request: ProjectRequest, batch: Batch) -> dict[str, Any]:
    asked = request.POST if request.method == "POST" else request.GET
    try:
        return read_run_report(batch, coder=asked.get("coder", ""))
    except ScenarioError:
        return read_run_report(batch)


@require_POST
@project_view(Permission.SEE_ALL_CODINGS)
def download(request: ProjectRequest, batch_id: int, what: str, format: str) -> HttpResponse:
    """A table as CSV or LaTeX. A POST, because downloads are recorded."""
    batch, visibility = find_run(request, batch_id)
    if what not in TABLES or format not in FORMATS:
        raise Http404("No such file.")
    if not visibility.is_whole:
        context = {
            "batch": batch,
            "visibility": visibility,
            "states": count_states(batch),
            "threads": list_labels(batch),
        }
        return render(request, "scenarios/run_closed.html", context, status=403)
    report = _read(request, batch)
    if format == "tex":
        text = write_latex(report, what)
    else:
        columns, list_rows, _ = TABLES[what]
        stream = io.StringIO(newline="")
        write_csv(list_rows(report), header=columns, stream=stream)
        text = stream.getvalue()
    return send_table(
        text,
        batch=batch,
        report="scenarios",
        what=what,
        format=format,
        by=request.user,
        action="scenarios.report.downloaded",
    )
