"""Pages of experiments: the list with the form of a plan, and one experiment with its figures and its sample.

Coders see none of it: the threads of the sample are to be read without knowing what came out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.benchmarks.experiments import actions, drawing
from auditapp.benchmarks.experiments.drawing import FIGURES, SAMPLE, Figures
from auditapp.benchmarks.experiments.forms import MAX_UNITS_BYTES, DrawForm, PlanForm, UnitsForm
from auditapp.benchmarks.experiments.models import Experiment
from auditapp.benchmarks.experiments.pure.effects import BOUNDS_EXPLAINED, write_unused
from auditapp.benchmarks.experiments.queries import (
    describe_experiment,
    list_experiments,
    read_report,
    read_sample,
    read_stored_plan,
)
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.formats.report_tables import ReportTable, Source
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import CONTENT_TYPES, address_files, offer_table, send_download, send_report_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, takes_uploads


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SEE_ALL_CODINGS)
def show_list(request: StudyRequest) -> HttpResponse:
    """Every experiment, and for leads the form that locks the plan of another."""
    may_write = Permission.SET_METHOD in request.role.permissions
    form = PlanForm() if may_write else None
    if request.method == "POST":
        if not may_write:
            raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
        form = PlanForm(request.POST, request.FILES)
        if form.is_valid():
            with at_form(form):
                experiment = actions.lock_plan(study=request.study, by=request.user, **form.cleaned_data)
                messages.success(request, f"The plan of {experiment.name} is locked. Now load its units.")
                return redirect("experiments:show", request.study.slug, experiment.pk)
    context = {"experiments": list_experiments(request.study), "form": form}
    return render(request, "experiments/list.html", context, status=422 if form and form.errors else 200)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show(request: StudyRequest, experiment_id: int) -> HttpResponse:
    """One experiment: its plan, its figures, its sample."""
    return _render(request, _find(request, experiment_id))


@takes_uploads(MAX_UNITS_BYTES)
@require_POST
@study_view(Permission.SET_METHOD)
def load(request: StudyRequest, experiment_id: int) -> HttpResponse:
    """Load a file of units: all of them, or none."""
    experiment = _find(request, experiment_id)
    form = UnitsForm(request.POST, request.FILES)
    if form.is_valid():
        with at_form(form):
            data = form.cleaned_data["file"].read()
            loaded = actions.load_enrolments(experiment=experiment, data=data, by=request.user)
            messages.success(
                request,
                f"{loaded.new:,} units are new, {loaded.completed:,} were completed, {loaded.unchanged:,} are as they were.",
            )
            return redirect("experiments:show", request.study.slug, experiment.pk)
    return _render(request, experiment, units=form)


@require_POST
@study_view(Permission.SET_METHOD)
def draw(request: StudyRequest, experiment_id: int) -> HttpResponse:
    """Draw the sample whose threads are to be read."""
    experiment = _find(request, experiment_id)
    form = DrawForm(request.POST)
    if form.is_valid():
        with at_form(form):
            drawn = actions.draw_audit(experiment=experiment, by=request.user, **form.cleaned_data)
            messages.success(request, f"{len(drawn):,} units are drawn. Their list is below.")
            return redirect("experiments:show", request.study.slug, experiment.pk)
    return _render(request, experiment, draw=form)


@require_POST
@study_view(Permission.SET_METHOD)
def list_sample(request: StudyRequest, experiment_id: int) -> HttpResponse:
    """The units of the sample, without their arms: what the keeper of the logs is asked for."""
    experiment = _find(request, experiment_id)
    return _send(request, experiment, SAMPLE, read_sample(experiment).units, "csv")


@require_POST
@study_view(Permission.SEE_ALL_CODINGS)
def download(request: StudyRequest, experiment_id: int, format: str) -> HttpResponse:
    """The figures as a table, or as JSON the whole report."""
    experiment = _find(request, experiment_id)
    report = _read(request, experiment)
    if format == "json":
        return send_download(
            json.dumps(_describe(experiment, report), ensure_ascii=False).encode(),
            "experiments.downloaded",
            name=f"{_name_file(request, experiment, 'figures')}.json",
            content_type=CONTENT_TYPES["json"],
            study=request.study,
            target=experiment,
            by=request.user,
            details={"what": "report", "format": "json"},
        )
    caption = (
        f"{experiment.name}: {report['variant']} minus {report['baseline']}. {FIGURES.caption} "
        f"{' '.join(drawing.list_remarks(report))} Plan locked {experiment.locked_at:%d %B %Y}, SHA-256 {experiment.sha256[:12]}."
    )
    return _send(request, experiment, FIGURES, Figures(report, experiment.sha256), format, caption=caption)


def _find(request: StudyRequest, experiment_id: int) -> Experiment:
    return get_object_or_404(request.study.experiments, pk=experiment_id)


def _read(request: StudyRequest, experiment: Experiment) -> dict[str, Any]:
    """The report as this person may see it; by the readings of ``coder``, where she has read any thread of the sample."""
    asked = request.POST if request.method == "POST" else request.GET
    try:
        return read_report(experiment, viewer=get_viewer(request), coder=asked.get("coder", ""))
    except Refused:
        return read_report(experiment, viewer=get_viewer(request))


def _describe(experiment: Experiment, report: Mapping[str, Any]) -> dict[str, Any]:
    return {"experiment": experiment.name, "plan_sha256": experiment.sha256, **report}


def _send(
    request: StudyRequest,
    experiment: Experiment,
    table: ReportTable[Source],
    source: Source,
    format: str,
    *,
    caption: str = "",
) -> HttpResponse:
    return send_report_table(
        table,
        source,
        format,
        "experiments.downloaded",
        stem=_name_file(request, experiment, table.name),
        study=request.study,
        target=experiment,
        by=request.user,
        details={"what": table.name},
        caption=caption,
        label=f"experiment-{experiment.pk}",
    )


def _name_file(request: StudyRequest, experiment: Experiment, what: str) -> str:
    return f"{request.study.slug}-experiment-{experiment.pk}-{what}"


def _render(
    request: StudyRequest, experiment: Experiment, *, units: Form | None = None, draw: Form | None = None
) -> HttpResponse:
    report = _read(request, experiment)
    sample, plan = read_sample(experiment), read_stored_plan(experiment)
    may_write = Permission.SET_METHOD in request.role.permissions
    is_loaded = any(arm["assigned"] for arm in report["arms"].values())
    context = {
        "experiment": experiment,
        "plan": plan,
        "numbers": list(plan.numbers.items()),
        "report": report,
        "is_loaded": is_loaded,
        "charts": drawing.draw_effects(report, experiment.sha256),
        "heads": FIGURES.list_heads(),
        "offered_tables": [
            offer_table(
                FIGURES, "These figures", address_files("experiments:download", experiment.study.slug, experiment.pk)
            )
        ],
        "query": [("coder", report["moves"]["coder"])] if (report["moves"] or {}).get("coder") else [],
        "rows": list(drawing.list_cells(drawing.list_effects(report))),
        "arms": list(drawing.list_arms(report)),
        "missing": list(drawing.list_missing(report)),
        "bounds_explained": BOUNDS_EXPLAINED,
        "moves_chart": drawing.draw_moves(report, experiment.sha256),
        "moves_rows": list(drawing.list_cells(drawing.list_moves(report))),
        "unused": write_unused(report["moves"]) if report["moves"] else "",
        "unblinding": offer_unblinding(request, sample.threads.values(), where="experiment")
        if sample.is_open
        else None,
        "sample": sample,
        "notes": describe_experiment(experiment, report, sample),
        "units_form": (units or UnitsForm()) if may_write else None,
        "draw_form": (draw or DrawForm()) if may_write and is_loaded and not sample.units else None,
    }
    failed = any(form is not None and form.errors for form in (units, draw))
    return render(request, "experiments/show.html", context, status=422 if failed else 200)
